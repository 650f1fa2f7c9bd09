"""What REPORT.md says beside its numbers: differences that all rows share once, verdicts counted, edges told."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from boards import printed, retrained, trials
from edition.folders import EditionFolders
from edition.lags import draw_lags
from edition.report import Findings, format_report
from edition.sweeps import ModelSweep

from longwave.platform.boards.answer import over_all
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.records.group import Tally
from longwave.platform.records.run import Measure
from longwave.platform.sweeps.plan.range_edges import AtEdge

SHARED = "the paper states no horizon"


def lines(heading: str, text: str) -> list[str]:
    """Return the lines of a part of a report that are not empty."""
    [part] = [part for part in text.split("\n## ") if part.startswith(f"{heading}\n")]
    return [line for line in part.splitlines()[1:] if line]


def test_what_all_rows_differ_in_stands_once_above_the_table_and_verdicts_are_counted() -> None:
    groups = [
        retrained("a", [1.0, 1.1, 1.2], known={SHARED: ()}),
        retrained("b", [2.0, 2.1, 2.2], known={SHARED: (), "its batch is ours": ()}),
    ]
    board = rows(groups, [printed("a", 1.0), printed("b", 1.0)])
    text = format_report(board, Findings(), "T", "0")
    share, _, summary, *table = lines("Published numbers", text)
    assert share == verdict_share(board)
    assert not re.search("[^\n]\n#", text), "an empty line stands before every heading"
    assert re.match(r"2 published numbers: ([a-z ]+ 2|[a-z ]+ 1, [a-z ]+ 1)\. Diff", summary)
    assert summary.endswith(f"Differences from the papers in all rows: {SHARED}.")
    assert not any(SHARED in line for line in table) and "further differences" in table[0]
    assert [("its batch is ours" in line) for line in table[2:]] == [False, True] and table[2].endswith("| — |")


def test_one_row_alone_shares_nothing() -> None:
    board = rows([retrained("a", [1.0, 1.1, 1.2], known={SHARED: ()})], [printed("a", 1.0)])
    _, _, summary, *table = lines("Published numbers", format_report(board, Findings(), "T", "0"))
    assert SHARED not in summary and SHARED in table[-1] and "differences |" in table[0]


def test_what_of_winners_sits_at_an_edge_is_told_with_a_link_and_once() -> None:
    board = rows([retrained("a", [1.0, 1.1, 1.2]), retrained("b", [2.0, 2.1])], [])
    [key] = [row.key for row in board if row.model == "b"]
    edge = AtEdge("b", key, "lr", 0.0001, 0.0001, 0.1, "low")
    summary, *table = lines(
        "Winners at the edge of the search range", format_report(board, Findings([edge, edge]), "T", "0")
    )
    assert "outer 5 %" in summary
    assert table[-1] == f"| [B](index.html#row={key}) | lr | 0.0001 | 0.0001 to 0.1 | low |" and len(table) == 4
    assert lines("Winners at the edge of the search range", format_report(board, Findings(), "T", "0")) == ["None."]


def test_a_size_that_differs_from_recipe_and_number_is_told_once() -> None:
    wide = retrained("a", [1.0, 1.1, 1.2], hidden=9, departures=("hidden 9 (published 8)", "epochs 3 (published 400)"))
    table = lines("Published numbers", format_report(rows([wide], [printed("a", 1.0)]), Findings(), "T", "0"))
    assert table[-1].count("hidden 9") == table[-1].count("epochs 3 (published 400)") == 1


def test_what_a_second_search_changed_is_told_and_no_search_is_counted_twice() -> None:
    spent = Tally(32, 0, 3600.0), Tally(48, 0, 5400.0)
    chosen = retrained("a", [2.0, 2.1, 2.2], params={"lr": 0.5}, search=spent[1], valid=0.25)
    first = retrained("a", [1.0, 1.1, 1.2], succeeded_by=[chosen.row], search=spent[0], valid=0.5)
    text = format_report(
        rows([first, chosen, retrained("a", [3.0, 3.1], hidden=9)], [printed("a", 1.0)]), Findings(), "T", "0"
    )
    assert "Edition `0`: 3 rows on 1 board, 1 of them superseded by a second search; their 8 retrainings" in text
    assert "their searches 1.5." in text
    _, heading, _, _, only = lines("What a second search changed", text)
    cells = [re.search(r"row=(\w+)", cell) or cell for cell in only.strip("| ").split(" | ")]
    links = [cells[k][1] for k in (0, 2) if isinstance(cells[k], re.Match)]
    assert (heading, links) == ("### T", [first.row, chosen.row])
    assert cells[1].startswith("1.1") and cells[3].startswith("2.1") and cells[4:] == ["0.5", "0.25"]
    assert first.row not in "".join(lines("Published numbers", text)), "its number stands beside the row chosen"
    older = retrained("a", [1.0, 1.1], superseded="model version 0, now 1", model_version="0", search=spent[0])
    alone = format_report(rows([chosen, older], []), Findings(), "T", "0")
    assert "their searches 2.5." in alone, "an older version searched on its own"
    assert lines("What a second search changed", alone) == ["None."] and "second search;" not in alone


def test_what_the_retrainings_changed_is_told_and_no_search_is_counted_twice() -> None:
    kept = retrained("a", [1.0, 1.1, 1.2], search=Tally(32, 0, 3600.0), valid=0.5)
    longer = retrained("a", [2.0, 2.1, 2.2], hidden=9, rejected_for=[kept.row], search=Tally(48, 0, 5400.0), valid=0.75)
    text = format_report(rows([kept, longer], []), Findings(), "T", "0")
    assert "their searches 1.5." in text and lines("What a second search changed", text) == ["None."]
    _, heading, _, _, only = lines("What the retrainings changed", text)
    assert heading == "### T"
    assert [row in only for row in (longer.row, kept.row)] == [True, True]
    assert only.index(longer.row) < only.index(kept.row) and only.endswith("| 0.75 | 0.5 |")


def test_models_not_trained_yet_are_told_with_the_hours_they_take() -> None:
    ahead = [ModelSweep(Path(f"{file}.toml"), file, model, 0.25) for file, model in ("ea", "eb", "fa")]
    text = format_report(rows([retrained("a", [1.0])], []), Findings(missing=ahead), "T", "0")
    [summary] = lines("Models not trained yet", text)
    assert "3 cells, each a model on a board, of 2 sweep files are still to be trained" in summary
    assert "expected hours on two cores: `e` (2 models, 0.5 h), `f` (1 model, 0.2 h). `make edition` trains" in summary
    [summary] = lines("Models not trained yet", format_report(rows([retrained("a", [1.0])], []), Findings(), "T", "0"))
    assert summary == "All models of `infra/sweeps/edition1` are trained and published."


def test_tasks_that_are_saturated_for_every_model_are_proposed_for_removal() -> None:
    better, worse = [0.1, 0.11, 0.12, 0.13, 0.14], [1.1, 1.2, 1.3, 1.4, 1.5]
    groups = [retrained(m, better, task="u", trivial={"mean": 1.0}) for m in ("a", "b")]
    saturated = [retrained(m, worse, task="v", trivial={"mean": 1.0}) for m in ("a", "b")]
    board = rows([*groups, *saturated], [])
    text = format_report(board, Findings(), "T", "0")
    intro, only = lines("Tasks proposed for removal", text)
    assert intro.startswith("On this saturated task every ranked model has been trained, and none beats")
    assert only == "- **v**: No model beats the best trivial predictor (mean, 1.00)."
    first, groups_sentence, *answers = lines("Which model is best", text)
    assert first == over_all(overviews(board)[0]) and first.startswith("1 of 2 boards separates")
    assert groups_sentence.startswith("On 0 of 1 separating board the") and groups_sentence.endswith(": 1 on u.")
    assert answers[0].startswith("- **u**: A and B beat the best trivial predictor")
    assert lines("Tasks proposed for removal", format_report(rows(groups, []), Findings(), "T", "0")) == ["None."]


def test_a_report_opens_with_a_figure_of_each_board_that_measures_by_lag(tmp_path: Path) -> None:
    group = retrained("a", [1.0, 1.1, 1.2])
    board = rows([group], [])
    ran = [
        replace(
            trial,
            run=trial.run
            and replace(
                trial.run, measures=tuple(Measure("free_rmse", "1", x / 100, "steps ahead", x) for x in (1.0, 50.0))
            ),
        )
        for trial in trials(group)
    ]
    folders = replace(EditionFolders(), board=tmp_path)
    old = folders.lag_figure("gone")
    old.write_text("<svg/>")
    lags = draw_lags(board, ran, folders)
    assert lags[0] == "**T**: best medians 1 step ahead: A 0.0100; 50 steps ahead: A 0.500."
    drawn = folders.lag_figure("t")
    assert f"](../{drawn.name})" in lags[2] and "<svg" in drawn.read_text("utf-8") and not old.exists()
    assert lines("Which model remembers how long", format_report(board, Findings(lags=lags), "T", "0"))[0] == lags[0]
    assert draw_lags(board, [], folders) == [] and not drawn.exists()


def test_the_groups_of_separating_boards_are_counted_the_most_first() -> None:
    steps = [[10.0**k * (1 + j / 100) for j in range(10)] for k in range(-4, 0)]
    groups = [
        retrained(name, scores, task=task, trivial={"mean": 1.0})
        for task, boards_scores in {"u": steps[:2], "v": steps[:3]}.items()
        for name, scores in zip("abc", boards_scores, strict=False)
    ]
    _, sentence, *_ = lines("Which model is best", format_report(rows(groups, []), Findings(), "T", "0"))
    assert sentence.startswith("On 1 of 2 separating boards the") and sentence.endswith(": 3 on v; 2 on u.")
