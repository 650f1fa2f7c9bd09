"""The one table of columns: it keeps the contract, and one line in it reaches every view."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from boards import printed, retrained
from pages import Page, page_data, published

from longwave.dashboard import board_table
from longwave.platform.boards import columns
from longwave.platform.boards.board import rows
from longwave.platform.boards.columns import ALL, METRIC, Column, View, of, record, standing
from longwave.platform.boards.row import Row
from longwave.platform.records.group import EVERYBODY
from longwave.platform.render import board as render_board
from longwave.platform.render.export import Format

TOTAL = Column("total", "total", "The sum of the retrainings' scores.", "number", ALL, unit=METRIC,
               read=lambda row: sum(row.scores) if row.scores else None)  # fmt: skip
SCORES = [1.0, 2.0, 2.75]
SPECIAL = {  # an argument that checks each kind of value
    "text": str, "texts": list | tuple, "whole": int | None, "number": float | int | None, "flag": bool, "json": object,
}  # fmt: skip


@pytest.fixture
def board() -> list[Row]:
    """A row of everything: retrained, without a mean, published, trivial, superseded."""
    groups = [retrained("lem", SCORES, trivial={"mean": 9.0}), retrained("gru", ["diverged", "planned"])]
    old = retrained("lem", [3.0], superseded="model version 0, now 1", model_version="0")
    return rows([*groups, old], [printed("lem", 0.5), printed("lstm", 3.0)])


def test_json_has_every_field_of_a_row_and_what_follows_from_it(board: list[Row]) -> None:
    contract = {field.name for field in fields(Row)} | {
        "trivial",
        "state",
        "key",
        "command",
        "share",
        "share_low",
        "share_high",
    }
    assert all(contract <= set(record(row)) for row in board)
    message = [json.loads(json.dumps(record(row), allow_nan=False)) for row in board]
    assert message[0]["scores"] == SCORES and message[0]["command"] == f"longwave reproduce {board[0].config[:12]}"


def test_columns_leave_a_narrow_screen_one_after_another() -> None:
    turns = sorted(column.leaves for column in columns.COLUMNS if column.leaves)
    assert len(turns) > 1 and turns == list(range(1, len(turns) + 1))


def test_every_column_has_a_key_of_its_own_a_heading_a_sentence_and_views_that_exist() -> None:
    assert len({column.key for column in columns.COLUMNS}) == len(columns.COLUMNS)
    for column in columns.COLUMNS:
        assert column.heading and column.meaning[-1] in ".:”", column.key
        assert {*column.views, *column.on_request} <= {*get_args(View)} and (column.views or column.on_request)


def test_values_are_of_their_kind_and_texts_are_never_empty(board: list[Row]) -> None:
    for column in columns.COLUMNS:
        for row in board:
            assert isinstance(column.value(row), SPECIAL[column.kind]), column.key
            assert column.text(row).strip(), column.key


def test_what_goes_without_saying_has_no_column(board: list[Row]) -> None:
    current = [row for row in board if not row.superseded]
    keys = [[column.key for column in standing("terminal", some)] for some in (board, current)]
    assert keys[0] == keys[1] and "verification" not in keys[0]
    page = [[column.key for column in standing("page", some)] for some in (board, current)]
    assert set(page[0]) - set(page[1]) == {"superseded"}
    [checked] = rows([retrained("a", [1.0], checks=[True])], [])
    assert "verification" in [column.key for column in standing("terminal", [checked])]


def test_numbers_stand_to_the_right_in_every_printed_table(
    board: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    render_board.print_boards(board, EVERYBODY, Format.markdown)
    head, rule = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")][:2]
    sides = dict(zip(head.strip("| ").split(" | "), rule.strip("| ").split(" | "), strict=True))
    assert (sides["rank"], sides["model"]) == ("---:", "---")
    render_board.print_boards(board, EVERYBODY, Format.latex)
    assert r"\begin{tabular}{lllr}" in capsys.readouterr().out
    render_board.print_boards(board, EVERYBODY, Format.table)
    lines = capsys.readouterr().out.splitlines()
    head = next(k for k, line in enumerate(lines) if "rank" in line and "median" in line)
    end, lines = lines[head].index("rank") + 4, lines[head : lines.index("", head)]
    assert all(line[end - 1] != " " for line in lines if "LEM" in line or "GRU" in line)


@pytest.mark.integration
def test_one_line_adds_a_statistic_to_every_view(
    board: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, TOTAL))

    def output(format: Format) -> str:
        render_board.print_boards(board, EVERYBODY, format)
        return capsys.readouterr().out

    asked = render_board.BoardOptions(columns=columns.named_columns(("title", "total")))
    for format, text in ((Format.markdown, "| total |"), (Format.latex, r"& total \\")):
        render_board.print_boards(board, EVERYBODY, format, asked)
        assert text in (out := capsys.readouterr().out) and out.count("5.75") == 1
    assert "total" in (out := output(Format.table)) and out.count("5.75") == 1
    assert [line["total"] for line in csv.DictReader(io.StringIO(output(Format.csv)))][:2] == ["5.75", ""]
    assert json.loads(output(Format.json))[0]["total"] == 5.75
    frame = board_table.board_frame(board_table.view_board(board))
    assert frame["total"][0] == 5.75 and frame["total"].isna()[1]
    assert board_table.column_headings(board_table.view_board(board))["total"] == (
        TOTAL.heading,
        TOTAL.meaning,
        "right",
    )
    made = published(tmp_path / "one", [retrained("lem", SCORES), retrained("gru", ["diverged"])])
    assert [row["total"] for row in made.rows] == [5.75, None]
    parquet = pd.read_parquet(tmp_path / "one/rows.parquet")["total"]
    assert str(parquet.dtype) == "Float64" and parquet[0] == 5.75
    data = page_data(tmp_path / "one")
    [column] = [one for one in data["columns"] if one["key"] == "total"]
    assert (column["heading"], column["meaning"], column["align"]) == (TOTAL.heading, TOTAL.meaning, "right")
    assert (column["stands"], column["by_goal"]) == (True, True)
    assert (data["rows"][0]["total"], data["rows"][0]["texts"]["total"]) == (5.75, "5.75")


@pytest.mark.integration
def test_the_page_shows_the_text_of_a_column_that_its_script_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, TOTAL))
    published(tmp_path / "one", [retrained("lem", SCORES), retrained("gru", ["diverged"])])
    page = Page.drawn(tmp_path / "one")
    message = 'EDITION.rows.map((row) => [COLUMNS.get("total").cell(row), COLUMNS.get("total").by(row)])'
    assert page(message) == [["5.75", 5.75], ["—", None]]
    assert page("STANDARD").count("total") == 1
    known = page("Object.keys(RICH)")
    assert set(known) <= {column.key for column in of("page")}, "A cell is built for a column that is not there."
