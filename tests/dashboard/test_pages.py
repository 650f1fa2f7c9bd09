"""The Lab's pages, read as a visitor reads them, against numbers computed by hand."""

from __future__ import annotations

import json
import math
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from boards import keep, retrained
from lab import about, marks, notes, printed, trial
from streamlit.testing.v1 import AppTest

from longwave.dashboard import cached_reads, page_frame
from longwave.platform.boards import columns
from longwave.platform.boards.answer import over_all
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import SHORT
from longwave.platform.figures.palette import FAMILIES
from longwave.platform.records.group import Tally
from longwave.platform.records.stored import SweepCost
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.run.status import sweep_status

Visit = Callable[..., AppTest]


def ours(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of rows that were retrained."""
    return table[table["departures"] != "—"].reset_index(drop=True)


def drawn(page: AppTest, kind: str) -> list[dict[str, Any]]:
    """Return the marks of one kind in a page's first figure."""
    return [mark for mark in marks(page) if mark.get("kind") == kind]


@pytest.mark.integration
def test_the_table_prints_each_row_as_computed_by_hand(url: str, visit: Visit) -> None:
    table = printed(visit(url, "task", task="fitzhugh_nagumo").dataframe[0])
    lem, lstm, cornn = ours(table).to_dict("records")
    assert lem == {
        "rank_low": "1–3",
        " ": "●",
        "title": "LEM",
        "median": "5.00 [3.00, 7.00] (75 %)",
        "mean": "5.0 ± 2.0 (3, provisional)",
        "published": "0.2 × 10⁻² (reported, lem Table 4, lem Table 9)",
        "verdict": "other protocol (2.36)",
        "n": "3 ok",
        "share": "none",
        "departures": "recipe of LEM, Table 4; epochs 3 (published 400)",
        "parameters": "1,233",
        "searched": "none",
        "train_seconds": "6.0 s",
        "find_seconds": "—",
    }
    # Geometric mean of the errors 0.01189 over 0.012.
    assert [lstm[k] for k in ("rank_low", "mean", "n")] == ["1–3", "12.0 ± 1.6 (5)", "5 ok"]
    assert lstm["verdict"].startswith("other protocol (0.99)")
    assert [cornn[k] for k in ("rank_low", "title", "median", "mean")] == ["1–3", "coRNN", "diverged", "diverged"]
    assert [cornn[k] for k in ("n", "share")] == ["2 diverged, 1 missing", "100 % [16, 100]"]
    assert [cornn[k] for k in ("parameters", "train_seconds", "find_seconds")] == ["—", "2.0 s", "2.5 min"]


@pytest.mark.integration
def test_headings_and_help_are_those_of_the_columns(url: str, visit: Visit) -> None:
    shown = json.loads(visit(url, "task", task="fitzhugh_nagumo").dataframe[0].proto.columns)
    for column in columns.of("dashboard"):
        if not column.usual:
            unit = ", × 10⁻³" if column.key in ("median", "mean") else ""
            assert (shown[column.key]["label"], shown[column.key]["help"]) == (column.heading + unit, column.meaning)


@pytest.mark.integration
def test_what_nobody_trained_stands_below_the_rows_that_were_trained_here(url: str, visit: Visit) -> None:
    ours, theirs = visit(url, "task", task="fitzhugh_nagumo").dataframe
    assert list(printed(ours)["title"]) == ["LEM", "LSTM", "coRNN"]
    assert [tuple(line) for line in theirs.value.itertuples(index=False)][:2] == [
        ("published", "LEM (without multi-scale gates)", "1.1 × 10⁻² (reported, lem Table 9)", "1,000"),
        ("published", "Lipschitz RNN", "1.8 × 10⁻² (reported, lem Table 4)", "1,000"),
    ]
    none = visit(url, "task", task="fitzhugh_nagumo", published="no")
    assert len(none.dataframe) == 1 and drawn(none, "printed") == []


@pytest.mark.integration
def test_numbers_stay_numbers_under_the_print_so_that_columns_sort(url: str, visit: Visit) -> None:
    frame = ours(visit(url, "task", task="fitzhugh_nagumo").dataframe[0].value)
    assert list(frame["mean"][:2]) == pytest.approx([0.005, 0.012])
    assert frame["mean"][2] == math.inf and frame["rank_low"][2] == 1  # diverged: a word over what sorts last
    assert list(frame["share"]) == [0, 0, 1]


@pytest.mark.integration
def test_the_board_says_who_is_best_how_sure_that_is_and_how_it_is_ranked(url: str, visit: Visit) -> None:
    text = notes(visit(url, "task", task="fitzhugh_nagumo"))
    best = (
        "Best median of the rows with 5 seeds or more: LSTM, 0.0120 [0.0100, 0.0140], not significantly better than "
        "LEM and coRNN."
    )
    assert best in text and "Provisional: 2 of 3 rows have fewer than 5 seeds." in text
    assert "Ranked by the median of **test L2 error ↓** (smaller is better)" in text
    assert "A rank compares typical seeds, not means" in text


@pytest.mark.integration
def test_the_forest_has_the_rows_in_the_colours_of_their_families(url: str, visit: Visit) -> None:
    page = visit(url, "task", task="fitzhugh_nagumo", log="no")
    lem, lstm = drawn(page, "median")
    assert (lem["value"], lem["tint"], lstm["tint"]) == (0.005, FAMILIES["multiscale"], FAMILIES["gated"])
    assert [(m["low"], m["high"]) for m in drawn(page, "interval")][1:] == [(0.010, 0.014)]
    assert sorted(m["value"] for m in drawn(page, "printed")) == [0.002, 0.004, 0.011, 0.012, 0.018, 0.022, 0.023]
    assert [m["tip"] for m in drawn(page, "none")] == ["no median: 2 diverged, 1 missing"]


@pytest.mark.integration
def test_a_link_selects_rows_and_leads_to_their_comparison(url: str, visit: Visit) -> None:
    named = [trial(model, 0).row[:SHORT] for model in ("lem", "lstm")]
    page = visit(url, "task", task="fitzhugh_nagumo", select=",".join(named))
    links = [link.proto for link in page.get("page_link")]
    assert [link.label for link in links] == ["LEM", "LSTM", "Compare them"]
    assert links[2].query_string == f"rows={'%2C'.join(named)}" and links[2].page == "compare"
    alone = visit(url, "task", task="fitzhugh_nagumo", select=named[0])
    assert [link.proto.label for link in alone.get("page_link")] == ["LEM"]


@pytest.mark.integration
def test_a_filter_hides_rows_and_a_pool_ranks_them_anew(url: str, visit: Visit) -> None:
    shown = printed(visit(url, "task", task="fitzhugh_nagumo", q="lst").dataframe[0])
    assert list(shown["title"]) == ["LSTM"] and list(shown["rank_low"]) == ["1–3"]
    pooled = ours(printed(visit(url, "task", task="fitzhugh_nagumo", models="lstm,cornn").dataframe[0]))
    assert list(pooled["title"]) == ["LSTM", "coRNN"] and list(pooled["rank_low"]) == ["1–2", "1–2"]
    none = visit(url, "task", task="fitzhugh_nagumo", q="no such thing")
    assert none.info[0].value == "No row matches these filters. Remove one of them."


@pytest.mark.integration
def test_a_picker_writes_the_address_and_the_address_moves_the_picker(url: str, visit: Visit) -> None:
    page = visit(url, "task", task="adding", variant="N=2000")
    assert page.selectbox(key="pick variant").options == ["N=500", "N=2000"]
    assert list(printed(page.dataframe[0])["median"]) == ["0.750"]
    page.selectbox(key="pick variant").set_value("N=500").run()
    assert page.query_params.get("variant") in (None, []), "what is usual is left out"
    assert list(printed(page.dataframe[0])["median"]) == ["0.250"]
    page.selectbox(key="pick task").set_value("fitzhugh_nagumo").run()
    assert page.query_params["task"] in ("fitzhugh_nagumo", ["fitzhugh_nagumo"])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("page", "query", "picked", "kept"),
    [
        ("model", {"model": "lem", "against": "lstm", "pair": "dt × lr"}, ("model", "lstm"), {"model": "lstm"}),
        (
            "model",
            {"model": "lem", "against": "gru", "board": "FitzHugh–Nagumo"},
            ("model", "cornn"),
            {"against": "gru", "board": "FitzHugh–Nagumo"},
        ),
        ("model", {"model": "lem", "board": "FitzHugh–Nagumo"}, ("model", "gru"), {"model": "gru"}),
        ("task", {"task": "adding", "variant": "N=2000"}, ("task", "fitzhugh_nagumo"), {"task": "fitzhugh_nagumo"}),
        ("coverage", {"model": "lem", "board": "fitzhugh_nagumo"}, ("model", "gru"), {}),
    ],
)
def test_another_choice_drops_the_choices_that_do_not_fit_it_and_keeps_the_others(
    url: str, visit: Visit, page: str, query: dict[str, str], picked: tuple[str, str], kept: dict[str, str]
) -> None:
    shown = visit(url, page, **query)
    shown.selectbox(key=f"pick {picked[0]}").set_value(picked[1]).run()
    assert not [info.value for info in shown.info if info.value.startswith("No ")]
    assert {key: "".join(value) for key, value in shown.query_params.items()} == kept


