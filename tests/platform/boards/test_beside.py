"""What stands beside a board's rows: published numbers with their verdicts, trivial predictors, and the recipe."""

from __future__ import annotations

from typing import Any

import pytest
from boards import printed, retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.columns import of
from longwave.platform.boards.row import Row
from longwave.platform.records.group import Pool, SearchedRange
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.verdict import Printed, verdict


def written(row: Row) -> dict[str, str]:
    """Return a row's cells in a terminal and on a page by heading."""
    return {column.heading: column.text(row) for column in (*of("terminal"), *of("page"))}


@pytest.mark.parametrize(("high", "word"), [(0.1, "not tuned"), (1.0, "worse")])
def test_a_row_whose_winner_lies_at_an_edge_is_not_tuned_where_it_would_be_worse(high: float, word: str) -> None:
    searched = [SearchedRange("lr", 1e-4, high, True)]
    [row] = rows([retrained("lem", [1.0, 1.1, 1.2, 1.3, 1.4], ranges=searched)], [printed("lem", 0.01, n=5)])
    [number] = row.published
    assert number["verdict"] == word and bool(row.at_edge) == (word == "not tuned")
    assert all(edge in number["why"] for edge in row.at_edge or ())


def test_a_published_number_stands_beside_the_row_of_its_form_and_else_alone_without_a_rank() -> None:
    published = [
        printed("lem", 0.5),
        printed("lem", 0.6, model_variant="without gates"),
        printed("gru", 7.0, std=0.5, n=10, params=99, units="16"),
        printed("lem", 0.8, ours="N=9"),
        printed("lem", 0.9, metric="accuracy"),
        printed("lem", 0.4, task="u"),
    ]
    lem = [1.0, 1.1, 1.2, 1.3, 1.4]
    gates, ours, gru = rows([retrained("lem", lem)], published)
    assert (ours.kind, [p["value"] for p in ours.published]) == ("retrained", [0.5])
    assert (gates.kind, gates.title, gates.mean, gates.rank_low) == ("published", "LEM (without gates)", 0.6, None)
    assert (gru.title, gru.mean, gru.std, gru.n, gru.parameters, gru.hidden) == ("GRU", 7.0, 0.5, 10, 99, 16)
    assert (ours.rank_low, ours.rank_high) == (1, 1), "published rows are no part of the pool"
    assert [row.kind for row in rows([retrained("lem", lem)], published, Pool(("gru",)))] == ["published"]
    both = rows([retrained("lem", lem, called=("", "without gates"))], published)
    assert [p["value"] for p in both[0].published] == [0.5, 0.6]


def test_a_number_of_a_model_in_blocks_stands_beside_the_row_in_these_blocks_alone() -> None:
    block = "block=pre depth=2 width=16"
    published = [printed("gru", 0.5), printed("gru", 0.6, block=block), printed("gru", 0.7, block="-")]
    scores = [1.0, 1.1, 1.2, 1.3, 1.4]
    deep, narrow = {"block": "pre", "depth": 2}, {"block": "pre", "depth": 2, "norm": "rms"}
    forms: list[Any] = [{}, {"options": deep, "width": 16}, {"options": deep}, {"options": narrow, "width": 16}]
    made = rows([retrained("gru", scores, **form) for form in forms], published)
    beside = {(str(dict(row.options)), row.settings["width"]): [n["value"] for n in row.published]
              for row in made if row.kind != "published"}  # fmt: skip
    assert beside == {
        (str({}), None): [0.5],
        (str(deep), 16): [0.6],
        (str(deep), None): [],
        (str(narrow), 16): [],
    }
    [alone] = [row for row in made if row.kind == "published"]
    assert (alone.title, alone.mean) == ("GRU", 0.7)
    [title] = [row.title for row in rows([retrained("lem", scores)], published[1:2]) if row.kind == "published"]
    assert title == "GRU (block pre, depth 2, width 16)"


def test_the_verdict_on_a_number_is_that_of_all_seeds_of_its_row_with_the_tasks_margin() -> None:
    scores: list[float | None] = [1.0, 1.2, 1.1, 1.3, 1.15, None]
    ends = ["diverged" if score is None else score for score in scores]
    number = printed("lem", 0.5, n=10, std=0.1, note="≈ params", params=5, sources="a, T1 (x)\nb, T2 (y)")
    [_, row] = sorted(
        rows([retrained("lem", ends, margin=1.5, trivial={"copy": 9.0})], [number]), key=lambda r: r.seed_count
    )
    [actual] = row.published
    message = verdict(scores, Printed(0.5, "mean", 0.1, 10, 0.05), Scale(), 1.5, 9.0)
    assert message.ratio is not None and actual["verdict"] == message.word == "worse"
    assert [actual[k] for k in ("ratio", "ratio_low", "ratio_high")] == [
        message.ratio.value,
        message.ratio.low,
        message.ratio.high,
    ]
    assert [actual[k] for k in ("n_ours", "diverged_ours", "n", "departures")] == [5, 1, 10, []]
    assert (actual["source"], actual["table"], actual["sources"]) == ("a", "T1 (x)", ["a, T1 (x)", "b, T2 (y)"])
    assert (actual["note"], actual["parameters"], actual["units"]) == ("≈ params", 5, "8")
    assert written(row)["verdict"] == f"worse ({message.ratio.value:.2f})"


def test_a_number_of_another_protocol_is_not_judged_and_its_differences_stand_in_the_protocol() -> None:
    [row] = rows([retrained("lem", [1.0, 1.2, 1.1])], [printed("lem", 2.0, units="16")])
    assert written(row)["verdict"] == "other protocol (0.55)"
    assert row.published[0]["departures"] == ["hidden 8 (printed 16)"]
    assert written(row)["protocol"] == "recipe of paper, Table 1; beside 2.0: hidden 8 (printed 16)"


