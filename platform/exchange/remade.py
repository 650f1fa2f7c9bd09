"""Checks that make again what needs no training: data, scores of trivial predictors, draws; and what data allow."""

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
"""Relative difference between machines that a trivial predictor's score can have."""
SLOW = f"comparing its data and draws takes more than {SECONDS:g} s. Ask for it in parts."
ROUNDED = 1e-6
"""Relative difference from a whole number of items that float32 can make; of edition 1 none is above 4e-8."""
LEAST_FLOOR = 1e-9
"""Least error that a bundle can claim to be half a test item: no test data have so many."""
MOST = 20_000
"""Largest number in a variant's name for which data are made, only to check a bundle."""


def check_data(bundle: Bundle) -> Findings:
    """The data are those this Longwave makes or has, and the search trials those it draws."""
    versions, until = defaultdict(set), time.monotonic() + SECONDS
    for entry in bundle.trials:
        versions[entry.config.task, entry.config.variant].add(entry.config.data)
    unknown = set()
    for (task, variant), theirs in sorted(versions.items()):
        if time.monotonic() > until:
            yield "reject", SLOW
            return
        try:
            here = _version(task, variant)
        except ValueError as error:
            yield "reject", str(error)
            continue
        if here is None:
            unknown.add((task, variant))
            lost = (
                f"the data of {task} {variant}".rstrip() + " are not on this machine, so their version is not checked."
            )
            yield (
                "flag",
                lost,
                ids(e for e in bundle.trials if (e.config.task, e.config.variant) == (task, variant)),
            )
        elif theirs != {here}:
            wrong = ", ".join(sorted(theirs - {here}))
            yield "reject", f"the data of {task} {variant}".rstrip() + f" have version {here}, got {wrong}."
        else:
            yield from _check_baselines(bundle, task, variant)
    trials = {e.config.id: e for e in bundle.trials}
    for sweep in bundle.sweeps:
        if time.monotonic() > until:
            yield "reject", SLOW
            return
        yield from _check_draws([trials[trial] for trial in dict.fromkeys(sweep.trials)], sweep, unknown)


def _check_baselines(bundle: Bundle, task: str, variant: str) -> Findings:
    """Compare the scores of trivial predictors, and the least error, with those measured here."""
    mine = [e for e in bundle.trials if (e.config.task, e.config.variant) == (task, variant)]
    where, here, all_of = f"{task} {variant}".rstrip(), about(mine[0].config), ids(mine)
    for name, value in sorted({score for e in mine for score in e.about.trivial.items()}):
        if name not in here.trivial:
            yield (
                "flag",
                f"the predictor {name} of {where} cannot run here: its score {value:g} is not checked.",
                all_of,
            )
        elif not math.isclose(value, here.trivial[name], rel_tol=SAME):
            yield "flag", f"the predictor {name} of {where} scores {here.trivial[name]:g} here, got {value:g}.", all_of
    for floor in sorted({e.about.floor for e in mine} - {here.floor}):
        yield "flag", f"the least error of {where} is {here.floor:g} here, got {floor:g}.", all_of


def check_possible_values(bundle: Bundle) -> Findings:
    """An accuracy is a multiple of one over the items that it counts.

    Where the data are not here, test items are as many as the bundle's own least error, half an item, says.
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
    """Return of how many test items a trial's explanation says that its accuracy is; 0 where it does not say."""
    floor = entry.about.floor
    return round(50 / floor) if get_task(entry.config.task).metric.unit == "%" and LEAST_FLOOR < floor <= 50 else 0


def _count_items(task: str, variant: str) -> tuple[int, int] | None:
    """Return of how many items an accuracy on validation and one on test data is; 0 for what is no accuracy.

    None where the data are not here.
    """
    metric, data = get_task(task).metric, loaded(task, variant)
    if data is None:
        return None
    if metric.unit != "%":
        return 0, 0
    validated, tested = (round(50 / metric.floor(split.targets)) for split in (data.valid, data.test))
    return validated, tested


def _version(task: str, variant: str) -> str | None:
    """Return the version of a task's data; None where they are not here or are too many to be made for this."""
    data = loaded(task, variant)
    return data.version if data else None


def loaded(task: str, variant: str) -> Data[Batch] | None:
    """Return a task's data; None where they are not here or are too many to be made for this.

    Raises:
        ValueError: The task has no such variant.
    """
    if _large(variant):
        return None
    try:
        return get_task(task).load(variant)
    except DataError:
        return None


def _check_draws(trained: Sequence[BundledTrial], sweep: BundledSweep, unknown: set[tuple[str, str]]) -> Findings:
    """Compare a sweep's search trials, among ``trained``, with those that are planned here from its settings."""
    if any((e.config.task, e.config.variant) in unknown for e in trained):
        return
    try:
        settings = check_sweep(sweep.content, "a sweep")
        if not concerns(settings, trained) or max(settings.least_searched, settings.rounds) > len(trained):
            return  # as ``plan`` says; nothing is drawn or loaded for what a forger asks for
        if too_much := _too_much(settings, len(trained)):
            yield "flag", f"sweep {settings.name}: {too_much}: its draws are not compared.", ids(trained)
            return
        here = all_trials(resolve(settings), {e.config.id: e.run for e in trained})
    except ConfigError as error:
        yield "flag", f"the search cannot be planned here: {error}", ids(trained)
        return
    drawn = {c.id for c in here if c.phase == "search"}
    other = sum(e.config.phase == "search" and e.config.id not in drawn for e in trained)
    if other:
        name = sweep.content["name"]
        yield "flag", f"sweep {name}: {other} search trials are not those drawn here.", ids(trained)


def ids(trials: Iterable[BundledTrial]) -> list[str]:
    """Return the identities of trials."""
    return [entry.config.id for entry in trials]


def _too_much(settings: SweepFile, trials: int) -> str:
    """Return what of a sweep would take too long to plan anew; empty if nothing would."""
    if large := [variant for variant in settings.variant_by_task.values() if _large(variant)]:
        return f"the data of {large[0]} are too many to be made for this"
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
    """Return whether a sweep's settings speak of the task, the variant and the models of its trials."""
    known = {(task, variant or get_task(task).variant) for task, variant in settings.variant_by_task.items()}
    tasks = {(e.config.task, e.config.variant) for e in trials}
    return tasks <= known and {e.config.model for e in trials} <= {*settings.models}
