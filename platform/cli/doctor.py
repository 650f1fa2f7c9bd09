"""The command that examines the installation: doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.cli.app import StoreOption
from longwave.platform.doctor import collect_findings
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.render import terminal


def examine_installation(
    store: StoreOption = None,
    repair: Annotated[bool, typer.Option(help="Save what is right of a damaged SQLite store in a new one.")] = False,
    to: Annotated[Path | None, typer.Option(help="The new store's file. Default: one beside the old.")] = None,
) -> int:
    """Check the installation: versions, devices, folders, store. Exits with 1 if something is broken.

    With --repair, save a damaged store's right rows; the old file stays as it is. Exits with 1 if any were lost.

    Example: longwave doctor
    """
    if repair or to is not None:
        return _repair_store(store, repair, to)
    findings = collect_findings(store)
    terminal.print_findings(findings)
    return 0 if all(finding.good for finding in findings) else 1


def _repair_store(store: str | None, repair: bool, to: Path | None) -> int:

    from longwave.platform.storage.repair import repair_store  # the doctor is to run where SQLAlchemy does not

    head, _, file = store_url(store).partition(":///")
    if not repair or head != "sqlite":
        raise ConfigError("--to goes with --repair, and --repair with a store that is a SQLite file.")
    with terminal.show_waiting("Saving what is readable"):
        saved = repair_store(Path(file), to)
    terminal.print_repaired(saved)
    return 1 if any(table.lost != 0 for table in saved.tables) else 0
