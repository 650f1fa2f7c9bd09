"""Checks that recompute what needs no training: data, scores of trivial predictors, search draws, possible scores."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from longwave.platform.about import about
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import Bundle, BundledSweep, BundledTrial
from longwave.platform.exchange.finding import Findings
from longwave.platform.exchange.limits import CELLS, LEARNED, SECONDS
from longwave.platform.registry import get_task
from longwave.platform.search.space import learns
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError

SAME = 1e-3
"""Relative difference of a trivial predictor's score between machines."""
SLOW = f"comparing its data and draws takes more than {SECONDS:g} s. Ask for it in parts."
ROUNDED = 1e-6
"""Relative difference from a whole number of items due to float32; in edition 1 it is at most 4e-8."""
LEAST_FLOOR = 1e-9
"""Smallest error that a bundle may claim to be half a test item; smaller ones would need too many items."""
MOST = 20_000
"""Largest number in a variant's name for which data are generated only to check a bundle."""


def check_data(bundle: Bundle) -> Findings:
    """The data are those of this Longwave, and the search trials those that it draws."""
    versions, deadline = defaultdict(set), time.monotonic() + SECONDS
    for entry in bundle.trials:
        versions[entry.config.task, entry.config.variant].add(entry.config.data)
    without_data = set()
    for (task, variant), claimed in sorted(versions.items()):
        if time.monotonic() > deadline:
            yield "reject", SLOW
            return
        try:
            local = _version(task, variant)
        except ValueError as error:
            yield "reject", str(error)
            continue
        if local is None:
            without_data.add((task, variant))
            message = (
                f"the data of {task} {variant}".rstrip() + " are not on this machine, so their version is not checked."
            )
            yield (
                "flag",
                message,
                ids(e for e in bundle.trials if (e.config.task, e.config.variant) == (task, variant)),
            )
        elif claimed != {local}:
            unexpected = ", ".join(sorted(claimed - {local}))
            yield "reject", f"the data of {task} {variant}".rstrip() + f" have version {local}, got {unexpected}."
        else:
            yield from _check_baselines(bundle, task, variant)
    trials = {e.config.id: e for e in bundle.trials}
    for sweep in bundle.sweeps:
        if time.monotonic() > deadline:
            yield "reject", SLOW
            return
        yield from _check_draws([trials[trial] for trial in dict.fromkeys(sweep.trials)], sweep, without_data)


def _check_baselines(bundle: Bundle, task: str, variant: str) -> Findings:
    """Compare the scores of trivial predictors, and the smallest error, with those computed here."""
    entries = [e for e in bundle.trials if (e.config.task, e.config.variant) == (task, variant)]
    board, computed, trial_ids = f"{task} {variant}".rstrip(), about(entries[0].config), ids(entries)
    for name, value in sorted({score for e in entries for score in e.about.trivial.items()}):
        if name not in computed.trivial:
            yield (
                "flag",
                f"the predictor {name} of {board} cannot run here: its score {value:g} is not checked.",
                trial_ids,
            )
        elif not math.isclose(value, computed.trivial[name], rel_tol=SAME):
            yield (
                "flag",
                f"the predictor {name} of {board} scores {computed.trivial[name]:g} here, got {value:g}.",
                trial_ids,
            )
    for name in computed.trivial:
        if lacking := [e for e in entries if name not in e.about.trivial]:
            score = f"which scores {computed.trivial[name]:g} here"
            yield "flag", f"the predictor {name} of {board}, {score}, is missing.", ids(lacking)
    for floor in sorted({e.about.floor for e in entries} - {computed.floor}):
        yield "flag", f"the least error of {board} is {computed.floor:g} here, got {floor:g}.", trial_ids


def check_possible_values(bundle: Bundle) -> Findings:
    """An accuracy is a multiple of 1 / items.

    Without the data, the number of test items follows from the bundle's smallest error, which is half an item.
    """
    tasks = sorted({(e.config.task, e.config.variant) for e in bundle.trials})
    items = {task: _count_items(*task) for task in tasks}
    for entry in bundle.trials:
        validated, tested = items[entry.config.task, entry.config.variant] or (0, _claimed_items(entry))
        values = [(value, validated) for value in (*entry.curve.valid, entry.run.valid)]
        for value, count in [*values, (entry.run.test, tested)]:
            hits = (value or 0.0) * count / 100
            if abs(hits - round(hits)) > ROUNDED * (1 + hits):
                yield "reject", f"trial {entry.config.id} has {value:g} %, which is {hits:g} of {count} items."
                break


