"""The Lab's page, read as a visitor reads it, against numbers computed by hand."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from boards import printed as in_print
from boards import retrained, trials
from streamlit import config, dataframe_util
from streamlit.testing.v1 import AppTest

from longwave.dashboard import cells, figures
from longwave.platform.boards import columns
from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import duration, result, seeds, span
from longwave.platform.records.about import About
from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import Phase, TrialConfig
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store

FOLDER = Path(cells.__file__).parent
FACTS = {"commit": "abc1234", "dirty": "false", "device": "H200", "kernel": "fused", "torch": "2.15.0"}
TITLES = {"lem": "LEM", "lstm": "LSTM", "cornn": "coRNN", "gru": "GRU"}


def trial(
    model: str, seed: int, task: str = "fitzhugh_nagumo", variant: str = "", phase: Phase = "retrain"
) -> TrialConfig:
    return TrialConfig(
        task=task, variant=variant, data="d1", model=model, options={"damping": "explicit"} if model == "cornn" else {},
        params={"lr": 0.01}, hidden=16, batch=32, epochs=3, phase=phase, seed=seed, task_version="1", model_version="2",
    )  # fmt: skip


def about(config: TrialConfig) -> About:
    fast = config.task == "fitzhugh_nagumo"
    return About(
        task="FitzHugh-Nagumo, next value" if fast else "Adding problem",
        model=TITLES[config.model],
        metric="l2_error" if fast else "mse",
        unit="1",
        goal="min",
        departures=("epochs 3 (published 400)",),
        recipe="LEM, Table 4",
        paper="lem",
    )


def ok(config: TrialConfig, test: float | None, seconds: float = 2.0) -> Run:
    return Run(config.id, "ok", "", 3, 2, 0.5, test, seconds, 1, 1233, FACTS)


def curve(config: TrialConfig, valid: list[float]) -> list[Point]:
    return [Point(config.id, k, 10 * v, v, float(k), 0.0) for k, v in enumerate(valid, 1)]


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    """Let the stores that this file and the page leave open be collected here, without a warning."""
    yield
    st.cache_resource.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a full row, a provisional one, one without a mean, and a task with two variants."""
    place = f"sqlite:///{tmp_path_factory.mktemp('store') / 'longwave.db'}"
    store = Store(place)
    store.add_sweep("demo", {"trials": 2})
    lem, lstm = [trial("lem", k) for k in range(3)], [trial("lstm", k) for k in range(5)]
    cornn, found = [trial("cornn", k) for k in range(3)], [trial("cornn", k, phase="search") for k in (8, 9)]
    adding = [trial("gru", 1, "adding", "N=500"), trial("gru", 1, "adding", "N=2000")]
    asked = [*found, *lem, *lstm, *cornn, *adding]
    store.ask("demo", asked, [about(c) for c in asked])
    runs = [ok(c, s) for c, s in zip(lem, (0.003, 0.005, 0.007), strict=True)]
    runs += [ok(c, s) for c, s in zip(lstm, (0.010, 0.011, 0.012, 0.013, 0.014), strict=True)]
    runs += [Run(c.id, "diverged", "loss is nan in epoch 2", 1, seconds=1.0) for c in cornn[:2]]
    runs += [ok(found[0], None, 90.0), Run(found[1].id, "diverged", "loss is inf in epoch 1", seconds=60.0)]
    runs += [ok(c, s) for c, s in zip(adding, (0.25, 0.75), strict=True)]
    points = [p for k, c in enumerate(lem) for p in curve(c, [0.3 + k, 0.1 + k, 0.2 + k])]
    points += [*curve(cornn[0], [0.9]), *curve(lstm[0], [0.8, 0.7, 0.6])]
    store.write(points, runs)
    driver = Leases(store, "demo").__enter__()  # of this process, which lives
    driver.take([cornn[2].id])
    driver.write(Report(began={cornn[2].id: 0}))
    store.engine.dispose()
    return place


def visit(url: str, monkeypatch: pytest.MonkeyPatch, **query: str) -> AppTest:
    monkeypatch.setenv("LONGWAVE_STORE", url)
    page = AppTest.from_file(str(FOLDER / "app.py"), default_timeout=30)
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def printed(element: Any) -> pd.DataFrame:
    """Return a table's cells as the reader sees them."""
    return dataframe_util.convert_arrow_bytes_to_pandas_df(element.proto.arrow_data.styler.display_values)


def figure(page: AppTest, place: int) -> dict[str, Any]:
    return json.loads(page.get("plotly_chart")[place].proto.spec)


