"""Find the saved weights of a row's retrainings, and check that they match the record in the store."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from longwave.platform.boards.row import SHORT, command
from longwave.platform.errors import ConfigError
from longwave.platform.paths import home, store_option, sweep_storage, to_path, weights_file
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial
from longwave.platform.storage.store import Store
from longwave.platform.training.weights import SavedWeights, read

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

AGREE = 1e-3
"""Relative difference allowed between test scores computed on different machines."""


def find_weights(
    store: Store, name: str, seed: int | None = None, storage: str | None = None
) -> tuple[Trial, SavedWeights]:
    """Return a retraining and its weights: of a row, the best on validation among those with weights.

    Args:
        store: Where the row is.
        name: A row's name or first digits, as ``Store.rows`` takes them, or the full id of one retraining.
        seed: Consider only the row's retraining with this seed.
        storage: Where its sweeps kept checkpoints, if not in the data folder.

    Raises:
        ConfigError: No such row or retraining, none has weights, or they do not match the store's record.
    """
    retrainings = _retrainings(store, name)
    row, goal = retrainings[0].config.row, retrainings[0].about.goal
    ended = [(t, t.run) for t in retrainings if t.run and t.run.status == "ok" and seed in (None, t.config.seed)]
    if not ended:
        which = f" with seed {seed}" if seed is not None else ""
        raise ConfigError(f"Row {row[:SHORT]} has no retraining{which} that ended ok, so there are no weights.")
    ended.sort(key=lambda pair: (pair[1].valid or 0.0) * (-1 if goal == "max" else 1))
    folders = list(_possible_folders(store, row, storage))
    for trial, run in ended:
        for folder in folders:
            if (weights := read(weights_file(folder, trial.config.id))) is not None:
                _check(weights, trial, run)
                return trial, weights
    best = ended[0][0].config.seed
    again = f"{command(row)} --seed {best} --keep-weights{store_option(store.url)}"
    where = "" if storage else "; if its sweep had a --storage, name that"
    raise ConfigError(f"No saved weights of row {row[:SHORT]} were found{where}. Train it again with: {again}")


def _retrainings(store: Store, name: str) -> list[Trial]:
    """Return the retrainings of a row, or the one with this id."""
    by_id = store.trials_by_id([name.lower()])
    if by_id and by_id[0].config.phase != "retrain":
        raise ConfigError(
            f"Trial {name} is a search trial, and only weights of retrainings are saved. "
            "Name a row or one of its retrainings."
        )
    return by_id or store.rows(name)


def _possible_folders(store: Store, row: str, storage: str | None) -> Iterator[AnyPath]:
    """Yield the folders in which weights of a row may be: those of its sweeps, then that of re-runs."""
    if storage:
        yield to_path(storage)
    for sweep in store.sweeps_of_rows([row]):
        yield sweep_storage(storage, sweep)
    yield home()


def _check(weights: SavedWeights, trial: Trial, run: Run) -> None:
    """Raise ConfigError if weights do not match the trial in the store."""
    config = trial.config
    if weights.config.id != config.id or not scores_agree(weights.test, run.test):
        scores = f"test score {weights.test:.6g}, but trial {config.id[:SHORT]} has {run.test or math.nan:.6g}"
        raise ConfigError(f"The saved weights do not match the store: {scores}. Delete them, and train again.")


def scores_agree(score: float, stored: float | None) -> bool:
    """Return whether a score equals the stored one within ``AGREE``."""
    return stored is not None and math.isclose(score, stored, rel_tol=AGREE, abs_tol=1e-9)