@pytest.mark.parametrize(
    ("page", "query", "message"),
    [
        ("task", {"task": "fitzhugh"}, "No task 'fitzhugh'. Did you mean fitzhugh"),
        ("row", {"row": "abcdabcd"}, "No row of this store has a name that begins with 'abcdabcd'."),
        ("sweep", {"sweep": "demos"}, "No sweep 'demos'. Did you mean demo?"),
        ("model", {"model": "lemm"}, "No model 'lemm'. Did you mean lem or lstm?"),
        ("compare", {"models": "gru,lem"}, "gru and lem have no task in common"),
    ],
)
def test_a_link_to_what_is_not_there_says_so_in_place_of_something_else(
    url: str, visit: Visit, page: str, query: dict[str, str], message: str
) -> None:
    opened = visit(url, page, **query)
    text = opened.info[0].value.replace("\\", "")
    assert message in text and not opened.dataframe


@pytest.mark.integration
def test_a_row_has_its_seeds_curves_settings_and_command(url: str, visit: Visit) -> None:
    row = trial("lem", 0).row
    page = visit(url, "row", row=row[:8])
    assert page.subheader[0].value == "LEM on FitzHugh–Nagumo: 0.00500 [0.00300, 0.00700] (75 %)"
    seeds = page.dataframe[0].value.sort_values("seed")
    assert list(seeds["test"]) == [0.003, 0.005, 0.007] and list(seeds["best epoch"]) == [2, 2, 2]
    lines = [v for v in marks(page) if v.get("mark") == ""]
    assert [v["value"] for v in lines if v["name"] == "seed 1"] == [1.3, 1.1, 1.2]
    assert f"longwave reproduce {row[:SHORT]}" in [code.value for code in page.code]
    chosen = dict(page.table[2].value.itertuples(index=False))
    assert chosen["search stopped"] == "0" and "winner at the edge" not in chosen, "it had no search"
    [meanings] = [text.help for text in page.markdown if text.value == "**How the setting was chosen**"]
    assert [line.partition("**: ")[0] for line in meanings.splitlines()] == [f"- **{heading}" for heading in chosen]
    assert "by epoch, one line per retraining, a dot at its best epoch" in notes(page), "the figure has no legend"
    facts = dict(page.table[3].value.itertuples(index=False))
    assert (facts["commit"], facts["uncommitted changes"], facts["kernel"]) == ("abc1234", "no", "fused")
    settings = dict(page.table[1].value.itertuples(index=False))
    assert (settings["precision"], settings["model version"], settings["scored at"]) == ("float32", "2", "best epoch")
    loss = visit(url, "row", row=row, curve="loss", logy="no")
    lines = [v for v in marks(loss) if v.get("mark") == ""]
    assert [v["value"] for v in lines if v["name"] == "seed 0"] == pytest.approx([3.0, 1.0, 2.0])


