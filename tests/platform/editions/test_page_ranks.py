"""Ranks that an edition's page computes: its scripts run by an engine of their own, against the Python they repeat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages import Page, published_page
from scipy.special import stdtr

from longwave.platform.boards.board import Row, board
from longwave.platform.editions.publish import publish
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.render.board import leads, span
from longwave.platform.statistics.ranking import letters, p_values, standings
from longwave.platform.statistics.stats import Summary, summary
from longwave.platform.storage.groups import Pool
from longwave.platform.storage.store import Store

MODELS = ("lem", "lstm", "gru", "cornn", "unicornn", "exprnn")
spreads = st.one_of(st.none(), st.just(0.0), st.floats(0, 5))
boards = st.lists(
    st.builds(Summary, st.integers(-20, 20).map(float), spreads, st.integers(2, 12)).map(
        lambda row: replace(row, n=1) if row.std is None else row
    ),
    max_size=12,
)


RANKS = Page("ranks")


def same(rows: Sequence[Summary], goal: str) -> None:
    """Check that the page gives rows the ranks and tie letters that Python gives them."""
    ours = [
        {"rank_low": place.low, "rank_high": place.high, "ties": letters(place.ties)} for place in standings(rows, goal)
    ]
    expression = "((places) => rows.map((row) => places.get(row)))(standings(rows, goal))"
    theirs = RANKS(expression, rows=[asdict(row) for row in rows], goal=goal)
    assert [{name: place[name] for name in ("rank_low", "rank_high", "ties")} for place in theirs] == ours


@given(boards, st.sampled_from(["max", "min"]))
def test_the_page_ranks_any_board_as_python_does(rows: list[Summary], goal: str) -> None:
    same(rows, goal)


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


def test_the_tails_of_students_t_are_those_of_scipy() -> None:
    freedom = [1, 1.3, 2, 2.5, 4, 9, 20.2, 49.5, 99]
    t = [0, 1e-6, 0.1, 0.5, 1, 1.7, math.sqrt(3), 1.74, 2, 2.5, 3, 5, 8, 20, 100, 1e6]
    tails = np.array(RANKS("freedom.map((f) => t.map((x) => outside(x, f)))", freedom=freedom, t=t))
    expected = 2 * stdtr(np.array(freedom)[:, None], -np.array(t))
    np.testing.assert_allclose(tails, expected, rtol=1e-8, atol=1e-300)
    small = expected < 0.06
    np.testing.assert_allclose(tails[small], expected[small], rtol=1e-12, atol=1e-300)
    assert RANKS("[outside(Infinity, 3), outside(2, 1e5)]") == pytest.approx([0, 2 * stdtr(1e5, -2.0)], rel=1e-10)


def test_counts_of_permutations_are_exact() -> None:
    pairs = [(n, k) for n in range(1, 31) for k in range(n + 1)]
    assert RANKS("pairs.map(([n, k]) => choose(n, k))", pairs=pairs) == [math.comb(n, k) for n, k in pairs]


def test_ranks_and_tie_groups_are_written_as_elsewhere() -> None:
    assert RANKS("groups.map(letter)", groups=list(range(60))) == [letters((k,)) for k in range(60)]
    for low, high in ((None, None), (2, 2), (1, 13)):
        assert RANKS("span({ rank_low, rank_high })", rank_low=low, rank_high=high) == span(low, high)
    row = Row("t", "", "m", "M", "mse", "1", "min", 1.0)
    for ties in ("", "a", "ab", "b", "a1", "b1"):
        assert RANKS("leads({ ties })", ties=ties) == leads(replace(row, ties=ties))


@pytest.fixture
def filled(store: Store) -> Store:
    """A store of two boards, six models with two rows each, of one to eight retrainings, a few of them equal."""
    rng = np.random.default_rng(1)
    store.add_sweep("demo", {"trials": 2})
    for task, goal in (("fitzhugh_nagumo", "min"), ("psmnist", "max")):
        about = {"task": task, "metric": "m", "unit": "1", "goal": goal, "published": [""], "called": [""]}
        for k, model in enumerate(MODELS):
            for c in range(2):
                for seed in range(1 + (3 * k + 5 * c) % 8):
                    config = TrialConfig(task, "", "d", model, {}, {"lr": 1.0 + c}, 8, 2, 3, "retrain", seed)
                    store.ask("demo", [config], [{**about, "model": model, "departures": [], "trivial": {"zero": 9.0}}])
                    test = round(float(rng.normal(k // 2 + 0.1 * c, 0.3)), 1)
                    store.write([], [Run(config.id, "ok", "", 3, 2, test, test, 2.0, 1, 9)])
    return store


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
    filled: Store, tmp_path: Path, chosen: dict[str, str], pool: Pool
) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    page = published_page(tmp_path / "one", chosen)
    place = "[row.key, inPool(row), standing(row).rank_low, standing(row).rank_high, standing(row).ties]"
    found = page(f"EDITION.rows.map((row) => {place})")
    theirs = {key: tuple(place) for key, inside, *place in found if inside}
    ours = {row.config: (row.rank_low, row.rank_high, row.ties) for row in board(filled, pool=pool) if row.config}
    assert {key: place for key, place in theirs.items() if key in ours} == ours
    assert {place for key, place in theirs.items() if key not in ours} <= {(None, None, "")}
    assert {tuple(place) for _, inside, *place in found if not inside} <= {(None, None, "")}
    options = page("poolOptions()")
    assert options == " ".join(
        [f"--models {','.join(pool.models)}"] * bool(pool.models)
        + [f"--min-seeds {pool.min_seeds}"] * bool(pool.min_seeds)
    )
