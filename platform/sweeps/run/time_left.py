"""How long a sweep will still take: the epochs that are left, at the measured pace of their cells, over its workers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from longwave.platform.records.stored import EpochCounts
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import largest_pack
from longwave.platform.sweeps.plan.cells import CellPlan
from longwave.platform.sweeps.run.status import PHASES, PhaseOfCell, counts_of_cell, remaining_by_phase

LOG_SECONDS = 50.0
"""Off a terminal a line says at least so often how far a sweep is."""
TRUSTED = 60.0
"""Seconds for which the paces are trusted whatever the clock says."""
PackRest = Mapping[PhaseOfCell, int]
"""Epochs that the trials of a pack in training still have, summed, by their cell and phase."""


def seconds_left(
    file: SweepFile,
    cells: Sequence[CellPlan],
    done: Mapping[PhaseOfCell, EpochCounts],
    paces: Mapping[int, float],
    training: Sequence[PackRest],
    slots: int,
) -> float | None:
    """Return the seconds that a sweep still takes; None before its first epoch.

    Packs are handed out in their order as workers become free, and a phase begins once the one before is over.

    Args:
        file, cells: Of the sweep.
        done: Epochs trained so far.
        paces: Seconds that a trial's epoch takes of its pack's time, by the index of its cell. A cell without one is
            taken to be as fast as the others are in the mean.
        training: The packs in training.
        slots: Packs that train at a time.
    """
    if not paces:
        return None
    mean = fmean(paces.values())
    left = [
        remaining_by_phase(file.of_cell(len(cell.space)), cell.epochs, counts_of_cell(done, k))
        for k, cell in enumerate(cells)
    ]
    total = 0.0
    for phase in PHASES:
        packs = list[float]()
        rest = {k: float(of_cell[phase]) for k, of_cell in enumerate(left)}
        for pack in training:
            own = {k: min(float(epochs), rest[k]) for (k, at), epochs in pack.items() if at == phase}
            rest |= {k: rest[k] - epochs for k, epochs in own.items()}
            packs += [sum(epochs * paces.get(k, mean) for k, epochs in own.items())] * bool(own)
        trials = {k: math.ceil(epochs / cells[k].epochs) for k, epochs in rest.items() if epochs}
        for k, count in trials.items():
            among = count if cells[k].looped else sum(trials.values())
            parts = math.ceil(count / largest_pack(among, slots, file.pack, count))
            packs += [rest[k] * paces.get(k, mean) / parts] * parts
        total += _last_end(packs, slots)
    return total


def delay(elapsed: float, expected: float) -> float:
    """Return how many times longer than expected a sweep takes: starts of workers and all else that no pace holds.

    Args:
        elapsed: Seconds since its first pack began.
        expected: Seconds that the paces say of what was trained in them. ``TRUSTED`` more are taken to be right, so
            that the first packs, which begin slowly, say little.
    """
    return (elapsed + TRUSTED) / (expected + TRUSTED)


def _last_end(packs: Iterable[float], slots: int) -> float:
    """Return when the last of some packs ends, each of which begins in its turn as soon as a worker is free."""
    free = [0.0] * slots
    for seconds in packs:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def duration_text(seconds: float | None) -> str:
    """Return a time as people say it; empty for None."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