@pytest.mark.integration
def test_a_row_whose_seeds_diverged_says_why(url: str, visit: Visit) -> None:
    page = visit(url, "row", row=trial("cornn", 0).row)
    seeds = page.dataframe[0].value.sort_values("seed")
    assert list(seeds["status"]) == ["diverged", "diverged", "running"]
    assert list(seeds["reason"]) == ["loss is nan in epoch 2"] * 2 + [""] and seeds["test"].isna().all()
    ends = [v for v in marks(page) if v.get("mark") == "broken"]
    assert [(v["name"], v["epoch"], v["value"]) for v in ends] == [("seed 0", 1, 0.9)]


def link_tables(page: AppTest) -> list[list[list[str]]]:
    """Return the cells of a page's tables of links, line by line, headings first."""
    bodies = [
        part.proto.body for part in page.get("html") if "link-table" in part.proto.body and "<td" in part.proto.body
    ]
    lines = [re.findall("<tr>(.*?)</tr>", body) for body in bodies]
    return [[re.findall("<t[hd][^>]*>(.*?)</t[hd]>", line) for line in table] for table in lines]


def test_home_names_the_best_of_each_board_and_leads_there(url: str, visit: Visit) -> None:
    page = visit(url)
    boards, models, _ = link_tables(page)
    adding = '<a href="task?task=adding&amp;variant=N%3D500">Adding problem, N=500</a>'
    lstm = f'<a href="row?row={trial("lstm", 0).row[:SHORT]}">LSTM</a>'
    assert boards[2] == [adding, "open", "—", "—", "no row is ranked yet"] and len(boards) == 4
    assert boards[3][2] == lstm
    assert boards[3][3] == "0.0120 [0.0100, 0.0140]"
    assert [line[0] for line in models[1:]] == ['<a href="model?model=gru">GRU</a>'], "boards that share no model"
    assert "**4 models on 3 boards, 12 retrainings.** 0 of 3 boards separate networks" in notes(page)


