"""Boards: statistics checked by hand and against scipy, ranks, verdicts, kinds of rows, and what is printed."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from boards import printed, retrained
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.boards.answer import answer
from longwave.platform.boards.board import check_pool, rows
from longwave.platform.boards.columns import named_columns, of
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import searched, seeds, shown
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import EVERYBODY, Pool, Tally
from longwave.platform.render import board as render_board
from longwave.platform.render.export import Format
from longwave.platform.statistics.advice import advice
from longwave.platform.statistics.ranking import standings
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.stats import mean_std, summary

CONTRACT = (
    "task model config metric unit goal mean std n low high median median_best median_worst median_level diverged "
    "share failed searched provisional recipe known loses_to rank_low rank_high published"
).split()
numbers = st.floats(-1e6, 1e6)


def written(row: Row) -> dict[str, str]:
    """Return a row's cells in a terminal and on a page by heading."""
    return {column.heading: column.text(row) for column in (*of("terminal"), *of("page"))}


def test_mean_and_deviation_by_hand() -> None:
    assert mean_std([1.0, 3.0]) == (2.0, math.sqrt(2))
    assert mean_std([5.0]) == (5.0, None)


@given(st.lists(numbers, min_size=2, max_size=20))
def test_mean_and_deviation_are_numpys(scores: list[float]) -> None:
    mean, std = mean_std(scores)
    assert mean == pytest.approx(np.mean(scores), abs=1e-6)
    assert std == pytest.approx(np.std(scores, ddof=1), rel=1e-9, abs=1e-6)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=12, unique=True), st.floats(0.5, 0.99))
def test_the_interval_is_scipys(scores: list[int], level: float) -> None:
    theirs = scipy_stats.t.interval(level, len(scores) - 1, np.mean(scores), scipy_stats.sem(scores))
    assert summary(scores).interval(level) == pytest.approx(theirs, rel=1e-9)


def test_the_interval_covers_the_mean_as_often_as_it_says_even_at_three_seeds() -> None:
    samples = np.random.default_rng(0).normal(size=(4000, 3))
    hits = sum(low <= 0 <= high for low, high in filter(None, (summary(list(s)).interval() for s in samples)))
    assert abs(hits / 4000 - 0.95) < 3 * math.sqrt(0.95 * 0.05 / 4000)


def test_statistics_refuse_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match=r"not finite at positions \[1\]"):
        mean_std([1.0, math.nan])
    with pytest.raises(ValueError, match="at least one score"):
        mean_std([])
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        summary([1.0, 2.0]).interval(1.0)


def test_a_mean_is_exact_for_equal_scores_and_finite_for_huge_ones() -> None:
    assert mean_std([0.1] * 7) == (0.1, 0.0)
    mean, std = mean_std([1e308, 1.5e308, 1.2e308])
    assert mean == pytest.approx(1.2333333e308) and std is not None and math.isfinite(std)


def test_a_row_averages_what_ended_ok_and_counts_what_did_not() -> None:
    [row] = rows([retrained("lem", [1.0, 3.0, "diverged", "failed", "running", "planned"])], [])
    assert (row.mean, row.std, row.n, list(row.scores)) == (2.0, math.sqrt(2), 2, [1.0, 3.0])
    assert (row.diverged, row.failed, row.missing, row.provisional, row.state) == (1, 1, 2, True, "ok")
    half = scipy_stats.t.ppf(0.975, 1) * math.sqrt(2) / math.sqrt(2)
    assert (row.low, row.high) == pytest.approx((2 - half, 2 + half))
    assert (row.train_seconds, row.parameters, row.title, row.valid) == (12.0, 7, "LEM", 3.0)


@pytest.mark.parametrize("ends", [["diverged"] * 2 + ["failed"], ["failed", "planned"], ["running", "planned"]])
def test_a_row_without_a_mean_says_why_and_has_a_rank_only_where_two_seeds_ended(ends: list[str]) -> None:
    [row] = rows([retrained("lem", ends)], [])
    assert (row.mean, row.median) == (None, None)
    assert row.state == (ends[0] if ends[0] != "running" else "missing")
    assert (row.rank_low, row.ties) == ((1, "a") if "diverged" in ends else (None, ""))


