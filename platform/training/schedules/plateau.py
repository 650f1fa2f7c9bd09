"""A drop whenever validation has reached a plateau."""

from __future__ import annotations

import math
from collections.abc import Mapping

from longwave.models.base.param import Param
from longwave.platform.training.schedule import Moment, Schedule

THRESHOLD = 1e-4
"""Smallest relative improvement that counts; torch's default."""
FACTOR = Param(
    "plateau_factor",
    "drop",
    0.1,
    0.5,
    False,
    "1",
    "What the learning rate is multiplied by when validation stands still.",
    most=1.0,
    searched=False,
    default=0.1,
)
PATIENCE = Param(
    "plateau_patience",
    "patience",
    5,
    50,
    False,
    "epochs",
    "Epochs in a row without a better validation metric that change nothing yet.",
    zero=True,
    whole=True,
    searched=False,
    default=10.0,
)


def factor(moment: Moment, numbers: Mapping[str, float]) -> float:
    """Return the product of all drops so far, as torch.optim.lr_scheduler.ReduceLROnPlateau counts them."""
    upwards = moment.goal == "max"
    best, waited, scale = -math.inf if upwards else math.inf, 0, 1.0
    for valid in moment.valids:
        if valid > best * (1 + THRESHOLD) if upwards else valid < best * (1 - THRESHOLD):
            best, waited = valid, 0
        else:
            waited += 1
        if waited > numbers["plateau_patience"]:
            scale, waited = scale * numbers["plateau_factor"], 0
    return scale


SCHEDULE = Schedule(
    name="plateau",
    title="drops on a plateau",
    source="torch.optim.lr_scheduler.ReduceLROnPlateau with its defaults, but no eps, on each member's validation",
    params=(FACTOR, PATIENCE),
    factor=factor,
)
