"""The chance that a longer search pays: by a power law of the smallest errors, against searches that go on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from longwave.platform.statistics.tuning import chance_to_improve


@pytest.mark.parametrize("k", [1.0, 4.0, 12.0, 30.0])
@pytest.mark.parametrize("draws", [32, 64])
def test_the_mean_chance_is_the_share_of_searches_that_improve_when_they_go_on(k: float, draws: int) -> None:
    rng = np.random.default_rng(round(k) + draws)
    errors = rng.random((4000, 2 * draws)) ** (1 / k)
    first, then = errors[:, :draws], errors[:, draws:]
    improved = np.mean(then.min(1) < first.min(1) / 1.25)
    said = np.mean([chance_to_improve(row.tolist()) for row in first])
    assert said == pytest.approx(improved, abs=0.05)


def test_scale_and_order_do_not_matter_and_what_diverged_says_nothing() -> None:
    errors = [0.3, 0.1, 0.12, 0.5, 0.11, 0.2, 0.9, 0.4, 0.13]
    chance = chance_to_improve(errors)
    assert chance == pytest.approx(chance_to_improve([7 * e for e in reversed(errors)] + [math.inf]))
    assert chance_to_improve(errors, 1.0) == 0.5
    assert chance_to_improve(errors[:7]) is None


def test_by_hand_the_best_quarter_gives_the_exponent() -> None:
    errors = [float(k) for k in range(1, 21)]
    total = sum(math.log(6 / e) for e in range(1, 6))
    assert chance_to_improve(errors) == pytest.approx(1 / (1 + 1.25 ** (5 / total)))


def test_where_no_error_is_left_or_all_are_equal_no_draw_can_improve() -> None:
    assert chance_to_improve([0.0] * 3 + [1.0] * 9) == 0.0
    assert chance_to_improve([0.5] * 12) == 0.0
