"""The README's table of an edition: a model a line, a task a column, saturated tasks folded, bold as on boards."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from boards import retrained
from edition_table import summary

from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row


def of(task: str, models: Sequence[str], goal: str = "min", trivial: float | None = None) -> list[Row]:
    """Return the rows of a board, the first model's error the least; all are better than its trivial predictor."""
    predictors = {"mean": (99.0 if goal == "min" else -99.0) if trivial is None else trivial}
    tests = {model: [k + 1.0 + seed / 100 for seed in range(8)] for k, model in enumerate(models)}
    return rows([retrained(m, each, goal, task=task, trivial=predictors) for m, each in tests.items()], [])


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of each table, head first, without the line below the head."""
    parts = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    return [[[c.strip() for c in line.strip("|").split("|")] for line in (part[0], *part[2:])] for part in parts]


@pytest.mark.parametrize(
    ("boards", "expected"),
    [
        ({"a": "xy", "b": "z", "c": "yw"}, ["ac", "b"]),
        ({"a": "x", "b": "y", "c": "z", "d": "xy"}, ["abd", "c"]),
        ({"a": "x", "b": "x"}, ["ab"]),
    ],
)
def test_boards_that_share_a_model_stand_in_one_table(boards: dict[str, str], expected: list[str]) -> None:
    actual = tables(summary([row for task, models in boards.items() for row in of(task, models)]))
    assert [head for head, *_ in actual] == [
        ["by mean rank", "mean rank", "score", *(f"{task if len(named) > 1 else 'T'} ↓" for task in named)]
        for named in expected
    ]
    for (_, *lines), named in zip(actual, expected, strict=True):
        models = {model.upper() for task in named for model in boards[task]}
        assert {line[0] for line in lines} == {*models, "*best trivial*"}


def test_an_arrow_says_which_way_is_better_and_a_model_that_was_not_trained_has_a_dash() -> None:
    [[head, *lines]] = tables(summary([*of("a", "x", "max"), *of("b", "yx")]))
    cells = {line[0]: line[3:] for line in lines}
    assert head[3:] == ["a ↑", "b ↓"] and cells["X"] == ["1.035", "2.035"] and cells["Y"] == ["—", "1.035"]
    assert cells["*best trivial*"] == ["−99 mean", "99 mean"]


def test_models_stand_by_mean_rank_and_bold_is_the_best_group_of_less_than_half_of_a_board() -> None:
    text = summary([*of("a", "zyx"), *of("b", "zx")])
    [[_, *lines]] = tables(text)
    assert text.startswith("2 of 2 boards separate networks from trivial predictors (0 open, 0 saturated).")
    assert [line[0] for line in lines] == ["Z", "X", "Y", "*best trivial*"], "Y has no rank: it never ran on b"
    assert [line[3:] for line in lines[:2]] == [["**1.035**", "1.035"], ["3.035", "2.035"]], "1 of 2 rows is half"


def test_saturated_tasks_are_folded_below_in_a_table_of_their_own() -> None:
    text = summary([*of("a", "xy"), *of("b", "xy", trivial=0.5), *of("c", "y", trivial=0.5)])
    above, below = tables(text)
    assert above[0][3:] == ["a ↓"] and below[0] == ["model", "b ↓", "c ↓"]
    assert [line[1:] for line in below[1:]] == [["1.035 †", "—"], ["2.035 †", "1.035 †"], ["0.5 mean"] * 2]
    assert (
        text.index("<details><summary>No model beats the best trivial predictor on 2 boards")
        < text.index("| model | b")
        < text.index("</details>")
    )


def test_what_a_cell_varies_of_its_model_stands_behind_it() -> None:
    wide = retrained("x", [1.0] * 5, trivial={"mean": 9.0}, title="X (layers 4)", valid=0.5, hidden=9)
    narrow = retrained("x", [2.0] * 5, trivial={"mean": 9.0}, title="X", valid=0.7)
    [[_, line, _]] = tables(summary(rows([wide, narrow], [])))
    assert line[3] == "1 (layers 4)"
