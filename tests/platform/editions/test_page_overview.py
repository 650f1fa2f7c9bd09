"""The overview that an edition's page computes for a choice of models and seeds, against the Python that it repeats."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from boards import retrained
from hypothesis import given
from hypothesis import strategies as st
from pages import Page, published

from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overview
from longwave.platform.boards.pairs import pairs
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import estimate
from longwave.platform.records.group import Group, Pool
from longwave.platform.statistics.stats import Estimate, summary

OVERALL = Page("ranks", "overall")
ENDS = st.one_of(
    st.integers(-9, 9).map(lambda k: k / 10), st.sampled_from(["diverged", "diverged", "failed", "planned"])
)
FINITE = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)


def expected(found: list[Row], places: list[tuple[str, str]]) -> dict[str, Any]:
    """Return what Python's overview of rows is on a page, where scores have no intervals."""
    whole = overview(found)
    lines = [
        {
            "model": line.model,
            "title": line.title,
            "ran": line.ran,
            "score": line.score and asdict(Estimate(line.score.value)),
            "rank": line.rank and asdict(line.rank),
            "cells": [cell.config if cell else "" for cell in line.cells],
        }
        for line in whole.lines
    ]
    return {"boards": [places.index(place) for place in whole.tasks], "lines": lines}


def same(groups: list[Group], pool: Pool) -> None:
    """Check that the page computes of the rows in a pool the overview that Python computes of them."""
    places = sorted({(group.config.task, "") for group in groups})
    goals = {group.config.task: group.about.goal for group in groups}
    whole = rows(groups, [])
    at = {row.key: k for k, row in enumerate(whole)}
    told = {(board["task"], ""): board for board in pairs(whole)}
    found = rows(groups, [], pool)
    names = ("kind", "superseded", "model", "title", "mean", "n", "diverged", "valid", "config", "key")
    given = [
        {
            **{name: getattr(row, name) for name in names},
            "at": at.get(row.key),
            "board": places.index((row.task, "")),
            "seeds": [{"test": test} for test in [*row.scores, *[None] * (row.diverged + row.failed)]],
        }
        for row in found
    ]
    ours = expected(found, places)
    boards = [{"goal": goals[place[0]], **told[place]} for place in places]
    assert OVERALL("overview(rows, boards)", rows=given[::-1], boards=boards) == ours


@st.composite
def stores(draw: st.DrawFn) -> list[Group]:
    """Draw up to four boards, on each of which four models have none to two rows; values are few, so many are equal."""
    groups = []
    for task in draw(st.sampled_from(["t", "tu", "tuvw"])):
        goal = draw(st.sampled_from(["max", "min"]))
        trivial = draw(st.dictionaries(st.sampled_from(["zero", "mean"]), st.integers(-9, 9).map(lambda k: k / 10)))
        for model in "abcd":
            for hidden in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
                tests = draw(st.lists(ENDS, min_size=1, max_size=6))
                valid = draw(st.sampled_from([None, 0.5, -0.5]))
                more = {"task": task, "hidden": hidden, "valid": valid, "trivial": trivial}
                more |= {"superseded": draw(st.sampled_from(["", "", "", "old"]))}
                groups.append(retrained(model, tests, goal, **more))
    return groups


@given(stores(), st.lists(st.sampled_from("abcd"), unique=True, max_size=3), st.integers(0, 3))
def test_the_page_computes_the_overview_of_any_pool_as_python_does(
    groups: list[Group], models: list[str], least: int
) -> None:
    same(groups, Pool(models, least))


