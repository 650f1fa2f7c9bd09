"""Verdicts on printed numbers: by hand, against scipy, and how often each word is said of drawn repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from honesty.simulated_verdicts import BOUNDS, WORDS, Repetition, agrees, claimed_cells, count_verdicts, verdict_cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.gap import Word
from longwave.platform.statistics.printed import Printed, expected_extreme
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.verdict import Verdict, verdict

SHAPE = np.array([-1.2, -0.4, 0.1, 0.3, 1.2]) / np.std([-1.2, -0.4, 0.1, 0.3, 1.2], ddof=1)
"""Five seeds of mean 0 and std 1."""
ERROR = Scale()
ACCURACY = Scale("max", 100.0, 0.005)
RUN = Printed(1.0, "run")
UNLABELLED = Printed(1.0, "reported")
logs = st.lists(st.floats(-0.5, 0.5), min_size=3, max_size=9).filter(lambda x: np.std(x) > 1e-3)
numbers = st.sampled_from(
    [RUN, UNLABELLED, Printed(1.0, n=3), Printed(1.0, "mean", 0.1, 5), Printed(1.0, "best", n=4), Printed(1.0, "min")]
)


def seeds(ratio: float, spread: float) -> list[float]:
    """Return five errors of this geometric mean whose logs have this std."""
    return (ratio * np.exp(spread * SHAPE)).tolist()


def half(spread: float, n: int, p: float, runs: float = math.inf) -> float:
    return float(scipy_stats.t.ppf(p, n - 1)) * spread * math.sqrt(1 / n + 1 / runs)


@pytest.mark.parametrize(
    ("ours", "printed", "word"),
    [
        (seeds(1.0, 0.05), RUN, "reproduced"),
        (seeds(1.0, 0.05), Printed(1.0, n=5), "reproduced"),
        (seeds(1.0, 0.05), Printed(1.0, "mean", 0.05, 5), "reproduced"),
        (seeds(1.0, 0.05), UNLABELLED, "consistent"),
        (seeds(1.0, 0.15), RUN, "consistent"),
        (seeds(1.08, 0.05), Printed(1.0, "best", n=10), "consistent"),
        (seeds(1.04, 0.02), Printed(1.0, "best"), "consistent"),
        (seeds(1.5, 0.1), RUN, "worse"),
        (seeds(1 / 1.5, 0.1), RUN, "better"),
        (seeds(1 / 1.5, 0.1), UNLABELLED, "better"),
        (seeds(1.5, 0.1), UNLABELLED, "undecided"),  # the best of 10 may lie there
        (seeds(2.0, 0.1), UNLABELLED, "worse"),
        (seeds(1.5, 0.1), Printed(1.0, "best"), "undecided"),
        (seeds(2.5, 0.1), Printed(1.0, "best"), "worse"),
        (seeds(1.5, 0.22), RUN, "undecided"),
        (seeds(1.0, 0.25), RUN, "undecided"),
        (seeds(1.09, 0.01), Printed(1.0, "mean", 0.01, 5), "reproduced"),  # surely another, and within the margin
    ],
)
def test_words_by_hand(ours: list[float], printed: Printed, word: Word) -> None:
    assert verdict(ours, printed, ERROR).word == word


@pytest.mark.parametrize(("n", "spread"), [(5, 0.096), (10, 0.116), (1000, 0.136)])
def test_one_run_is_reproduced_up_to_the_scatter_that_methods_name(n: int, spread: float) -> None:
    shape = np.linspace(-1, 1, n) / np.std(np.linspace(-1, 1, n), ddof=1)
    for scatter, word in ((spread - 0.001, "reproduced"), (spread + 0.001, "consistent")):
        assert verdict(np.exp(scatter * shape).tolist(), RUN, ERROR).word == word


def test_five_seeds_that_scatter_too_much_to_reproduce_one_run_say_whether_more_would() -> None:
    actual = verdict(seeds(1.0, 0.12), RUN, ERROR)
    assert (actual.word, actual.more, actual.limit) == ("consistent", 0, False)
    least = next(n for n in range(6, 99) if half(0.12, n, 0.95, 1) < math.log(1.25))
    assert actual.why == f"{least} of our seeds may show it reproduced."
    actual = verdict(seeds(1.0, 0.14), RUN, ERROR)
    assert (actual.word, actual.more, actual.limit) == ("consistent", 0, True)
    assert actual.why == "The printed number is one run, so even 1,000 of our seeds would not show it reproduced."


@given(logs, st.floats(-0.4, 0.4))
def test_the_words_on_one_run_are_the_two_one_sided_and_the_two_sided_tests(ours: list[float], printed: float) -> None:
    n, gap, spread = len(ours), np.mean(ours) - printed, float(np.std(ours, ddof=1))
    margin, word = math.log(1.25), "undecided"
    if abs(gap) + half(spread, n, 0.95, 1) < margin:
        word = "reproduced"
    elif abs(gap) + half(spread, n, 0.95) < margin:
        word = "consistent"
    elif abs(gap) > half(spread, n, 0.975, 1) and not min(ours) <= printed <= max(ours):
        word = "worse" if gap > 0 else "better"
    assert verdict(np.exp(ours).tolist(), Printed(math.exp(printed), n=1), ERROR).word == word


def word_on_a_mean(ours: list[float], value: float, runs: int | None, relative: float | None) -> str:
    """Return the word by section 2 of few_seeds.md, written out."""
    errors, n, k = np.exp(ours), len(ours), runs or 1
    spread, std, mean = float(np.std(ours, ddof=1)), float(np.std(errors, ddof=1)), float(np.mean(errors))
    printed = spread if relative is None else math.sqrt(math.log(1 + relative**2))
    gap, run = float(np.mean(ours)) + spread**2 / 2 - math.log(value), float(np.mean(ours)) - math.log(value)
    own = spread**2 / n + spread**4 / (2 * (n - 1))

    def t(p: float) -> float:
        return float(scipy_stats.t.ppf(p, n - 1))

    def both(p: float, theirs: float) -> float:
        return t(p) * math.sqrt(own + theirs**2 / k + theirs**4 / (2 * k))

    def plain(p: float) -> float:
        theirs = std if relative is None else max(relative * value, std * value / mean)
        return t(p) * math.sqrt(std**2 / n + theirs**2 / k)

    if runs and abs(gap) + both(0.95, printed) < math.log(1.25):
        return "reproduced"
    if abs(gap) + t(0.95) * math.sqrt(own) < math.log(1.25):
        return "consistent"
    sure = 0.995 if relative is None else 0.975
    worse = gap > both(0.975, max(printed, spread)) and mean - value > plain(0.975)
    better = gap < -both(sure, max(printed, spread)) and mean - value < -plain(sure)
    better = better and (relative is not None or n >= 10)
    if not runs:
        worse = worse and run > half(spread, n, 0.975, 1) and value < errors.min()
        better = better and run < -half(spread, n, 0.975, 1) and value > errors.max()
    return "undecided" if spread > 0.8 else "worse" if worse else "better" if better else "undecided"


spreads = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=14).filter(lambda x: np.std(x) > 1e-3)


@pytest.mark.integration
@given(
    spreads,
    st.floats(0.05, 1.5),
    st.floats(0.2, 4.0),
    st.sampled_from([None, 2, 5, 20]),
    st.sampled_from([None, 0.02, 0.2, 0.9]),
)
@settings(max_examples=300)
def test_the_words_on_a_mean_need_the_log_normal_interval_and_the_plain_one(
    shape: list[float], scatter: float, value: float, runs: int | None, relative: float | None
) -> None:
    ours = (scatter * np.array(shape)).tolist()
    theirs = Printed(value, "mean", relative and relative * value, runs)
    assert verdict(np.exp(ours).tolist(), theirs, ERROR).word == word_on_a_mean(ours, value, runs, relative)


def test_a_mean_of_seeds_that_scatter_too_much_is_undecided_and_says_so() -> None:
    for value in (0.01, 100.0):
        actual = verdict(np.exp(0.9 * SHAPE).tolist(), Printed(value, n=5), ERROR)
        assert (actual.word, actual.more, actual.limit) == ("undecided", None, False)
        assert actual.why == "Our seeds vary too much for a mean to be compared (SD of logs 0.9)."


def test_better_than_a_mean_without_a_std_takes_ten_seeds_and_with_one_five() -> None:
    assert verdict(seeds(0.3, 0.1), Printed(1.0, n=5), ERROR).word == "undecided"
    assert verdict(seeds(0.3, 0.1), Printed(1.0, n=5), ERROR).more == 10
    assert verdict(seeds(0.3, 0.1) * 2, Printed(1.0, n=5), ERROR).word == "better"
    assert verdict(seeds(0.3, 0.1), Printed(1.0, "mean", 0.1, 5), ERROR).word == "better"
    assert verdict(seeds(3.0, 0.1), Printed(1.0, n=5), ERROR).word == "worse"


@given(logs, numbers, st.floats(0.5, 2), st.floats(1e-6, 1e6))
def test_a_unit_changes_no_word_and_no_ratio(ours: list[float], printed: Printed, value: float, unit: float) -> None:
    def judged(by: float) -> Verdict:
        std = None if printed.std is None else by * printed.std
        theirs = replace(printed, value=by * value, std=std, rounding=by * 0.01)
        return verdict((by * np.exp(ours)).tolist(), theirs, ERROR, trivial=by * 3)

    one, other = judged(1.0), judged(unit)
    assert one.ratio is not None and other.ratio is not None
    ends = np.log([one.ratio.low, one.ratio.high])
    assume(all(abs(abs(end) - math.log(1.25)) > 1e-6 for end in ends))
    assert (one.word, one.limit) == (other.word, other.limit)
    assert vars(one.ratio) == pytest.approx(vars(other.ratio), rel=1e-6)


@given(logs, st.sampled_from([RUN, Printed(1.0, n=3)]), st.floats(0.7, 1.4), st.floats(1, 5))
def test_more_scatter_never_makes_a_number_reproduced(
    ours: list[float], printed: Printed, value: float, times: float
) -> None:
    theirs, middle = replace(printed, value=value), np.mean(ours)
    wider = np.exp(middle + times * (np.array(ours) - middle)).tolist()
    if verdict(wider, theirs, ERROR).word == "reproduced":
        assert verdict(np.exp(ours).tolist(), theirs, ERROR).word == "reproduced"


@given(logs, st.just(RUN), st.floats(0.5, 2))
def test_better_and_worse_than_one_run_are_mirrored(ours: list[float], printed: Printed, value: float) -> None:
    other = {"better": "worse", "worse": "better"}
    relative = printed.std or 0.0
    words = [
        verdict(np.exp(x).tolist(), replace(printed, value=v, std=relative * v if relative else None), ERROR).word
        for x, v in ((np.array(ours), value), (-np.array(ours), 1 / value))
    ]
    assert words[1] == other.get(words[0], words[0])


@given(logs, numbers, st.floats(0.5, 2))
def test_an_accuracy_is_judged_as_its_error_rate(ours: list[float], printed: Printed, value: float) -> None:
    theirs, errors = replace(printed, value=value, rounding=0.05), np.exp(ours)
    if theirs.statistic == "min":
        theirs = replace(theirs, statistic="max")
    actual = verdict((100 - errors).tolist(), replace(theirs, value=100 - value), ACCURACY)
    other = verdict(errors.tolist(), replace(theirs, statistic=printed.statistic), Scale(floor=0.005))
    assert actual.word == other.word
    assert actual.ratio is not None and vars(actual.ratio) == pytest.approx(vars(other.ratio), rel=1e-6)


@given(logs, numbers, st.floats(0.5, 2), st.floats(0, 0.1))
def test_no_word_denies_the_ratio_beside_it(ours: list[float], printed: Printed, value: float, rounding: float) -> None:
    theirs = replace(printed, value=value, rounding=rounding)
    actual = verdict(np.exp(ours).tolist(), theirs, ERROR)
    assert actual.ratio is not None and actual.ratio.low is not None and actual.ratio.high is not None
    assert actual.ratio.low <= actual.ratio.value * (1 + 1e-9) and actual.ratio.value <= actual.ratio.high * (1 + 1e-9)
    assert (actual.word == "worse") <= (actual.ratio.low > 1)
    assert (actual.word == "better") <= (actual.ratio.high < 1)
    if theirs.kind in ("one run", "mean", "mean ± std"):
        assert (actual.word == "reproduced") == (actual.ratio.low > 0.8 and actual.ratio.high < 1.25)
    assert (actual.more == 0) == (actual.word != "undecided")


def test_the_ratio_is_of_geometric_means_with_the_interval_of_the_test() -> None:
    for printed in (RUN, UNLABELLED):
        ratio = verdict(seeds(1.3, 0.1), printed, ERROR).ratio
        wide = math.exp(half(0.1, 5, 0.95, 1))
        assert ratio is not None
        assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.3, 1.3 / wide, 1.3 * wide))


def test_the_ratio_to_a_mean_is_of_log_normal_means() -> None:
    ratio = verdict(seeds(1.3, 0.4), Printed(1.0, n=3), ERROR).ratio
    middle = 1.3 * math.exp(0.4**2 / 2)
    error = math.sqrt(0.4**2 / 5 + 0.4**4 / 8 + 0.4**2 / 3 + 0.4**4 / 6)
    wide = math.exp(float(scipy_stats.t.ppf(0.95, 4)) * error)
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((middle, middle / wide, middle * wide))


def test_the_ratio_to_a_best_of_k_is_of_our_expected_best_of_k() -> None:
    ratio = verdict(seeds(1.3, 0.1), Printed(1.0, "best", n=10), ERROR).ratio
    assert ratio is not None and ratio.value == pytest.approx(1.3 * math.exp(-0.1 * expected_extreme(10)))


@given(logs, st.floats(0.6, 1.6))
def test_undecided_names_the_least_number_of_seeds_that_decides(ours: list[float], value: float) -> None:
    actual = verdict(np.exp(ours).tolist(), replace(RUN, value=value), ERROR)
    assume(actual.word == "undecided")
    gap, spread = abs(np.mean(ours) - math.log(value)), float(np.std(ours, ddof=1))
    n = np.arange(len(ours) + 1, 1001)
    within = gap + scipy_stats.t.ppf(0.95, n - 1) * spread / np.sqrt(n) < math.log(1.25)
    one_side = max(ours) < math.log(value) or min(ours) > math.log(value)  # else one of our seeds speaks against it
    apart = (gap > scipy_stats.t.ppf(0.975, n - 1) * spread * np.sqrt(1 / n + 1)) & one_side
    decide = within | apart
    if not decide.any():
        assert (actual.more, actual.limit) == (None, True)
        assert actual.why == "The printed number is one run, so even 1,000 of our seeds would not settle it."
    else:
        assert (actual.more, actual.limit) == (n[decide.argmax()], False)
        assert actual.why == f"{actual.more} of our seeds would settle it."


def test_fewer_seeds_that_would_show_a_difference_are_named_before_more_that_would_show_agreement() -> None:
    printed = Printed(1.0, "mean", 0.1, 100)
    ours = [math.exp(gap) for gap in (0.09, 0.19, 0.29)]
    actual = verdict(ours, printed, ERROR)
    assert (actual.word, actual.more, actual.why) == ("undecided", 4, "4 of our seeds would settle it.")


def test_rounding_works_against_every_word() -> None:
    for ours, printed in ((seeds(1.0, 0.05), RUN), (seeds(1.0, 0.05), UNLABELLED), (seeds(1.4, 0.1), RUN)):
        assert verdict(ours, replace(printed, rounding=0.01), ERROR).word == verdict(ours, printed, ERROR).word
        actual = verdict(ours, replace(printed, rounding=0.5), ERROR)
        assert (actual.word, actual.more, actual.limit) == ("undecided", None, True)
        assert actual.why == "The printed number has too few digits, so even 1,000 of our seeds would not settle it."
    assert verdict(seeds(0.5, 0.1), replace(RUN, rounding=0.5), ERROR).word == "undecided"


def test_the_margin_is_at_most_a_quarter_of_the_way_to_the_trivial_predictor() -> None:
    ours = seeds(1.0, 0.04)
    edge = math.exp(4 * half(0.04, 5, 0.95, 1))
    for trivial, word in ((1.01 * edge, "reproduced"), (1.01 / edge, "consistent"), (0.99 * edge, "consistent")):
        assert verdict(ours, RUN, ERROR, trivial=trivial).word == word
    near_it = verdict(ours, RUN, ERROR, trivial=1.1)
    assert (near_it.word, near_it.limit) == ("undecided", False)
    actual = verdict(ours, RUN, ERROR, trivial=1.0)
    assert (actual.word, actual.more, actual.limit) == ("undecided", None, True)
    assert (
        actual.why
        == "The printed number lies too close to a trivial predictor, so even 1,000 of our seeds would not settle it."
    )


def test_a_margin_of_the_tasks_own_replaces_the_usual_one() -> None:
    assert verdict(seeds(1.3, 0.05), RUN, ERROR).word == "worse"
    assert verdict(seeds(1.3, 0.05), RUN, ERROR, margin=1.5).word == "reproduced"
    with pytest.raises(ValueError, match="ratio above 1, got 1"):
        verdict(seeds(1.0, 0.1), RUN, ERROR, margin=1.0)


@pytest.mark.parametrize(("ratio", "word"), [(1.0, "undecided"), (0.5, "undecided"), (2.0, "worse")])
def test_a_diverged_seed_leaves_no_word_but_worse(ratio: float, word: Word) -> None:
    actual = verdict([*seeds(ratio, 0.05), None, None], RUN, ERROR)
    assert (actual.word, actual.n, actual.diverged, actual.limit) == (word, 5, 2, False)
    assert (actual.why, actual.more) == ("2 of 7 diverged.", 0 if word == "worse" else None)
    assert actual.ratio == verdict(seeds(ratio, 0.05), RUN, ERROR).ratio


def test_fewer_than_three_seeds_decide_nothing() -> None:
    for ours in ([9.0], [9.0, 9.1]):
        actual = verdict(ours, RUN, ERROR)
        assert (actual.word, actual.n, actual.more, actual.limit) == ("undecided", len(ours), 3, False)
        assert actual.why == "A verdict needs at least 3 seeds that ended."
        assert actual.ratio is not None and (actual.ratio.low is None) == (len(ours) == 1)
    assert verdict([9.0, 9.1, 9.2], RUN, ERROR).word == "worse"
    assert verdict([9.0, 9.1, None], RUN, ERROR).why == "1 of 3 diverged."


@pytest.mark.parametrize(
    ("scores", "printed", "scale", "why"),
    [
        ([], RUN, ERROR, "No seed of ours ended."),
        ([None, None], RUN, ERROR, "2 of 2 diverged."),
        ([-1.0, -1.1, -1.2], RUN, Scale("max", None), "no score of zero error"),
        ([1.0, 1.1, 1.2], Printed(0.0, "run"), ERROR, "The printed error is zero"),
        ([98.0, 98.1, 98.2], Printed(100.0, "mean", 0.0, 5), Scale("max", 100.0), "The printed error is zero"),
        ([0.0, 1.1, 1.2], RUN, ERROR, "A seed of ours has zero error"),
        ([1.0, 1.1, 1.2], Printed(1.0, "max", n=5), ERROR, "the worst of several"),
    ],
)
def test_where_no_ratio_exists_the_verdict_says_why(
    scores: Sequence[Score], printed: Printed, scale: Scale, why: str
) -> None:
    actual = verdict(scores, printed, scale)
    assert (actual.word, actual.ratio, actual.more, actual.limit) == ("undecided", None, None, False)
    assert why in actual.why


def test_equal_scores_reproduce_what_they_equal_and_stand_apart_from_the_rest() -> None:
    for printed, word in ((RUN, "reproduced"), (UNLABELLED, "consistent"), (Printed(1.0, "best", n=5), "consistent")):
        assert verdict([1.0] * 5, printed, ERROR).word == word
        assert verdict([2.0] * 5, printed, ERROR).word == "worse"
        assert verdict([0.5] * 5, printed, ERROR).word == "better"


def test_equal_accuracies_are_known_to_half_a_test_item() -> None:
    assert verdict([50.0] * 5, Printed(98.9, "reported", rounding=0.05), ACCURACY).word == "worse"
    # Five times no mistake in 10 000 items: 10 mistakes of theirs are more, but how many more is not known.
    actual = verdict([100.0] * 5, Printed(99.9, "run", rounding=0.05), ACCURACY)
    assert (actual.word, actual.limit) == ("undecided", False)
    actual = verdict([100.0] * 5, Printed(100.0, "run", rounding=0.05), ACCURACY)
    assert actual.why == "The printed number has too few digits, so even 1,000 of our seeds would not settle it."


def test_a_printed_perfect_score_can_still_be_missed() -> None:
    assert verdict([60.0, 61.0, 62.0], Printed(100.0, "run", rounding=0.05), ACCURACY).word == "worse"


def test_errors_beyond_all_ratios_have_none() -> None:
    huge, tiny = [1e300, 2e300, 3e300], Printed(1e-30, "run")
    assert (verdict(huge, tiny, ERROR).word, verdict(huge, tiny, ERROR).ratio) == ("worse", None)
    with pytest.raises(ValueError, match="not finite at positions \\[1\\]"):
        verdict([1.0, math.nan, 1.0], RUN, ERROR)


CASES = 600
TABLE = {(r.paper, r.cv, r.n, r.ratio): (r, claim) for r, claim in claimed_cells()}
DECISIVE = [
    *(("mean ± std of 5", cv, 5, ratio) for cv, ratio in ((0.05, 1.0), (0.1, 1.0), (0.1, 1.1), (0.22, 1.5))),
    *(("one run", cv, 5, ratio) for cv, ratio in ((0.05, 1.0), (0.05, 1.1), (0.1, 1.0), (0.22, 1.5))),
    *(("unlabelled, truly one run", cv, 5, ratio) for cv, ratio in ((0.05, 1.0), (0.05, 1.5), (0.1, 1.3))),
    *(("best of 10", cv, 5, ratio) for cv, ratio in ((0.05, 1.0), (0.1, 1.0), (0.1, 1.5))),
]


@pytest.mark.parametrize("cell", DECISIVE, ids=str)
def test_each_word_is_said_as_often_as_methods_claim(cell: tuple[str, float, int, float]) -> None:
    repetition, claim = TABLE[cell]
    actual = count_verdicts(repetition, CASES)
    for word, claimed in zip(WORDS, claim, strict=True):
        assert agrees(claimed, actual[word], CASES), f"{word}: claimed {claimed:.0%}, found {actual[word]:.1%}."


@pytest.mark.parametrize(
    ("repetition", "word", "bound"),
    [
        (Repetition("mean ± std of 5", 0.22, ratio=1.5), "reproduced", 0.01),
        (Repetition("one run", 0.22, ratio=1.5), "either", 0.08),
        (Repetition("one run", 0.22), "worse", 0.03),
        (Repetition("unlabelled, truly the best of 10", 0.22), "worse", 0.03),
        (Repetition("unlabelled, truly the best of 10", 0.1, ratio=1.5), "either", 0.01),
        (Repetition("best, truly of 10", 0.1), "worse", 0.01),
        (Repetition("one run", 0.1, noise="normal"), "worse", 0.03),
        (Repetition("mean ± std of 5", 0.05, digits=1), "worse", 0.01),
    ],
    ids=str,
)
def test_a_false_word_is_as_rare_as_methods_claim(repetition: Repetition, word: str, bound: float) -> None:
    assert count_verdicts(repetition, CASES)[word] <= bound + 4 * math.sqrt(bound * (1 - bound) / CASES)


def test_a_number_that_is_secretly_the_best_of_ten_is_met_as_often_as_methods_claim() -> None:
    for cv, claimed in ((0.02, 1.0), (0.05, 0.99), (0.1, 0.41), (0.22, 0.03)):
        assert agrees(
            claimed, count_verdicts(Repetition("unlabelled, truly the best of 10", cv), CASES)["either"], CASES
        )


@pytest.mark.integration
def test_every_claim_of_methods_has_a_simulation_that_runs() -> None:
    lines = [line for case in verdict_cases(25) for line in case()]
    assert len(lines) == len(TABLE) + len(BOUNDS)
    # In 25 draws one false word breaks a bound of a few in a thousand.
    assert sum(line.holds for line in lines) > 0.95 * len(lines)


PERFECT: dict[str, tuple[list[float], Printed, str]] = {
    "all perfect, far above a mean ± std": ([100.0] * 10, Printed(50.0, std=1.0, statistic="mean", n=5), "better"),
    "all perfect, far above a mean": ([100.0] * 10, Printed(50.0, statistic="mean", n=5), "better"),
    "all but one": ([100.0] * 9 + [99.9], Printed(50.0, std=1.0, statistic="mean", n=5), "better"),
    "none perfect": ([99.9] * 10, Printed(85.0, std=1.0, statistic="mean", n=5), "better"),
}


@pytest.mark.parametrize("case", PERFECT)
def test_perfect_accuracies_without_any_spread_are_better_than_a_mean_far_below(case: str) -> None:
    scores, printed, word = PERFECT[case]
    judged = verdict(scores, printed, Scale("max", 100.0, floor=0.05), 1.25, 10.0)
    assert judged.word == word and judged.ratio and judged.ratio.value < 0.01
    assert "vary too much" not in judged.why
