"""How long an epoch of a pack takes, from the packs that a sweep has trained so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from longwave.platform.records.stored import PackPart

PRIOR_EPOCHS = 10
"""Weight, in epochs, of the time that is expected from packs of other sizes."""


class EpochCosts:
    """The seconds of an epoch of a pack, by its cell and its number of members, as measured so far.

    Between two sizes of a cell's packs they are interpolated. Beyond them, each member is assumed to take as long as
    the fixed part of an epoch, which is roughly true on a CPU. The time expected from other sizes counts as much as
    ``PRIOR_EPOCHS`` measured epochs, since the first epochs of a pack are slow. A cell without an epoch gets the mean
    of the other cells.

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
        """Return the seconds of an epoch of a pack with ``members`` members; an expected number may be fractional."""
        sizes_by_cell = [self._means[cell]] if cell in self._means else self._means.values()
        return fmean(_epoch_at(members, points) for points in sizes_by_cell)


def _mean_by_size(sums: Mapping[int, tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the seconds of an epoch by size, from the epochs and seconds of each."""
    measured = sorted((members, seconds / epochs) for members, (epochs, seconds) in sums.items())
    if len(measured) == 1:
        return measured
    means = list[tuple[int, float]]()
    for members, (epochs, seconds) in sorted(sums.items()):
        expected = _epoch_at(members, [point for point in measured if point[0] != members])
        means.append((members, (seconds + PRIOR_EPOCHS * expected) / (epochs + PRIOR_EPOCHS)))
    return means


def _stretches(parts: Sequence[PackPart]) -> Iterable[tuple[int, int, int, float]]:
    """Yield cell, members, epochs and seconds of each part of a pack's training during which no trial ended.

    The seconds of a trial are its share of the pack's time. So the pack took the difference between two trials that
    ended one after the other, times the number of members that trained between their ends.
    """
    members, previous = sum(part.trials for part in parts), (0, 0.0)
    for part in sorted(parts, key=lambda part: (part.epochs, part.seconds)):
        if part.epochs > previous[0] and part.seconds > previous[1]:
            epochs, share = part.epochs - previous[0], part.seconds - previous[1]
            yield part.cell, members, epochs, share * members
            previous = part.epochs, part.seconds
        members -= part.trials


def _epoch_at(members: float, points: Sequence[tuple[int, float]]) -> float:
    """Return the seconds of an epoch at ``members`` from those at some sizes, in their order."""
    (low, low_seconds), (high, high_seconds) = points[0], points[-1]
    if members <= low:
        return low_seconds * (members + 1) / (low + 1)
    if members >= high:
        return high_seconds * (members + 1) / (high + 1)
    k = next(k for k, (size, _) in enumerate(points) if size > members)
    (a, x), (b, y) = points[k - 1], points[k]
    return x + (y - x) * (members - a) / (b - a)
