"""How a setting was chosen: its search score, how lucky that was, its runner-up, and how sure the choice is."""

from __future__ import annotations

import math
from statistics import fmean, variance

import pytest
from scipy.stats import t, ttest_ind

from longwave.platform.boards.selection import describe_selection
from longwave.platform.records.group import SearchedTrial
from longwave.platform.statistics.scale import Scale

LOSS = Scale("min")


def trials(phase: str, row: str, *valids: float | None) -> list[SearchedTrial]:
    """Return the trials of one row; one without a score diverged."""
    return [
        SearchedTrial(f"{phase}{row}{k}", row, phase, "diverged" if v is None else "ok", v)
        for k, v in enumerate(valids)
    ]


def test_optimism_is_how_much_worse_the_median_retraining_is_than_the_score_that_was_searched() -> None:
    search = [*trials("search", "a", 0.1), *trials("search", "b", 0.05)]
    actual = describe_selection("a", search, [0.1, 0.2, 0.4], LOSS)
    assert (actual.score, actual.optimism, actual.runner_up, actual.better) == (0.1, pytest.approx(2.0), "", None)
    assert describe_selection("a", search, [0.1, None, None], LOSS).optimism is None
    assert describe_selection("c", search, [0.1], LOSS).score is None
    stopped = [SearchedTrial("s", "d", "search", "stopped", 0.9)]
    assert describe_selection("d", stopped, [0.1], LOSS).score is None, "it was a score of few epochs"
    accuracy = describe_selection("a", trials("search", "a", 90.0), [80.0], Scale("max", 100.0, 0.5))
    assert accuracy.optimism == pytest.approx(2.0)
    assert describe_selection("a", trials("search", "a", 90.0), [80.0], Scale("max", None)).optimism is None


def test_how_sure_a_choice_is_is_the_t_test_of_two_finalists_by_scipy() -> None:
    ours, theirs = (0.1, 0.12, 0.2), (0.15, 0.3, 0.21)
    race = [*trials("race", "a", *ours), *trials("race", "b", *theirs), *trials("race", "c", 0.01)]
    actual = describe_selection("a", race, [], LOSS)
    logs = [[math.log(v) for v in some] for some in (ours, theirs)]
    by_scipy = 1 - ttest_ind(*logs, alternative="less").pvalue
    assert actual.runner_up == "b" and actual.better == pytest.approx(by_scipy)
    other = describe_selection("b", race, [], LOSS)
    assert other.runner_up == "a" and other.better == pytest.approx(1 - by_scipy)


def test_all_finalists_with_several_seeds_tell_how_much_seeds_vary() -> None:
    scores = {"a": (0.1, 0.11), "b": (0.12, 0.13), "c": (0.2, 0.9)}
    race = [c for row, valids in scores.items() for c in trials("race", row, *valids)]
    logs = {row: [math.log(v) for v in valids] for row, valids in scores.items()}
    spread = math.sqrt(fmean(variance(values) for values in logs.values()))
    gap = (fmean(logs["b"]) - fmean(logs["a"])) / spread
    assert describe_selection("a", race, [], LOSS).better == pytest.approx(t.cdf(gap, 3))


def test_without_a_perfect_score_the_race_is_judged_by_its_scores() -> None:
    ours, theirs = (-0.1, 0.4, 0.2), (0.3, -0.5, -0.2)
    race = [*trials("race", "a", *ours), *trials("race", "b", *theirs)]
    actual = describe_selection("a", race, [], Scale("max", None))
    by_scipy = 1 - ttest_ind(ours, theirs, alternative="greater").pvalue
    assert actual.runner_up == "b" and actual.better == pytest.approx(by_scipy)


def test_of_finalists_that_all_diverged_somewhere_the_runner_up_did_so_least_and_then_has_the_best_mean() -> None:
    race = [*trials("race", "a", 0.1, 0.1, 0.1), *trials("race", "b", 0.01, None, None)]
    worse, better = trials("race", "c", 0.4, 0.4, None), trials("race", "d", 0.2, 0.2, None)
    assert describe_selection("a", [*race, *worse, *better], [], LOSS).runner_up == "d"
    assert describe_selection("a", [*race, *worse], [], LOSS).runner_up == "c"


def test_failed_trainings_of_a_race_are_left_out_and_their_setting_is_still_a_finalist() -> None:
    race = [*trials("race", "a", 0.2, 0.3, 0.25), *trials("race", "b", 0.4, 0.5)]
    failed = SearchedTrial("f", "b", "race", "failed", None)
    actual = describe_selection("a", [*race, failed], [], LOSS)
    logs = [[math.log(v) for v in some] for some in ((0.2, 0.3, 0.25), (0.4, 0.5))]
    assert actual.runner_up == "b" and actual.better == pytest.approx(1 - ttest_ind(*logs, alternative="less").pvalue)


def test_a_race_that_cannot_say_says_nothing() -> None:
    alone = trials("race", "a", 0.1)
    assert describe_selection("a", alone, [], LOSS).runner_up == ""
    diverged = [*trials("race", "a", 0.1, 0.2), *trials("race", "b", 0.1, None)]
    assert describe_selection("a", diverged, [], LOSS).better is None
    once = [*trials("race", "a", 0.1), *trials("race", "b", 0.2)]
    assert describe_selection("a", once, [], LOSS).better is None
