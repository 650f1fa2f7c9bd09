"""Winners at the edge of what was searched are told, and a second search takes wider ranges for all models alike."""

from __future__ import annotations

import io
import json
import math
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from small_sweeps import small

from longwave.platform.about import about
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import seal
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.intake import import_bundle
from longwave.platform.records.search import searched_by
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.range_edges import (
    AtEdge,
    boxes_of_winners,
    edges_of_winner,
    find_edges,
    format_tables,
    list_not_widened,
    widen_ranges,
)
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import store_plan, stored_settings
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.run import driver

MIDDLE = {"lr": 3e-3, "dt": 0.03, "gamma": 10.0, "epsilon": 10.0}
"""Of coRNN, in the middle of its ranges."""


def entry(model: str = "cornn", **changes: Any) -> CellPlan:
    return resolve(small(models=[model], **changes)).cells[0]


def won(of: CellPlan, **params: float) -> TrialConfig:
    """Return a winner of a cell with these parameters."""
    return replace(of.base, params={**MIDDLE, **params}, phase="retrain")


def ends(of: CellPlan, **params: float) -> dict[str, str]:
    return {edge.name: edge.end for edge in edges_of_winner(of, won(of, **params))}


def test_a_number_in_the_outer_twentieth_of_its_range_sits_at_an_edge() -> None:
    ours = entry()
    assert ends(ours) == {}
    decades = 3 / 20  # an edge of lr, which is drawn from 1e-4 to 1e-1
    assert ends(ours, lr=1e-4 * 10 ** (decades * 0.99)) == {"lr": "low"}
    assert ends(ours, lr=1e-4 * 10 ** (decades * 1.01)) == {}
    assert ends(ours, lr=1e-1 / 10 ** (decades * 0.99), dt=0.1) == {"lr": "high", "dt": "high"}
    linear = entry("lipschitz_rnn")
    near = {"beta": 0.65 + 0.15 * 0.049, "gamma": 0.03, "epsilon": 0.03, "lr": 2e-3}
    assert ends(linear, **near) == {"beta": "low"} and ends(linear, **near | {"beta": 0.66}) == {}


def test_choices_and_fixed_numbers_have_no_edge() -> None:
    chosen = entry(space={"cornn": {"lr": [0.001, 0.1], "dt": 0.1, "gamma": {"low": 2.0, "high": 2.0}}})
    assert ends(chosen, lr=0.1, dt=0.1, gamma=2.0) == {}


@given(st.floats(1e-4, 1e-1))
def test_what_sits_at_an_edge_lies_inside_the_wider_range_and_no_more_at_its_edge(lr: float) -> None:
    ours = resolve(small(models=["cornn"]))
    [cell] = ours.cells
    actual = list(edges_of_winner(cell, won(cell, lr=lr)))
    for edge in actual:
        again = resolve(
            check_sweep({**SMALL_AS_FILE, **tomllib.loads(format_tables(widen_ranges(ours, actual), 5))}, "again")
        )
        assert ends(again.cells[0], lr=edge.value) == {}


SMALL_AS_FILE = {**small(models=["cornn"]).model_dump(exclude_defaults=True), "name": "again"}


def test_a_range_is_widened_for_all_models_alike_as_far_as_values_are_valid() -> None:
    ours = resolve(small(models=["lem", "cornn", "unicornn", "tau_gru", "lipschitz_rnn", "gru"]))
    actual = [AtEdge("lem", "r", name, 1.0, 0.0, 1.0, "high") for name in ("dt", "lr", "tau", "beta", "alpha")]
    space = {
        model: {n: (r.low, r.high, r.log) for n, r in ranges.items()}
        for model, ranges in widen_ranges(ours, actual).items()
    }
    assert {model: ranges["lr"] for model, ranges in space.items()} == {
        **dict.fromkeys(("lem", "cornn", "unicornn", "gru"), (pytest.approx(1e-5), 1.0, True)),
        "tau_gru": (pytest.approx(5e-5), 0.1, True),
        "lipschitz_rnn": (pytest.approx(1e-4), 0.05, True),
    }
    assert space["lem"]["dt"] == (pytest.approx(0.001), 3.99, False)
    assert space["cornn"]["dt"] == (pytest.approx(0.001), 1.0, True)
    assert space["unicornn"]["dt"] == (pytest.approx(0.001), 1.0, True), "Δt of UnICORNN is at most 1"
    assert space["unicornn"]["alpha"] == (0.0, 60.0, False), "a frequency is not negative"
    assert space["tau_gru"]["tau"] == (0.0, 395.0, False), "a delay is not negative"
    assert space["lipschitz_rnn"]["beta"] == (pytest.approx(0.5), pytest.approx(0.95), False)
    assert "gamma" not in space["cornn"], "what sits nowhere at an edge keeps its range"


