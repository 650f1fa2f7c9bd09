"""What ends a trial or a sweep early: successive halving, a budget."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveFloat

from longwave.platform.records.search import ETA, FIRST
from longwave.platform.sweeps.file.values import LARGEST, Count, Strict


class Halving(Strict):
    """Successive halving: after ``first``, ``first`` · ``eta``, ... epochs the best 1/``eta`` of a cohort go on.

    Attributes:
        eta, first: As above.
        cohort: Number of trials that compete; by default those of one pack. With a number they may train in several
            packs, which wait for each other at each rung and free their workers meanwhile; trials of different words
            and sizes compete too. Which trials go on does not depend on packs and workers. The last cohort of a round
            is smaller where the number does not divide it.
    """

    eta: Annotated[int, Field(ge=2, le=LARGEST)] = ETA
    first: Count = FIRST
    cohort: Annotated[int, Field(ge=2, le=LARGEST)] | None = None


class Budget(Strict):
    """What a sweep may cost at most; it stops cleanly once a limit is reached, and resumes with a larger budget.

    Attributes:
        hours: Running time of its drivers, earlier runs included.
        gpu_hours: Time that its packs hold GPUs, weighted by their shares.
        trials: Trials that are trained, retrainings included.
    """

    hours: PositiveFloat | None = None
    gpu_hours: PositiveFloat | None = None
    trials: Count | None = None