@pytest.mark.integration
def test_home_has_the_ratio_to_the_best_trivial_predictor_and_every_median(tmp_path: Path, visit: Visit) -> None:
    better, worse = [0.1, 0.11, 0.12, 0.13, 0.14], [1.1, 1.2, 1.3, 1.4, 1.5]
    url = f"sqlite:///{tmp_path}/s.db"
    with Store(url) as store:
        store.add_sweep("demo", {"trials": 0})
        for task, tests in (("adding", better), ("enso", worse)):
            keep(store, *(retrained(m, list(tests), task=task, trivial={"mean": 1.0}) for m in ("lem", "gru")))
        told = overviews(read_board(store))[0]
    page = visit(url)
    boards, _, medians = link_tables(page)
    assert [line[1] for line in boards[1:]] == ["yes", "no"]
    assert {(m["board"], m["text"]) for m in marks(page)} == {("adding", "0.12"), ("enso", "1.3")}
    assert over_all(told).endswith("adding: GRU, 1.5 [1.0, 2.0] and LEM, 1.5 [1.0, 2.0].")
    assert "on the one separating board, adding: GRU, 1.5" in notes(page)
    assert medians[0] == ["model", "adding", "enso (saturated)"] and ">1.30† [1.10, 1.50]</a>" in medians[1][2]
    text = notes(visit(url, "task", task="enso"))
    assert "No model beats the best trivial predictor (mean, 1.00)." in text


def test_an_empty_store_says_which_sweep_is_running(tmp_path: Path, visit: Visit) -> None:
    place = f"sqlite:///{tmp_path}/s.db"
    config = trial("lem", 1, phase="search")
    with Store(place) as store:
        store.add_sweep("live", {})
        store.add_trials("live", [config], [about(config)])
        with Leases(store, "live"):
            page = visit(place)
    [link] = page.get("page_link")
    assert link.proto.label == "Sweep live" and "running, 0 of 1 trial done" in notes(page)
    assert page_frame.DEMO not in notes(page)
    st.cache_resource.clear()


