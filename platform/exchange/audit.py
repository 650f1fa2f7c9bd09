"""Checks of a bundle as a whole: its records against each other, against their sweeps, and against the data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from longwave.platform.boards.row import SHORT
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import Bundle, BundledTrial, File
from longwave.platform.exchange.finding import AuditFinding, Findings
from longwave.platform.exchange.inspection import (
    check_curves,
    check_explained,
    check_hashes,
    check_identity,
    check_names,
    check_scores,
    check_secrets,
    check_sizes,
    check_versions,
)
from longwave.platform.exchange.reading import StageReport, ignore_stage
from longwave.platform.exchange.remade import check_data, check_possible_values, concerns, ids
from longwave.platform.records.identity import derive_seed
from longwave.platform.records.run import Run
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.statistics.scale import Scale, scale_of
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cell_numbers import cell_key
from longwave.platform.sweeps.plan.race import next_heat
from longwave.platform.sweeps.plan.seeds import search_seeds
from longwave.platform.sweeps.plan.trials import choose_winner, plan_retrainings

FACTS = ("longwave", "torch", "device", "commit", "lock", "kernel", "precision")
"""Environment facts that every training has."""


def audit(file: File, joined: Sequence[File] = (), report: StageReport = ignore_stage) -> list[AuditFinding]:
    """Return the findings of all checks of a bundle. Some data are generated or loaded, nothing is trained.

    Args:
        file: The bundle.
        joined: The bundles from which it was joined, if several.
        report: Called with the name of each check.
    """
    findings = check_file_hashes(joined or [file])
    for k, check in enumerate(CHECKS):
        name = check.__name__.removeprefix("check_")
        report(f"Checking {name.replace('_', ' ')}", k, len(CHECKS))
        findings += [AuditFinding(name, *finding) for finding in check(file.content)]
        if check in STOPS and any(f.severity == "reject" for f in findings):
            break
    return findings


def check_file_hashes(files: Sequence[File]) -> list[AuditFinding]:
    """Return the findings on the hashes of bundles and on their names, which are hashes too."""
    return [AuditFinding("hashes", *finding) for file in files for finding in check_hashes(file)]


def check_plan(bundle: Bundle) -> Findings:
    """A sweep's search is complete, its best trial by validation was retrained, and no retraining is missing."""
    trials = {e.config.id: e for e in bundle.trials}
    of_sweeps = {trial for sweep in bundle.sweeps for trial in sweep.trials}
    for sweep in bundle.sweeps:
        try:
            settings = check_sweep(sweep.content, "a sweep")
        except ConfigError as error:
            yield "reject", str(error)
            continue
        cells: dict[str, list[BundledTrial]] = defaultdict(list)
        for entry in (trials[trial] for trial in sweep.trials):
            cells[" ".join(map(str, cell_key(settings, entry.config)[len(settings.variant_by_task) == 1 :]))].append(
                entry
            )
        for cell, trained in sorted(cells.items()):
            yield from _check_cell(settings, cell, trained)
    for row, trained in sorted(_rows(bundle).items()):
        outside_sweeps = [e for e in trained if e.config.id not in of_sweeps]
        if len(outside_sweeps) == len(trained):
            yield "reject", f"row {row[:SHORT]} belongs to no sweep, so its selection cannot be checked."
        elif not all(e.rerun for e in outside_sweeps):
            yield "reject", f"row {row[:SHORT]} has retrainings that are neither part of a sweep nor re-runs."
        key = seed_key(trained[0].config)
        if {e.config.seed for e in outside_sweeps} - {
            derive_seed("reproduce", key, k) for k in range(len(outside_sweeps))
        }:
            yield "flag", f"row {row[:SHORT]} has re-runs whose seeds were chosen, or lacks some of them.", ids(trained)
    for searched in sorted(e.config.id for e in trials.values() if e.config.phase != "retrain"):
        if searched not in of_sweeps:
            yield "reject", f"trial {searched} is a search trial that belongs to no sweep."


