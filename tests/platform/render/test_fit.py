"""Tables fit a terminal of any width: columns go in their order, no cell that is no prose is ever cut."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from longwave.platform.render import terminal
from longwave.platform.render.export import Format
from longwave.platform.render.fit import (
    GAP,
    column_widths,
    fitting_columns,
    lines_beneath,
    split_table,
    total_width,
    width_needed,
    wrap_text,
)
from longwave.platform.render.table import Table

CELL = st.text("abc 0123456789[].,±", min_size=1, max_size=24).map(str.strip).filter(bool)

WHOLE = ("0.0123 [0.0117, 0.0128]", "1.5 × 10⁻⁵")
"""Numbers that stay on one line."""


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a table in which some columns may go, and some are prose."""
    n = draw(st.integers(2, 6))
    numbers = st.sets(st.integers(0, n - 1), max_size=n - 1)
    row = st.lists(CELL, min_size=n, max_size=n)
    lines = draw(st.lists(row, min_size=1, max_size=4))
    drop = draw(st.permutations(sorted(draw(numbers))))
    return Table("", draw(row), lines, prose=frozenset(draw(numbers)), drop=tuple(drop))


@given(tables(), st.integers(10, 140))
def test_what_stands_is_whole_fits_and_what_goes_is_worth_less(made: Table, width: int) -> None:
    shown = fitting_columns(made, width)
    stay = [k for k in range(len(made.columns)) if k not in made.drop]
    assert set(stay) <= set(shown) <= set(range(len(made.columns))) and shown == sorted(shown)
    wanted = column_widths(made, shown, width)
    if total_width([width_needed(made, k) for k in stay]) <= width:
        assert total_width(wanted) <= width
    for k, columns in zip(shown, wanted, strict=True):
        assert k in made.prose or columns == max(len(cell) for cell in (made.columns[k], *(x[k] for x in made.lines)))
    for n, k in enumerate(made.drop):
        if k not in shown:  # with all that is worth more it does not fit
            ahead = [j for j in made.drop[n + 1 :] if j in shown]
            assert total_width([width_needed(made, j) for j in (*stay, *ahead, k)]) > width


@given(tables())
def test_without_a_width_all_stands_on_one_line(made: Table) -> None:
    assert fitting_columns(made, None) == [*range(len(made.columns))]
    for k, columns in enumerate(column_widths(made, fitting_columns(made, None), None)):
        assert all(wrap_text(line[k], columns) == " ".join(line[k].split()) for line in made.lines)


@given(
    st.lists(st.sampled_from(["0.0123 [0.0117, 0.0128]", "1.5 × 10⁻⁵", "(75 %)", "loses", "to"]), min_size=1),
    st.integers(23, 60),
)
def test_a_number_and_its_interval_stay_on_one_line(parts: list[str], width: int) -> None:
    lines = wrap_text(" ".join(parts), width).split("\n")
    assert max(map(len, lines)) <= width and " ".join(lines) == " ".join(parts)
    for whole in WHOLE:
        assert sum(line.count(whole) for line in lines) == parts.count(whole)


def test_where_numbers_with_intervals_are_too_wide_the_intervals_stand_below() -> None:
    made = Table("", ("a", "b"), [("0.000283 [0.000250, 0.000311] (10)",) * 2], prose=frozenset({0, 1}))
    for width, first in ((70, "0.000283 [0.000250, 0.000311]"), (46, "0.000283")):
        widths = column_widths(made, [0, 1], width)
        lines = wrap_text(made.lines[0][0], widths[0]).split("\n")
        assert (
            lines[0].startswith(first) and "[0.000250, 0.000311]" in " / ".join(lines) and total_width(widths) <= width
        )


def test_a_table_beside_others_is_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = Table("", ("board", "n"), [("Noise-padded digits, T=500, noise per sample", "1")], prose=frozenset({0}))
    narrow = Table("", ("model", "mean"), [("LEM", "1.0")])
    for width, first in ((40, "Noise-padded digits, T=500, noise per"), (60, f"{wide.lines[0][0]} 1")):
        monkeypatch.setenv("COLUMNS", str(width))
        terminal.print_beside(wide, [narrow])
        lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert lines[1].startswith(first) and max(map(len, lines)) <= width


def test_a_column_of_dashes_goes_unsaid_and_what_is_left_out_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [("lem", "0.1 [0.1, 0.2]", "0.1 ± 0.1", "—", "x"), ("mean", "—", "0.3 (trivial)", "—", "x")]
    columns = ("model", "median", "mean", "published", "protocol")
    made = Table("", columns, lines, drop=(3, 2), beneath=frozenset({4}), notes=["A note."])
    monkeypatch.setenv("COLUMNS", "24")
    terminal.print_tables([made], Format.table)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "model  median",
        "─────────────────────",
        "lem    0.1 [0.1, 0.2]",
        "mean   —",
        "  protocol: x",
        "  A note.",
        "  Not shown: mean. Show",
        "  it with: COLUMNS=36 or",
        "  --format csv",
        "",
    ]
    for width, left_out in (("35", True), ("36", False)):
        monkeypatch.setenv("COLUMNS", width)
        terminal.print_tables([made], Format.table)
        assert ("Not shown" in capsys.readouterr().out) == left_out


def test_a_table_that_cannot_be_narrower_goes_over_the_edge_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    terminal.print_table(["rank", "median", "row"], [("1–2", "0.0123 [0.0117, 0.0128]", "17319b40")])
    assert "1–2   0.0123 [0.0117, 0.0128]  17319b40\n" in capsys.readouterr().out


@pytest.mark.parametrize("columns", ["0", "", "wide", "-5"])
def test_columns_that_are_no_width_say_nothing(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.table_width() is None


def test_what_stands_beneath_names_its_lines_by_their_first_column_unless_all_have_it() -> None:
    lines = [("LEM", "x"), ("RNN", "y"), ("GRU", "x"), ("mean", "—")]
    made = Table("", ("model", "protocol"), lines, beneath=frozenset({1}))
    assert lines_beneath(made) == ["protocol (LEM; GRU): x", "protocol (RNN): y"]
    assert lines_beneath(replace(made, lines=[("LEM", "x"), ("GRU", "x")])) == ["protocol: x"]


def test_a_table_too_wide_for_its_tasks_is_several_that_begin_alike() -> None:
    columns = ("model", "score", "t1", "t2", "t3")
    made = Table("3 tasks", columns, [("lem", "1.0", "0.1", "0.2", "0.3")], "caption", frozenset({(0, 3)}))
    first, second = split_table(made, len("model  score  t1") + GAP, 2)
    assert (first.columns, second.columns) == (["model", "score", "t1"], ["model", "t2", "t3"])
    assert (second.lines, second.bold) == ([["lem", "0.2", "0.3"]], frozenset({(0, 1)}))
    assert (first.title, second.title, first.caption, second.caption) == ("3 tasks", "", "", "caption")
    assert [t.columns for t in split_table(made, None, 2)] == [list(columns)]


def test_a_terminal_whose_columns_are_said_to_be_none_has_those_it_has_without_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    width = terminal.Terminal(file=io.StringIO(), force_terminal=True).width
    monkeypatch.setenv("COLUMNS", "0")
    assert Console(file=io.StringIO(), force_terminal=True).width == 0, "Rich takes it at its word."
    assert terminal.Terminal(file=io.StringIO(), force_terminal=True).width == width > 0
