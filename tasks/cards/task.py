"""From a data card to a task like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import (
    ACCURACY,
    CROSS_ENTROPY,
    L2_ERROR,
    MAE,
    MSE,
    cross_entropy,
    mean_absolute_error,
    mean_squared_error,
)
from longwave.tasks.base.metric import Metric
from longwave.tasks.base.predictor import Baseline
from longwave.tasks.base.raw import DataError, Source, fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.checked import read_card
from longwave.tasks.cards.feed import make_arrays, make_data
from longwave.tasks.cards.guards import Remark, check_remarks, find_remarks
from longwave.tasks.cards.reading import read_examples
from longwave.tasks.cards.split import split_examples
from longwave.tasks.trivial.constant import Frequencies, Majority, Mean, PersistentTargets
from longwave.tasks.trivial.forecasts import FORECASTS
from longwave.tasks.trivial.least_squares import ROUNDING
from longwave.tasks.trivial.linear import Linear
from longwave.tasks.trivial.neighbours import Nearest
from longwave.tasks.trivial.whole import SummaryRidge

READER = "4"
"""Bumped when the same files give other inputs or targets."""
HIDDEN, BATCH, EPOCHS = 32, 32, 30
RMSE = replace(L2_ERROR, name="rmse", definition="root of the mean squared error over all targets of all test examples")
UNIT = ", in standard deviations of the training split"
METRICS: Mapping[str, Metric] = {
    "accuracy": ACCURACY,
    "cross_entropy": CROSS_ENTROPY,
    "mse": MSE,
    "rmse": RMSE,
    "mae": replace(MAE, definition="mean absolute error over all targets of all test examples"),
}


@dataclass(frozen=True)
class CardFiles(Source):
    """The files of a card: where it says, else where ``longwave data fetch NAME --path FOLDER`` found them later.

    Attributes:
        paths: As in the card.
    """

    paths: tuple[Path, ...] = ()

    def missing(self, folder: Path | None = None) -> list[str]:
        """Return the files that are in neither place."""
        if folder is None and all(path.exists() for path in self.locations):
            return []
        return super().missing(folder)

    @property
    def foreign(self) -> bool:
        """Whether the files are where the card says."""
        return all(path.exists() for path in self.paths)

    @property
    def locations(self) -> list[Path]:
        """Paths from which to read the files."""
        if self.foreign or not self.folder.exists():
            return [*self.paths]
        return [self.folder / name for name in self.needs]

    @property
    def root(self) -> Path:
        """The folder of the first file."""
        return self.locations[0].parent

    def locate(self, task: str) -> Path:
        """Return the folder of the first file.

        Raises:
            DataError: One does not exist; the message says what to do.
        """
        for path in self.locations:
            if not path.exists():
                advice = f"If it was moved: longwave data fetch {self.name} --path FOLDER"
                raise DataError(f"{self.name} reads {path}, which does not exist. {advice}")
        return self.root

    def write_sums(self) -> None:
        """Do nothing: the files belong to the user and may change, which gives another version of the data."""


def card_task(path: Path) -> TaskSpec:
    """Return the task described by a card, named like the file. Its data are read when it loads them.

    Raises:
        DataError: The card cannot be read or breaks a rule.
    """
    card = read_card(path)
    files = card_files(card, path)
    one = card.task == "classification"
    every = card.every_step or card.task == "forecasting"
    steps = card.window or (card.steps and card.steps - (card.horizon or 0))
    metric = METRICS[card.scored]
    if not one and card.normalise == "standard":
        metric = replace(metric, definition=metric.definition + UNIT)
    return TaskSpec(
        name=path.stem,
        title=card.title or path.stem,
        family="your own data",
        summary=_summarise(card),
        inputs=len(card.channels) * (2 if card.missing == "mask" else 1),
        outputs=len(card.classes) if one else len(card.targets),
        loss=cross_entropy if one else mean_absolute_error if card.scored == "mae" else mean_squared_error,
        metric=metric,
        chance=None,
        load=_make_loader(card, path),
        recipes={"": Recipe(HIDDEN, BATCH, EPOCHS, "Longwave's for data of your own", clip=1.0)},
        source=card.source or ", ".join(files.needs),
        licence=card.licence,
        length=str(steps or "as in the files"),
        lag="not known",
        targets="at every step" if every else "at the last step",
        horizon=card.horizon,
        files=files,
        baselines=_baselines(card),
    )


def card_files(card: Card, path: Path) -> CardFiles:
    """Return the files of the card at ``path``."""
    paths = tuple(path.parent / name for name in card.files)
    return CardFiles(
        f"my-{path.stem}", card.title or path.stem, card.licence, tuple(p.name for p in paths), paths=paths
    )


def load_with_remarks(path: Path) -> tuple[Data[Sequences], list[Remark]]:
    """Return the data of a card's task, and all remarks on them. Nothing is cached.

    Raises:
        DataError: The card or a file breaks a rule, or a leak is refused.
    """
    card = read_card(path)
    arrays, notes = _make_arrays(card, path)
    return make_data(arrays), notes


def _make_loader(card: Card, path: Path) -> Callable[[str], Data[Sequences]]:
    """Return a loader of a card's data, which reads again when a file has changed."""
    files, loaded = card_files(card, path), dict[str, Data[Sequences]]()
    content = card.model_dump_json(exclude={"files", "title", "source", "licence"})

    def load(variant: str) -> Data[Sequences]:
        check_variant(path.stem, variant)
        files.locate(path.stem)
        key = hashlib.sha256(f"{READER} {content} {fingerprint(files.locations)}".encode()).hexdigest()[:24]
        if key not in loaded:
            loaded.clear()
            loaded[key] = make_data(cached(f"cards/{key}", lambda: _make_arrays(card, path)[0]))
        return loaded[key]

    return load


def _make_arrays(card: Card, path: Path) -> tuple[dict[str, np.ndarray], list[Remark]]:
    files = card_files(card, path)
    files.locate(path.stem)
    examples = read_examples(card, files.locations)
    splits = split_examples(card, examples, str(path))
    notes = find_remarks(card, examples, splits)
    check_remarks(notes, str(path))
    return make_arrays(card, examples, splits), notes


def _summarise(card: Card) -> str:
    goal = f"classify into {len(card.classes)} classes" if card.classes else f"predict {', '.join(card.targets)}"
    if card.task == "forecasting":
        goal += f" {card.horizon} steps ahead"
    channels = card.channels[0] if len(card.channels) == 1 else f"{len(card.channels)} channels"
    return f"Your data: {goal} from {channels}."


def _baselines(card: Card) -> dict[str, Baseline]:
    if card.task == "classification":
        outputs = len(card.classes)
        if card.scored == "cross_entropy":  # a predictor of one class is certain, and scores worse than none
            return {"class frequencies": Frequencies(outputs)}
        blind: dict[str, Baseline] = {"majority": Majority(outputs)}
        if card.every_step:
            return blind
        ragged = bool(card.lengths) or (card.kind == "ts" and card.steps is None)
        return {**blind, **({"ridge on summaries": SummaryRidge(outputs)} if ragged else {"1-NN": Nearest(outputs)})}
    if card.task == "regression" and not card.every_step:
        return {"mean": Mean(), "ridge on summaries": SummaryRidge()}
    if card.task == "forecasting" and card.missing != "mask" and len(card.targets) == len(card.channels):
        return dict(FORECASTS)
    every: dict[str, Baseline] = {"mean": Mean(), "AR(8)": Linear(8), "ridge(32)": Linear(32, ROUNDING)}
    return {**every, "persistence": PersistentTargets(len(card.targets))} if card.task == "forecasting" else every
