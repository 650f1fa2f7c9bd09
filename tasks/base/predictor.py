"""Trivial predictors as tasks declare them, and what is measured of each: its score, its time and its size."""

from __future__ import annotations

import hashlib
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.metric import Further, Metric

Baseline = Callable[[Data[Any]], Tensor]
"""A predictor that learns nothing deep: from the data to outputs for the test split, (N, q) or (N, positions, q)."""


@dataclass(frozen=True)
class Fitted:
    """A predictor after its fit.

    Attributes:
        outputs: From a split to its outputs, (N, q) or (N, positions, q).
        numbers: How many numbers it keeps: weights, or the examples that neighbours are looked up in.
        chosen: What the validation split chose, in words; empty where nothing was to choose.
    """

    outputs: Callable[[Any], Tensor]
    numbers: int
    chosen: str = ""


class Predictor(ABC):
    """A ``Baseline`` that says its size and what it chose, and is measured once for the same data.

    Subclasses are frozen dataclasses: class, fields and the code beside the class name what is kept on disk, so each
    field has a ``repr`` that tells its value.
    """

    @abstractmethod
    def fit(self, data: Data[Any]) -> Fitted:
        """Return it fitted to the training split, with what is to choose chosen on the validation split."""

    def lacks(self) -> str:
        """Return how to get what it needs and is not installed, in one line; empty where all is here."""
        return ""

    def __call__(self, data: Data[Any]) -> Tensor:
        """Return the outputs for the test split."""
        return self.fit(data).outputs(data.test)


@dataclass(frozen=True)
class Measured:
    """What is measured of a trivial predictor.

    Attributes:
        score: Metric on the test split.
        seconds: Time of the fit, the choice and the test together, where and when it was first measured.
        numbers: As of ``Fitted``; None for a plain function, which does not say.
        chosen: As of ``Fitted``.
        further: What the task measures beside its metric, in its order.
    """

    score: float
    seconds: float
    numbers: int | None = None
    chosen: str = ""
    further: tuple[float, ...] = ()


def measure(predict: Baseline, data: Data[Any], metric: Metric, task: str, further: Sequence[Further] = ()) -> Measured:
    """Return what is measured of a predictor; of a ``Predictor`` it is read from disk if it was measured before.

    Args:
        predict: The predictor. A plain function is measured each time: nothing says when it changes.
        data: What it is fitted to and tested on.
        metric: Of the task.
        task: Name and version of the task: with the data's version and the predictor they name what is kept.
        further: What is measured beside the metric.
    """
    if not isinstance(predict, Predictor):
        start = time.perf_counter()
        score, *extra = _score_all(predict(data), data, metric, further)
        return Measured(score, time.perf_counter() - start, further=tuple(extra))

    def make() -> dict[str, np.ndarray]:
        start = time.perf_counter()
        with _one_thread():
            fitted = predict.fit(data)
            score, *extra = _score_all(fitted.outputs(data.test), data, metric, further)
        numbers = np.array([score, time.perf_counter() - start, fitted.numbers, *extra], np.float64)
        return {"numbers": numbers, "chosen": np.array(fitted.chosen)}

    names = (metric.name, *(each.label for each in further))
    identity = "\n".join((task, *names, data.version, repr(predict), _code_digest(type(predict))))
    stored = cached(f"trivial/{hashlib.sha256(identity.encode()).hexdigest()[:24]}", make)
    score, seconds, numbers, *extra = stored["numbers"].tolist()
    return Measured(score, seconds, int(numbers), str(stored["chosen"]), tuple(extra))


def _code_digest(kind: type) -> str:
    """Return the digest of the modules in the folder of a class: a score is measured anew when one of them changes."""
    modules = sorted(Path(inspect.getfile(kind)).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in modules)).hexdigest()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch use one thread: these problems are so small that several take two to three times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _score_all(outputs: Tensor, data: Data[Any], metric: Metric, further: Sequence[Further]) -> list[float]:
    first = metric.score(outputs.unsqueeze(0), data.test.targets).item()
    return [first, *(each.score(outputs, data.test) for each in further)]