@pytest.mark.integration
def test_two_rows_are_compared_with_a_verdict_in_a_sentence(url: str, visit: Visit) -> None:
    page = visit(url, "compare", rows=f"{trial('lem', 0).row[:8]},{trial('lstm', 0).row[:8]}")
    assert "LEM and LSTM are not significantly different on FitzHugh–Nagumo: about 2 more seeds" in notes(page)
    [[_, line]] = link_tables(page)
    assert line[0] == "FitzHugh–Nagumo: L2 error ↓"
    [ratio] = [m for m in marks(page) if m.get("name")]
    assert ratio["tint"] == FAMILIES["multiscale"], "the first one's colour, as on its model's page"
    assert ratio["name"] == "FitzHugh–Nagumo" and ratio["value"] == pytest.approx(
        math.prod((3, 5, 7)) ** (1 / 3) / math.prod(range(10, 15)) ** (1 / 5)
    )


@pytest.mark.integration
def test_the_rows_of_a_link_to_a_comparison_are_chosen_in_its_picker_and_can_be_changed(url: str, visit: Visit) -> None:
    lem, lstm, cornn = (trial(model, 0).row for model in ("lem", "lstm", "cornn"))
    page = visit(url, "compare", rows=f"{lem[:6]},{lstm}")
    [picker] = page.multiselect
    assert picker.value == [lem[:6], lstm] and sorted(picker.options) == ["LEM", "LSTM", "coRNN"]
    picker.set_value([lem[:6], cornn[:SHORT]]).run()
    assert [table[0][1:3] for table in link_tables(page)] == [["LEM", "coRNN"]]
    assert page.multiselect[0].set_value([lem[:6]]).run().info[0].value.startswith("A comparison needs two rows.")
    cleared = page.multiselect[0].set_value([]).run()
    assert cleared.multiselect[0].label.startswith("Models") and "rows" not in cleared.query_params
    gru = trial("gru", 1, "adding", "N=500").row
    apart = visit(url, "compare", rows=f"{lem},{gru}").multiselect[0]
    assert apart.value == [lem, gru] and "GRU on Adding problem, N=500" in apart.options


@pytest.mark.integration
def test_rows_of_different_boards_are_named_by_their_labels_where_they_cannot_be_compared(
    url: str, visit: Visit
) -> None:
    page = visit(url, "compare", rows=f"{trial('lem', 0).row},{trial('gru', 1, 'adding', 'N=500').row}")
    apart = "LEM on FitzHugh–Nagumo and GRU on Adding problem, N=500 cannot be compared"
    assert page.info[0].value.replace("\\", "") == f"{apart}: rows are compared on the same board."


@pytest.mark.integration
def test_five_models_at_most_are_compared_each_with_the_first_and_the_two_best_by_default(
    url: str, visit: Visit
) -> None:
    page = visit(url, "compare")
    assert len(page.multiselect[0].value) == len({"lem", "lstm", "cornn"} & {*page.multiselect[0].value}) == 2
    more = visit(url, "compare", models="lstm,lem,cornn")
    assert [table[0][1:3] for table in link_tables(more)] == [["LSTM", "LEM"], ["LSTM", "coRNN"]]
    wrong = visit(url, "compare", models="lstm,lemm")
    assert "Did you mean" in wrong.info[0].value


@pytest.mark.integration
def test_a_row_that_nobody_names_offers_the_best(url: str, visit: Visit) -> None:
    best, *others = link_tables(visit(url, "row"))
    assert ">LSTM</a>" in best[-1][0] and best[-1][1:] == ["0.0120 [0.0100, 0.0140]", "FitzHugh–Nagumo"] and not others


def test_a_sweep_tells_how_its_trials_stand_each_state_apart(url: str, visit: Visit) -> None:
    page = visit(url, "sweep", sweep="demo")
    stand = {metric.label: metric.value for metric in page.metric}
    assert stand == {"queued": "0", "running": "1", "done": "11", "stopped": "0", "diverged": "3", "failed": "0"}
    assert "running" in notes(page) and "longwave sweep pause demo" in notes(page)