def test_rows_stand_by_their_median_over_all_seeds_in_the_metrics_direction_and_those_not_ended_come_last() -> None:
    ends: list[tuple[str, list[float | str]]] = [
        ("a", ["diverged"]), ("b", [1.0, 1.0, 9.0]), ("c", [2.0, 2.1, 2.2]), ("d", ["failed"]),
        ("e", [3.0, "diverged"]),
    ]  # fmt: skip

    def placed(goal: str) -> str:
        return "".join(row.model for row in rows([retrained(m, t, goal) for m, t in ends], []))

    assert (placed("min"), placed("max")) == ("bcead", "cbead")


def test_a_row_of_5_ended_and_45_diverged_seeds_stands_behind_all_that_mostly_ended() -> None:
    lost: list[float | str] = [*[0.1] * 5, *["diverged"] * 45]
    worse: list[float | str] = [9.0, 9.1, 9.2, "diverged"]
    actual = rows(
        [retrained("lost", lost), retrained("fine", [1.0, 1.1, 1.2, 1.3, 1.4]), retrained("worse", worse)], []
    )
    assert [row.model for row in actual] == ["fine", "worse", "lost"]
    last = actual[-1]
    assert (last.mean, last.median, last.median_best, last.seed_count, last.rank_high) == (0.1, None, None, 50, 3)
    assert (written(last)["median [95 %]"], written(last)["mean ± std (n)"]) == (
        "diverged", "0.1 ± 0 (5 of 50)",
    )  # fmt: skip
    assert written(last)["diverged [95 %]"] == "90 % [78, 97]"


seed = st.one_of(st.none(), st.integers(0, 20).map(float))


@pytest.mark.integration
@given(st.lists(st.lists(seed, min_size=1, max_size=6), min_size=1, max_size=6), st.sampled_from(["min", "max"]))
def test_the_order_is_that_of_medians_with_diverged_seeds_worst_then_of_the_share(
    scores: list[list[float | None]], goal: str
) -> None:
    ends = [["diverged" if score is None else score for score in row] for row in scores]
    actual = rows([retrained("m", end, goal, hidden=k + 1) for k, end in enumerate(ends)], [])
    sign = 1 if goal == "min" else -1
    worst = [statistics.median([math.inf if s is None else sign * s for s in row.seeds]) for row in actual]
    assert [(value, row.diverged / row.seed_count) for value, row in zip(worst, actual, strict=True)] == sorted(
        (value, row.diverged / row.seed_count) for value, row in zip(worst, actual, strict=True)
    )
    assert [row.median for row in actual] == [None if math.isinf(value) else sign * value for value in worst]


def test_a_median_has_the_interval_of_order_statistics() -> None:
    [row] = rows([retrained("a", [5.0, 1.0, 3.0, "diverged", 2.0])], [])
    assert (row.median, row.median_best, row.median_worst, row.median_level) == (3.0, 1.0, None, 0.9375)
    [one] = rows([retrained("a", [5.0, "failed"])], [])
    assert (one.median, one.median_best, one.median_worst, one.median_level) == (5.0, 5.0, 5.0, None)


def test_configurations_and_variants_are_rows_of_their_own_and_variants_are_ranked_apart() -> None:
    near, far = [1.0, 1.1, 1.05, 1.02, 1.08], [9.0, 9.1, 9.05, 9.02, 9.08]
    groups = [retrained("a", near), retrained("a", far, params={"lr": 0.2}), retrained("a", far, variant="N=9")]
    made = rows(groups, [])
    assert [(r.variant, r.rank_low, r.rank_high, r.ties) for r in made] == [
        ("", 1, 1, "a"),
        ("", 2, 2, "b"),
        ("N=9", 1, 1, "a"),
    ]


@pytest.mark.integration
@given(st.lists(st.lists(seed, min_size=1, max_size=6), min_size=1, max_size=6))
def test_ranks_are_those_of_the_standings_of_all_seeds(scores: list[list[float | None]]) -> None:
    ends = [["diverged" if score is None else score for score in row] for row in scores]
    made = rows([retrained("m", end, "max", hidden=k + 1) for k, end in enumerate(ends)], [])
    several = {k + 1: row for k, row in enumerate(scores) if len(row) > 1}
    places = dict(zip(several, standings([*several.values()], Scale("max", None)), strict=True))
    assert {row.hidden: (row.rank_low, row.rank_high) for row in made if row.ties} == {
        k: (place.low, place.high) for k, place in places.items()
    }
    assert {row.hidden for row in made if row.rank_low is None} == {k + 1 for k in range(len(scores))} - set(several)


