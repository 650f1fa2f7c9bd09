"""Which trial a search has found best so far, and what the median search finds half-way."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from packs import trial

from longwave.platform.about import about
from longwave.platform.boards.progress import SearchProgress, progress
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.stats import Estimate


@pytest.mark.parametrize(("trials", "half"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 4)])
def test_half_of_a_search_is_half_its_trials_rounded_up(trials: int, half: int) -> None:
    curve = [Estimate(float(k)) for k in range(1, trials + 1)]
    assert SearchProgress([], [], None, curve).half == Estimate(float(half))
    assert SearchProgress([], [], None, ()).half is None


def test_of_equal_trials_the_first_that_ended_is_the_winner() -> None:
    first, second, third = (
        Trial(c, about(c), "ok", run=Run(c.id, "ok", valid=valid), ended=datetime(2026, 1, day, tzinfo=UTC))
        for day, valid in ((1, 0.5), (2, 0.25), (3, 0.25))
        for c in [trial(seed=day)]
    )
    assert progress([third, second, first], "min", learns=False).winner == second
