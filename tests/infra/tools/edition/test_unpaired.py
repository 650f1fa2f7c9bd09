"""Printed numbers that no row can be compared with stand beside the rows of their model, with the reason."""

from __future__ import annotations

from boards import retrained
from edition.report import Findings, format_report
from edition.unpaired import describe_unpaired

from longwave.platform.boards.board import rows


def test_a_number_printed_for_a_validation_split_stands_beside_our_row_of_its_model_alone() -> None:
    board = rows([retrained(model, [76.0, 75.0, 77.0], task="cycle_navigation") for model in ("lstm", "lem")], [])
    links = {row.key: row.model for row in board}
    [title, *table] = [line for line in describe_unpaired([("Cycle navigation", board, links)]) if line]
    cells = [line.strip("| ").split(" | ") for line in table]
    assert title == "### Cycle navigation" and cells[0][0] == "model" and cells[0][-1] == "median of our rows"
    [lstm] = [line for line in cells if line[0] == "LSTM" and line[-2] == "validation split"]
    assert lstm[1:4] == ["accuracy", "100", "mean of 5"] and "slice, Table 2" in lstm[4]
    assert lstm[-1].startswith("lstm ") and "lem" not in lstm[-1]
    assert {line[-1] for line in cells[2:] if line[0] != "LSTM"} == {"—"}, "no row of ours is of their models"
    values = [float(line[2].split()[0]) for line in cells[2:]]
    assert values == sorted(values, reverse=True)


def test_a_task_whose_numbers_all_belong_to_rows_has_no_such_table() -> None:
    board = rows([retrained("lem", [1.0, 1.1], task="fitzhugh_nagumo")], [])
    text = format_report(board, Findings(), "T", "0")
    assert "## Published numbers that no row can be compared with\n\nNone.\n" in text
