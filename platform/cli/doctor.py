"""The command that checks the installation: doctor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.cli.app import StoreOption
from longwave.platform.doctor import collect_findings
from longwave.platform.errors import ConfigError
from longwave.platform.paths import sqlite_file, store_url
from longwave.platform.render import terminal
from longwave.platform.render.doctor import print_findings, print_repaired
from longwave.platform.wording import describe_count


def examine_installation(
    store: StoreOption = None,
    repair: Annotated[
        bool, typer.Option(help="Remove passwords from a store; save the intact records of a damaged one.")
    ] = False,
    to: Annotated[Path | None, typer.Option(help="The new store's file. Default: one beside the old.")] = None,
) -> int:
    """Check the installation: versions, devices, folders, store. Exits with 1 if something is broken or slow.

    It ends within ten seconds: a check that has not finished by then is slow.

    With --repair, what may be a password in the store is overwritten with ***. If a SQLite store has none, or is
    damaged, its intact records are saved in a new store instead, and the old file is not changed. Exits with 1 if any
    rows were lost.

    Example: longwave doctor
    """
    if repair or to is not None:
        return _repair_store(store, repair, to)
    with terminal.show_waiting("Checking the installation") as show_progress:
        findings = collect_findings(store, show_progress)
    print_findings(findings)
    if any(finding.good is None for finding in findings):
        sys.stdout.flush()
        os._exit(1)  # a normal exit would abort a check's thread that is busy in C++
    return 0 if all(finding.good for finding in findings) else 1


def _repair_store(store: str | None, repair: bool, to: Path | None) -> int:
    from longwave.platform.storage.database import Database  # the doctor must run without SQLAlchemy
    from longwave.platform.storage.integrity import find_damage_at
    from longwave.platform.storage.repair import repair_store
    from longwave.platform.storage.secrets import remove_secrets

    url = store_url(store)
    file = sqlite_file(url)
    if not repair or (to is not None and file is None):
        raise ConfigError("--to goes with --repair, and with a store that is a SQLite file.")
    if file is None or (to is None and file.is_file() and not find_damage_at(url)):
        with terminal.show_waiting("Looking for passwords"), Database(url, create=False) as open_store:
            removed = remove_secrets(open_store)
        if removed or file is None:
            terminal.print_line(f"Passwords removed from {describe_count(removed, 'text')} of the store.")
            return 0
    with terminal.show_waiting("Saving what is readable"):
        saved = repair_store(file, to)
        with Database(f"sqlite:///{saved.file}") as repaired:
            removed = remove_secrets(repaired)
    print_repaired(saved)
    if removed:
        advice = "The old file still contains them: delete it once the new one is in use"
        terminal.print_line(f"Passwords removed from {describe_count(removed, 'text')} of the new store. {advice}.")
    return 1 if any(table.lost != 0 for table in saved.tables) else 0
