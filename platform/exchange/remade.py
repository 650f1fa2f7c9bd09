"""What of a bundle can be made again here without training: data, scores of trivial predictors, draws of searches."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from longwave.platform.about import about
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import BundledSweep, BundledTrial, File
from longwave.platform.exchange.inspection import Said
from longwave.platform.exchange.limits import CELLS, LEARNED, SECONDS
from longwave.platform.registry import get_task
from longwave.platform.sweeps.config import SweepFile, check_sweep
from longwave.platform.sweeps.plan import asked
from longwave.platform.sweeps.resolve import resolve
from longwave.platform.sweeps.space import learning
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError

SAME = 1e-3
"""Relative difference between machines that a trivial predictor's score can have."""
SLOW = f"its data and draws take more than {SECONDS:g} s to compare. Ask for it in parts."
MOST = 20_000
"""Largest number in a variant's name for which data are made, only to check a bundle."""


def data(file: File) -> Said:
    """The data are those this Longwave makes or has, and the search trials those it draws."""
    versions, until = defaultdict(set), time.monotonic() + SECONDS
    for entry in file.content.trials:
        versions[entry.config.task, entry.config.variant].add(entry.config.data)
    unknown = set()
    for (task, variant), told in sorted(versions.items()):
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
            lost = f"the data of {task} {variant}".rstrip() + " are not here: their version is not checked."
            yield (
                "flag",
                lost,
                ids(e for e in file.content.trials if (e.config.task, e.config.variant) == (task, variant)),
            )
        elif told != {here}:
            wrong = ", ".join(sorted(told - {here}))
            yield "reject", f"the data of {task} {variant}".rstrip() + f" have version {here}, got {wrong}."
        else:
            yield from _baselines(file, task, variant)
    trials = {e.config.id: e for e in file.content.trials}
    for sweep in file.content.sweeps:
        if time.monotonic() > until:
            yield "reject", SLOW
            return
        yield from _drawn([trials[trial] for trial in dict.fromkeys(sweep.trials)], sweep, unknown)


def _baselines(file: File, task: str, variant: str) -> Said:
    """Compare the scores of trivial predictors, and the least error, with those measured here."""
    mine = [e for e in file.content.trials if (e.config.task, e.config.variant) == (task, variant)]
    where, here, all_of = f"{task} {variant}".rstrip(), about(mine[0].config), ids(mine)
    for name, value in sorted({told for e in mine for told in e.about.trivial.items()}):
        if name not in here.trivial:
            yield (
                "flag",
                f"the predictor {name} of {where} cannot run here: its score {value:g} is not checked.",
                all_of,
            )
        elif not math.isclose(value, here.trivial[name], rel_tol=SAME):
            yield "flag", f"the predictor {name} of {where} scores {here.trivial[name]:g} here, got {value:g}.", all_of
    for told in sorted({e.about.floor for e in mine if e.about.floor or e.about.version == here.version}):
        if told != here.floor:
            yield "flag", f"the least error of {where} is {here.floor:g} here, got {told:g}.", all_of


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


def _drawn(entries: Sequence[BundledTrial], sweep: BundledSweep, unknown: set[tuple[str, str]]) -> Said:
    """Compare a sweep's search trials, among ``entries``, with those that are planned here from its settings."""
    if any((e.config.task, e.config.variant) in unknown for e in entries):
        return
    try:
        settings = check_sweep(sweep.content, "a sweep")
        if not concerns(settings, entries) or max(settings.searched, settings.rounds) > len(entries):
            return  # as ``plan`` says; nothing is drawn or loaded for what a forger asks for
        if too_much := _too_much(settings, len(entries)):
            yield "flag", f"sweep {settings.name}: {too_much}: its draws are not compared.", ids(entries)
            return
        here = asked(resolve(settings), {e.config.id: e.run for e in entries})
    except ConfigError as error:
        yield "flag", f"the search cannot be planned here: {error}", ids(entries)
        return
    drawn = {c.id for c in here if c.phase == "search"}
    other = sum(e.config.phase == "search" and e.config.id not in drawn for e in entries)
    if other:
        name = sweep.content["name"]
        yield "flag", f"sweep {name}: {other} search trials are not those drawn here.", ids(entries)


def ids(entries: Iterable[BundledTrial]) -> list[str]:
    """Return the identities of trials."""
    return [entry.config.id for entry in entries]


def _too_much(settings: SweepFile, trials: int) -> str:
    """Return what of a sweep would take too long to plan anew; empty if nothing would."""
    if large := [variant for variant in settings.places.values() if _large(variant)]:
        return f"the data of {large[0]} are too many to be made for this"
    if (cells := settings.cells) > trials + CELLS:
        return f"it has {cells} cells for {trials} trials"
    if settings.sampler in learning() and settings.searched > LEARNED:
        return f"{settings.searched} trials of a cell are drawn by learning from each other"
    return ""


def _large(variant: str) -> bool:
    return any(len(number) > 18 or int(number) > MOST for number in re.findall(r"\d+", variant))


def concerns(settings: SweepFile, entries: Sequence[BundledTrial]) -> bool:
    """Return whether a sweep's settings speak of the task, the variant and the models of its trials."""
    known = {(task, variant or get_task(task).variant) for task, variant in settings.places.items()}
    places = {(e.config.task, e.config.variant) for e in entries}
    return places <= known and {e.config.model for e in entries} <= {*settings.models}