def test_a_training_number_and_a_size_at_an_edge_are_named_to_be_widened_by_hand() -> None:
    drawn = {"weight_decay": {"low": 1e-6, "high": 1e-2}, "hidden": {"low": 4, "high": 32}}
    sweep = resolve(small(models=["cornn", "gru"], hidden=None, space={"cornn": drawn}))
    cell = sweep.cells[0]
    edges = [*edges_of_winner(cell, replace(won(cell, weight_decay=0.0099, lr=0.099), hidden=32))]
    assert list_not_widened(sweep, edges) == {"cornn": ["weight_decay", "hidden"]}
    text = format_tables(widen_ranges(sweep, edges), 2, list_not_widened(sweep, edges))
    comment = "# Winners lie at an edge of weight_decay, hidden too: widen these by hand, in [wider.space.cornn].\n"
    assert comment in text and tomllib.loads(text)["wider"]["space"]["cornn"].keys() == {"lr"}
    assert format_tables({}, 2, list_not_widened(sweep, edges)) == comment
    assert list_not_widened(sweep, [edge for edge in edges if edge.name == "lr"]) == {}


def test_the_box_round_a_winner_leaves_the_first_range_only_where_the_winner_sits_at_its_end(store: Store) -> None:
    ranges = {"dt": {"low": 0.01, "high": 1.0, "log": True}, "lr": {"low": 1e-4, "high": 1e-1, "log": True}}
    file = small(models=["cornn"], trials=1, retrain=1, rule=2, space={"cornn": ranges})
    sweep = store_plan(resolve(file), store)
    [search] = first_trials(sweep)[0]
    winner = replace(search, phase="retrain", params={**search.params, "dt": 0.99, "lr": 0.003, "gamma": 0.1})
    store.add_trials("tiny", [winner], [about(winner)], [0])
    [boxes] = boxes_of_winners(sweep, store, "tiny").values()
    root = math.sqrt(10)
    assert {name: (r.low, r.high) for name, r in boxes.items() if name != "epsilon"} == {
        "dt": (pytest.approx(0.99 / root), pytest.approx(0.99 * root)),
        "lr": (pytest.approx(0.003 / root), pytest.approx(0.003 * root)),
        "gamma": (pytest.approx(0.1 / root), pytest.approx(0.1 * root)),
    }
    text = format_tables({"cornn": boxes}, 1)
    again = check_sweep({**file.model_dump(exclude_defaults=True), **tomllib.loads(text), "name": "again"}, "again")
    [cell] = resolve(again).cells
    assert cell.wider[1].name == "dt" and again.searched == 2
    assert ends(cell, dt=0.99 / root) == {}, "the box ends there, and the first search went on"


def test_the_box_round_a_number_that_is_not_on_a_log_scale_is_half_its_range(store: Store) -> None:
    sweep = store_plan(resolve(small(models=["lipschitz_rnn"], trials=1, retrain=1, rule=2)), store)
    [search] = first_trials(sweep)[0]
    winner = replace(search, phase="retrain", params={**search.params, "beta": 0.72})
    store.add_trials("tiny", [winner], [about(winner)], [0])
    beta = boxes_of_winners(sweep, store, "tiny")["lipschitz_rnn"]["beta"]
    assert (beta.low, beta.high) == (pytest.approx(0.72 - 0.15 / 4), pytest.approx(0.72 + 0.15 / 4))