def _check_cell(settings: SweepFile, cell: str, trained: Sequence[BundledTrial]) -> Findings:
    """Check one cell of one sweep."""
    cell_name, first = f"sweep {settings.name}, {cell}", trained[0].config
    search, raced = ([e.config for e in trained if e.config.phase == phase] for phase in ("search", "race"))
    ends = {e.config.id: e.run for e in trained}
    retrained = {e.config.id: e.config for e in trained if e.config.phase == "retrain"}
    metric = get_task(first.task).metric
    scale = scale_of(metric.name, metric.goal, metric.unit, trained[0].about.floor)
    if not concerns(settings, trained):
        tasks = ", ".join(f"{task} {variant}".rstrip() for task, variant in settings.variant_by_task.items())
        trains = f"{', '.join(settings.models)} on {tasks}"
        yield "reject", f"{cell_name}: the sweep trains only {trains}."
    elif len(search) < settings.least_searched:
        missing = settings.least_searched - len(search)
        yield "reject", f"{cell_name}: {missing} of {settings.least_searched} search trials are missing."
    elif sorted(c.seed for c in search) != sorted(search_seeds(settings, first)[: len(search)]):
        yield "reject", f"{cell_name}: its search trials have seeds that do not follow from the sweep."
    elif (raced or retrained) and not _is_race(settings, scale, search, raced, ends):
        yield "reject", f"{cell_name}: its race does not follow from its search."
    elif retrained and len(retrained) < settings.retrain:
        missing = settings.retrain - len(retrained)
        yield "reject", f"{cell_name}: {missing} of {settings.retrain} retrainings are missing."
    elif retrained:
        best = (
            choose_winner(settings, scale, search, raced, ends) if settings.trials else next(iter(retrained.values()))
        )
        if others := sorted({c.row for c in retrained.values()} - {best.row if best else ""}):
            name = f"row {best.row[:SHORT]}" if best else "none"
            yield "reject", f"{cell_name}: row {others[0][:SHORT]} was retrained, but {name} is the best by validation."
        elif best and set(retrained) != {c.id for c in plan_retrainings(settings, best)}:
            yield "reject", f"{cell_name}: its retrainings have seeds that do not follow from the sweep."


def _is_race(
    settings: SweepFile,
    scale: Scale,
    search: Sequence[TrialConfig],
    raced: Sequence[TrialConfig],
    ends: Mapping[str, Run],
) -> bool:
    """Return whether the race's trials are those that follow from the search, heat by heat."""
    raced_ids, planned = {c.id for c in raced}, list[TrialConfig]()
    while heat := next_heat(settings, scale, search, planned, ends):
        if not {c.id for c in heat} <= raced_ids:
            return False
        planned += heat
    return len(planned) == len(raced)


def check_provenance(bundle: Bundle) -> Findings:
    """Every run states its environment and its code."""
    for entry in bundle.trials:
        facts, name = _facts(bundle, entry), f"trial {entry.config.id}"
        missing = [fact for fact in FACTS if facts.get(fact, "unknown") == "unknown"]
        if missing and entry.run.status != "failed":
            yield "flag", f"{name} does not say its {', '.join(missing)}.", ids([entry])
        if facts.get("precision", entry.config.precision) != entry.config.precision:
            yield "reject", f"{name} was planned in {entry.config.precision} and ran in {facts['precision']}."
        if facts.get("dirty") == "true" and "diff" not in facts:
            yield "flag", f"{name} ran with uncommitted changes that are missing.", ids([entry])


def _rows(bundle: Bundle) -> dict[str, list[BundledTrial]]:
    """Return the retrainings of each row."""
    rows: dict[str, list[BundledTrial]] = {}
    for entry in bundle.trials:
        if entry.config.phase == "retrain":
            rows.setdefault(entry.config.row, []).append(entry)
    return rows


def _facts(bundle: Bundle, entry: BundledTrial) -> dict[str, str]:
    return bundle.environments.get(entry.place or "", {})


CHECKS: Sequence[Callable[[Bundle], Findings]] = (
    check_secrets,
    check_identity,
    check_names,
    check_versions,
    check_explained,
    check_sizes,
    check_curves,
    check_scores,
    check_plan,
    check_data,
    check_possible_values,
    check_provenance,
)
"""In order."""
STOPS = (check_secrets, check_identity, check_names, check_explained, check_data)
"""Checks after which later ones are skipped if they reject: these would look up missing or unrelated records."""
