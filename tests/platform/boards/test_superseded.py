"""Rows of older versions, or whose search went on: seen everywhere, with the reason, and ranked with nobody."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from boards import printed, retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.budget import budgets
from longwave.platform.boards.compare import compare, resolve
from longwave.platform.boards.overview import overview
from longwave.platform.boards.row import Row, sum_search_seconds
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import EVERYBODY, Group, Pool, RunSummary, Tally
from longwave.platform.render import board as render_board
from longwave.platform.render.export import Format

LOW, HIGH = [1.0, 1.1, 1.2, 1.3, 1.4], [5.0, 5.1, 5.2, 5.3, 5.4]
WHY = "model version 1, now 2"


@pytest.fixture
def mixed() -> list[Row]:
    """One old row, better than the two current ones, one of them of the same model."""
    old = retrained("a", [0.1, 0.11, 0.12], superseded=WHY, trivial={"mean": 9.0}, model_version="0", sweeps=("s",))
    now = [retrained("a", LOW, trivial={"mean": 9.0}, sweeps=("s",)), retrained("b", HIGH, trivial={"mean": 9.0})]
    return rows([old, *now], [])


def test_an_old_row_stands_last_with_its_numbers_and_without_a_rank(mixed: list[Row]) -> None:
    *_, old = mixed
    assert (old.model, old.superseded, old.n, old.state) == ("a", WHY, 3, "ok")
    assert old.mean == pytest.approx(0.11)
    assert (old.rank_low, old.rank_high, old.ties, old.leads, old.current) == (None, None, "", False, False)


def test_of_a_row_and_its_replacement_only_the_longer_search_is_counted() -> None:
    of_seconds = {seconds: Tally(trials, 0, seconds) for trials, seconds in ((32, 5.0), (48, 8.0), (9, 100.0))}
    continued = retrained("a", HIGH, params={"lr": 0.5}, search=of_seconds[8.0])
    first = retrained("a", LOW, succeeded_by=[continued.row], search=of_seconds[5.0])
    kept = retrained("b", LOW, search=of_seconds[5.0])
    rejected = retrained("b", HIGH, params={"lr": 0.5}, rejected_for=[kept.row], search=of_seconds[8.0])
    older = retrained("b", LOW, superseded=WHY, model_version="0", search=of_seconds[100.0])
    board = rows([first, continued, kept, rejected, older], [])
    assert sum_search_seconds(board) == 8.0 + 8.0 + 100.0, "an older version was searched on its own"
    alone = [row for row in board if row.key == first.row]
    assert sum_search_seconds(alone) == 5.0, "its replacement is not among the rows"


def test_the_others_are_ranked_as_if_it_were_not_there(mixed: list[Row]) -> None:
    alone = rows([retrained("a", LOW, trivial={"mean": 9.0}), retrained("b", HIGH, trivial={"mean": 9.0})], [])
    ours = [(row.model, row.rank_low, row.rank_high, row.ties) for row in mixed if row.current]
    assert ours == [(row.model, row.rank_low, row.rank_high, row.ties) for row in alone if row.current]
    assert ours == [("a", 1, 1, "a"), ("b", 2, 2, "b")]


def test_no_overview_comparison_or_budget_counts_it(mixed: list[Row]) -> None:
    old = mixed[-1]
    lines = {line.model: line.cells[0] for line in overview(mixed).lines}
    assert lines["a"] is not None and lines["a"].mean == pytest.approx(1.2)
    assert compare(mixed, "a", "b").contests[0].a.mean == pytest.approx(1.2)
    with pytest.raises(ConfigError, match=rf"^Row {old.config[:12]} is superseded: {WHY}\. It cannot be compared"):
        resolve(mixed, old.config[:6])
    actual = budgets(mixed, lambda row: [RunSummary("x", "ok", valid=row.mean)])
    assert [curve.row.mean for curve in actual] == [pytest.approx(1.2), pytest.approx(5.2)]


def test_a_model_of_which_all_rows_are_old_stands_nowhere_else() -> None:
    actual = rows([retrained("a", LOW, superseded=WHY), retrained("b", HIGH)], [])
    assert [line.model for line in overview(actual).lines] == ["b"]
    with pytest.raises(ConfigError, match="No retrained model 'a'"):
        resolve(actual, "a")


def test_a_number_beside_an_old_row_still_stands_alone_until_a_current_row_has_it() -> None:
    old = retrained("a", [0.1, 0.2], superseded=WHY, model_version="0")
    alone = rows([old, retrained("b", HIGH)], [printed("a", 0.5)])
    assert [(row.kind, row.model) for row in alone] == [("published", "a"), ("retrained", "b"), ("retrained", "a")]
    assert [number["value"] for number in alone[-1].published] == [0.5]
    assert [row.kind for row in rows([old, retrained("a", LOW)], [printed("a", 0.5)])] == ["retrained"] * 2


def test_a_board_of_old_rows_alone_is_still_shown() -> None:
    [trivial, old] = rows([retrained("a", LOW, superseded=WHY, trivial={"mean": 9.0})], [])
    assert (trivial.kind, old.superseded, old.rank_low) == ("trivial", WHY, None)


def test_every_printed_view_says_why_and_boards_without_old_rows_say_nothing(
    mixed: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    for format in (Format.csv, Format.json):
        render_board.print_boards(mixed, EVERYBODY, format)
        assert WHY in capsys.readouterr().out, format
    asked = render_board.BoardOptions(notes=True, all=True)
    render_board.print_boards(mixed, EVERYBODY, Format.table, asked)
    assert f"A (superseded): {WHY}." in " ".join(capsys.readouterr().out.split())
    for format in (Format.table, Format.markdown, Format.latex):
        render_board.print_boards(mixed, EVERYBODY, format)
        shown = capsys.readouterr().out
        assert "A (superseded)" not in shown and ("1 superseded row: --all." in shown) == (format is Format.table)
    render_board.print_boards(mixed[:-1], EVERYBODY, Format.table, asked)
    assert "superseded" not in capsys.readouterr().out
    render_board.print_boards(mixed, EVERYBODY, Format.csv)
    message = [line["superseded"] for line in csv.DictReader(io.StringIO(capsys.readouterr().out))]
    assert message == ["", "", "", WHY]
    render_board.print_boards([replace(mixed[0])], EVERYBODY, Format.json)
    assert json.loads(capsys.readouterr().out)[0]["superseded"] == ""


def went_on(tests: Sequence[float | str] = LOW, **changes: Any) -> tuple[Group, Group]:
    """Return a row whose search went on, and the row of the same model that was chosen then."""
    chosen = retrained("a", tests, hidden=9, **changes)
    return retrained("a", HIGH, succeeded_by=[chosen.row]), chosen


def test_a_row_whose_search_went_on_and_chose_another_stands_behind_that_even_where_it_is_better() -> None:
    [first, chosen] = went_on(HIGH)
    first = replace(first, runs=retrained("a", LOW).runs)
    actual = rows([first, chosen, retrained("b", HIGH)], [])
    message = {row.config: (row.superseded, row.rank_low) for row in actual}
    assert message[first.row] == (f"replaced by {chosen.row[:12]} after a longer search", None)
    assert message[chosen.row] == ("", 1) and actual[-1].config == first.row


@pytest.mark.parametrize(("tests", "out"), [(LOW, True), ([*LOW[:4], "diverged"], True), (LOW[:4], False), ([], False)])
def test_it_stands_until_the_other_has_as_many_seeds(tests: Sequence[float | str], out: bool) -> None:
    first, chosen = went_on(tests)
    actual = {row.config: bool(row.superseded) for row in rows([first, chosen], [])}
    assert actual == {first.row: out, chosen.row: False}


def test_a_row_gives_way_to_the_one_whose_retrainings_validate_better_even_where_a_longer_search_chose_it() -> None:
    first, chosen = went_on()
    chosen = replace(chosen, rejected_for=[first.row])
    why = {row.config: row.superseded for row in rows([first, chosen], [])}
    assert why[chosen.row] == f"replaced by {first.row[:12]}, whose retrainings validate better"
    fewer = replace(first, runs=first.runs[:3], succeeded_by=())
    assert not any(row.superseded for row in rows([fewer, chosen], []))


def test_an_untrusted_row_takes_the_place_of_untrusted_ones_alone() -> None:
    def came(group: Group) -> Group:
        return replace(group, came={run.id: "a" * 64 for run in group.runs}, checks=[True] * len(group.runs))

    first, chosen = went_on()
    assert not any(row.superseded for row in rows([first, came(chosen)], []))
    message = {row.config: bool(row.superseded) for row in rows([came(first), came(chosen)], [])}
    assert message == {first.row: True, chosen.row: False}
    assert not any(row.superseded for row in rows([first, chosen], [], Pool(models=["b"])))


def test_a_row_that_re_runs_here_alone_confirm_takes_the_place_of_untrusted_ones_alone() -> None:
    first, chosen = went_on()
    claimed = {run.id: "a" * 64 for run in chosen.runs}
    rerun = retrained("a", [*LOW, LOW[0], LOW[1], LOW[2], LOW[3], LOW[4]], hidden=9).runs[len(LOW) :]
    confirmed = replace(
        chosen, runs=[*chosen.runs, *rerun], came=claimed, checks=[True] * len(claimed), reruns=["inside"] * len(rerun)
    )
    actual = {row.config: (row.untrusted, row.superseded) for row in rows([first, confirmed], [])}
    assert actual == {first.row: (False, ""), chosen.row: (False, "")}
    trusted = {row.config: row.superseded for row in rows([first, confirmed], [], Pool(trust=["a" * 64]))}
    assert trusted[first.row] == f"replaced by {chosen.row[:12]} after a longer search"


def test_of_a_row_that_is_of_an_older_version_too_that_is_said() -> None:
    first, chosen = went_on()
    [*_, old] = rows([replace(first, superseded=WHY), chosen], [])
    assert old.superseded == WHY