def test_a_row_of_one_seed_has_no_rank_and_changes_that_of_no_other() -> None:
    groups = [retrained(name, [low + k / 100 for k in range(10)]) for name, low in (("lem", 1.0), ("gru", 2.0))]
    alone, among = rows(groups, []), rows([*groups, retrained("lstm", [1.5]), retrained("indrnn", [3.0])], [])
    ranked = {row.model: (row.rank_low, row.rank_high, row.ties) for row in among}
    assert [row.model for row in among] == ["lem", "lstm", "gru", "indrnn"]
    assert ranked == {"lem": (1, 1, "a"), "gru": (2, 2, "b"), "lstm": (None, None, ""), "indrnn": (None, None, "")}
    assert answer(among).sentence == answer(alone).sentence
    assert answer(rows([retrained("lstm", [1.5])], [])).sentence == "No row is ranked here yet: a rank takes two seeds."


def test_ranks_are_those_of_the_pool() -> None:
    low, high = [1.0, 1.1, 1.2, 1.3, 1.4], [5.0, 5.1, 5.2, 5.3, 5.4]
    groups = [retrained("a", low), retrained("b", high), retrained("c", [5.05, 5.15, 5.25, "diverged"])]
    spans = [(r.model, r.rank_low, r.rank_high, r.ties) for r in rows(groups, [])]
    assert spans == [("a", 1, 1, "a"), ("b", 2, 3, "b"), ("c", 2, 3, "b")]
    spans = [(r.model, r.rank_low, r.rank_high, r.ties) for r in rows(groups, [], Pool(("b", "c")))]
    assert spans == [("b", 1, 2, "a"), ("c", 1, 2, "a")]
    assert [r.model for r in rows(groups, [], Pool(min_seeds=5))] == ["a", "b"]
    assert len(rows(groups, [], Pool(min_seeds=4))) == 3, "diverged seeds were asked for and ended"
    assert str(Pool(("b", "c"), 3)) == "Ranked: only models b, c, in rows with at least 3 retrainings."
    assert str(EVERYBODY) == ""


def test_a_row_says_what_its_search_cost() -> None:
    [row] = rows([retrained("lem", [1.0], search=Tally(1200, 1, 40.0, 2), sweeps=("s",))], [])
    assert (row.searched, row.search_diverged, row.find_seconds, row.sweeps) == (1200, 1, 40.0, ("s",))
    assert row.search_whole == 2 and searched(row) == "1,200 drawn, 2 completed, 1 diverged"
    assert searched(replace(row, search_diverged=0)) == "1,200 drawn, 2 completed"
    assert searched(replace(row, searched=0)) == "none" and searched(replace(row, kind="trivial")) == "—"


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        (0.018234, 0.0056, "0.0182 ± 0.0056"),
        (97.123, 0.234, "97.12 ± 0.23"),
        (123.4, 12.3, "123 ± 12"),
        (0.5, 0.0999999, "0.50 ± 0.10"),
        (0.5, None, "0.5"),
        (0.5, 0.0, "0.5 ± 0"),
        (None, None, "—"),
        (2.4e-5, 3.1e-6, "0.0000240 ± 0.0000031"),
        (14585.3, 29543.2, "14,585 ± 29,543"),
    ],
)
def test_means_are_shown_with_the_digits_their_deviation_supports(mean: float, std: float, expected: str) -> None:
    assert shown(mean, std) == expected


@pytest.fixture
def two_rows() -> list[Row]:
    return rows([retrained("lem", [1.0, 3.0]), retrained("gru", [7.0, "diverged"])], [printed("lem", 0.5)])