@pytest.mark.integration
def test_a_sweep_warns_of_packs_that_make_no_step_and_goes_on_as_running(
    url: str, visit: Visit, tmp_path: Path
) -> None:
    line = "stalled: no step for 900 s or more of my-leaky search ×2 (pack 1a2b3c4d)"
    copied = shutil.copy(url.removeprefix("sqlite:///"), tmp_path / "copy.db")
    with closing(sqlite3.connect(copied)) as connection, connection:
        connection.execute("UPDATE drivers SET note = ?", (line,))
    page = visit(f"sqlite:///{copied}", "sweep", sweep="demo")
    [warning] = page.warning
    assert line in warning.value and "longwave sweep pause demo" in notes(page)


@pytest.mark.integration
def test_published_numbers_stand_beside_ours_with_their_reason(url: str, visit: Visit) -> None:
    page = visit(url, "reproduction")
    [[_, *lines]] = link_tables(page)
    [(verdict, over, why)] = [line[3:] for line in lines if ">LSTM<" in line[1]]
    assert verdict == "other protocol" and over.startswith("0.99 (")
    assert "hidden 16 (printed" in why or "epochs 3" in why
    assert len(re.findall(r"\d other protocol", notes(page))) == 1, "verdicts are counted once"


@pytest.mark.integration
def test_the_effect_of_settings_is_shown_for_each_board_of_a_model(url: str, visit: Visit) -> None:
    [pick] = [box for box in visit(url, "model", model="gru").selectbox if box.key == "pick board"]
    assert pick.options == ["Adding problem, N=2000", "Adding problem, N=500"]


