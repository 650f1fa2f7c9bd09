"""Half a period of a cosine, from the full learning rate after the warm-up to the final one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from longwave.models.base.param import Param
from longwave.platform.training.schedule import Moment, Schedule

FINAL = Param(
    "lr_final",
    "η_T/η",
    0.0,
    0.1,
    False,
    "1",
    "Share of the learning rate that is left at the end.",
    zero=True,
    most=1.0,
    searched=False,
    default=0.0,
)


def factor(moment: Moment, numbers: Mapping[str, float]) -> float:
    """Return f + (1 − f) (1 + cos πs)/2 for the share s of finished steps after the warm-up."""
    if moment.step <= moment.warm:
        return 1.0
    final, share = numbers["lr_final"], (moment.step - moment.warm) / (moment.steps - moment.warm)
    return final + (1 - final) * (1 + math.cos(math.pi * share)) / 2


SCHEDULE = Schedule(
    name="cosine",
    title="cosine",
    source="Loshchilov and Hutter 2017 (arXiv:1608.03983), eq. 5, without restarts, step by step",
    params=(FINAL,),
    factor=factor,
    each_step=True,
)