def test_json_keeps_the_contract(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.print_boards(two_rows, EVERYBODY, Format.json)
    lem, gru = json.loads(capsys.readouterr().out)
    assert set(CONTRACT) <= set(lem)
    assert (lem["model"], lem["mean"], lem["n"], gru["std"], gru["diverged"]) == ("lem", 2.0, 2, None, 1)
    assert {"value", "std", "statistic", "n", "source", "table", "verdict"} <= set(lem["published"][0])
    assert (lem["kind"], lem["state"], lem["trivial"], lem["ties"]) == ("retrained", "ok", False, "a")


def test_each_published_number_has_its_own_verdict_in_the_same_place() -> None:
    published = [printed("lem", 0.5), printed("lem", 0.6, units=""), printed("lem", 9.0, n=3, statistic="best")]
    [row] = rows([retrained("lem", [1.0, 1.1] * 3)], published)
    cells = written(row)
    assert [c.split(" ")[0] for c in cells["published"].split("; ")] == ["0.5", "0.6", "9.0"]
    assert [c.split(" (")[0] for c in cells["verdict"].split("; ")] == ["worse", "worse", "better"]
    assert cells["seeds"] == "6 ok"


def test_a_cell_says_how_retrainings_ended() -> None:
    made = rows([retrained("a", [1.0, "diverged", "failed", "planned"]), retrained("b", ["running"])], [])
    assert [seeds(row) for row in made] == ["1 ok, 1 diverged, 1 failed, 1 missing", "1 missing"]
    assert written(made[1])["mean ± std (n)"] == "missing"


def test_a_row_says_how_far_it_is_verified_unless_it_was_trained_here(capsys: pytest.CaptureFixture[str]) -> None:
    groups = [retrained("a", [1.0, 2.0]), retrained("b", [3.0], checks=(True, False))]
    made = rows(groups, [printed("c", 1.0)])
    assert {row.model: written(row)["verified"] for row in made} == {"a": "trained here", "b": "claimed", "c": "—"}
    notes = render_board.BoardOptions(notes=True)
    render_board.print_boards(made, EVERYBODY, Format.table, notes)
    assert "claimed: imported, and a check raised a flag" in " ".join(capsys.readouterr().out.split())
    render_board.print_boards(rows(groups[:1], []), EVERYBODY, Format.table, notes)
    assert "claimed:" not in capsys.readouterr().out
    render_board.print_boards(made, EVERYBODY, Format.csv)
    levels = {line["model"]: line["verification"] for line in csv.DictReader(io.StringIO(capsys.readouterr().out))}
    assert levels == {"a": "trained here", "b": "claimed", "c": ""}


def test_csv_has_one_line_a_row(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.print_boards(two_rows, EVERYBODY, Format.csv)
    lem, gru = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (lem["model"], lem["mean"], gru["std"], json.loads(lem["params"])) == ("lem", "2.0", "", {"lr": 0.1})


def test_markdown_is_a_table_with_ours_and_theirs(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.print_boards(two_rows, Pool(("lem", "gru")), Format.markdown)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[:2] == ["| model | median [95 %] | mean ± std (n) | rank |", "| --- | --- | --- | ---: |"]
    assert lines[2] == "| LEM | 2.00 [1.00, 3.00] (50 %) | 2.0 ± 1.4 (2, provisional) | 1–2 |"
    assert lines[-1].startswith(
        "T: test MSE ↓, median with its 95 % interval, mean ± standard deviation, and the range"
    )
    assert lines[-1].endswith("†: a trivial predictor is better. Ranked: only models lem, gru.")


def test_the_columns_that_are_asked_for_stand_in_their_order_and_others_are_refused(
    two_rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    for format in (Format.markdown, Format.table):
        options = render_board.BoardOptions(columns=named_columns(("parameters", "title")))
        render_board.print_boards(two_rows, EVERYBODY, format, options)
        head = next(line for line in capsys.readouterr().out.splitlines() if "parameters" in line)
        assert head.strip("| ").replace("|", "").split() == ["parameters", "model"]
    with pytest.raises(ConfigError, match="^No column 'titel'. Did you mean title"):
        named_columns(("titel",))
    with pytest.raises(ConfigError, match="^No column 'zzzz'. Known: place, rank_low, .*, rank_high.$") as refused:
        named_columns(("zzzz",))
    assert str(refused.value).count("Known") == 1


def test_a_board_says_once_what_all_rows_share_and_the_rest_in_its_notes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    groups = [retrained("a", [1.0, 2.0]), retrained("b", [3.0, 4.0], departures=("epochs 3 (published 400)",))]
    made = rows(groups, [printed("a", 0.5)])
    outputs = []
    for notes in (False, True):
        render_board.print_boards(made, EVERYBODY, Format.table, render_board.BoardOptions(notes=notes))
        outputs.append(capsys.readouterr().out)
    short, full = outputs
    for output in outputs:
        assert "  All rows: recipe of paper, Table 1; seeds: 2 ok.\n" in output
    assert "epochs 3" not in short and "--notes" in short and "--notes" not in full
    assert "  B: epochs 3 (published 400).\n" in full
    assert "  A beside 0.5 (mean, paper Table 1): worse: error ratio" in full.replace("undecided", "worse")


def test_small_numbers_have_three_digits_and_one_power_of_ten_a_column(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    best, worst = [0.00136, 0.00136, 0.001363], [0.782, 1.342, 0.329]
    made = rows([retrained("a", best), retrained("b", worst, trivial={"mean": 1.477, "last": 1.5})], [])
    render_board.print_boards(made, EVERYBODY, Format.table)
    output = capsys.readouterr().out
    assert "T: MSE ↓, × 10⁻³" in output and "1.36 [1.36, 1.36]" in output and "782 [329, 1,342]" in output
    assert "1,477" in output and "1,500" not in output, "of trivial predictors the best stands alone"
    assert "1 other trivial predictor: --all." in output


def test_a_terminals_table_says_what_its_ranks_are(two_rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    render_board.print_boards(two_rows, EVERYBODY, Format.table)
    out = capsys.readouterr().out
    output = " ".join(out.split())
    assert "2.00 [1.00, 3.00]" in output and "the range that pairwise tests at 5 % allow" in output
    render_board.print_boards(two_rows, EVERYBODY, Format.table, render_board.BoardOptions(notes=True))
    output = " ".join(capsys.readouterr().out.split())
    assert advice(2, 2) in output and "no difference between 2 rows is detected" in output


def test_a_board_says_what_the_middle_of_its_numbers_of_seeds_can_rank(capsys: pytest.CaptureFixture[str]) -> None:
    models = {"a": 5, "b": 9, "c": 12, "d": 1}
    made = rows([retrained(m, [k / 10 for k in range(n)], trivial={"copy": 9.0}) for m, n in models.items()], [])
    notes = render_board.BoardOptions(notes=True)
    render_board.print_boards(made, EVERYBODY, Format.table, notes)
    assert advice(3, 9) in " ".join(capsys.readouterr().out.split())
    render_board.print_boards(made[:1], EVERYBODY, Format.table, notes)
    assert "5 seeds" not in capsys.readouterr().out.replace("than 5 seeds", "")


def test_boards_need_neither_torch_nor_pandas_nor_a_store() -> None:
    absent = "import sys; sys.modules.update(torch=None, pandas=None, sqlalchemy=None)"
    code = f"{absent}; import longwave.platform.render.board"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_that_disagree_on_what_a_board_measures_are_named_on_both_sides() -> None:
    one, other = retrained("a", [1.0]), retrained("b", [2.0], "max")
    with pytest.raises(ConfigError) as raised:
        rows([one, other], [])
    assert str(raised.value) == (
        f"Rows of t disagree on its goal: 'min' in {one.row[:12]} (a); 'max' in {other.row[:12]} (b). Bump the version "
        "of the task: its older rows are superseded then."
    )
    five = [retrained("c", [1.0], metric="mae", hidden=k) for k in range(1, 6)]
    with pytest.raises(
        ConfigError, match=r"disagree on its metric: 'mse' in \w{12} \(a\); 'mae' in .* and 2 more\. Bump"
    ):
        rows([one, *five], [])
    with pytest.raises(ConfigError, match=r"disagree on its unit: '1' in \w{12} \(a\); '%' in \w{12} \(b\)"):
        rows([one, retrained("b", [1.0], unit="%")], [])
    assert (
        len(rows([one, retrained("b", [2.0], "max", superseded="old"), retrained("b", [2.0], "max", task="u")], []))
        == 3
    )


def test_a_pool_of_families_ranks_their_models_alone() -> None:
    groups = [
        retrained("a", [1.0, 1.1, 1.2, 1.3, 1.4], family="gated"),
        retrained("b", [2.0, 2.1, 2.2, 2.3, 2.4], family="gated"),
        retrained("c", [0.0, 0.1, 0.2, 0.3, 0.4], family="oscillator"),
    ]
    numbers = [printed("b", 3.0, model_variant="x"), printed("z", 4.0)]
    actual = rows(groups, numbers, Pool(families=("gated",)))
    assert [(row.model, row.kind, row.family, row.rank_low) for row in actual] == [
        ("a", "retrained", "gated", 1),
        ("b", "retrained", "gated", 2),
        ("b", "published", "gated", None),
    ]
    assert [row.model for row in rows(groups, [], Pool(("b", "c"), families=("gated",)))] == ["b"]
    assert str(Pool(families=("gated", "flow"))) == "Ranked: only models of family gated or flow."
    both = str(Pool(("b",), 3, ("gated",)))
    assert both == "Ranked: only models b of family gated, in rows with at least 3 retrainings."


def test_a_pool_of_what_has_no_results_is_refused() -> None:
    groups, numbers = [retrained("lem", [1.0], family="multiscale")], [printed("gru", 1.0)]
    check_pool(Pool(("lem", "gru"), families=("multiscale",)), groups, numbers)
    with pytest.raises(ConfigError, match="^No results of model 'lemm'. Did you mean lem?"):
        check_pool(Pool(("lemm",)), groups, numbers)
    with pytest.raises(ConfigError, match="^No results of family 'multi'. Did you mean multiscale?"):
        check_pool(Pool(families=("multi",)), groups, numbers)


@pytest.mark.parametrize(
    ("checks", "reruns", "level"),
    [
        ((), (), "trained here"),
        ((True, True), (), "schema-checked"),
        ((True, False), (), "claimed"),
        ((), ("undecided",), "trained here"),
        ((), ("inside",), "re-run once"),
        ((True,), ("inside", "outside", "inside", "undecided"), "re-run 3 times, 1 outside its interval"),
        ((False,), ("inside",), "re-run once, claimed with flags"),
    ],
)
def test_a_row_is_as_verified_as_its_checks_and_re_runs_say(
    checks: tuple[bool, ...], reruns: tuple[str, ...], level: str
) -> None:
    [row] = rows([retrained("a", [1.0], checks=checks, reruns=reruns)], [])
    assert row.verification == level


def test_a_narrow_terminal_leaves_out_what_matters_least_and_says_so_and_protocols_stand_beneath(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = rows([retrained("lem", [1.0, 3.0]), retrained("gru", [7.0, "diverged"])], [printed("lem", 0.5)])

    def output(width: int, format: Format = Format.table) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        render_board.print_boards(made, EVERYBODY, format)
        return capsys.readouterr().out

    narrow, wide = output(80), output(250)
    assert "mean ± std (n), diverged" in narrow.partition("Not shown:")[2] and "--format csv" in narrow
    assert "Not shown" not in wide
    for text in (narrow, wide):
        assert all(row.config[:8] in text for row in made if row.config)
        assert text.count("All rows: recipe of paper, Table 1") == " ".join(text.split()).count("Rank: the range") == 1
    assert "2.0 ± 1.4" in wide and "2.00 [1.00, 3.00]" in narrow and max(map(len, narrow.splitlines())) <= 80
    assert narrow.startswith("Open: no trivial predictor was scored. Best median of 2 ranked rows: LEM,")
    assert output(80, Format.markdown) == output(250, Format.markdown)


def test_rows_of_the_best_group_stand_out_only_if_they_are_less_than_half_of_the_ranked_ones() -> None:
    best, worse = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05], [9.0, 9.1, 9.2, 9.3, 9.4, 9.5]
    alike = [retrained("a", best), retrained("b", best), retrained("c", worse), retrained("d", worse)]
    for groups, expected in ((alike, []), ([*alike, retrained("e", worse)], ["a", "b"])):
        board = rows(groups, [])
        assert [row.model for row in board if row.leads] == ["a", "b"]
        assert [row.model for row in board if row.stands_out] == expected
