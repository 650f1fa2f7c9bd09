"""Ranks that an edition's page computes: its scripts run by an engine of their own, against the Python they repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from boards import retrained
from hypothesis import given
from hypothesis import strategies as st
from pages import Page, published

from longwave.platform.boards.board import rows
from longwave.platform.boards.pairs import pairs
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import span
from longwave.platform.records.group import Group, Pool
from longwave.platform.statistics.ranking import letters, p_values, raw_p_values, standings
from longwave.platform.statistics.stats import Summary, difference, summary

MODELS = ("lem", "lstm", "gru", "cornn", "unicornn", "exprnn")
spreads = st.one_of(st.none(), st.just(0.0), st.floats(0, 5))
boards = st.lists(
    st.builds(Summary, st.integers(-20, 20).map(float), spreads, st.integers(2, 12)).map(
        lambda row: replace(row, n=1) if row.std is None else row
    ),
    max_size=12,
)


RANKS = Page("ranks")


def raw(rows: Sequence[Summary]) -> list[tuple[int, int, float]]:
    """Return the p-values that an edition stores of rows, by an own path: one test a pair."""
    found = []
    for i, j in combinations(range(len(rows)), 2):
        gap = difference(rows[i], rows[j], cautious=True)
        if gap and gap.p_value <= 0.05:
            found.append((i, j, gap.p_value))
    return found


def same(rows: Sequence[Summary], goal: str, pool: Sequence[int] | None = None) -> None:
    """Check that the page gives those of the rows in a pool the ranks and tie letters that Python gives them."""
    chosen = range(len(rows)) if pool is None else pool
    ours = [
        {"rank_low": place.low, "rank_high": place.high, "ties": letters(place.ties)}
        for place in standings([rows[k] for k in chosen], goal)
    ]
    given = [{**asdict(rows[k]), "at": k} for k in chosen]
    expression = "((places) => rows.map((row) => places.get(row)))(standings(rows, goal, pairs))"
    theirs = RANKS(expression, rows=given, goal=goal, pairs=raw(rows))
    assert [{name: place[name] for name in ("rank_low", "rank_high", "ties")} for place in theirs] == ours


@given(boards, st.sampled_from(["max", "min"]), st.data())
def test_the_page_ranks_any_rows_of_a_board_as_python_does(rows: list[Summary], goal: str, data: st.DataObject) -> None:
    same(rows, goal)
    same(rows, goal, data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True)) if rows else [])


@pytest.mark.parametrize("rows", [5, 22, 60])
def test_the_page_ranks_boards_with_many_close_decisions_as_python_does(rows: int) -> None:
    rng = np.random.default_rng(rows)
    told = 0
    for _ in range(15):
        means, stds = rng.normal(0, 2, rows), rng.choice([0.0, 0.2, 0.5, 1.0], rows)
        drawn = [
            summary(np.round(rng.normal(m, s, rng.integers(1, 11)), 1).tolist())
            for m, s in zip(means, stds, strict=True)
        ]
        told += int((p_values(drawn) <= 0.05).sum())
        same(drawn, "min")
    assert told > 15 * rows / 2, "Boards on which nothing is told apart show nothing."


def test_a_p_value_of_exactly_5_percent_tells_apart_in_both() -> None:
    wide = Summary(0.5, 9.0, 2)
    rows = [Summary(0.0, 0.0, 3), Summary(1.0, 0.0, 7), wide]
    assert p_values(rows)[0][1] == 3 * 2 / math.comb(10, 3) == 0.05
    assert [place.low for place in standings(rows, "min")] == [1, 2, 1]
    same(rows, "min")
    same([*rows, wide], "min")
    assert raw_p_values(rows)[0][1] <= 0.05 / 3


def test_an_edition_stores_the_p_values_of_its_pairs_that_decide_anything() -> None:
    rng = np.random.default_rng(4)
    groups = [retrained(f"m{k}", rng.normal(k / 2, 1, 2 + k % 4).tolist(), goal="max") for k in range(20)]
    old = retrained("m0", [99.0, 99.1], "max", hidden=9, superseded="old")
    found = rows([*groups, retrained("alone", [4.0], "max"), old, retrained("none", ["diverged"], "max")], [])
    [board] = pairs(found)
    ranked = [row for row in found if row.rank_low is not None]
    places = {found.index(row): k for k, row in enumerate(ranked)}
    told = [(places[i], places[j], p) for i, j, p in board["pairs"]]
    expected = raw([Summary(row.mean or 0.0, row.std, row.n) for row in ranked])
    assert [pair[:2] for pair in told] == [pair[:2] for pair in expected] and max(p for *_, p in told) > 0.04
    np.testing.assert_allclose([p for *_, p in told], [p for *_, p in expected], rtol=1e-12)


def test_ranks_and_tie_groups_are_written_as_elsewhere() -> None:
    assert RANKS("groups.map(letter)", groups=list(range(60))) == [letters((k,)) for k in range(60)]
    for low, high in ((None, None), (2, 2), (1, 13)):
        assert RANKS("span({ rank_low, rank_high })", rank_low=low, rank_high=high) == span(low, high)
    row = Row("t", "", "m", "M", "mse", "1", "min", 1.0)
    for ties in ("", "a", "ab", "b", "a1", "b1"):
        assert RANKS("leads({ ties })", ties=ties) == replace(row, ties=ties).leads


def filled() -> list[Group]:
    """Two boards, six models with two rows each, of one to eight retrainings, a few of them equal, and old rows."""
    rng = np.random.default_rng(1)
    groups = []
    for task, goal in (("fitzhugh_nagumo", "min"), ("psmnist", "max")):
        for k, model in enumerate(MODELS):
            for c in range(2):
                tests = [round(float(rng.normal(k // 2 + 0.1 * c, 0.3)), 1) for _ in range(1 + (3 * k + 5 * c) % 8)]
                told = {"task": task, "params": {"lr": 1.0 + c}, "trivial": {"zero": 9.0}}
                groups.append(retrained(model, tests, goal, **told))
            groups.append(retrained(model, [-9.0, 9.0, 9.1], goal, **told, model_version="0", superseded="old"))
    return groups


@pytest.mark.parametrize(
    ("chosen", "pool"),
    [
        ({}, Pool()),
        ({"models": "gru lem lstm"}, Pool(("gru", "lem", "lstm"))),
        ({"seeds": "3"}, Pool((), 3)),
        ({"prov": "0"}, Pool((), 5)),
        ({"models": "cornn exprnn unicornn gru", "seeds": "2"}, Pool(("cornn", "exprnn", "unicornn", "gru"), 2)),
        ({"models": "lem", "q": "nothing", "kinds": "published"}, Pool(("lem",))),
    ],
)
def test_filters_rank_the_page_as_the_options_rank_the_board(
    tmp_path: Path, chosen: dict[str, str], pool: Pool
) -> None:
    published(tmp_path / "one", filled())
    page = Page.of(tmp_path / "one", **chosen)
    place = "[row.key, inPool(row), standing(row).rank_low, standing(row).rank_high, standing(row).ties]"
    found = page(f"EDITION.rows.map((row) => {place})")
    theirs = {key: tuple(place) for key, inside, *place in found if inside}
    ours = {row.config: (row.rank_low, row.rank_high, row.ties) for row in rows(filled(), [], pool) if row.config}
    assert {key: place for key, place in theirs.items() if key in ours} == ours
    assert {place for key, place in theirs.items() if key not in ours} <= {(None, None, "")}
    assert {tuple(place) for _, inside, *place in found if not inside} <= {(None, None, "")}
    options = page("poolOptions()")
    assert options == " ".join(
        [f"--models {','.join(pool.models)}"] * bool(pool.models)
        + [f"--min-seeds {pool.min_seeds}"] * bool(pool.min_seeds)
    )
