"""Commands that exchange results between machines: submit, import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.boards.trust import shipped
from longwave.platform.cli.app import StoreOption
from longwave.platform.cli.names import a_task, task_key
from longwave.platform.editions.publish import find_results
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle, intake
from longwave.platform.exchange import replay as replays
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.intake import messages_by_trial
from longwave.platform.exchange.parts import join
from longwave.platform.paths import store_url
from longwave.platform.render.harmless import one_line
from longwave.platform.render.terminal import print_line, show_waiting
from longwave.platform.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longwave.platform.exchange.bundle import File
    from longwave.platform.exchange.inspection import AuditFinding

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
    bundle.check_target(file)
    with Store(store_url(store), create=False) as known:
        made = bundle.seal(collect(known, task, row or (), over))
    with show_waiting("Checking"):
        findings = audit(made)
    if _print_findings(findings):
        step = "Finish the sweeps with: longwave sweep resume NAME. Or leave out what is not over: submit --over"
        typer.echo(f"longwave: No bundle was written. {step}", err=True)
        return 2
    bundle.write(made, file)
    print_line(f"Bundle {made.name[:12]}: {len(made.content.rows)} rows, {len(made.content.trials)} trials, in {file}.")
    return 0


def import_rows(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Bundles that `longwave submit` wrote, or folders of editions; see below."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check it alone; import nothing.")] = False,
    replay: Annotated[int, typer.Option(min=0, help="Train so many of its trials again, up to some epoch.")] = 0,
    store: StoreOption = None,
) -> int:
    """Check bundles, or those of an edition, and add their rows. All are added or none, and nothing in them is run.

    What contradicts itself is rejected, with exit status 2. What cannot be checked here is flagged, and its rows are
    marked as claimed. All are untrusted: shown without a rank until a re-run here falls inside, by
    `longwave reproduce ROW --keep`, or with `--trust BUNDLE`. Bundles that belong together, as those of a search and
    of a second one that goes on from it, are named together.

    Example: longwave import lem.json.xz --dry-run
    """
    files = bundle.read_together([file for path in paths for file in (find_results(path) if path.is_dir() else [path])])
    if not files:
        raise ConfigError(f"{paths[0]} has no results: nothing can be imported. Ask for: longwave publish --results")
    together, shipping = join(files), all(file.name in shipped() for file in files)
    findings = _examine_files(files, together, shipping, replay)
    with Store(store_url(store)) as known:
        findings += intake.find_conflicts(known, together)
        if _print_findings(findings):
            typer.echo(f"longwave: {_joined_names(files)} is rejected; nothing was imported.", err=True)
            return 2
        origins = {entry.config.id: file.name for file in files for entry in file.content.trials}
        new = [] if dry_run else intake.import_bundle(known, together, findings, origins)
    level = _describe_level(together, findings)
    if dry_run:
        print_line(f"{_joined_names(files)} can be imported: {level}. Nothing was imported.")
        return 0
    before = len(together.content.trials) - len(new)
    print_line(f"{_joined_names(files)}: {len(new)} trials imported, {before} known before: {level}.")
    if new and not shipping:
        foreign = [file for file in files if file.content.rows and file.name not in shipped()]
        names = " ".join(f"--trust {file.name[:12]}" for file in foreign)
        print_line(f"They are untrusted: ranked after longwave reproduce ROW --keep, or with {names}.")
    return 0


def _joined_names(files: Sequence[File]) -> str:
    return f"Bundle {files[0].name[:12]}" + (f" and {len(files) - 1} more" if files[1:] else "")


def _describe_level(file: File, flags: Sequence[AuditFinding]) -> str:
    """Return how far a bundle's rows are verified: all alike, or how many of them flags bear on."""
    rows = {e.config.id: e.config.row for e in file.content.trials if e.config.phase == "retrain"}
    flagged = {rows[trial] for trial in messages_by_trial(file, flags).keys() & rows.keys()}
    if flags and len(flagged) < (count := len(set(rows.values()))):
        return f"{len(flagged)} of {count} rows claimed, the others schema-checked"
    return "claimed" if flags else "schema-checked"


def _examine_files(files: Sequence[File], together: File, trusted: bool, replay: int) -> list[AuditFinding]:
    """Return what checks find against bundles; trials are trained again last."""
    with show_waiting("Checking"):
        findings = audit(together, trusted, files)
    if replay and not _is_rejected(findings):
        with show_waiting("Training again"):
            findings += replays.replay(together, replay)
    return findings


def _is_rejected(findings: Sequence[AuditFinding]) -> bool:
    return any(finding.severity == "reject" for finding in findings)


def _print_findings(findings: Sequence[AuditFinding]) -> bool:
    """Print findings, one a line, and return whether one rejects the bundle."""
    counts: dict[tuple[str, str], int] = {}
    for finding in findings:
        kind = (finding.severity, finding.check)
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= SHOWN:
            line = one_line(f"{finding.severity}: {finding.check}: {finding.message}")
            typer.echo(line, err=finding.severity == "reject")
    for (severity, check), n in counts.items():
        if n > SHOWN:
            typer.echo(f"{severity}: {check}: {n - SHOWN} more.", err=severity == "reject")
    return _is_rejected(findings)
