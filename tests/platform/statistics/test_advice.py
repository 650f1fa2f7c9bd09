"""How many seeds rank so many models: against simulated powers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.advice import (
    advice,
    detectable,
    enough_seeds,
    luck_note,
    parting_note,
    power,
    split_note,
)
from longwave.platform.statistics.ranking import apart
from longwave.platform.statistics.scale import Scale, Score

SHAPES = ((3, 5), (8, 5), (8, 8), (8, 10), (8, 20), (20, 5), (20, 10), (20, 20))
SIMULATED = {
    1.5: (0.20, 0.02, 0.21, 0.40, 0.92, 0.00, 0.14, 0.76),
    2.0: (0.41, 0.13, 0.50, 0.78, 1.00, 0.02, 0.45, 0.99),
    3.0: (0.82, 0.57, 0.95, 1.00, 1.00, 0.21, 0.96, 1.00),
    5.0: (1.00, 0.99, 1.00, 1.00, 1.00, 0.96, 1.00, 1.00),
}


@pytest.mark.parametrize("effect", SIMULATED)
def test_the_power_is_within_a_tenth_of_the_simulated_one(effect: float) -> None:
    for shape, simulated in zip(SHAPES, SIMULATED[effect], strict=True):
        assert power(*shape, effect) == pytest.approx(simulated, abs=0.1), shape


def test_a_board_is_told_what_its_seeds_find_and_how_many_find_more() -> None:
    assert advice(8, 5) == ("With 5 seeds only differences of 3.6 SD or more are detected (80 % power); with 7, 3 SD.")
    assert advice(8, 10) == ("With 10 seeds only differences of 2.2 SD or more are detected (80 % power).")
    assert advice(4, 3) == "With 3 seeds no difference between 4 rows is detected; 5 seeds detect 3 SD."
    assert advice(2, 1) == "With 1 seed no difference between 2 rows is detected; 4 seeds detect 3 SD."
    assert advice(1, 5) == advice(0, 5) == ""


def test_where_no_separation_passes_the_guard_nothing_is_ever_found() -> None:
    assert power(2, 3, 50.0) == power(3, 4, 50.0) == 0.0
    assert power(2, 4, 50.0) == power(3, 5, 50.0) == pytest.approx(1)
    assert detectable(3, 4) is None


@given(st.integers(2, 60))
def test_enough_seeds_are_enough_and_one_less_is_not(models: int) -> None:
    n = enough_seeds(models)
    assert power(models, n, 3.0) >= 0.8 > power(models, n - 1, 3.0)


def test_where_rows_learn_or_do_not_a_board_says_how_many_seeds_would_do() -> None:
    def board(seeds: int) -> list[list[Score]]:
        learning: list[Score] = [0.01 if k % 2 else 5.0 for k in range(seeds)]
        return [[level + 0.001 * k for k in range(seeds)] for level in (*[1.0] * 12, 4.0)] + [learning] * 2

    assert luck_note(board(5), Scale()) == (
        "12 pairs differ consistently, but by no more than the seeds of other rows differ among each other. With so "
        "few seeds that happens by luck, so no difference is claimed; 7 seeds a row would be enough."
    )
    assert not apart(board(6), Scale())[0, 12] and luck_note(board(6), Scale())
    assert apart(board(7), Scale())[0, 12] and luck_note(board(7), Scale()) == ""
    assert luck_note(board(5)[:2], Scale()) == luck_note([], Scale()) == luck_note([[1.0]], Scale()) == ""


def test_a_power_refuses_what_has_none() -> None:
    with pytest.raises(ValueError, match="got 1 models and 5 seeds"):
        power(1, 5, 3.0)
    with pytest.raises(ValueError, match="got 2 models and 0 seeds"):
        advice(2, 0)


def test_what_another_split_would_change_is_clopper_and_pearsons_interval_by_scipy() -> None:
    hits, items = 353, 360
    interval = scipy_stats.binomtest(hits, items).proportion_ci(0.95, "exact")
    assert split_note(100 * hits / items, items) == (
        f"All seeds share the same 360 test items: if these are independent, an accuracy of {100 * hits / items:.1f} "
        f"on them means {100 * interval.low:.1f} to {100 * interval.high:.1f} in general (95 %). Ranks ignore this "
        "uncertainty."
    )
    assert split_note(50.0, 2001) == "" and split_note(50.0, 2000)
    assert "an accuracy of 99.95 on them means 99.72 to 100.00 in" in split_note(99.95, 2000)
    assert "an accuracy of 100.0 on them means 99.8 to 100.0 in" in split_note(100.0, 2000)


LEARN_OR_NOT = [99.8] * 3 + [99.9] * 3 + [50.0, 50.1, 50.2, 50.3]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([LEARN_OR_NOT, [50.0 + 0.1 * k for k in range(10)]], "1 row"),
        ([LEARN_OR_NOT, [*LEARN_OR_NOT[:6], *[None] * 4], [99.0] * 10], "2 rows"),
        ([[99.9] * 8 + [50.0] * 2, [60.0] * 10], ""),  # two of ten may be chance
        ([LEARN_OR_NOT[2:9], [99.9] * 10], "1 row"),
        ([[50.1, 99.9, 99.9, 99.9, 50.4]] * 3, "3 rows"),
        ([[50.0, 60.0, 90.0, 99.0, 99.5]], ""),  # a jump of three quarters of the range: five seeds do so by chance
        ([[50.1, 99.9, 99.9, 50.4]], ""),
    ],
)
def test_where_seeds_fall_into_two_groups_the_power_for_learning_or_not_is_said(
    rows: list[list[float | None]], count: str
) -> None:
    note = parting_note(rows, Scale("max", 100.0, floor=0.05))
    assert note.startswith(f"The seeds of {count} fall into two groups") if count else note == ""


@pytest.mark.parametrize("seeds", [5, 10])
def test_normal_seeds_are_rarely_taken_for_two_groups(seeds: int) -> None:
    drawn = np.exp(np.random.default_rng(0).normal(size=(4000, seeds)))
    assert sum(bool(parting_note([row], Scale())) for row in drawn.tolist()) < 0.01 * len(drawn)
