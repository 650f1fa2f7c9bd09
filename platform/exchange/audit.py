"""Inspect a bundle as a whole: its records against each other, against the sweeps that asked for them, and the data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from longwave.platform.boards.row import SHORT
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import BundledTrial, File
from longwave.platform.exchange.inspection import (
    Objection,
    Said,
    curves,
    explained,
    hashes,
    identity,
    names,
    scores,
    sizes,
    versions,
)
from longwave.platform.exchange.remade import concerns, data, ids
from longwave.platform.exchange.unlikely import dates, ends, numbers, smooth, speed
from longwave.platform.records.identity import derive_seed
from longwave.platform.records.seeds import seed_key
from longwave.platform.registry import get_task
from longwave.platform.sweeps.config import SweepFile, check_sweep
from longwave.platform.sweeps.plan import cell_of, retrainings, winner
from longwave.platform.sweeps.rounds import search_seeds

FACTS = ("longwave", "torch", "device", "commit", "lock", "kernel", "precision")
"""Facts of every run that trained."""


def audit(file: File) -> list[Objection]:
    """Return everything that can be said against a bundle. Some data are made or loaded, nothing is trained."""
    found: list[Objection] = []
    for check in CHECKS:
        found += [Objection(check.__name__, *said) for said in check(file)]
        if check in (names, explained, data) and any(f.severity == "reject" for f in found):
            break  # what follows looks names up, and takes it that they mean the same here
    return found


def plan(file: File) -> Said:
    """A sweep's search is whole, what was retrained is its best by validation, and every retraining is told."""
    trials = {e.config.id: e for e in file.content.trials}
    of_sweeps = {trial for sweep in file.content.sweeps for trial in sweep.trials}
    for sweep in file.content.sweeps:
        try:
            settings = check_sweep(sweep.content, "a sweep")
        except ConfigError as error:
            yield "reject", str(error)
            continue
        cells: dict[str, list[BundledTrial]] = defaultdict(list)
        for entry in (trials[trial] for trial in sweep.trials):
            cells[" ".join(map(str, cell_of(settings, entry.config)[len(settings.places) == 1 :]))].append(entry)
        for cell, entries in sorted(cells.items()):
            yield from _search(settings, cell, entries)
    for row, entries in sorted(_rows(file).items()):
        alone = [e for e in entries if e.config.id not in of_sweeps]
        if len(alone) == len(entries):
            yield "reject", f"row {row[:SHORT]} was asked for by no sweep: nothing says how it was selected."
        elif not all(e.rerun for e in alone):
            yield "reject", f"row {row[:SHORT]} has retrainings that no sweep asked for and that are no re-runs."
        key = seed_key(entries[0].config)
        if {e.config.seed for e in alone} - {derive_seed("reproduce", key, k) for k in range(len(alone))}:
            yield "flag", f"row {row[:SHORT]} has re-runs with chosen seeds, or some are not told.", ids(entries)
    for lost in sorted(e.config.id for e in trials.values() if e.config.phase == "search"):
        if lost not in of_sweeps:
            yield "reject", f"trial {lost} is a search trial that no sweep asked for."


def _search(settings: SweepFile, cell: str, entries: Sequence[BundledTrial]) -> Said:
    """Check one cell of one sweep."""
    where, first = f"sweep {settings.name}, {cell}", entries[0].config
    search = [e.config for e in entries if e.config.phase == "search"]
    ends = {e.config.id: e.run for e in entries}
    told = {e.config.id: e.config for e in entries if e.config.phase == "retrain"}
    if not concerns(settings, entries):
        places = ", ".join(f"{task} {variant}".rstrip() for task, variant in settings.places.items())
        trains = f"{', '.join(settings.models)} on {places}"
        yield "reject", f"{where}: the sweep trains {trains} alone."
    elif len(search) < settings.searched:
        lost = settings.searched - len(search)
        yield "reject", f"{where}: {lost} of {settings.searched} search trials are not told."
    elif sorted(c.seed for c in search) != sorted(search_seeds(settings, first.model)):
        yield "reject", f"{where}: its search trials have seeds that the sweep does not give."
    elif told and len(told) < settings.retrain:
        lost = settings.retrain - len(told)
        yield "reject", f"{where}: {lost} of {settings.retrain} retrainings are not told."
    elif told:
        goal = get_task(first.task).metric.goal
        best = winner(search, ends, goal) if settings.trials else next(iter(told.values()))
        if others := sorted({c.row for c in told.values()} - {best.row if best else ""}):
            name = f"row {best.row[:SHORT]}" if best else "none"
            yield "reject", f"{where}: row {others[0][:SHORT]} was retrained, the best by validation is {name}."
        elif best and set(told) != {c.id for c in retrainings(settings, best)}:
            yield "reject", f"{where}: its retrainings have seeds that the sweep does not give."


def provenance(file: File) -> Said:
    """Every run says what it ran on, and with which code."""
    for entry in file.content.trials:
        facts, name = _facts(file, entry), f"trial {entry.config.id}"
        missing = [fact for fact in FACTS if facts.get(fact, "unknown") == "unknown"]
        if missing and entry.run.status != "failed":
            yield "flag", f"{name} does not say its {', '.join(missing)}.", ids([entry])
        if facts.get("precision", entry.config.precision) != entry.config.precision:
            yield "reject", f"{name} asked for {entry.config.precision} and ran in {facts['precision']}."
        if facts.get("dirty") == "true" and "diff" not in facts:
            yield "flag", f"{name} ran with uncommitted changes that are not told.", ids([entry])


def plausible(file: File) -> Said:
    """Seeds give scores, and different ones; test data are not much easier than validation data."""
    for row, entries in sorted(_rows(file).items()):
        metric = get_task(entries[0].config.task).metric
        tests = [e.run.test for e in entries if e.run.test is not None]
        if len(set(tests)) < len(tests) and (metric.unit != "%" or len(set(tests)) == 1):
            yield "flag", f"row {row[:SHORT]} has the same score to the last bit for different seeds.", ids(entries)
        if failed := sum(e.run.status == "failed" for e in entries):
            lost = f"{failed} of {len(entries)} retrainings that failed and have no score"
            yield "flag", f"row {row[:SHORT]} has {lost}.", ids(entries)
        for entry in entries:
            if entry.run.test is None or entry.run.valid is None:
                continue
            test, valid = (100 - v if metric.goal == "max" else v for v in (entry.run.test, entry.run.valid))
            if test < valid / 2 and (metric.unit != "%" or valid - test > 1):
                told = f"{entry.run.test:g} on test data, {entry.run.valid:g} on validation data"
                yield "flag", f"trial {entry.config.id} is too good: {told}.", ids([entry])


def _rows(file: File) -> dict[str, list[BundledTrial]]:
    """Return the retrainings of each row."""
    rows: dict[str, list[BundledTrial]] = {}
    for entry in file.content.trials:
        if entry.config.phase == "retrain":
            rows.setdefault(entry.config.row, []).append(entry)
    return rows


def _facts(file: File, entry: BundledTrial) -> dict[str, str]:
    return file.content.environments.get(entry.place or "", {})


CHECKS: Sequence[Callable[[File], Said]] = (
    hashes,
    identity,
    names,
    versions,
    explained,
    sizes,
    curves,
    scores,
    plan,
    data,
    provenance,
    plausible,
    dates,
    speed,
    numbers,
    ends,
    smooth,
)
"""In order."""
