"""The type of learning rate schedules, ``Schedule``, and its argument ``Moment``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from longwave.models.base.param import Param
from longwave.platform.records.trial import TrialConfig
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data


@dataclass(frozen=True)
class Moment:
    """Progress of one member's training.

    Attributes:
        epoch: The epoch in progress, from 1.
        step: Steps done since the start of the training.
        steps, warm: Steps of the training, and of its warm-up.
        drops: Epochs after which the learning rate drops.
        valids: The validation metric after each epoch so far.
        goal: Whether larger or smaller is better.
    """

    epoch: int
    step: int
    steps: int
    warm: int = 0
    drops: Sequence[int] = ()
    valids: Sequence[float] = ()
    goal: Literal["max", "min"] = "min"


@dataclass(frozen=True)
class Schedule:
    """A learning rate schedule. A file of ``schedules/`` binds exactly one of these to ``SCHEDULE``. It has no state
    and depends only on the moment, so a resumed training continues unchanged.

    Attributes:
        name: Unique key, equal to the file name.
        title: Name in print.
        source: Its source.
        params: Its parameters, each with a default.
        factor: Factor of η at a moment, from a member's parameters by name.
        each_step: Whether the factor changes within an epoch.
    """

    name: str
    title: str
    source: str
    params: tuple[Param, ...]
    factor: Callable[[Moment, Mapping[str, float]], float]
    each_step: bool = False


def steps_an_epoch(config: TrialConfig, data: Data[Batch]) -> int:
    """Return the steps of an epoch: batches of the training split, segments of a text, or the steps of a stream."""
    if data.train is None:
        return config.steps or 1
    return data.train.batches(config.batch)
