"""Step drops of the learning rate, as in the papers' recipes."""

from __future__ import annotations

from collections.abc import Mapping

from longwave.models.base.param import Param
from longwave.platform.training.schedule import Moment, Schedule

FACTOR = Param(
    "drop_factor",
    "drop",
    0.1,
    0.5,
    False,
    "1",
    "What the learning rate is multiplied by after each epoch of drops.",
    most=1.0,
    searched=False,
    default=0.1,
)


def factor(moment: Moment, numbers: Mapping[str, float]) -> float:
    """Return the drop factor to the power of the number of past drops."""
    return float(numbers["drop_factor"] ** sum(moment.epoch > drop for drop in moment.drops))


SCHEDULE = Schedule("drops", "step drops", "the recipes of coRNN, UnICORNN and LEM", (FACTOR,), factor)