def _claimed_items(entry: BundledTrial) -> int:
    """Return the number of test items that a trial's description implies; 0 if it implies none."""
    floor = entry.about.floor
    return round(50 / floor) if get_task(entry.config.task).metric.unit == "%" and LEAST_FLOOR < floor <= 50 else 0


def _count_items(task: str, variant: str) -> tuple[int, int] | None:
    """Return the number of validation and test items of an accuracy, 0 for other metrics; None without the data."""
    metric, data = get_task(task).metric, loaded(task, variant)
    if data is None:
        return None
    if metric.unit != "%":
        return 0, 0
    validated, tested = (round(50 / metric.floor(split.targets)) for split in (data.valid, data.test))
    return validated, tested


def _version(task: str, variant: str) -> str | None:
    """Return the version of a task's data; None if they are not here, or too large to be generated for a check."""
    data = loaded(task, variant)
    return data.version if data else None


def loaded(task: str, variant: str) -> Data[Batch] | None:
    """Return a task's data; None if they are not here, or too large to be generated for a check.

    Raises:
        ValueError: The task has no such variant.
    """
    if _large(variant):
        return None
    try:
        return get_task(task).load(variant)
    except DataError:
        return None


def _check_draws(trained: Sequence[BundledTrial], sweep: BundledSweep, without_data: set[tuple[str, str]]) -> Findings:
    """Compare the search trials of a sweep with those planned here from its settings."""
    if any((e.config.task, e.config.variant) in without_data for e in trained):
        return
    try:
        settings = check_sweep(sweep.content, "a sweep")
        if not concerns(settings, trained) or max(settings.least_searched, settings.rounds) > len(trained):
            return  # ``check_plan`` rejects it; draw and load nothing for a forged plan
        if reason := _too_much(settings, len(trained)):
            yield "flag", f"sweep {settings.name}: {reason}: its draws are not compared.", ids(trained)
            return
        planned = all_trials(resolve(settings), {e.config.id: e.run for e in trained})
    except ConfigError as error:
        yield "flag", f"the search cannot be planned here: {error}", ids(trained)
        return
    drawn = {c.id for c in planned if c.phase == "search"}
    other_count = sum(e.config.phase == "search" and e.config.id not in drawn for e in trained)
    if other_count:
        name = sweep.content["name"]
        yield "flag", f"sweep {name}: {other_count} search trials are not those drawn here.", ids(trained)


def ids(trials: Iterable[BundledTrial]) -> list[str]:
    """Return the identities of trials."""
    return [entry.config.id for entry in trials]


def _too_much(settings: SweepFile, trials: int) -> str:
    """Return why a sweep takes too long to plan again; empty if it does not."""
    if large_variants := [variant for variant in settings.variant_by_task.values() if _large(variant)]:
        return f"the data of {large_variants[0]} are too many to be made for this"
    if (cells := settings.cell_count) > trials + CELLS:
        return f"it has {cells} cells for {trials} trials"
    if settings.sampler_arguments:
        return "its sampler has arguments of its own"
    if learns(settings.sampler) and settings.searched > LEARNED:
        return f"{settings.searched} trials of a cell depend on one another"
    return ""


def _large(variant: str) -> bool:
    return any(len(number) > 18 or int(number) > MOST for number in re.findall(r"\d+", variant))


def concerns(settings: SweepFile, trials: Sequence[BundledTrial]) -> bool:
    """Return whether a sweep's settings include the tasks, variants and models of its trials."""
    planned = {(task, variant or get_task(task).variant) for task, variant in settings.variant_by_task.items()}
    tasks = {(e.config.task, e.config.variant) for e in trials}
    return tasks <= planned and {e.config.model for e in trials} <= {*settings.models}