@pytest.mark.parametrize("trivial", [{}, {"zero": 3.4}, {"zero": 1.0, "last": 3.0}])
def test_models_that_are_told_apart_have_the_same_narrow_ranges_of_ranks(trivial: dict[str, float]) -> None:
    rng = np.random.default_rng(3)
    for boards in (1, 3, 8):
        groups = [
            retrained(
                f"m{k}",
                [*rng.normal(2 + k // 3, 0.4, rng.integers(2, 11)).tolist(), *["diverged"] * (k % 4 == 1)],
                "max" if board % 2 else "min",
                task=f"t{board}",
                trivial=trivial,
            )
            for board in range(boards)
            for k in range(12)
        ]
        for pool in (Pool(), Pool(("m0", "m5", "m9")), Pool((), 5)):
            same(groups, pool)
        ranks = [line.rank for line in overview(rows(groups, [])).lines]
        assert any(rank and rank.high is not None and rank.high < 12 for rank in ranks)


def test_no_rows_have_an_empty_overview() -> None:
    same([], Pool())
    same([retrained("a", ["diverged"], trivial={"zero": 1.0})], Pool((), 1))
    same([retrained("a", ["diverged"]), retrained("b", ["diverged"])], Pool())


@pytest.mark.parametrize(("goal", "value"), [("max", -0.5), ("min", 0.5)])
def test_a_row_without_a_validation_metric_stands_for_a_model_only_alone(goal: str, value: float) -> None:
    for hidden in (1, 2, 3):
        lost = retrained("a", ["diverged"], goal, hidden=hidden)
        same([lost, retrained("a", [value], goal, hidden=hidden + 1)], Pool())
        same([lost], Pool())


@given(st.lists(FINITE, min_size=1, max_size=9) | st.builds(lambda x, n: [x] * n, FINITE, st.integers(1, 9)))
def test_means_are_equal_to_the_last_digit(values: list[float]) -> None:
    theirs, ours = OVERALL("summary(values)", values=values), summary(values)
    assert (float(theirs["mean"]), theirs["n"]) == (ours.mean, ours.n)
    assert theirs["std"] == (None if ours.std is None else pytest.approx(ours.std, rel=1e-12))


def test_estimates_are_written_as_elsewhere() -> None:
    values = [0.0, 0.125, 0.375, 0.25, 2.25, 2.75, 2.35, 13.05, 0.005, 0.9999, 31.5, -0.125, -0.375, -1.234]
    found = [None, *(Estimate(value) for value in values), *(Estimate(v, v - 0.5, v + 0.25) for v in values)]
    for digits in (1, 2):
        theirs = OVERALL(
            "found.map((one) => estimate(one, digits))", found=[e and asdict(e) for e in found], digits=digits
        )
        assert theirs == [estimate(one, digits) for one in found]


TASKS = {"fitzhugh_nagumo": "min", "psmnist": "max", "adding": "min"}
MODELS = ("lem", "lstm", "gru", "cornn")


def filled() -> list[Group]:
    """Three boards; one model is absent from one, one diverged on all of another, some seeds diverged."""
    rng = np.random.default_rng(2)
    groups = []
    for task, goal in TASKS.items():
        for k, model in enumerate(MODELS):
            if (model, task) == ("gru", "adding"):
                continue
            ends: list[float | str] = []
            for seed in range(2 * k + 2):
                lost = seed == 1 if task != "psmnist" else model == "lstm"
                ends.append("diverged" if lost else round(float(rng.normal(5 + k, 0.3)), 1))
            groups.append(retrained(model, ends, goal, task=task, trivial={"zero": 5.0}, family=model[:1]))
    return groups


@pytest.mark.parametrize(
    ("chosen", "pool"),
    [
        ({}, Pool()),
        ({"models": "lem lstm"}, Pool(("lem", "lstm"))),
        ({"models": "gru"}, Pool(("gru",))),
        ({"seeds": "2", "q": "nothing"}, Pool((), 2)),
        ({"prov": "0"}, Pool((), 5)),
        ({"models": "cornn gru lstm", "seeds": "1"}, Pool(("cornn", "gru", "lstm"), 1)),
        ({"seeds": "9"}, Pool((), 9)),
    ],
)
def test_filters_change_the_front_view_as_the_options_change_the_overview(
    tmp_path: Path, chosen: dict[str, str], pool: Pool
) -> None:
    published(tmp_path / "one", filled())
    page = Page.of(tmp_path / "one", **chosen)
    theirs = page("overall()")
    found = rows(filled(), [], pool)
    ours = expected(found, [(task, "") for task in sorted(TASKS)])
    whole = {line.model: line.score for line in overview(found).lines}
    for line in theirs["lines"]:
        assert line.pop("family") == page("byKey.get(key).family", key=next(filter(None, line["cells"])))
        if not chosen:
            score = whole[line["model"]]
            assert line["score"] == (score and asdict(score))
            line["score"] = score and asdict(Estimate(score.value))
    assert theirs == ours
    bold = {row.config for row in found if row.ties.startswith("a")}
    shown = [key for line in theirs["lines"] for key in line["cells"] if key]
    assert {key for key in shown if page("leads(standing(byKey.get(key)))", key=key)} == bold & set(shown)