def ours(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of rows that were retrained."""
    return table[table["departures"] != "—"].reset_index(drop=True)


def notes(page: AppTest) -> str:
    return "\n".join(element.value for kind in (page.markdown, page.caption, page.info, page.code) for element in kind)


def test_the_table_prints_each_row_as_computed_by_hand(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = printed(visit(url, monkeypatch, task="fitzhugh_nagumo").dataframe[0])
    lem, lstm, cornn = ours(table).to_dict("records")
    assert lem == {
        "rank_low": "1–3",
        " ": "●",
        "title": "LEM",
        "median": "0.0050 [0.0030, 0.0070] (75 %)",
        "mean": "0.0050 ± 0.0020 (3, provisional)",
        "published": "0.2 × 10⁻² (reported, lem Table 4, lem Table 9)",
        "verdict": "other protocol, × 2.36 (0.45–13.3), n 3 and ?",
        "n": "3 ok",
        "share": "none",
        "departures": "recipe of LEM, Table 4; epochs 3 (published 400)",
        "parameters": "1,233",
        "train_seconds": "6.0 s",
        "find_seconds": "—",
    }
    # Geometric mean of the errors 0.01189 over 0.012.
    assert [lstm[k] for k in ("rank_low", "mean", "n")] == ["1–3", "0.0120 ± 0.0016 (5)", "5 ok"]
    assert lstm["verdict"].startswith("other protocol, × 0.99 (")
    assert [cornn[k] for k in ("rank_low", "title", "median", "mean")] == ["1–3", "coRNN", "diverged", "diverged"]
    assert [cornn[k] for k in ("n", "share")] == ["2 diverged, 1 missing", "100 % [16, 100]"]
    assert [cornn[k] for k in ("parameters", "train_seconds", "find_seconds")] == ["—", "2.0 s", "2.5 min"]


def test_headings_and_help_are_those_of_the_columns(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = json.loads(visit(url, monkeypatch, task="fitzhugh_nagumo").dataframe[0].proto.columns)
    for column in columns.of("dashboard"):
        if not column.usual:
            assert (shown[column.key]["label"], shown[column.key]["help"]) == (column.heading, column.meaning)


def test_a_published_number_that_nobody_retrained_is_a_row_without_a_rank(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(url, monkeypatch, task="fitzhugh_nagumo")
    table = printed(page.dataframe[0])
    theirs = table[table["mean"].str.endswith("(published)")].to_dict("records")
    assert [(row["title"], row["mean"], row["rank_low"]) for row in theirs] == [
        ("LEM (without multi-scale gates)", "0.011 (published)", "—"),
        ("Lipschitz RNN", "0.018 (published)", "—"),
        ("FastGRNN", "0.022 (published)", "—"),
        ("expRNN", "0.023 (published)", "—"),
    ]
    assert [theirs[0][k] for k in ("published", "verdict", "departures")] == [
        "1.1 × 10⁻² (reported, lem Table 9)",
        "—",
        "—",
    ]
    page.session_state[page.dataframe[0].key] = {"selection": {"rows": [1], "columns": [], "cells": []}}
    page.run()
    assert page.subheader[0].value == "LEM (without multi-scale gates): 0.011 (published)"
    assert "A published number that nobody retrained here" in notes(page)


def test_numbers_stay_numbers_under_the_print_so_that_columns_sort(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = ours(visit(url, monkeypatch, task="fitzhugh_nagumo").dataframe[0].value)
    assert list(frame["mean"][:2]) == pytest.approx([0.005, 0.012])
    assert pd.isna(frame["mean"][2]) and frame["rank_low"][2] == 1
    assert list(frame["share"]) == [0, 0, 1]


def test_what_is_missing_is_a_dash_and_no_zero(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit(url, monkeypatch, task="fitzhugh_nagumo")
    assert [table.proto.placeholder for table in page.dataframe] == ["—", "—"]
    assert ours(page.dataframe[0].value).loc[2, ["mean", "parameters"]].isna().all()


def test_the_page_says_what_is_ranked_and_how(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = notes(visit(url, monkeypatch, task="fitzhugh_nagumo"))
    assert "**FitzHugh-Nagumo, next value.** Ranked by the median of **test l2_error ↓** (↓ smaller is better)" in text
    assert "with fresh seeds, a diverged one worst, each scored at the epoch best on validation" in text
    assert "A rank claims a typical seed, nothing about means" in text
    assert "1 of 11 retrainings to come" in text


def test_the_best_row_is_open_before_any_click(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit(url, monkeypatch, task="fitzhugh_nagumo")
    assert page.subheader[0].value == "LEM: median 0.0050 [0.0030, 0.0070] (75 %)"
    seeds = page.dataframe[1].value.sort_values("seed")
    assert list(seeds["test"]) == [0.003, 0.005, 0.007]
    assert list(seeds["best epoch"]) == [2, 2, 2]
    assert "reason" not in seeds
    lines = [line for line in figure(page, 1)["data"] if line["mode"] == "lines"]
    assert {line["name"]: line["y"] for line in lines}["seed 1"] == [1.3, 1.1, 1.2]
    facts = dict(page.table[2].value.itertuples(index=False))
    assert (facts["commit"], facts["uncommitted changes"], facts["kernel"]) == ("abc1234", "false", "fused")
    assert dict(page.table[1].value.itertuples(index=False))["precision"] == "float32"
    assert dict(page.table[1].value.itertuples(index=False))["versions"] == "task 1, model 2, protocol 1"
    assert " · trained here · row " in notes(page)


def test_a_click_on_a_row_shows_its_seeds_curves(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit(url, monkeypatch, task="fitzhugh_nagumo")
    page.session_state[page.dataframe[0].key] = {"selection": {"rows": [6], "columns": [], "cells": []}}
    page.run()
    assert page.subheader[0].value == "coRNN: median diverged"
    seeds = page.dataframe[1].value.sort_values("seed")
    assert list(seeds["status"]) == ["diverged", "diverged", "running"]
    assert list(seeds["reason"]) == ["loss is nan in epoch 2"] * 2 + [""]
    assert seeds["test"].isna().all()
    drawn = [line for line in figure(page, 1)["data"] if line.get("y")]
    assert [(line["name"], line["y"]) for line in drawn if line.get("name")] == [("seed 0 (diverged)", [0.9])]
    assert drawn[-1]["marker"]["symbol"] == "x"


def test_the_loss_is_one_click_away(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit(url, monkeypatch, task="fitzhugh_nagumo")
    page.button_group(key="curve").set_value("loss").run()
    lines = {line["name"]: line["y"] for line in figure(page, 1)["data"] if line["mode"] == "lines"}
    assert lines["seed 0"] == pytest.approx([3.0, 1.0, 2.0])


def test_an_address_opens_its_row_and_its_variant(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lstm = trial("lstm", 0).row
    page = visit(url, monkeypatch, task="fitzhugh_nagumo", row=lstm)
    assert page.subheader[0].value == "LSTM: median 0.0120 [0.0100, 0.0140]"
    page = visit(url, monkeypatch, task="adding", variant="N=2000")
    assert page.selectbox(key="variant").options == ["N=500", "N=2000"]
    assert page.subheader[0].value == "GRU: median 0.75"


def test_the_dot_plot_holds_medians_intervals_and_published_numbers(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = figure(visit(url, monkeypatch, task="fitzhugh_nagumo", log_axis_min="false"), 0)
    lem, lstm = [trace for trace in drawn["data"] if "error_x" in trace]
    assert (lem["x"], lem["y"], lem["marker"]["color"]) == (pytest.approx([0.005]), [0], figures.colour("lem"))
    assert (lstm["error_x"]["array"], lstm["error_x"]["arrayminus"]) == (pytest.approx([0.002]), pytest.approx([0.002]))
    hollow = [t["x"][0] for t in drawn["data"] if t["marker"]["symbol"] == "diamond-open" and t["x"][0] is not None]
    assert hollow == [0.002, 0.011, 0.012, 0.018, 0.022, 0.023, 0.004]
    assert drawn["layout"]["annotations"][0]["text"] == "no median: 2 diverged, 1 missing"


def test_an_interval_that_ends_at_a_diverged_seed_runs_to_the_worst_number_and_ends_in_an_arrow() -> None:
    for goal, ends, worst, arrow in (("min", [1.0, 2.0, 3.0], 8.0, "right"), ("max", [3.0, 4.0, 5.0], 2.5, "left")):
        made = rows([retrained("a", [*ends, "diverged", "failed"], goal), retrained("b", [worst], goal)], [])
        group = [t for m, e in (("a", ends), ("b", [worst])) for t in trials(retrained(m, e, goal))]
        drawn = figures.forest(made, ["A", "B"], {t.config.id: t for t in group}, 0, False).to_dict()["data"]
        [bar] = [trace for trace in drawn if trace.get("error_x", {}).get("array")]
        [end] = [trace for trace in drawn if str(trace["marker"]["symbol"]).startswith("triangle")]
        assert (end["x"], end["marker"]["symbol"]) == ([worst], f"triangle-{arrow}")
        array = bar["error_x"]["array" if goal == "min" else "arrayminus"]
        assert abs(bar["x"][0] - worst) == pytest.approx(array[0])


def test_a_published_number_stands_in_the_frame_with_word_ratio_and_n() -> None:
    numbers = [{"value": 0.5, "units": "16"}, {"value": 1.0, "n": 3, "printed": "1.00"}]
    [row] = rows([retrained("a", [1.0, 1.01, 0.99, 1.02])], [in_print("a", **number) for number in numbers])
    other, near = cells.published_frame(row).to_dict("records")
    assert (other["ours is"], other["n"], other["differs in"]) == ("other protocol", "4 and ?", "hidden 8 (printed 16)")
    assert (near["number"], near["statistic"], near["ours is"], near["n"]) == (
        "1.00", "mean of 3", "reproduced", "4 and 3",
    )  # fmt: skip
    assert near["our error over it"].startswith("× 1.00 (") and near["differs in"] == "—"
    [_, alone] = rows([retrained("b", [1.0])], [in_print("a", 2.0)])
    [told] = cells.published_frame(alone).to_dict("records")
    assert (told["ours is"], told["our error over it"], told["n"]) == ("not run", "—", "—")


def test_a_sweep_that_runs_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"sqlite:///{tmp_path / 'longwave.db'}"
    store = Store(place)
    page = visit(place, monkeypatch)
    assert page.subheader[0].value == "No results to show"
    assert "longwave sweep run infra/sweeps/demo.toml" in notes(page)
    config = trial("lem", 1)
    store.add_sweep("demo", {})
    store.ask("demo", [config], [about(config)])
    st.cache_data.clear()
    page = visit(place, monkeypatch)
    assert page.subheader[0].value == "LEM: missing"
    assert "No epoch of these retrainings is stored yet." in notes(page)
    store.engine.dispose()


def test_a_store_that_is_not_there_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit(f"sqlite:///{tmp_path / 'none.db'}", monkeypatch)
    assert page.info[0].value == f"There is no store at {tmp_path / 'none.db'}. Make one with: longwave sweep run FILE"
    assert not (tmp_path / "none.db").exists()


def test_rows_of_equal_name_are_told_apart_by_their_identity(url: str) -> None:
    with Store(url, create=False) as store:
        found = read_board(store, "adding")
    assert cells.labels(found) == [f"GRU #{row.config[:4]}" for row in found]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.44, "0.4 s"), (23, "23 s"), (150, "2.5 min"), (10800, "3.0 h"), (0.0, "—")]
)
def test_a_time_has_its_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_page_loads_no_torch() -> None:
    code = "import sys; from longwave.dashboard import cells, figures; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_setting_is_one_that_streamlit_knows() -> None:
    def flat(table: dict[str, Any], head: str = "") -> list[str]:
        parts = [flat(v, f"{head}{k}.") if isinstance(v, dict) else [head + k] for k, v in table.items()]
        return sum(parts, [])

    options = flat(tomllib.loads((FOLDER / "streamlit.toml").read_text()))
    assert "browser.gatherUsageStats" in options
    assert set(options) <= set(config.get_config_options())


def test_a_trivial_predictor_is_grey_has_no_seeds_and_no_protocol() -> None:
    row = Row("t", "", "AR(8)", "AR(8)", "mse", "1", "min", 0.0098, kind="trivial")
    assert (result(row), seeds(row), span(row.rank_low, row.rank_high)) == ("0.0098 (trivial)", "—", "—")
    frame = cells.board_frame([row])
    assert frame["departures"].tolist() == ["—"] and frame["mean"].tolist() == [0.0098]
    assert "share" not in frame
    assert figures.colour(row.model, row.trivial) == figures.NEUTRAL != figures.colour("lem")


def test_a_superseded_row_says_why_in_the_table_and_others_have_no_such_column() -> None:
    now, old = rows([retrained("a", [1.0, 2.0]), retrained("a", [1.0], superseded="model version 1, now 2")], [])
    table = cells.board_table([now, old], ["red", "red"]).data  # type: ignore[attr-defined]
    assert table["superseded"].tolist() == ["—", "model version 1, now 2"] and table["rank_low"].isna().tolist() == [
        False,
        True,
    ]
    assert "superseded" not in cells.board_frame([now]) and "superseded" in cells.headings([old])
