"""What draws of successive halving stopped is counted from the curves, and the report adds it up."""

from __future__ import annotations

import re

import pytest
from boards import retrained
from edition.draws import RungDraw, describe_draws, list_draws
from edition.folders import EditionFolders
from edition.pages import last_searches
from edition.report import Findings, format_report

from longwave.platform.boards.board import rows
from longwave.platform.exchange.bundle import read as read_bundle
from longwave.platform.exchange.intake import import_bundle
from longwave.platform.storage.store import Store


def test_the_report_counts_those_that_had_learned_and_the_searches_in_which_one_became_best() -> None:
    board = rows([retrained(model, [1.0, 1.1, 1.2]) for model in ("a", "b", "c")], [])
    keys = {row.model: row.key for row in board}
    draws = [
        RungDraw(keys["a"], 7, 3, 1, 12, found_best=False),
        RungDraw(keys["a"], 14, 4, 1, 6, found_best=True),
        RungDraw(keys["b"], 7, 2, 2, 12, found_best=False),
        RungDraw("of no row", 7, 5, 5, 12, found_best=False),
    ]
    sentences, _, heading, _, _, _, *table = describe_draws([("Board", board, keys_to_labels(keys))], draws)
    assert "At 3 such rungs some trials did beat it, 9 in all, and 4 of them were stopped." in sentences
    assert "In 1 of the 1 searches in which at least one of them went on, one became the best" in sentences
    assert "equally likely to become the best, 0.5 searches would" in sentences, (
        "3 of the 6 that went on at the last rung had learned"
    )
    assert heading == "### Board"
    assert table == ["| A | 7 | 3 | 1 | no |", "| A | 14 | 4 | 1 | yes |", "| B | 7 | 2 | 2 | no |"]
    assert "## What the draws of halving stopped\n" in format_report(board, Findings(draws=draws), "T", "0")
    assert "draws of halving" not in format_report(board, Findings(), "T", "0")
    assert describe_draws([("Board", board, keys_to_labels(keys))], draws[-1:]) == []


def keys_to_labels(keys: dict[str, str]) -> dict[str, str]:
    return {key: model.upper() for model, key in keys.items()}


@pytest.mark.parametrize(
    "sweep",
    [
        "b2-cycle_navigation-lem",
        "b2-cycle_navigation-gated",
        "f4-lorenz96_free-modern",
        "f2-enso_free",
        pytest.param("f4-lorenz96_free", marks=pytest.mark.integration),
        pytest.param("f3-mackey_glass_free", marks=pytest.mark.integration),
    ],
)
def test_those_that_had_learned_are_those_whose_curve_beats_the_constant_predictor_by_then(
    store: Store, sweep: str
) -> None:
    [path] = (
        p
        for p in EditionFolders.of_edition(2).results
        if re.fullmatch(f"edition2-{sweep}-[0-9a-f]{{12}}.json.xz", p.name)
    )
    file = read_bundle(path)
    import_bundle(store, file, [])
    [(name, planned)] = last_searches(store)
    draws = {(draw.row, draw.epoch): draw for draw in list_draws(planned, store, name)}
    row_by_model = {e.config.model: e.config.row for e in file.content.trials if e.config.phase == "retrain"}
    expected = {}
    for model, row in row_by_model.items():
        searched = [e for e in file.content.trials if e.config.model == model and e.config.phase == "search"]
        sign = 1 if file.content.trials[0].about.goal == "max" else -1
        for epoch in (7, 14, 28, 56):
            reached = [e for e in searched if len(e.curve.valid) >= epoch]
            beat = [
                e for e in reached if max(sign * v for v in e.curve.valid[:epoch]) > sign * e.config.halving["gate"]
            ]
            stopped = [e for e in reached if e.run.status == "stopped" and e.run.epochs == epoch]
            if stopped and beat and 4 * len(beat) < len(reached):
                trained = [e for e in searched if e.run.status == "ok"]
                best = max(trained, key=lambda e: sign * e.run.valid)
                expected[row, epoch] = RungDraw(
                    row,
                    epoch,
                    len(beat),
                    len([e for e in beat if e in stopped]),
                    len(reached) - len(stopped),
                    best in beat,
                )
    assert draws == expected and expected
