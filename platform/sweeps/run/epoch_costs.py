"""What an epoch of a pack costs, from the packs that a sweep has trained so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from longwave.platform.records.stored import PackPart

FEW = 10
"""Epochs of a size of packs whose mean is worth as much as what other sizes let expect."""


class EpochCosts:
    """The seconds of an epoch of a pack, by its cell and its number of members, as measured so far.

    Between two sizes of a cell's packs they are interpolated. Beyond, a member more costs as much as the fixed part of
    an epoch does: of packs on a CPU this is about so. What other sizes say of one counts as much as ``FEW`` epochs of
    its own, since the first ones of a pack are slow. A cell without an epoch is as fast as the others in the mean.

    Args:
        packs: The parts of each pack.

    Attributes:
        trained: Seconds that each pack has trained, by its key.
    """

    def __init__(self, packs: Mapping[str, Sequence[PackPart]]) -> None:
        sums: dict[int, dict[int, tuple[int, float]]] = defaultdict(dict)
        self.trained: dict[str, float] = defaultdict(float)
        for key, parts in packs.items():
            for cell, members, epochs, seconds in _stretches(parts):
                before = sums[cell].get(members, (0, 0.0))
                sums[cell][members] = before[0] + epochs, before[1] + seconds
                self.trained[key] += seconds
        self._means = {cell: _mean_by_size(of_cell) for cell, of_cell in sums.items()}

    def __bool__(self) -> bool:
        return bool(self._means)

    def epoch(self, cell: int, members: float) -> float:
        """Return the seconds of an epoch of a pack with so many members: a mean, where it is no whole number."""
        known = [self._means[cell]] if cell in self._means else self._means.values()
        return fmean(_epoch_at(members, points) for points in known)


def _mean_by_size(sums: Mapping[int, tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the seconds of an epoch by size, from the epochs and seconds of each."""
    own = sorted((members, seconds / epochs) for members, (epochs, seconds) in sums.items())
    if len(own) == 1:
        return own
    means = list[tuple[int, float]]()
    for members, (epochs, seconds) in sorted(sums.items()):
        expected = _epoch_at(members, [point for point in own if point[0] != members])
        means.append((members, (seconds + FEW * expected) / (epochs + FEW)))
    return means


def _stretches(parts: Sequence[PackPart]) -> Iterable[tuple[int, int, int, float]]:
    """Yield cell, members, epochs and seconds of each part of a pack's training in which nobody left it.

    A trial knows its share of the pack's time. The difference between trials that left one after the other, times the
    members that trained between, is what the pack took.
    """
    members, before = sum(part.trials for part in parts), (0, 0.0)
    for part in sorted(parts, key=lambda part: (part.epochs, part.seconds)):
        if part.epochs > before[0] and part.seconds > before[1]:
            epochs, share = part.epochs - before[0], part.seconds - before[1]
            yield part.cell, members, epochs, share * members
            before = part.epochs, part.seconds
        members -= part.trials


def _epoch_at(members: float, points: Sequence[tuple[int, float]]) -> float:
    """Return the seconds of an epoch at ``members`` from those at some sizes, in their order."""
    (low, least), (high, most) = points[0], points[-1]
    if members <= low:
        return least * (members + 1) / (low + 1)
    if members >= high:
        return most * (members + 1) / (high + 1)
    k = next(k for k, (size, _) in enumerate(points) if size > members)
    (a, x), (b, y) = points[k - 1], points[k]
    return x + (y - x) * (members - a) / (b - a)
