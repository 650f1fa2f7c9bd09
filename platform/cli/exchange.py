"""Commands that exchange results between machines: submit, import."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.boards.row import SHORT
from longwave.platform.boards.trust import shipped
from longwave.platform.cli.app import StoreOption
from longwave.platform.cli.names import a_task, task_key
from longwave.platform.editions.folder import find_results
from longwave.platform.errors import ConfigError, NoStoreError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.finding import find_conflicts
from longwave.platform.exchange.parts import join
from longwave.platform.exchange.shipped import are_shipped, list_trials
from longwave.platform.paths import check_is_file, store_option, store_url
from longwave.platform.render.harmless import one_line
from longwave.platform.render.stages import show_stages
from longwave.platform.render.terminal import print_line, print_unwrapped
from longwave.platform.storage.engine import check_folder
from longwave.platform.storage.store import Store
from longwave.platform.wording import describe_count, list_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longwave.platform.exchange.bundle import File
    from longwave.platform.exchange.finding import AuditFinding
    from longwave.platform.exchange.reading import StageReport
    from longwave.platform.records.stored import TrialEnd

SHOWN = 5
"""Findings of one kind that are printed; the others are counted."""


def submit_rows(
    file: Annotated[Path, typer.Argument(help="Where to write the bundle: NAME.json.xz")],
    task: Annotated[
        str | None, typer.Option(help="Only rows of this task.", callback=task_key, autocompletion=a_task)
    ] = None,
    row: Annotated[
        list[str] | None, typer.Option(metavar="ROW", help="A row's name or first digits; may be repeated.")
    ] = None,
    over: Annotated[bool, typer.Option("--over", help="Leave out searches and rows that have not finished.")] = False,
    store: StoreOption = None,
) -> int:
    """Write rows as a bundle for another machine. There, `longwave import` reads it.

    The bundle contains configurations, curves, outcomes, environments and uncommitted changes. No bundle is written
    that `import` would reject. An older bundle is replaced only if the new one contains all its trials.

    Example: longwave submit lem.json.xz --task fitzhugh_nagumo
    """
    from longwave.platform.exchange.audit import audit
    from longwave.platform.exchange.collect import collect

    bundle.check_target(file)
    with Store(store_url(store), create=False) as open_store:
        sealed = bundle.seal(collect(open_store, task, row or (), over))
    if not sealed.content.trials:
        raise ConfigError("None of these trials has ended. Finish a sweep with: longwave sweep resume NAME")
    bundle.check_replaces(sealed, file)
    with show_stages() as report:
        findings = audit(sealed, report=report)
    if _print_findings(findings):
        unfinished = any(f.severity == "reject" and f.check in ("plan", "identity") for f in findings)
        steps = " Finish the sweeps with: longwave sweep resume NAME. Or leave out what has not finished, with --over."
        typer.echo(f"longwave: No bundle was written.{steps * unfinished}", err=True)
        return 2
    bundle.write(sealed, file)
    rows = describe_count(len(sealed.content.rows), "row")
    trials = describe_count(len(sealed.content.trials), "trial")
    print_line(f"Bundle {sealed.name[:SHORT]}: {rows}, {trials}, in {file}.")
    return 0


def import_rows(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Bundles written by `longwave submit`, or folders of editions."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check it; import nothing.")] = False,
    replay: Annotated[int, typer.Option(min=0, help="Train this many of its trials again, up to a random epoch.")] = 0,
    store: StoreOption = None,
) -> int:
    """Check bundles, or those of an edition, and add their rows. All are added or none, and nothing in them is run.

    A bundle that contradicts itself is rejected, with exit status 2. What cannot be checked here is flagged, and its
    rows are marked as claimed. Rows of Longwave's own editions are trusted. All others are untrusted: they have no
    rank until you trust the bundle with `longwave board --trust BUNDLE`, or train a row twice with `longwave reproduce
    ROW --keep` and one score falls inside its interval. Name bundles that depend on each other, such as those of a
    search and of a second one that continues it, in one command.

    Example: longwave import lem.json.xz --dry-run
    """
    files = [file for path in paths for file in (find_results(path) if path.is_dir() else [path])]
    if not files:
        raise ConfigError(
            f"{paths[0]} contains no results to import. Its publisher can add them with: longwave publish --results"
        )
    for file in files:
        check_is_file(file)
    files = _without_copies(files)
    url = store_url(store)
    if not dry_run:
        check_folder(url)
        with suppress(NoStoreError), Store(url, create=False) as open_store:
            open_store.check_writable()
    if are_shipped(files) and not dry_run and not replay:
        with Store(url) as open_store:
            return _import_shipped(open_store, files)
    return _import_foreign(url, files, dry_run, replay)


def _without_copies(files: Sequence[Path]) -> list[Path]:
    """Return the first of each group of equal files: an edition contains the bundles of the one before."""
    first: dict[str, Path] = {}
    for path in files:
        with path.open("rb") as file:
            first.setdefault(hashlib.file_digest(file, "sha256").hexdigest(), path)
    return [*first.values()]


def _import_shipped(store: Store, files: Sequence[Path]) -> int:
    """Import bundles that ship with the package; see ``import_rows``."""
    trials, new_count = list_trials(files), 0
    if not store.have_trusted_ends(trials):
        from longwave.platform.exchange import intake

        with show_stages() as report:
            new_count = intake.import_shipped(store, files, trials, report)
    bundles, new = describe_count(len(files), "bundle"), describe_count(new_count, "trial")
    print_line(f"{bundles} of Longwave: {new} imported, {len(trials) - new_count:,} already known.")
    return 0


def _import_foreign(url: str, files: Sequence[Path], dry_run: bool, replay: int) -> int:
    """Import bundles of any origin; see ``import_rows``."""
    from longwave.platform.exchange import intake

    with show_stages() as report:
        bundles = bundle.read_together(files, report)
        joined = join(bundles)
        trials = [entry.config.id for entry in joined.content.trials]
        ends = _read_ends(url, trials)
        examined = dry_run or replay > 0 or len(ends) < len(trials)
        findings = _examine_files(bundles, joined, replay, report) if examined else _check_hashes(bundles)
        findings += find_conflicts(joined.content.trials, ends)
        new_count = 0
        if not dry_run and not _is_rejected(findings):
            with Store(url) as store:  # created only now
                new_count = intake.import_bundle(store, joined, findings, bundles, report)
    if _print_findings(findings):
        typer.echo(f"longwave: {_name(bundles)} is rejected; nothing was imported.", err=True)
        return 2
    level = f": {_describe_level(joined, findings)}" if examined else ""
    if dry_run:
        print_line(f"{_name(bundles)} can be imported{level}. Nothing was imported.")
        return 0
    known = f"{len(trials) - new_count:,} already known"
    print_line(f"{_name(bundles)}: {describe_count(new_count, 'trial')} imported, {known}{level}.")
    untrusted = [file for file in bundles if file.name not in shipped()]
    if new_count and untrusted:
        names, option = " ".join(f"--trust {file.name[:SHORT]}" for file in untrusted), store_option(url)
        steps = f"Rank them with longwave board {names}{option}"
        if joined.content.rows:
            steps += f", or one row by running longwave reproduce ROW --keep{option} twice"
        print_unwrapped(f"They are untrusted. {steps}.")
    return 0


def _read_ends(url: str, trials: Sequence[str]) -> dict[str, TrialEnd]:
    """Return the status and results of trials in a store; a store that does not exist has none."""
    with suppress(NoStoreError), Store(url, read_only=True) as store:
        return store.ends_of(trials)
    return {}


def _name(files: Sequence[File]) -> str:
    return f"Bundle {list_first([file.name[:SHORT] for file in files], 1)}"


def _describe_level(file: File, flags: Sequence[AuditFinding]) -> str:
    """Return the verification of a bundle's rows: the level of all, or how many are flagged."""
    from longwave.platform.exchange.intake import messages_by_trial

    rows = {e.config.id: e.config.row for e in file.content.trials if e.config.phase == "retrain"}
    flagged = {rows[trial] for trial in messages_by_trial(file, flags).keys() & rows.keys()}
    if flags and len(flagged) < (count := len(set(rows.values()))):
        return f"{len(flagged)} of {count} rows claimed, the others schema-checked"
    return "claimed" if flags else "schema-checked"


