"""How rows of one title are told apart, in every view alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from boards import printed, retrained
from hypothesis import given
from hypothesis import strategies as st
from pages import Page, published, table

from longwave.dashboard import board_table, table_frames
from longwave.platform.boards.answer import answer
from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row
from longwave.platform.figures.forest import forest
from longwave.platform.records.group import Group
from longwave.platform.render import board as as_text

LOW, HIGH = [1.0, 1.01, 1.02, 1.03, 1.04], [1.005, 1.015, 1.025, 1.035, 1.045]


def board(*changes: dict[str, Any]) -> list[Row]:
    return rows([retrained("gru", LOW, **change) for change in changes], [])


def labels(actual: list[Row]) -> set[str]:
    return {row.label for row in actual}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{}], {"GRU"}),
        ([{"hidden": 16}, {"hidden": 19}], {"GRU (hidden 16)", "GRU (hidden 19)"}),
        ([{"hidden": 16}, {"hidden": 19, "batch": 4}], {"GRU (hidden 16)", "GRU (hidden 19)"}),
        ([{"epochs": 3}, {"epochs": 9}], {"GRU (epochs 3)", "GRU (epochs 9)"}),
        (
            [{"hidden": 16}, {"hidden": 19}, {"hidden": 19, "epochs": 9}],
            {"GRU (hidden 16, epochs 3)", "GRU (hidden 19, epochs 3)", "GRU (hidden 19, epochs 9)"},
        ),
        ([{}, {"model_version": "0", "superseded": "old"}], {"GRU", "GRU (superseded)"}),
        (
            [{"hidden": k, "title": "GRU (no bias)"} for k in (8, 9)],
            {"GRU (no bias, hidden 8)", "GRU (no bias, hidden 9)"},
        ),
        ([{"hidden": 16, "title": "GRU"}, {"hidden": 19, "title": "GRU (no bias)"}], {"GRU", "GRU (no bias)"}),
        ([{"title": "GRU (eigenvalues -1-1, cell-2)"}], {"GRU (eigenvalues -1 to 1, cell-2)"}),
    ],
)
def test_rows_of_one_title_are_told_apart_by_what_a_reader_knows(
    changes: list[dict[str, Any]], expected: set[str]
) -> None:
    assert labels(board(*changes)) == expected


def test_rows_that_a_reader_cannot_tell_apart_bear_the_start_of_their_names() -> None:
    one, other, wide = (retrained("gru", LOW, **c) for c in ({}, {"params": {"lr": 0.2}}, {"hidden": 9}))
    assert labels(rows([one, other], [])) == {f"GRU #{group.row[:4]}" for group in (one, other)}
    known = {f"GRU (hidden 8) #{group.row[:4]}" for group in (one, other)}
    assert labels(rows([one, other, wide], [])) == known | {"GRU (hidden 9)"}


def test_a_printed_number_beside_a_row_of_its_title_says_where_it_was_printed() -> None:
    actual = rows([retrained("gru", LOW, title="gru")], [printed("gru", 0.5, model_variant="x", title="gru")])
    assert {row.label for row in actual if row.kind == "retrained"} == {"gru"}
    assert all(row.label.startswith(row.title) for row in actual)


@pytest.mark.integration
@given(st.sets(st.tuples(st.sampled_from([8, 9]), st.sampled_from([3, 4]), st.sampled_from([0.1, 0.2])), min_size=2))
def test_no_two_rows_of_a_board_have_the_same_label(settings: set[tuple[int, int, float]]) -> None:
    actual = board(*({"hidden": h, "epochs": e, "params": {"lr": lr}} for h, e, lr in settings))
    assert len(labels(actual)) == len(settings)


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("", "Parity"),
        ("test=2", "Parity, test set 2"),
        ("noise=per_sample", "Parity, noise per sample"),
        ("noise=uniform", "Parity, uniform noise"),
        ("h=25,test=2", "Parity, h=25, test set 2"),
        ("latest=2", "Parity, latest=2"),
    ],
)
def test_the_name_of_a_board_says_in_words_that_it_has_another_test_set(variant: str, name: str) -> None:
    assert Row("parity", variant, "gru", "GRU", "accuracy", "%", "max", task_title="Parity").board == name


def test_every_view_calls_a_row_the_same(tmp_path: Path) -> None:
    groups: list[Group] = [retrained("gru", LOW, hidden=16), retrained("gru", HIGH, hidden=19)]
    actual, both = rows(groups, []), ["GRU (hidden 16)", "GRU (hidden 19)"]
    assert "Best median of 2 ranked rows: GRU (hidden 16), 1.02" in answer(actual).sentence
    assert answer(actual).sentence.endswith("not significantly better than GRU (hidden 19).")
    assert [line[1] for line in as_text.board_table(actual).lines] == both
    assert (
        table_frames.row_labels(actual)
        == both
        == list(board_table.board_frame(board_table.view_board(actual))["title"])
    )
    assert "GRU (hidden 19), median" in str(forest(actual, table_frames.row_labels(actual), log=False).spec())
    published(tmp_path / "one", groups)
    assert [line["model"].partition("lr")[0] for line in table(Page.drawn(tmp_path / "one", view="t"))] == both
