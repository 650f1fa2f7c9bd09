"""Trivial predictors of tasks, and the measurement of each: score, time and size."""

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
"""A simple predictor: from the data to outputs for the test split, (N, q) or (N, positions, q)."""


@dataclass(frozen=True)
class Fitted:
    """A predictor after its fit.

    Attributes:
        outputs: From a split to its outputs, (N, q) or (N, positions, q).
        numbers: How many numbers it stores: weights, or the examples among which it searches neighbours.
        chosen: What was selected on the validation split, in words; empty if nothing was.
    """

    outputs: Callable[[Any], Tensor]
    numbers: int
    chosen: str = ""


class Predictor(ABC):
    """A ``Baseline`` that reports its size and its choice, and is measured once per version of the data.

    Subclasses are frozen dataclasses: class, fields and the code in its folder form the key on disk, so the ``repr`` of
    each field must show its value.
    """

    @abstractmethod
    def fit(self, data: Data[Any]) -> Fitted:
        """Return the predictor fitted to the training split, with all choices made on the validation split."""

    def lacks(self) -> str:
        """Return how to install what it needs, in one line; empty if all is installed."""
        return ""

    def __call__(self, data: Data[Any]) -> Tensor:
        """Return the outputs for the test split."""
        return self.fit(data).outputs(data.test)


@dataclass(frozen=True)
class Measured:
    """Measurement of a trivial predictor.

    Attributes:
        score: Metric on the test split.
        seconds: Time of fit, selection and test together, where and when it was first measured.
        numbers: As in ``Fitted``; None for a plain function, which does not report it.
        chosen: As in ``Fitted``.
        further: The task's further metrics, in its order.
    """

    score: float
    seconds: float
    numbers: int | None = None
    chosen: str = ""
    further: tuple[float, ...] = ()


def measure(predict: Baseline, data: Data[Any], metric: Metric, task: str, further: Sequence[Further] = ()) -> Measured:
    """Return the measurement of a predictor; that of a ``Predictor`` is read from disk if it was measured before.

    Args:
        predict: The predictor. A plain function is measured each time, since its changes cannot be detected.
        data: The data to fit and test on.
        metric: Of the task.
        task: Name and version of the task, part of the key on disk, like the data's version and the predictor.
        further: Further metrics.
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
    """Return the digest of the modules in the folder of a class: a score is measured again when one of them changes."""
    modules = sorted(Path(inspect.getfile(kind)).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in modules)).hexdigest()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Restrict torch to one thread: on problems this small, several take two to three times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _score_all(outputs: Tensor, data: Data[Any], metric: Metric, further: Sequence[Further]) -> list[float]:
    first = metric.score(outputs.unsqueeze(0), data.test.targets).item()
    return [first, *(each.score(outputs, data.test) for each in further)]
