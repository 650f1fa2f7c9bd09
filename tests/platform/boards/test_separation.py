"""Whether a board separates, is saturated or open, and what it says first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from boards import printed, retrained
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.boards.answer import answer, over_all, saturated_tasks
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.separation import count_words, separation
from longwave.platform.statistics.stats import Estimate

TRIVIAL = {"mean": 0.5, "last value": 0.4}
BETTER, WORSE = [0.1, 0.11, 0.12, 0.13, 0.14], [0.6, 0.61, 0.62, 0.63, 0.64]
MIXED = [0.1, 0.11, 0.12, 0.63, 0.64]


def board(task: str = "t", **tests: Sequence[float | str]) -> list[Row]:
    return rows([retrained(model, list(each), trivial=TRIVIAL, task=task) for model, each in tests.items()], [])


@pytest.mark.parametrize(
    ("tests", "word", "sentence"),
    [
        ([BETTER], "separates", "A beats the best trivial predictor (last value, 0.400)."),
        ([BETTER, BETTER], "separates", "A and B beat the best trivial predictor (last value, 0.400)."),
        ([WORSE, WORSE], "saturated", "No model beats the best trivial predictor (last value, 0.400)."),
        ([[0.4] * 5], "saturated", "No model beats the best trivial predictor (last value, 0.400)."),
        ([["diverged"] * 5], "saturated", "No model beats the best trivial predictor"),
        (
            [WORSE, BETTER[:4]],
            "open",
            "Open: only rows of fewer than 5 seeds beat the best trivial predictor, such as B.",
        ),
        ([MIXED], "open", "Open: 3 of 5 seeds of A beat the best trivial predictor, last value at 0.4: too few to "),
        ([BETTER[:4]], "open", "Open: no network has 5 seeds yet."),
        ([[*BETTER[:4], "diverged"]], "open", "Open: 4 of 5 seeds of A beat the best trivial predictor"),
    ],
)
def test_a_board_has_one_of_three_words(tests: list[list[float | str]], word: str, sentence: str) -> None:
    actual = separation(board(**dict(zip("ab", tests, strict=False))))
    assert (actual.word, actual.sentence[: len(sentence)]) == (word, sentence)


def test_five_seeds_of_one_network_among_several_leave_a_board_open_and_it_says_how_many_would_do() -> None:
    actual = separation(board(a=BETTER, b=WORSE, c=WORSE))
    assert actual.word == "open" and actual.sentence == (
        "Open: 5 of 5 seeds of A beat the best trivial predictor, last value at 0.4: too few to say that most "
        "seeds would; a single one of 3 networks needs 6 seeds or more for that."
    )
    assert separation(board(a=BETTER, b=BETTER)).word == "separates"
    assert separation(board(a=[*BETTER, 0.1], b=WORSE, c=WORSE)).word == "separates"
    lost = separation(board(a=[*BETTER, 0.9], b=WORSE, c=WORSE)).sentence
    assert lost.endswith(
        "5 of 6 seeds of A beat the best trivial predictor, last value at 0.4: too few to say that most seeds would, "
        "with 3 networks tested at once."
    )


def test_where_larger_is_better_a_network_must_be_above_the_predictor() -> None:
    about = {"trivial": {"majority": 50.0, "chance": 10.0}, "goal": "max", "metric": "accuracy", "unit": "%"}
    for tests, word in (([51.0] * 5, "separates"), ([49.0] * 5, "saturated"), ([49.0, 49.0, 51.0, 51.0, 51.0], "open")):
        assert separation(rows([retrained("a", tests, **about)], [])).word == word


def test_what_is_not_ranked_decides_nothing() -> None:
    """Printed numbers, superseded and untrusted rows, and a board without a trivial predictor."""
    losing = retrained("a", WORSE, trivial=TRIVIAL)
    old = retrained("b", BETTER, trivial=TRIVIAL, superseded="model version 0, now 1", model_version="0")
    foreign = retrained("c", BETTER, trivial=TRIVIAL)
    foreign = retrained(
        "c", BETTER, trivial=TRIVIAL, came={run.id: "f" * 64 for run in foreign.runs}, checks=[True] * 5
    )
    made = rows([losing, old, foreign], [printed("d", 0.01)])
    assert {row.kind for row in made} == {"retrained", "published", "trivial"}
    assert separation(made).word == "saturated"
    assert separation(rows([retrained("a", BETTER)], [])).sentence == "Open: no trivial predictor was scored."


@given(st.lists(st.lists(st.sampled_from([0.1, 0.3, 0.5]), min_size=5, max_size=7), min_size=1, max_size=4))
def test_a_saturated_board_has_no_median_and_no_leader_that_is_better(tests: list[list[float]]) -> None:
    made = board(**dict(zip("abcd", tests, strict=False)))
    told = separation(made)
    medians = [row.median for row in made if row.median is not None]
    assert (told.word == "saturated") == (min(medians) >= 0.4)
    assert told.word != "separates" or all(row.median is not None and row.median < 0.4 for row in told.better)
    assert (told.word == "separates") == bool(told.better)


def test_a_board_says_first_whether_it_separates_and_a_saturated_one_says_so_once() -> None:
    assert answer(board(a=BETTER)).sentence.startswith("A beats the best trivial predictor")
    lost = answer(board(a=WORSE, b=[0.7] * 5)).sentence
    assert lost.startswith("No model beats") and "Best median of 2 ranked rows: A" in lost
    assert "loses to" not in lost
    assert answer([]).sentence == "No retrained row is shown here."


def test_where_others_beat_the_predictor_and_the_best_median_does_not_it_says_why() -> None:
    best, sure = [*[0.1] * 8, 0.9, 0.9], [0.3] * 10
    says = answer(board(a=best, b=sure, c=sure, d=WORSE * 2)).sentence
    assert says.startswith(
        "B and C beat the best trivial predictor (last value, 0.400). Best median of 4 ranked rows: A"
    )
    assert says.endswith(
        " 8 of 10 seeds of A beat the best trivial predictor, last value at 0.4: too few to say that most seeds would, "
        "with 4 networks tested at once."
    )
    assert "tested at once" not in answer(board(a=[0.1] * 10, b=best)).sentence, "the best row does"


@pytest.mark.parametrize(
    ("ranks", "sentence"),
    [
        ([(2, 1, 3), (3, 4, 5)], "A, 2.0 [1.0, 3.0]; no other's range reaches that far."),
        ([(2, 1, 3), (3, 2, 5)], "; the range of its ranks overlaps with that of B."),
        ([(2, 1, 3), (2, 1, 6), (3, 2, 5), (4, 5, 7)], "; the ranges of their ranks overlap with that of C."),
        ([(2, 1, 3), (2, 1, 6), (3, 3, 5), (4, 2, 7)], "; the ranges of their ranks overlap with those of C and D."),
        ([(2, 1, 3), (2, 1, 6), (3, 4, 5)], "; the range of one of them overlaps with that of C."),
        ([(2, 1, 3), (2, 1, 3), (3, 4, 5)], "; no other's range reaches that far."),
    ],
)
def test_a_model_that_may_have_the_rank_of_all_that_lead_is_named(
    ranks: list[tuple[float, float, float]], sentence: str
) -> None:
    names = "abcd"[: len(ranks)]
    two = overview([row for task in "uv" for row in board(task, **dict.fromkeys(names, BETTER))])
    lines = [replace(line, rank=Estimate(*rank)) for line, rank in zip(two.lines, ranks, strict=True)]
    assert over_all(replace(two, lines=lines)).endswith(sentence)


def test_the_first_line_counts_the_tasks_of_each_word_and_ranks_over_those_that_separate() -> None:
    both = [*board("u", a=BETTER, b=BETTER), *board("v", a=WORSE, b=WORSE), *board("w", a=WORSE, b=MIXED)]
    actual = overview(both)
    assert [place for place, _ in actual.tasks] == ["u", "w", "v"], "separating, open, saturated"
    assert over_all(actual).startswith(
        "1 of 3 boards separates networks from trivial predictors (1 open, 1 saturated). Best mean rank of 2 models on "
        "the one separating board, u: A, 1.5 ["
    )
    assert saturated_tasks(actual) == "No model beats the best trivial predictor on 1 board: v."
    two = overview([*board("u", a=BETTER, b=BETTER), *board("w", a=BETTER, b=BETTER)])
    assert "2 of 2 boards separate networks from trivial predictors (0 open, 0 saturated)." in over_all(two)
    assert "Best mean rank of 2 models on the 2 separating boards" in over_all(two) and not saturated_tasks(two)
    none = over_all(overview(board("v", a=WORSE, b=WORSE)))
    assert (
        none.startswith("0 of 1 board separates networks")
        and "No model is ranked over all boards: none of these boards" in none
    )
    assert count_words([]).startswith("0 of 0 boards separate")


def test_a_task_is_to_be_retired_where_every_model_with_a_score_is_saturated() -> None:
    separating = board("u", a=BETTER, b=BETTER)
    whole = overview([*separating, *board("v", a=WORSE, b=WORSE), *board("w", a=WORSE, c=WORSE)])
    assert whole.to_retire == [("v", "")], "B never ran on w, and C has no score"
    few = overview([*separating, *board("v", a=WORSE, b=WORSE[:4])])
    assert few.of_word("saturated") == [("v", "")] and few.to_retire == []


def test_the_answer_counts_every_row_that_is_not_significantly_worse_than_the_best() -> None:
    near, far = ([level + 0.01 * k for k in range(10)] for level in (1.0, 2.0))
    sentence = answer(board(a=near, b=far, c=[3.0, 0.5])).sentence
    assert "not significantly better than C. Provisional" in sentence, "two seeds are too few"
    assert answer(board(a=near, b=far)).sentence.endswith("significantly better than all others.")
    mixed = [*(0.5 + 0.01 * k for k in range(5)), *(30.0 + k for k in range(5))]
    leading = answer(board(a=near, b=far, c=mixed, d=[1.2, *near[1:]]))
    assert leading.not_worse == 2 and "not significantly better than D and C." in leading.sentence
    assert leading.sure.startswith("not significantly better than D and C, of 3 others")


def test_rows_with_the_best_median_are_all_named() -> None:
    far = [2.0 + 0.01 * k for k in range(10)]
    near = [1.0 + 0.01 * k for k in range(10)]
    assert "Best median of 3 ranked rows: A and B, each 1.04, significantly better than all others." in (
        answer(board(a=near, b=near, c=far)).sentence
    )
    assert "Best median of 2 ranked rows: A and B, each 1.04." in answer(board(a=near, b=near)).sentence
    wide = [0.5, 0.6, 0.7, 0.8, *near[4:6], 30.0, 31.0, 32.0, 33.0]
    assert "A and B, each 1.04; only A is significantly better than the other one." in (
        answer(board(a=near, b=wide, c=far)).sentence
    )
    both = over_all(overview([*board("u", a=BETTER, b=BETTER), *board("v", a=BETTER, b=BETTER)]))
    assert re.search(r"separating boards: A, 1\.5 \[[^]]*\] and B, 1\.5 \[[^]]*\]\.( |$)", both)
    small, larger = ([level + 0.001 * k for k in range(10)] for level in (0.1, 0.3))
    three = over_all(overview([row for task in "uv" for row in board(task, a=small, b=small, c=larger)]))
    assert re.search(r"A, 1\.5 \[[^]]*\] and B, 1\.5 \[[^]]*\]; no other's range reaches that far\.", three)


def test_a_better_median_of_few_seeds_is_not_passed_over_in_silence() -> None:
    sentence = answer(board(a=[0.1, 0.2, 0.3], b=WORSE, c=WORSE)).sentence
    assert (
        "Best median of the rows with 5 seeds or more: B and C, each 0.620, not significantly better than A" in sentence
    )