@pytest.mark.parametrize(
    ("first", "wider", "box"),
    [
        ({"low": 1, "high": 80, "log": True}, (1.0, 800.0), (2.0, 23.0)),  # 7 times √10 is 22.1, and over it 2.2
        ({"low": 5, "high": 98, "log": False}, (0.0, 191.0), (0.0, 31.0)),  # at its low end; and 7 + 93 / 4 is 30.25
    ],
)
def test_a_second_search_over_whole_numbers_has_whole_ends(
    store: Store, first: dict[str, Any], wider: tuple[float, float], box: tuple[float, float]
) -> None:
    file = small(models=["tau_gru"], trials=1, retrain=1, rule=2, space={"tau_gru": {"tau": first}})
    sweep = store_plan(resolve(file), store)
    [search] = first_trials(sweep)[0]
    winner = replace(search, phase="retrain", params={**search.params, "tau": 7.0})
    store.add_trials("tiny", [winner], [about(winner)], [0])
    edge = AtEdge("tau_gru", winner.row, "tau", 7.0, first["low"], first["high"], "low")
    for space, ends in ((widen_ranges(sweep, [edge]), wider), (boxes_of_winners(sweep, store, "tiny"), box)):
        text = format_tables(space, 1)
        again = check_sweep({**file.model_dump(exclude_defaults=True), **tomllib.loads(text), "name": "again"}, "again")
        [tau] = [d for d in resolve(again).cells[0].wider if d.name == "tau"]
        assert (tau.low, tau.high) == ends


def test_a_search_over_other_ranges_says_so_on_its_rows() -> None:
    assert "ranges" not in searched_by(small().model_dump(exclude_defaults=True))
    other = small(space={"lem": {"lr": {"low": 1e-5, "high": 1.0}}, "gru": {"lr": 0.1}})
    assert searched_by(other.model_dump(exclude_defaults=True)) == "random search, ranges of its own for lr"


def pairs(sweep: Sweep) -> Iterator[tuple[CellPlan, list[TrialConfig]]]:
    """Yield each cell with the trials that it begins with."""
    return zip(sweep.cells, first_trials(sweep), strict=True)


@pytest.mark.integration
def test_the_command_tells_edges_of_winners_alone_and_writes_the_second_search(
    store: Store, here: Workers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (small(trials=1, retrain=1, epochs=1, seed=seed) for seed in range(1000))
    file = next(f for f in files if all([*edges_of_winner(e, c)] for e, [c] in pairs(resolve(f))))
    sweep = store_plan(resolve(file), store)
    assert find_edges(sweep, store, "tiny") == ([], ["lem", "gru"])
    driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
    command = ["sweep", "edges", "tiny", "--store", store.url]
    assert main([*command, "--format", "json"]) == 0
    message = json.loads(capsys.readouterr().out)
    actual, without = find_edges(sweep, store, "tiny")
    assert (message["edges"], message["without"]) == ([edge.to_dict() for edge in actual], []) and without == []
    winners = {t.config.model: t.config for t in store.trials("tiny") if t.config.phase == "retrain"}
    assert {edge.cell for edge in actual} == {*winners} == {"lem", "gru"}
    with Store(f"sqlite:///{tmp_path}/elsewhere.db") as elsewhere:
        import_bundle(elsewhere, seal(collect(store)), [])
        [imported] = elsewhere.sweeps()
        assert main(["sweep", "edges", imported, "--format", "json", "--store", elsewhere.url]) == 0
    assert json.loads(capsys.readouterr().out) == message
    assert main(command) == 0
    assert f"tiny: {len(actual)} winning values lie at an edge" in capsys.readouterr().out
    assert main([*command, "--widened"]) == 0
    message = capsys.readouterr().out
    assert message == format_tables(widen_ranges(sweep, actual), 1) and "[wider]\ntrials = 1\n" in message, (
        "half as many, one at least"
    )
    again = check_sweep({**stored_settings(file), "name": "again", **tomllib.loads(message)}, "again")
    with pytest.raises(ConfigError, match=r"again has a second search over wider ranges: change them in \[wider"):
        widen_ranges(resolve(again), actual)
    assert main(["sweep", "edges", "other", "--store", store.url]) == 2
    assert "No sweep 'other'" in capsys.readouterr().err
