"""What schedules of the learning rate share: the type ``Schedule`` and its argument ``Moment``."""

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
    """Where one member's training is.

    Attributes:
        epoch: The epoch in progress, from 1.
        step: Steps done since the start of the training.
        steps, warm: Steps of the whole training, and of its warm-up.
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
    """What becomes of the learning rate. A file of ``schedules/`` binds exactly one of these to ``SCHEDULE``.

    Nothing of it is remembered: it follows from the moment, so that a training taken up again goes on as it was.

    Attributes:
        name: Unique key, equal to the file name.
        title: As texts print it.
        source: Where it comes from.
        params: Its numbers; each with a default.
        factor: What η is multiplied with at a moment, from a member's numbers by name.
        each_step: Whether that changes within an epoch.
    """

    name: str
    title: str
    source: str
    params: tuple[Param, ...]
    factor: Callable[[Moment, Mapping[str, float]], float]
    each_step: bool = False


def steps_an_epoch(config: TrialConfig, data: Data[Batch]) -> int:
    """Return how many steps an epoch has: batches of the training split, segments of a text, or a stream's own."""
    if data.train is None:
        return config.steps or 1
    return data.train.batches(config.batch)