def test_verdicts_are_counted_once_where_a_row_has_several(
    url: str, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(url, read_only=True) as store:
        [lstm] = [row for row in read_board(store) if row.model == "lstm"]
    twice = replace(lstm, published=[*lstm.published, *lstm.published])
    monkeypatch.setattr(cached_reads, "read_board_rows", lambda *_: [twice])
    assert verdict_share([twice]) in notes(visit(url, "reproduction")).replace("\\", "")


def test_filters_that_no_printed_number_passes_say_so(url: str, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(url, read_only=True) as store:
        lem, lstm = [next(row for row in read_board(store) if row.model == model) for model in ("lem", "lstm")]
    worse = replace(lstm, variant="N=2", published=[{**number, "verdict": "worse"} for number in lstm.published])
    monkeypatch.setattr(cached_reads, "read_board_rows", lambda *_: [lem, worse])
    page = visit(url, "reproduction", boards=lem.board, verdict="worse")
    assert page.info[0].value == "No printed number matches these filters. Remove one of them."
    assert link_tables(page) == []


@pytest.mark.integration
def test_costs_are_those_of_the_runs(url: str, visit: Visit) -> None:
    page = visit(url, "cost")
    spent = page.dataframe[0].value.set_index("model")
    assert spent.loc["LEM", "time to train"] == "6.0 s" and spent.loc["coRNN", "time to find"] == "2.5 min"
    hours = [v for v in marks(page) if v.get("name") == "coRNN"]
    assert {v["phase"]: v["amount"] * 3600 for v in hours} == {"search": 150.0, "retrain": pytest.approx(2.0)}


@pytest.mark.integration
def test_a_search_that_another_one_continued_costs_once(
    url: str, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = retrained("lem", [2.0, 2.1], params={"lr": 0.5}, search=Tally(48, 0, 5400.0))
    first = retrained("lem", [1.0, 1.1], succeeded_by=[chosen.row], search=Tally(32, 0, 3600.0))
    monkeypatch.setattr(cached_reads, "read_board_rows", lambda *_: rows([first, chosen], []))
    page = visit(url, "cost")
    assert "of which the searches took 90.0 min." in notes(page)
    hours = {v["phase"]: v["amount"] for v in marks(page) if v.get("name") == "LEM"}
    assert hours == {"search": 1.5, "retrain": pytest.approx(8 / 3600)}


@pytest.mark.integration
def test_coverage_says_what_was_run_and_how_a_hole_is_filled(url: str, visit: Visit) -> None:
    page = visit(url, "coverage", model="gru", board="adding N=500")
    assert "5 of 5 cells were run" in notes(page)
    cells = {(v["line"], v["column"]): v["state"] for v in marks(page)}
    assert cells["GRU", "Adding problem, N=500"] == "few seeds"
    others = {(v["line"], v["column"]): v["state"] for v in marks(page, 1)}
    assert others == {("LEM", "FitzHugh–Nagumo"): "few seeds", ("LSTM", "FitzHugh–Nagumo"): "done",
                      ("coRNN", "FitzHugh–Nagumo"): "unfinished"}  # fmt: skip
    assert 'task = "adding"\nvariant = "N=500"\nmodels = ["gru"]' in notes(page)


@pytest.mark.integration
def test_coverage_opens_on_the_first_cell_that_was_not_run(tmp_path: Path, visit: Visit) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with Store(url) as store:
        store.add_sweep("demo", {"trials": 0})
        cells = ("lem", "a"), ("gru", "a"), ("lem", "b")
        keep(store, *(retrained(model, [1.0], task=task) for model, task in cells))
    page = visit(url, "coverage")
    assert [page.selectbox(key=f"pick {key}").value for key in ("model", "board")] == ["gru", "b"]
    assert 'task = "b"\nmodels = ["gru"]' in notes(page)
    assert 'task = "a"\nmodels = ["gru"]' in notes(visit(url, "coverage", model="gru", board="a"))


def test_methods_say_what_each_column_means(url: str, visit: Visit) -> None:
    page = visit(url, "methods")
    assert page.table[0].value["column"].tolist() == [column.heading for column in columns.of("dashboard")]
    assert "A rank claims" in notes(page) or any("rank claims" in e.label for e in page.expander)


@pytest.mark.integration
@pytest.mark.parametrize("page", "overview task model row sweep compare reproduction cost coverage".split())
def test_an_empty_store_and_one_that_is_not_there_say_which_command_fills_them(
    tmp_path: Path, visit: Visit, page: str
) -> None:
    Store(f"sqlite:///{tmp_path}/empty.db").close()
    for name in ("empty", "none"):
        opened = visit(f"sqlite:///{tmp_path}/{name}.db", page)
        assert len(opened.info) == 1 and "longwave demo" in [code.value for code in opened.code]
    assert not (tmp_path / "none.db").exists()


@pytest.mark.integration
def test_a_sweep_that_has_just_begun_is_seen(tmp_path: Path, visit: Visit) -> None:
    place = f"sqlite:///{tmp_path}/s.db"
    config = trial("lem", 1)
    with Store(place) as store:
        store.add_sweep("demo", {})
        store.add_trials("demo", [config], [about(config)])
    assert "No row is ranked here yet: a rank takes two seeds." in notes(visit(place, "task"))
    assert "No epoch of these retrainings is stored yet." in notes(visit(place, "row", row=config.row))
    st.cache_resource.clear()


@pytest.mark.integration
def test_a_search_without_results_says_once_that_it_has_none_and_how_many_trials_are_to_come(
    tmp_path: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    search = [trial("lem", k, phase="search") for k in range(4)]
    with Store(url) as store:
        store.add_sweep("s", {})
        store.add_trials("s", search, [about(c) for c in search])
        with Leases(store, "s"):
            status = replace(sweep_status(store, "s"), trials=9, spent=SweepCost(ran=67.0, used={"cpu": 60.0}))
            monkeypatch.setattr(cached_reads, "read_sweep_status", lambda *_: status)
            text = notes(visit(url, "sweep", sweep="s"))
    assert "running, 0 of 9 trials done" in text and "so far it took 1 min 07 s" in text
    assert "5 more are not planned yet: they follow from the results of others." in text
    assert text.count("No search trial has ended with a metric yet.") == 1 and "Settings are compared" not in text


@pytest.mark.integration
def test_the_lab_writes_nothing(url: str, visit: Visit) -> None:
    file = Path(url.removeprefix("sqlite:///"))
    before = file.read_bytes()
    for page in ("overview", "task", "sweep", "coverage"):
        visit(url, page)
    assert file.read_bytes() == before
