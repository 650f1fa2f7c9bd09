"""How a board's values are written: medians, means of the seeds that ended, verdicts, the protocol."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.boards import printed, texts
from longwave.platform.boards.numbers import column_power, factor_text, number_text, score_text
from longwave.platform.boards.row import Row
from longwave.platform.statistics.stats import diverged_share

SOURCE = {
    "value": 0.5,
    "std": None,
    "statistic": "mean",
    "n": None,
    "printed": "0.5",
    "sources": ["lem, Table 4 (this paper)"],
}


def row(**changes: Any) -> Row:
    """Return a row of five seeds around 0.0121."""
    scores = [0.0117, 0.0119, 0.0121, 0.0124, 0.0128]
    middle = {"median": 0.0121, "median_best": 0.0117, "median_worst": 0.0128, "median_level": 0.9375}
    same = {"mean": 0.01218, "std": 0.00043, "n": 5, "scores": scores, **middle}
    return Row("t", "", "lem", "LEM", "mse", "1", **{"goal": "min", **same, **changes})


def judged(word: str, **changes: Any) -> str:
    """Return the text of a verdict on a printed number."""
    ratio = {"ratio": 1.09, "ratio_low": 1.06, "ratio_high": 1.12}
    counts = {"n": 1, "n_ours": 5, "diverged_ours": 0, "more": None, "limit": False, "why": "", "departures": []}
    return printed.write_verdict({"verdict": word, **ratio, **counts, **changes})


def test_a_median_stands_with_its_interval_with_three_digits_each() -> None:
    assert texts.median(row()) == "0.0121 [0.0117, 0.0128]"
    assert texts.median(row(median=0.5, median_best=0.5, median_worst=0.5)) == "0.500 [0.500, 0.500]"
    far = {"median": -98.1, "median_best": -99.0, "median_worst": -12.0}
    assert texts.median(row(**far)) == "−98.1 [−99.0, −12.0]"
    assert texts.median(row(), power=-3) == "12.1 [11.7, 12.8]"
    assert texts.median(row(median=12345.6, median_best=0.0, median_worst=99999.0)) == "12,346 [0, 99,999]"


@given(st.floats(1e-6, 999.4) | st.sampled_from([99.97, 9.996, 0.9999]))
def test_each_number_has_three_digits_also_where_rounding_adds_a_place(value: float) -> None:
    text = texts.median(row(median=value), 0, interval=False) if value >= 1e-4 else number_text(value).split()[0]
    assert len(text.lstrip("0.").replace(".", "")) == 3, text
    assert value < 1e-4 or float(text) == float(f"{value:.3g}")


def test_the_power_of_ten_is_that_of_the_rounded_number() -> None:
    assert [number_text(value) for value in (9.9996e-5, 9.996e-6, 99_999.0, 0.0)] == [
        "0.000100",
        "1.00 × 10⁻⁵",
        "1.00 × 10⁵",
        "0",
    ]
    assert [column_power([row(median=value)]) for value in (9.996e-3, 9.996e-4, 9.994e-4)] == [0, -3, -4]


def test_only_a_perfect_score_is_written_as_one() -> None:
    accuracy = replace(row(goal="max"), metric="accuracy", unit="%")
    below = replace(accuracy, median=99.969, median_best=99.98, median_worst=94.4)
    assert texts.median(below) == "99.9 [94.4, 99.9]"
    assert texts.median(replace(accuracy, median=100.0, median_best=100.0, median_worst=99.2)) == "100 [99.2, 100]"
    assert (score_text(0.9996, 1.0), score_text(1.0, 1.0), score_text(99.97, None)) == ("0.999", "1.00", "100")
    accuracy = replace(row(kind="trivial", goal="max", mean=99.97), unit="%")
    assert (texts.median(accuracy), texts.median(replace(accuracy, mean=100.0))) == ("99.9", "100")


def test_a_number_of_many_places_has_a_power_of_ten_instead_of_digits_that_mean_nothing() -> None:
    far = row(median=1.5e20, median_best=1e20, median_worst=2.004e20, mean=1.44e20, std=4.04e19)
    assert texts.median(far) == "1.50 × 10²⁰ [1.00 × 10²⁰, 2.00 × 10²⁰]"
    assert texts.median(far, power=-7) == "1.50 × 10²⁷ [1.00 × 10²⁷, 2.00 × 10²⁷]"
    assert texts.result(far, power=-7) == "1.44 × 10²⁷ ± 4.04 × 10²⁶ (5)"
    assert texts.result(row(mean=-4e8, std=9e11)) == "−400,000,000 ± 900,000,000,000 (5)"
    assert (factor_text(123456.7), factor_text(1e27), number_text(-2e20)) == ("123,457", "1.00 × 10²⁷", "−2.00 × 10²⁰")


@given(*[st.floats(allow_nan=False, allow_infinity=False)] * 4)
def test_every_finite_number_can_be_written(smallest: float, median: float, mean: float, std: float) -> None:
    power = column_power([row(median=smallest)])
    table_row = row(median=median, median_best=median, median_worst=median, mean=mean, std=abs(std))
    for written in (texts.median(table_row, power), texts.median(table_row), texts.result(table_row, power)):
        assert len(written) < 80, written
    assert len(factor_text(abs(std))) < 20


def test_a_mean_below_zero_has_the_same_sign_as_the_median() -> None:
    below = row(median=-1.8, median_best=-1.5, median_worst=-2.0, mean=-1.78, std=0.19)
    assert (texts.median(below), texts.result(below)) == ("−1.80 [−1.50, −2.00]", "−1.78 ± 0.19 (5)")
    assert texts.result(replace(below, std=None, n=1)) == "−1.78 (1)"


def test_a_level_stands_after_the_power_of_ten() -> None:
    small = {"median": 1.2e-5, "median_best": 1.1e-5, "median_worst": 1.3e-5}
    assert texts.median(row(**small, median_level=0.75)) == "1.20 [1.10, 1.30] × 10⁻⁵ (75 %)"


def test_a_level_that_is_not_94_to_95_percent_is_printed_and_one_seed_has_no_interval() -> None:
    levels = {0.5: " (50 %)", 0.75: " (75 %)", 0.875: " (87.5 %)", 0.9375: "", 0.95: ""}
    for level, output in levels.items():
        assert texts.median(row(median_level=level)) == f"0.0121 [0.0117, 0.0128]{output}"
    assert texts.median(row(median_level=None, median_best=0.0121, median_worst=0.0121)) == "0.0121"


def test_the_ends_are_in_the_order_of_the_numbers_and_a_diverged_one_stands_at_the_worse_side() -> None:
    accuracy = {"goal": "max", "median": 98.0, "median_best": 99.0}
    assert texts.median(row(**accuracy, median_worst=97.0)) == "98.0 [97.0, 99.0]"
    assert texts.median(row(**accuracy, median_worst=None)) == "98.0 [diverged, 99.0]"
    assert texts.median(row(median_worst=None)) == "0.0121 [0.0117, diverged]"
    assert texts.median(row(median=None, median_worst=None)) == "diverged [0.0117, diverged]"
    assert texts.median(row(median=None, median_best=None, median_worst=None)) == "diverged"


def test_in_place_of_a_median_a_number_of_other_kinds_stands_and_a_better_predictor_marks_it() -> None:
    nothing = {"median": None, "n": 0, "scores": ()}
    assert [texts.median(row(kind=kind)) for kind in ("published", "trivial")] == ["0.0122", "0.0122"]
    assert texts.median(row(kind="published", mean=None)) == "—"
    assert texts.marked_median(row()) == "0.0121 [0.0117, 0.0128]"
    assert texts.marked_median(row(loses_to="mean")) == "0.0121† [0.0117, 0.0128]"
    assert texts.marked_median(row(loses_to="mean", kind="published")) == "0.0122†"
    assert texts.median(row(**nothing)) == "—" and texts.median(row(**nothing, diverged=1)) != "—"


def test_a_mean_never_stands_without_the_seeds_that_diverged() -> None:
    assert texts.result(row()) == "0.01218 ± 0.00043 (5)"
    assert texts.result(row(diverged=1)) == "0.01218 ± 0.00043 (5 of 6)"
    assert texts.result(row(n=3, scores=(1.0, 2.0, 3.0), diverged=1, failed=2, provisional=True)) == (
        "0.01218 ± 0.00043 (3 of 4, provisional)"
    )


@given(st.integers(0, 20), st.integers(0, 20))
def test_a_share_has_clopper_and_pearsons_interval(ended: int, diverged: int) -> None:
    actual = row(scores=[1.0] * ended, n=ended, diverged=diverged)
    if not ended + diverged:
        assert (actual.share, texts.share(actual)) == (None, "—")
        return
    message = diverged_share(diverged, ended + diverged)
    assert actual.share == message and actual.seed_count == len(actual.seeds) == ended + diverged
    ends = f"{100 * (message.low or 0):.0f}, {100 * (message.high or 0):.0f}"
    assert texts.share(actual) == (f"{100 * message.value:.0f} % [{ends}]" if diverged else "none")


def test_a_share_by_hand() -> None:
    assert texts.share(row(scores=[1.0] * 4, n=4, diverged=1)) == "20 % [1, 72]"


def test_a_verdict_is_its_word_and_the_ratio_of_errors() -> None:
    assert judged("reproduced") == "reproduced: error ratio 1.09 (1.06–1.12)"
    assert judged("worse", ratio=34.567, ratio_low=30.0, ratio_high=101.4) == "worse: error ratio 34.6 (30.0–101)"
    assert judged("better", ratio=0.0123, ratio_low=None) == "better: error ratio 0.012"
    assert judged("better", ratio=None) == "better"


def test_an_undecided_verdict_says_what_would_decide() -> None:
    output = "undecided: error ratio 1.09 (1.06–1.12)"
    assert judged("undecided", why="12 of our seeds would settle it.") == f"{output}; 12 of our seeds would settle it"
    limited = judged("undecided", limit=True, why="The printed number is one run: no.")
    assert limited == f"{output}; even 1,000 of our seeds would not settle it"
    assert judged("undecided", why="2 of 5 diverged.") == f"{output}; 2 of 5 diverged"
    assert judged("worse", limit=True, why="x") == "worse: error ratio 1.09 (1.06–1.12)"


def test_another_protocol_keeps_its_ratio_and_its_differences_stand_once_in_the_protocol() -> None:
    number = {
        **SOURCE,
        "departures": ["epochs 30 (published 400)", "hidden 8 (printed 16)"],
        "verdict": "other protocol",
    }
    number |= {"ratio": 1.24, "ratio_low": 1.1, "ratio_high": 1.4, "n_ours": 5, "diverged_ours": 0}
    actual = row(published=[number], recipe="LEM, Table 4", departures=["epochs 30 (published 400)"])
    assert printed.write_verdicts(actual) == "other protocol (1.24)"
    assert texts.protocol(actual) == (
        "recipe of LEM, Table 4; epochs 30 (published 400); beside 0.5: hidden 8 (printed 16)"
    )


@pytest.mark.parametrize(
    ("recipe", "output"),
    [
        ("LEM, Table 4", "recipe of LEM, Table 4"),
        ("ours, with the epochs of UnICORNN", "recipe ours, with the epochs of UnICORNN"),
        ("ours: LEM's", "recipe ours: LEM's"),
        ("units: coRNN, Table 6; batch ours", "recipe: units: coRNN, Table 6; batch ours"),
        ("", "recipe not recorded"),
    ],
)
def test_a_recipe_is_named_by_its_source_and_never_as_published(recipe: str, output: str) -> None:
    assert texts.protocol(row(recipe=recipe)) == output
    assert texts.protocol(row(recipe=recipe, known=["b"])) == f"{output}; 1 known difference: b"
    assert texts.protocol(row(recipe=recipe, departures=["a"], known=["b", "c"])) == (
        f"{output}; a; 2 known differences: b; c"
    )
    assert texts.protocol(row(recipe=recipe, kind="published")) == "—"


def test_a_row_without_a_printed_number_has_no_verdict() -> None:
    number = {**SOURCE, "verdict": "worse", "ratio": None, "n_ours": 5, "diverged_ours": 0, "departures": []}
    assert printed.write_verdicts(row(published=[number, {**number, "ratio": 2.0}])) == "worse; worse (2.00)"
    assert printed.write_verdicts(row(loses_to="ridge(32)")) == printed.write_verdicts(row()) == "—"


@pytest.mark.parametrize(
    ("metric", "words"), [("free_rmse", "free RMSE"), ("l2_error", "L2 error"), ("accuracy", "accuracy"), ("", "")]
)
def test_a_metric_is_written_in_words_with_its_acronyms_in_capitals(metric: str, words: str) -> None:
    assert texts.metric_words(metric) == words
