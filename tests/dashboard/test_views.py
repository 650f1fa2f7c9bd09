"""What a link says of a board and of a sweep: order, filters, figures, ranges, theme; against numbers by hand."""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab import about, marks, notes, ok, printed, trial
from streamlit.testing.v1 import AppTest

from longwave.dashboard import board_table, export_menu, page_frame, refresh_rate
from longwave.dashboard.sweep_files import recipe_file, retraining_file
from longwave.platform.boards.answer import answer
from longwave.platform.boards.row import SHORT
from longwave.platform.records.group import Pool
from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.stored import CatalogueEntry, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.render.export import Format, format_tables
from longwave.platform.storage import leases
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.plan.resolve import resolve

Visit = Callable[..., AppTest]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with a search of six trials on two settings, its winner, a failure, and a pack in training."""
    place = f"sqlite:///{tmp_path_factory.mktemp('searched') / 'longwave.db'}"
    store = Store(place)
    store.add_sweep("s", {})

    def drawn(k: int, dt: float, lr: float) -> TrialConfig:
        return replace(trial("lem", k, phase="search"), params={"dt": dt, "lr": lr})

    search = [drawn(10 + k, dt, lr) for k, (dt, lr) in enumerate([(0.1, 1e-3), (0.2, 1e-3), (0.4, 1e-2), (0.8, 1e-1)])]
    late, failed = drawn(20, 0.3, 5e-3), drawn(21, 0.5, 5e-3)
    won = [trial("lem", k) for k in range(5)]
    others = [trial("gru", 0), trial("lstm", 0)]
    configs = [*search, late, failed, *won, *others]
    store.add_trials("s", configs, [about(c) for c in configs])
    runs = [
        Run(c.id, "ok", "", 3, 2, valid, None, 2.0, 1, 1233) for c, valid in zip(search, (3.0, 1.0, 2.0), strict=False)
    ]
    runs += [Run(search[3].id, "diverged", "loss is nan in epoch 1", 1), Run(failed.id, "failed", "worker died")]
    store.write([], [*runs, *(ok(c, 0.1 + 0.01 * k) for k, c in enumerate(won))])
    store.write([], [replace(ok(c, 0.5), parameters=size) for c, size in zip(others, (1500, 1600), strict=True)])
    store.assign({"packet01": [late]})
    facts = {
        "title": "FitzHugh-Nagumo",
        "summary": "Predict v.",
        "length": "1000",
        "lag": "some 50 steps",
        "chance": 0.25,
    }
    store.write_catalogue([CatalogueEntry("task", "fitzhugh_nagumo", "1", "dynamics", data="d1", facts=facts)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "SECONDS", 3600.0)
        driver = Leases(store, "s").__enter__()
    driver.take([late.id])
    driver.write(Report(began={late.id: 0}, points=[Point(late.id, 1, 1.0, 1.0, 1.0, 4e9)]))
    yield place
    driver.__exit__()
    store.close()


@pytest.mark.integration
def test_a_board_is_sorted_as_the_link_says_and_taken_along_in_that_order(url: str, visit: Visit) -> None:
    page = visit(url, "task", task="fitzhugh_nagumo", sort="model", largest="yes")
    assert list(printed(page.dataframe[0])["title"]) == ["LSTM", "LEM", "coRNN"]
    seeds = visit(url, "task", task="fitzhugh_nagumo", sort="diverged", largest="yes")
    assert list(printed(seeds.dataframe[0])["title"])[0] == "coRNN"
    with Store(url, create=False) as store:
        rows = [row for row in read_board(store, "fitzhugh_nagumo") if row.kind == "retrained"]
        board_rows = read_board(store, "fitzhugh_nagumo")
    table = export_menu.board_as_table(board_table.view_board(rows[::-1]), board_rows, Pool(min_seeds=1))
    assert table.answer == answer(board_rows).sentence != answer(rows[::-1]).sentence
    assert table.caption == "Ranked: only rows with at least 1 retraining."
    assert export_menu.row_as_table(rows[0]).answer == ""
    assert [line[0] for line in table.lines] == ["coRNN", "LSTM", "LEM"]
    assert [record["model"] for record in table.records] == ["cornn", "lstm", "lem"]
    assert format_tables([table], Format.markdown).count("\n| ") >= 4
    others = export_menu.references_as_table([row for row in board_rows if row.kind != "retrained"])
    assert all(record.keys() == table.records[0].keys() for record in others.records), "one schema in a file"
    assert others.records[0]["mean"] == 0.011 and others.lines[0][2].startswith("1.1 × 10⁻²"), "at full precision"


@pytest.mark.integration
def test_a_model_shows_its_equations_and_its_parameters_with_their_search_ranges(url: str, visit: Visit) -> None:
    page = visit(url, "model", model="lem")
    assert [code.value for code in page.code][-1] == "y = f(x)\nf(x) = 2x", "without its indent"
    assert "An oscillator, from a paper:" in [text.value for text in page.markdown]
    [table] = [element.value for element in page.dataframe if "symbol" in element.value]
    assert table.to_dict("records") == [
        {
            "key": "dt", "symbol": "Δt", "range": "0.1 to 2", "draw": "linear", "unit": "steps",
            "meaning": "Time step.", "if not given": "drawn", "range published in": "—",
        },
    ]  # fmt: skip
    assert "Searched instead on adding: dt in [0.01, 0.5], lr in [0.001, 0.1]" in notes(page).replace("\\", "")


@pytest.mark.integration
def test_rows_of_equal_size_or_search_are_those_within_a_quarter(url: str, visit: Visit, searched: str) -> None:
    near = visit(searched, "task", size=trial("lem", 0).row)
    assert list(printed(near.dataframe[0])["title"]) == ["LEM", "GRU"], "of 1233 numbers, 1500 and 1600"
    assert "2 of 3 rows that were trained here; set: equal size." in notes(near)
    lem, cornn = trial("lem", 0).row, trial("cornn", 0).row
    page = visit(url, "task", task="fitzhugh_nagumo", size=lem)
    assert list(printed(page.dataframe[0])["title"]) == ["LEM", "LSTM"], "coRNN's size is not known"
    assert "2 of 3 rows that were trained here" in notes(page)
    budget = visit(url, "task", task="fitzhugh_nagumo", budget=cornn)
    assert list(printed(budget.dataframe[0])["title"]) == ["coRNN"]
    own = visit(url, "task", task="fitzhugh_nagumo", protocol="yes")
    assert own.info[0].value == "No row matches these filters. Remove one of them."


@pytest.mark.integration
def test_a_star_pins_a_row_above_all_others_and_is_taken_along_in_the_link(url: str, visit: Visit) -> None:
    cornn = trial("cornn", 0).row
    page = visit(url, "task", task="fitzhugh_nagumo", star=cornn[:SHORT], q="lem")
    assert list(printed(page.dataframe[0])["title"]) == ["★ coRNN", "LEM"], "a filter hides it not"
    plain = visit(url, "task", task="fitzhugh_nagumo", select=cornn[:SHORT])
    star = plain.toggle(key=f"pick star {cornn}")
    assert not star.value
    star.set_value(True).run()
    assert list(printed(plain.dataframe[0])["title"]) == ["★ coRNN", "LEM", "LSTM"]
    assert plain.query_params["star"] in (cornn[:SHORT], [cornn[:SHORT]])
    assert all(f"star={cornn[:SHORT]}" in link.proto.query_string for link in plain.get("page_link"))
    plain.toggle(key=f"pick star {cornn}").set_value(False).run()
    assert list(printed(plain.dataframe[0])["title"]) == ["LEM", "LSTM", "coRNN"] and "star" not in plain.query_params


@pytest.mark.integration
def test_a_link_chooses_columns_and_holds_a_note(url: str, visit: Visit, searched: str) -> None:
    page = visit(url, "task", task="fitzhugh_nagumo", columns="parameters,valid")
    assert list(printed(page.dataframe[0]).columns) == ["title", "median", "rank_low", " ", "parameters"]
    for name, query in (("row", {"row": trial("lem", 0).row}), ("sweep", {"sweep": "demo"})):
        noted = visit(url, name, note="check seed 3", **query)
        assert noted.text_input(key="pick note").value == "check seed 3" and "note=check+seed+3" in notes(noted)


@pytest.mark.integration
def test_the_baselines_stay_in_view_whatever_is_filtered(url: str, visit: Visit) -> None:
    page = visit(url, "task", task="fitzhugh_nagumo", q="cornn")
    assert list(printed(page.dataframe[0])["title"]) == ["coRNN"]
    lines = [tuple(line)[:2] for line in page.table[0].value.itertuples(index=False)]
    assert lines == [("best, baseline", "LSTM"), ("best published", "LEM")]


@pytest.mark.integration
def test_each_figure_of_a_board_has_its_link(url: str, visit: Visit, searched: str) -> None:
    pairs = marks(visit(url, "task", task="fitzhugh_nagumo", figure="pairs"))
    assert len(pairs) == 6 and {mark["word"] for mark in pairs} == {"≈"}
    dots = marks(visit(url, "task", task="fitzhugh_nagumo", figure="seeds", log="no"))
    assert sum(mark.get("mark") == "diverged" for mark in dots) == 2, "both of coRNN's diverged"
    length = marks(visit(url, "task", task="adding", figure="length"))
    assert {mark["value"] for mark in length} == {0.25, 0.75}
    lacking = visit(url, "task", task="fitzhugh_nagumo", figure="length")
    assert "This task has results at fewer than two lengths or lags." in notes(lacking)
    curve = marks(visit(searched, "task", task="fitzhugh_nagumo", figure="search", log="no"))
    # Of 1, 2, 3 and one that diverged: of the pairs 1 is best in three, 2 in two, 3 in one; of the triples 1 in three.
    assert [mark["value"] for mark in curve] == pytest.approx([2, (1 + 2) / 2, 1, 1])


@pytest.mark.integration
def test_a_board_says_what_its_task_tests_how_long_it_is_and_what_chance_reaches(searched: str, visit: Visit) -> None:
    text = notes(visit(searched, "task"))
    assert "**FitzHugh-Nagumo.** Predict v. Length 1000, some 50 steps. Chance reaches 0.25." in text


@pytest.mark.integration
def test_a_sweep_tells_of_its_packs_its_best_and_what_half_of_it_would_find(searched: str, visit: Visit) -> None:
    page = visit(searched, "sweep", sweep="s")
    packs = next(frame.value for frame in page.dataframe if "progress" in frame.value)
    assert packs.loc[0, ["pack", "model", "epochs", "trials"]].tolist() == ["packet01", "lem", "1 of 3", "1 running"]
    assert packs.loc[0, "progress"] == pytest.approx(1 / 3)
    text = notes(page)
    assert "Best of 4 drawn, 3 completed: **validation L2 error 1**" in text
    assert "with half as many trials the median search finds 1.5 [1, 3], 80 % of such searches" in text
    assert "retrained: **test L2 error 0.120 [0.100, 0.140]**, 5 seeds." in text
    failures = next(frame.value for frame in page.dataframe if "why" in frame.value)
    assert failures.values.tolist() == [["lem: worker died", 1]]
    assert "longwave sweep retry s" in text


@pytest.mark.integration
def test_a_sweep_draws_the_curves_of_trials_in_training_and_how_much_each_setting_mattered(
    searched: str, visit: Visit
) -> None:
    page = visit(searched, "sweep", sweep="s")
    [point] = marks(page)
    assert (point["model"], point["epoch"], point["value"]) == ("LEM", 1, 1.0)
    reason = "No importance: s: the keys task, name, models, trials are missing."
    assert reason in notes(page)
    assert page.button_group(key="pick importance").value == "pedanova", "Optuna's default, and the command's"


@pytest.mark.integration
def test_ranges_in_the_link_pick_trials_and_give_the_sweep_file_of_the_best_of_them(
    searched: str, visit: Visit
) -> None:
    page = visit(searched, "sweep", sweep="s", **{"in-dt": "0.4..0.8"})
    table = next(frame.value for frame in page.dataframe if "validation" in frame.value)
    assert table["dt"].tolist() == [0.4, 0.8] and table["validation"].tolist()[0] == 2.0
    file = tomllib.loads(next(code.value for code in page.code if code.value.startswith("name =")))
    assert file["space"] == {"lem": {"dt": 0.4, "lr": 0.01}} and file["retrain"] == 5
    assert "2 of 4 trials lie in the ranges" in notes(page)
    assert "from yellow for the best on validation L2 error to violet for the worst" in notes(page)
    assert "dashed: the median over all orders of these trials" in notes(page)
    page.select_slider(key="pick in-dt 0.4..0.8").set_range(0.1, 0.8).run()
    assert page.query_params.get("in-dt") in (None, []), "all of it is what is usual"
    odd = visit(searched, "sweep", sweep="s", **{"in-dt": "nan..<b>"})
    assert "4 of 4 trials lie in the ranges" in notes(odd)


def test_the_sweep_file_of_a_trial_is_one_that_a_sweep_reads(searched: str) -> None:
    with Store(searched, create=False) as store:
        trial = next(t for t in store.trials("s") if t.config.phase == "search")
    file = check_sweep(tomllib.loads(retraining_file(trial)), "again.toml")
    assert (file.task, file.models, file.trials, file.retrain) == ("fitzhugh_nagumo", ["lem"], 1, 5)
    assert (file.hidden, file.batch, file.epochs) == (16, 32, 3) and file.space["lem"]["dt"] == 0.1


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"hidden": 24},
        {"clip": 5.0},
        {"steps": 7},
        {"drops": [2]},
        {"precision": "float64"},
        {"selection": "last"},
        {"recipe": {"optimiser": "sgd", "momentum": 0.5}},
        {"recipe": {"schedule": "cosine"}},
        {"model": {"lem": {"block": "pre", "depth": 2, "width": 12}}},
    ],
    ids=str,
)
def test_the_sweep_file_of_a_trial_trains_the_same_row(setting: dict[str, Any]) -> None:
    content = {"name": "s", "task": "even_pairs", "models": ["lem"], "trials": 4, "epochs": 3}
    content |= {"space": {"lem": {"lr": 0.01, "dt": 0.5}}}
    first = resolve(check_sweep({**content, **setting}, "s.toml")).cells[0].base
    file = retraining_file(Trial(first, about(first), "ok"))
    again = resolve(check_sweep(tomllib.loads(file), "again.toml")).cells[0].base
    assert again.row == first.row, file


def test_the_sweep_file_of_a_board_with_any_variant_is_valid() -> None:
    file = check_sweep(tomllib.loads(recipe_file("lem", "mackey_glass", "h=25,test=2")), "s.toml")
    assert (file.name, file.variant) == ("lem-mackey_glass-h25-test2", "h=25,test=2")


def test_names_with_commas_are_chosen_and_stay_in_the_link() -> None:
    def pick() -> None:
        from longwave.dashboard import state

        state.draw_choices("Boards", "boards", ["Mackey–Glass, h=1", "50 %, 2C", "B"])

    page = AppTest.from_function(pick).run()
    page.multiselect[0].set_value(["Mackey–Glass, h=1", "50 %, 2C"]).run()
    assert page.multiselect[0].value == ["Mackey–Glass, h=1", "50 %, 2C"]
    assert page.query_params["boards"] == "Mackey–Glass%2C h=1,50 %25%2C 2C"


@pytest.mark.integration
def test_costs_are_shown_where_all_rows_of_a_board_are_superseded(searched: str, tmp_path: Path, visit: Visit) -> None:
    copy = tmp_path / "longwave.db"
    with closing(sqlite3.connect(searched.removeprefix("sqlite:///"))) as source, closing(sqlite3.connect(copy)) as to:
        source.backup(to)
    with Store(f"sqlite:///{copy}") as store:
        store.write_catalogue([CatalogueEntry("task", "fitzhugh_nagumo", "99", "dynamics", data="d1", facts={})])
    assert "No row of this board has both a median and this cost." in notes(visit(f"sqlite:///{copy}", "cost"))


@pytest.mark.integration
def test_the_theme_of_a_link_is_asked_of_the_browser_and_taken_along(url: str, visit: Visit) -> None:
    row = trial("lem", 0).row
    page = visit(url, "row", row=row, theme="dark")
    assert any('wanted = "\\"Dark\\""' in part.proto.body for part in page.get("html"))
    assert all("theme=dark" in link.proto.query_string for link in page.get("page_link"))
    assert any("theme=dark" in code.value for code in page.code)
    plain = visit(url, "row", row=row)
    assert any("max-width: 640px" in part.proto.body for part in plain.get("html")), "a first page has its style"
    assert any('wanted = "\\"System\\""' in part.proto.body for part in plain.get("html"))
    assert not any("theme" in link.proto.query_string for link in plain.get("page_link"))


def test_pages_redraw_less_often_with_more_open_pages_and_slower_reads() -> None:
    rate = refresh_rate.RefreshRate()
    assert rate.every() == refresh_rate.SHORTEST
    rate.note_draw("a", 0.2, 10)
    assert rate.every() == refresh_rate.SHORTEST and rate.every(5) == 5
    for k in range(40):
        rate.note_draw(f"v{k}", 0.2, 10)
    # 41 visitors of 0.2 s each are 8.2 s of work: a quarter of a core does that in 33 s.
    assert rate.every() == 40 and rate.every(5) == 40
    for _ in range(50):
        rate.note_draw("a", 100.0, 40)
    assert rate.every() == refresh_rate.LONGEST


def test_the_clicks_of_one_visitor_each_a_session_of_its_own_slow_no_page_down(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, now = refresh_rate.RefreshRate(), 0.0
    monkeypatch.setattr(refresh_rate, "time", SimpleNamespace(monotonic=lambda: now))
    for k in range(100):
        rate.note_draw(f"click {k}", 0.5, rate.every())
        now += 7.0
        assert rate.every() == refresh_rate.SHORTEST


@pytest.mark.integration
def test_a_page_whose_first_draw_was_slow_is_drawn_once(
    visit: Callable[..., AppTest], searched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowServer(refresh_rate.RefreshRate):
        def note_draw(self, visitor: str, seconds: float, interval: int) -> None:
            super().note_draw(visitor, 100.0, interval)

    rate, intervals = SlowServer(), list[int]()
    monkeypatch.setattr(refresh_rate, "shared_rate", lambda: rate)
    monkeypatch.setattr(page_frame, "draw_foot", intervals.append)
    visit(searched, "sweep", sweep="s")
    assert intervals == [5] and rate.every(5) == refresh_rate.LONGEST, "the next redraw changes the interval"


@pytest.mark.integration
def test_ranges_are_drawn_once_their_part_is_opened_or_the_link_has_one(
    visit: Callable[..., AppTest], searched: str
) -> None:
    assert not visit(searched, "sweep", sweep="s").select_slider
    assert visit(searched, "sweep", sweep="s", **{"in-dt": "0.4..0.8"}).select_slider
