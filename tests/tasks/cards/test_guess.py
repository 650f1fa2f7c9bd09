"""Roles guessed from a table or arrays: each bound decides as stated, on either side of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from longwave.tasks.cards.columns import Columns
from longwave.tasks.cards.guess import guess_roles
from longwave.tasks.cards.guess_arrays import ArraysDraft


def guess_table(**columns: Sequence[object]) -> dict[str, str]:
    """Return the roles guessed from a table of these columns."""
    table = pa.table({name: [str(value) for value in values] for name, values in columns.items()})
    return guess_roles(Columns(Path("toy.csv"), table), {})[0]


def guess_layout(names: str) -> str:
    """Return the layout guessed from a table of two rows with these columns; empty if it is asked."""
    return guess_table(**dict.fromkeys(names.split(), (1, 2))).get("layout", "")


@pytest.mark.parametrize(
    ("target", "values", "task"),
    [
        ("label", 20, "classification"),
        ("label", 21, ""),
        ("target", 20, ""),
        ("target", 21, "regression"),
    ],
)
def test_up_to_20_whole_numbers_may_be_classes_of_a_table(target: str, values: int, task: str) -> None:
    assert guess_table(x=range(values), id=range(values), **{target: range(values)}).get("task", "") == task


@pytest.mark.parametrize(
    ("target", "dtype", "values", "task"),
    [
        ("target", int, 20, "classification"),
        ("target", int, 21, "regression"),
        ("label", int, 21, ""),
        ("target", float, 20, ""),
        ("target", float, 21, "regression"),
    ],
)
def test_up_to_20_whole_numbers_may_be_classes_of_an_array(
    target: str, dtype: type, values: int, task: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "toy.npz", x=np.zeros((values, 3, 1)), **{target: np.arange(values).astype(dtype)})
    roles, _ = ArraysDraft(tmp_path / "toy.npz").guess_roles({})
    assert (roles["target"], roles.get("task", "")) == (target, task)


def test_an_identifier_of_series_has_two_rows_or_more_on_average() -> None:
    assert guess_table(unit="aabb", t=(0, 1, 0, 1), x=(1, 2, 3, 4))["series"] == "unit"
    assert "series" not in guess_table(unit="aab", t=(0, 1, 0), x=(1, 2, 3))


def test_a_time_of_which_half_repeat_the_row_before_is_no_time_of_one_series() -> None:
    assert guess_table(year=(2000, 2000, 2001, 2002), load=(1, 2, 3, 4))["time"] == "year"
    assert "time" not in guess_table(year=(2000, 2000, 2001), load=(1, 2, 3))


def test_times_that_rise_for_three_rows_on_average_leave_the_layout_of_a_wide_table_open() -> None:
    for times, layout in (((0, 1), "wide"), ((0, 1, 2), ""), ((0, 1, 2, 0, 1), "wide"), ((0, 1, 2, 0, 1, 2), "")):
        assert guess_table(t=times, **{f"x{k}": range(len(times)) for k in range(3)}).get("layout", "") == layout, times


def test_a_table_is_wide_if_more_than_half_of_four_columns_or_more_are_numbered() -> None:
    assert [guess_layout(names) for names in ("x1 x2 a b", "x1 x2 x3 a b c")] == ["", ""]
    assert [guess_layout(names) for names in ("x1 x2 x3 a", "x1 x2 x3 x4 a b c")] == ["wide", "wide"]
    assert guess_layout("x1 x2 x3") == ""