def _check_hashes(bundles: Sequence[File]) -> list[AuditFinding]:
    """Return the findings on the hashes of bundles whose trials are all known."""
    from longwave.platform.exchange.audit import check_file_hashes

    return check_file_hashes(bundles)


def _examine_files(bundles: Sequence[File], joined: File, replay: int, report: StageReport) -> list[AuditFinding]:
    """Return the findings of the checks, and then of replayed trials."""
    from longwave.platform.exchange import replay as replays
    from longwave.platform.exchange.audit import audit

    if replay > (most := len(replays.list_replayable(joined))):
        raise ConfigError(f"--replay must be at most {most}, the trials that can be trained again, got {replay}.")
    findings = _without_shipped(audit(joined, bundles, report), bundles)
    if replay and not _is_rejected(findings):
        report("Training again", 0, replay)
        findings += replays.replay(joined, replay)
    return findings


def _without_shipped(findings: Sequence[AuditFinding], bundles: Sequence[File]) -> list[AuditFinding]:
    """Return the findings without flags that only concern trials of bundles that ship with the package. Those are
    trusted, and a task that was renamed since they were published has its old name in them.
    """
    ours = {entry.config.id for file in bundles if file.name in shipped() for entry in file.content.trials}
    return [
        finding
        for finding in findings
        if finding.severity == "reject" or not finding.trials or not ours.issuperset(finding.trials)
    ]


def _is_rejected(findings: Sequence[AuditFinding]) -> bool:
    return any(finding.severity == "reject" for finding in findings)


def _print_findings(findings: Sequence[AuditFinding]) -> bool:
    """Print findings, one per line, and return whether one rejects the bundle."""
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
