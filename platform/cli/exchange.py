"""Commands that exchange results between machines: submit, import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.boards.trust import shipped
from longwave.platform.cli.app import StoreOption
from longwave.platform.cli.names import a_task, task_key
from longwave.platform.editions import derived, publish, results
from longwave.platform.exchange import bundle, intake
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.intake import flagged
from longwave.platform.exchange.replay import replayed
from longwave.platform.paths import store_url
from longwave.platform.render.harmless import one_line
from longwave.platform.render.terminal import say, waiting
from longwave.platform.storage.store import Store
from longwave.platform.training.environment import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longwave.platform.editions.edition import Edition
    from longwave.platform.exchange.bundle import File
    from longwave.platform.exchange.inspection import Objection

SHOWN = 5
"""Findings of a kind that are printed; the others are counted."""


def submit_rows(
    file: Annotated[Path, typer.Argument(help="Where to write the bundle: NAME.json.xz")],
    task: Annotated[
        str | None, typer.Option(help="Rows of this task alone.", callback=task_key, autocompletion=a_task)
    ] = None,
    row: Annotated[list[str] | None, typer.Option(help="A row's name or first digits; may be repeated.")] = None,
    over: Annotated[bool, typer.Option("--over", help="Leave out searches and rows that are not over yet.")] = False,
    store: StoreOption = None,
) -> int:
    """Write rows as a bundle for another machine. There, `longwave import` takes it.

    The bundle holds configurations, curves, ends, environments and uncommitted changes. What `import` would reject
    is not written.

    Example: longwave submit lem.json.xz --task fitzhugh_nagumo
    """

    bundle.check_place(file)
    with Store(store_url(store), create=False) as known:
        made = bundle.seal(collect(known, task, row or (), over))
    with waiting("Checking"):
        findings = audit(made)
    if _say(findings):
        told = "Finish the sweeps with: longwave sweep resume NAME. Or leave out what is not over: submit --over"
        typer.echo(f"longwave: No bundle was written. {told}", err=True)
        return 2
    bundle.write(made, file)
    rows = {e.config.row for e in made.content.trials if e.config.phase == "retrain"}
    say(f"Bundle {made.name[:12]}: {len(rows)} rows, {len(made.content.trials)} trials, in {file}.")
    return 0


def import_rows(
    file: Annotated[Path, typer.Argument(help="A bundle that `longwave submit` wrote, or the folder of an edition.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it alone; import nothing.")] = False,
    replay: Annotated[int, typer.Option(min=0, help="Train so many of its trials again, up to some epoch.")] = 0,
    store: StoreOption = None,
) -> int:
    """Check a bundle or an edition and add its rows. All are added or none, and nothing in it is run.

    What contradicts itself is rejected, with exit status 2. What is unlikely or cannot be checked here is flagged, and
    its rows are marked as claimed. All are guests: shown without a rank until a re-run here falls inside, by
    `longwave reproduce ROW --keep`, or with `--trust BUNDLE`. An edition of which a file tells other than its results
    give is rejected, too.

    Example: longwave import lem.json.xz --dry-run
    """

    made, given = publish.received(file) if file.is_dir() else (None, bundle.read(file))
    findings = _examined(file, made, given, replay)
    with Store(store_url(store)) as known:
        findings += intake.conflicts(known, given)
        if _say(findings):
            typer.echo(f"longwave: Bundle {given.name[:12]} is rejected; nothing was imported.", err=True)
            return 2
        flags = [finding for finding in findings if finding.severity == "flag"]
        new = [] if dry_run else intake.take(known, given, flags)
    level = _level(given, flags)
    if dry_run:
        say(f"Bundle {given.name[:12]} can be imported: {level}. Nothing was imported.")
        return 0
    before = len(given.content.trials) - len(new)
    say(f"Bundle {given.name[:12]}: {len(new)} trials imported, {before} known before: {level}.")
    if new and given.name not in shipped():
        say(f"They are guests: ranked after longwave reproduce ROW --keep, or with --trust {given.name[:12]}.")
    return 0


def _level(given: File, flags: Sequence[Objection]) -> str:
    """Return how far a bundle's rows are verified: all alike, or how many of them flags bear on."""

    rows = {e.config.id: e.config.row for e in given.content.trials if e.config.phase == "retrain"}
    doubted = {rows[trial] for trial in flagged(given, flags).keys() & rows.keys()}
    if flags and len(doubted) < (count := len(set(rows.values()))):
        return f"{len(doubted)} of {count} rows claimed, the others schema-checked"
    return "claimed" if flags else "schema-checked"


def _examined(file: Path, made: Edition | None, given: File, replay: int) -> list[Objection]:
    """Return all that can be said against a bundle, or an edition and its results; trials are trained again last."""

    with waiting("Checking"):
        findings = audit(given)
        if made and not _rejected(findings):
            findings += results.unlike(made, given)
        if made and not _rejected(findings):
            findings += derived.edited(file, made, given, describe()["commit"])
    if replay and not _rejected(findings):
        with waiting("Training again"):
            findings += replayed(given, replay)
    return findings


def _rejected(findings: Sequence[Objection]) -> bool:
    return any(finding.severity == "reject" for finding in findings)


def _say(findings: Sequence[Objection]) -> bool:
    """Print findings, one a line, and return whether one rejects the bundle."""
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        kind = (finding.severity, finding.check)
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= SHOWN:
            said = one_line(f"{finding.severity}: {finding.check}: {finding.message}")
            typer.echo(said, err=finding.severity == "reject")
    for (severity, check), n in counts.items():
        if n > SHOWN:
            typer.echo(f"{severity}: {check}: {n - SHOWN} more.", err=severity == "reject")
    return _rejected(findings)
