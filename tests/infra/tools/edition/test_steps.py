"""After how many steps a model learned is the first epoch that reached the score; one that never did is the slowest."""

from __future__ import annotations

from math import inf

import pytest
from boards import retrained
from edition.folders import EditionFolders
from edition.report import Findings, format_report
from edition.steps import describe_steps, steps_to_learn

from longwave.platform.boards.board import rows
from longwave.platform.exchange.bundle import read as read_bundle
from longwave.platform.exchange.intake import import_bundle
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store


def test_the_fastest_model_is_first_and_a_median_beyond_all_that_learned_is_a_dash() -> None:
    board = rows([retrained(model, [1.0, 1.1, 1.2]) for model in ("a", "b", "c", "d")], [])
    keys = {row.model: row.key for row in board}
    steps = {keys["a"]: [900.0, inf, 600.0], keys["b"]: [1200.0, inf, inf], keys["c"]: [300.0, 500.0, 800.0]}
    lines = describe_steps([("Board", board, {row.key: row.label for row in board})], steps)
    assert lines[2] == "### Board: MSE 0.01"
    assert lines[6:] == [
        "| C | 3 of 3 | 500 | 300 | 800 |",
        "| A | 2 of 3 | 900 | 600 | 900 |",
        "| B | 1 of 3 | — | 1,200 | 1,200 |",
    ], "d is not trained on generated batches"
    assert "## After how many steps models learn\n" in format_report(board, Findings(steps=steps), "T", "0")
    assert "After how many steps" not in format_report(board, Findings(), "T", "0")


@pytest.mark.integration
def test_steps_are_those_of_the_first_epoch_whose_validation_reaches_the_score(store: Store) -> None:
    [path] = (p for p in EditionFolders.of_edition(2).results if p.name.startswith("edition2-b1-parity-gated-"))
    import_bundle(store, read_bundle(path), [])
    board = read_board(store)
    steps = steps_to_learn(board, store)
    for row in board:
        if row.kind == "retrained":
            curves = [[(p.epoch, p.valid) for p in store.curves([trial])] for trial in row.trials]
            assert steps[row.key] == [
                min((200 * epoch for epoch, valid in curve if valid >= 95), default=inf) for curve in curves
            ]
    assert {sum(n < inf for n in of) for of in steps.values()} == {0, 8}, "8 seeds of GRU, none of LSTM"
