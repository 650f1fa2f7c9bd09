"""After how many steps models learn: for each board of generated batches, when validation first reaches a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from statistics import median

from edition.searches import Board, board_table
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import metric_words, plain
from longwave.platform.storage.store import Store

LEARNED = {"mse": 0.01, "accuracy": 95.0}
"""Validation score that counts as learned, by metric; for errors the one that the papers of the adding problem use."""
HEAD = ("row", "retrainings that learn", "steps, median", "fewest", "most")
INTRO = (
    "Steps of training until the validation score first reaches that in the table's heading, checked after each epoch. "
    "In the median a retraining that never learns counts as the slowest."
)


def steps_to_learn(rows: Iterable[Row], store: Store) -> dict[str, list[float]]:
    """Return, by the key of its row, the steps after which each retraining has learned, inf if it never does.

    Rows whose epochs are passes over a training split are left out.
    """
    steps: dict[str, list[float]] = {}
    for row in rows:
        if row.kind == "retrained" and row.current and row.metric in LEARNED:
            [first] = store.trials_by_id(row.trials[:1])
            if first.config.steps:
                epochs = _first_epochs(row, LEARNED[row.metric], store)
                steps[row.key] = [epochs.get(trial, inf) * first.config.steps for trial in row.counted_trials]
    return steps


def _first_epochs(row: Row, score: float, store: Store) -> dict[str, int]:
    """Return the first epoch at which each retraining is at least as good as a score, if there is one."""
    epochs: dict[str, int] = {}
    for point in store.curves(row.trials):
        if point.valid >= score if row.goal == "max" else point.valid <= score:
            epochs.setdefault(point.trial, point.epoch)
    return epochs


def describe_steps(boards: Iterable[Board], steps_by_row: Mapping[str, Sequence[float]]) -> list[str]:
    """Return a table for each board with such rows, the fastest model first; nothing if there is none."""
    lines: list[str] = []
    for name, rows, links in boards:
        shown = [(median(steps_by_row[row.key]), row.key) for row in rows if row.key in steps_by_row]
        cells = []
        for middle, key in sorted(shown, key=lambda pair: pair[0]):
            steps = steps_by_row[key]
            learned = [int(n) for n in steps if n < inf]
            numbers = (int(middle) if middle < inf else None, min(learned, default=None), max(learned, default=None))
            cells.append([links[key], f"{len(learned)} of {len(steps)}", *map(plain, numbers)])
        lines += board_table(f"{name}: {metric_words(rows[0].metric)} {LEARNED.get(rows[0].metric, 0):g}", HEAD, cells)
    return [INTRO, *lines] if lines else []
