"""What the median search finds half-way."""

from __future__ import annotations

import pytest

from longwave.platform.boards.progress import SearchProgress
from longwave.platform.statistics.stats import Estimate


@pytest.mark.parametrize(("trials", "half"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 4)])
def test_half_of_a_search_is_half_its_trials_rounded_up(trials: int, half: int) -> None:
    curve = [Estimate(float(k)) for k in range(1, trials + 1)]
    assert SearchProgress([], [], None, curve).half == Estimate(float(half))
    assert SearchProgress([], [], None, ()).half is None
