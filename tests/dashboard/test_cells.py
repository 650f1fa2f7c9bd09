"""What stands in the Lab's tables, against numbers computed by hand."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from boards import printed as in_print
from boards import retrained
from streamlit import config

from longwave.dashboard import board_table, table_frames
from longwave.dashboard.board_figures import draw_pairwise
from longwave.platform.boards.board import rows
from longwave.platform.boards.pairs import pairs
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import duration, result, seeds, span
from longwave.platform.figures.matrix import matrix

FOLDER = Path(table_frames.__file__).parent


def test_pairs_rest_on_the_tests_of_the_whole_board_and_show_the_best_of_the_rows_shown() -> None:
    near, far = ([level + 0.1 * k for k in range(6)] for level in (1.0, 1.38))
    board = rows(
        [retrained(name, [x + 0.001 * n for x in far]) for n, name in enumerate("bcdef")] + [retrained("a", near)], []
    )
    shown = [row for row in board if row.model in "ab"][::-1]
    assert {p.word for p in pairs(shown, shown)} != {p.word for p in pairs(board, shown)}, (
        "fewer pairs are adjusted less"
    )
    drawn = draw_pairwise(shown, [row.model for row in shown], board)
    whole = matrix(pairs(board, shown[::-1]), {row.key: row.model for row in shown})
    assert whole and drawn and drawn.spec() == whole.spec()


def test_a_published_number_stands_in_the_frame_with_word_ratio_and_n() -> None:
    numbers = [{"value": 0.5, "units": "16"}, {"value": 1.0, "n": 3, "printed": "1.00"}]
    [row] = rows([retrained("a", [1.0, 1.01, 0.99, 1.02])], [in_print("a", **number) for number in numbers])
    other, near = table_frames.published_frame(row).to_dict("records")
    assert (other["ours is"], other["n"], other["differs in"]) == ("other protocol", "4 and ?", "hidden 8 (printed 16)")
    assert (near["number"], near["statistic"], near["ours is"], near["n"]) == (
        "1.00", "mean of 3", "reproduced", "4 and 3",
    )  # fmt: skip
    assert near["our error over it"].startswith("1.01 (") and near["differs in"] == "—"
    [_, alone] = rows([retrained("b", [1.0])], [in_print("a", 2.0)])
    [record] = table_frames.published_frame(alone).to_dict("records")
    assert (record["ours is"], record["our error over it"], record["n"]) == ("not run", "—", "—")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.44, "0.4 s"), (23, "23 s"), (150, "2.5 min"), (10800, "3.0 h"), (0.0, "—")]
)
def test_a_time_has_its_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_every_setting_is_one_that_streamlit_knows() -> None:
    def flat(table: dict[str, Any], head: str = "") -> list[str]:
        parts = [flat(v, f"{head}{k}.") if isinstance(v, dict) else [head + k] for k, v in table.items()]
        return sum(parts, [])

    options = flat(tomllib.loads((FOLDER / "streamlit.toml").read_text()))
    assert "browser.gatherUsageStats" in options
    assert set(options) <= set(config.get_config_options())


def test_a_trivial_predictor_has_no_seeds_and_no_protocol() -> None:
    row = Row("t", "", "AR(8)", "AR(8)", "mse", "1", "min", 0.0098, kind="trivial")
    assert (result(row), seeds(row), span(row.rank_low, row.rank_high)) == ("0.0098 (trivial)", "—", "—")
    frame = board_table.board_frame(board_table.view_board([row]))
    assert frame["departures"].tolist() == ["—"] and frame["mean"].tolist() == [0.0098]
    assert "share" not in frame


def test_a_superseded_row_says_why_in_the_table_and_others_have_no_such_column() -> None:
    now, old = rows([retrained("a", [1.0, 2.0]), retrained("a", [1.0], superseded="model version 1, now 2")], [])
    table = board_table.styled_board(board_table.view_board([now, old]), ["red", "red"]).data  # type: ignore[attr-defined]
    assert table["superseded"].tolist() == ["—", "model version 1, now 2"] and table["rank_low"].isna().tolist() == [
        False,
        True,
    ]
    assert "superseded" not in board_table.board_frame(
        board_table.view_board([now])
    ) and "superseded" in board_table.column_headings(board_table.view_board([old]))


def test_a_table_has_the_texts_of_each_row_however_often_it_is_drawn() -> None:
    made = board_table.view_board(
        rows([retrained("a", [1.0, 2.0, 3.0]), retrained("b", [1.0, 2.0, 3.0, 9.0, "diverged"])], [])
    )
    table = board_table.styled_board(made, ["red", "red"])
    for _ in range(2):
        written = table.to_html()
        for column in made.numbers:
            index = list(board_table.board_frame(made)).index(column.key)
            cells = re.findall(rf'col{index}" >(.*?)</td>', written)
            assert cells == [column.text(row) for row in made.rows], column.key


@pytest.mark.integration
def test_the_lab_loads_no_torch() -> None:
    parts = "cached_reads, filters, page_frame, state, table, table_frames"
    code = f"import sys; from longwave.dashboard import {parts}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