def test_a_row_without_scores_leaves_a_published_number_undecided() -> None:
    [row] = [r for r in rows([retrained("lem", ["diverged"])], [printed("lem", 0.5)]) if r.kind == "retrained"]
    assert (row.published[0]["verdict"], row.published[0]["n_ours"]) == ("undecided", 0)


@pytest.mark.parametrize(("goal", "order"), [("min", ["copy", "a", "slow", "b"]), ("max", ["b", "slow", "a", "copy"])])
def test_trivial_predictors_stand_by_their_value_among_the_models_without_a_rank(goal: str, order: list[str]) -> None:
    ends: list[tuple[str, list[float | str]]] = [("a", [1.0, 1.1, 1.2]), ("b", [3.0, 3.2, 3.1]), ("c", ["diverged"])]
    actual = rows([retrained(m, t, goal, trivial={"copy": 0.5, "slow": 2.0}) for m, t in ends], [])
    assert [row.model for row in actual] == [*order, "c"]
    trivial = {row.model: row for row in actual if row.trivial}
    assert {k: (r.mean, r.n, r.rank_low, list(r.trials)) for k, r in trivial.items()} == {
        "copy": (0.5, 0, None, []),
        "slow": (2.0, 0, None, []),
    }
    cells = written(trivial["copy"])
    assert [cells[name] for name in ("rank", "ties", "model", "median [95 %]", "mean ± std (n)")] == [
        "—", "—", "copy", "0.500", "0.5 (trivial)",
    ]  # fmt: skip


def test_a_row_loses_to_the_best_trivial_predictor_that_is_better_than_its_median() -> None:
    predictors = {"copy": 0.5, "ridge(32)": 2.0, "slow": 3.0}
    ends: dict[str, list[float | str]] = {
        "a": [2.5, 2.6, 0.1], "b": [1.0, 9.0, 1.5], "c": [2.0, 1.0, 2.5], "d": ["diverged"], "e": ["failed"],
    }  # fmt: skip

    def losers(goal: str, **message: float) -> dict[str, str]:
        made = rows([retrained(m, t, goal, trivial=message) for m, t in ends.items()], [])
        return {row.model: row.loses_to for row in made if row.kind == "retrained"}

    most = {name: value for name, value in predictors.items() if name != "copy"}
    assert losers("min", **most) == {"a": "ridge(32)", "b": "", "c": "", "d": "ridge(32)", "e": ""}
    assert losers("min", **predictors) == {**dict.fromkeys("abcd", "copy"), "e": ""}
    assert losers("max", **most) == {**dict.fromkeys("abcd", "slow"), "e": ""}
    assert losers("min") == dict.fromkeys("abcde", "")


def test_a_row_of_before_loses_to_a_predictor_that_only_newer_rows_tell_and_a_printed_number_does_too() -> None:
    old = retrained("a", [2.5, 2.6, 2.4], trivial={"mean": 9.0})
    new = retrained("b", [0.1, 0.2, 0.3, 0.4, 0.5], trivial={"mean": 9.0, "cubic AR": 1.0})
    actual = {row.model: row for row in rows([old, new], [printed("c", 1.5), printed("d", 0.5)])}
    assert {model: actual[model].loses_to for model in "abcd"} == {"a": "cubic AR", "b": "", "c": "cubic AR", "d": ""}
    assert {row.model for row in actual.values() if row.trivial} == {"mean", "cubic AR"}
    assert written(actual["c"])["median [95 %]"] == "1.50†" and written(actual["d"])["median [95 %]"] == "0.500"
    assert not actual["a"].shines and actual["b"].shines == actual["b"].stands_out


def test_of_one_predictor_the_score_stands_that_the_boards_first_current_row_tells() -> None:
    first, second = (retrained(m, [5.0], trivial={"mean": value}) for m, value in (("a", 1.0), ("b", 2.0)))
    assert [row.mean for row in rows([first, second], []) if row.trivial] == [1.0]


def test_a_row_names_its_recipe_and_how_the_recipes_paper_is_known_to_differ() -> None:
    known = {"all do": [], "lem does": ["lem"], "others do": ["gru", "cornn"]}
    message = {"recipe": "LEM, Table 4", "known": known, "departures": ("epochs 3 (published 400)",)}
    [row] = rows([retrained("lem", [1.0], paper="lem", margin=1.5, floor=0.25, **message)], [])
    assert (row.recipe, row.known, row.margin, row.floor) == ("LEM, Table 4", ["all do", "lem does"], 1.5, 0.25)
    assert written(row)["protocol"] == (
        "recipe of LEM, Table 4; epochs 3 (published 400); 2 known differences: all do; lem does"
    )
    [ours] = rows([retrained("lem", [1.0], **{**message, "recipe": "ours", "paper": ""})], [])
    assert ours.known == [] and written(ours)["protocol"] == "recipe ours; epochs 3 (published 400)"


def test_the_least_error_that_counts_reaches_the_ranks() -> None:
    low, high = [99.9, 99.91, 99.92, 99.93, 99.94], [99.95, 99.96, 99.97, 99.98, 99.99]
    groups = [retrained(m, t, "max", unit="%", floor=floor) for floor in (0.0,) for m, t in (("a", low), ("b", high))]
    assert [row.rank_high for row in rows(groups, [])] == [1, 2]
    coarse = [retrained(m, t, "max", unit="%", floor=0.5) for m, t in (("a", low), ("b", high))]
    assert [row.rank_high for row in rows(coarse, [])] == [2, 2]
