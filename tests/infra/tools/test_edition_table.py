"""The README's table of an edition: a model a line, a board a column, boards with other models in another table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from boards import retrained
from edition_table import summary

from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row


def of(task: str, models: Sequence[str], goal: str = "min") -> list[Row]:
    """Return the rows of a board, the first model's error the least."""
    groups = [retrained(m, [k + 1.0, k + 1.01, k + 1.02], goal, task=task) for k, m in enumerate(models)]
    return rows(groups, [])


@pytest.mark.parametrize(
    ("boards", "tables"),
    [
        ({"a": "xy", "b": "z", "c": "yw"}, ["ac", "b"]),
        ({"a": "x", "b": "y", "c": "z", "d": "xy"}, ["abd", "c"]),
        ({"a": "x", "b": "x"}, ["ab"]),
    ],
)
def test_boards_that_share_a_model_stand_in_one_table(boards: dict[str, str], tables: list[str]) -> None:
    text = summary([*chain(*(of(task, models) for task, models in boards.items()))])
    parts = [part.splitlines() for part in text.split("\n\n")]
    heads = [[cell.strip() for cell in part[0].strip("| ").split("|")] for part in parts]
    assert heads == [["median over 10 seeds", *(f"{task} ↓" for task in named)] for named in tables]
    for part, named in zip(parts, tables, strict=True):
        models = {model.upper() for task in named for model in boards[task]}
        assert {line.split("|")[1].strip() for line in part[2:]} == {*models, "*best trivial*"}


def test_an_arrow_says_which_way_is_better_and_a_model_that_was_not_trained_has_a_dash() -> None:
    [head, _, first, second, _] = summary([*of("a", "x", "max"), *of("b", "yx")]).splitlines()
    assert head == "| median over 10 seeds | a ↑ | b ↓ |"
    assert first.replace("*", "") == "| X | 1.01 | 2.01 |" and second.startswith("| Y | — | ")
