"""What ends a trial or a sweep before its time: successive halving, a budget."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveFloat

from longwave.platform.records.search import ETA, FIRST
from longwave.platform.sweeps.file.values import LARGEST, Count, Strict


class Halving(Strict):
    """Successive halving: after ``first``, ``first`` · ``eta``, ... epochs the best 1/``eta`` of a cohort go on.

    Attributes:
        eta, first: As above.
        cohort: Trials that compete; by default those of one pack. With a number they train in as many packs as there
            are, which wait for each other at each rung and give their workers back meanwhile; trials of other words and
            sizes compete too. The same go on whatever the packs and workers. The last cohort of a round is smaller
            where the number does not divide it.
    """

    eta: Annotated[int, Field(ge=2, le=LARGEST)] = ETA
    first: Count = FIRST
    cohort: Annotated[int, Field(ge=2, le=LARGEST)] | None = None


class Budget(Strict):
    """What a sweep may cost at most; it ends in order once something is used up, and goes on with a larger budget.

    Attributes:
        hours: Time that its drivers run, those of earlier runs included.
        gpu_hours: Time that its packs hold GPUs, each its share of one.
        trials: Trials that are trained, retrainings included.
    """

    hours: PositiveFloat | None = None
    gpu_hours: PositiveFloat | None = None
    trials: Count | None = None
