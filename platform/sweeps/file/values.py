"""Types of the values and tables in a sweep file: numbers, words, ranges, choices; successive halving, a budget."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    PositiveFloat,
    Tag,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from longwave.platform.records.search import ETA, FIRST, RACE


def _check_value(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number or a string")
    return _check_setting(value)


def _check_setting(value: Any) -> Any:
    if not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("must be a finite number, a string, true or false")
    return value


def _check_distinct(values: list[Any]) -> list[Any]:
    if not values or len({(isinstance(v, bool), v) for v in values}) < len(values):
        raise ValueError("must be one value or more, each once")
    return values


def _form_of(value: Any) -> str:
    return "a range" if isinstance(value, dict | Range) else "choices" if isinstance(value, list) else "a number"


LARGEST = 2**31 - 1
"""Greatest size or count."""
Count = Annotated[int, Field(gt=0, le=LARGEST)]
Value = Annotated[Any, AfterValidator(_check_value)]
Cells = Annotated[list[Annotated[Any, AfterValidator(_check_setting)]], AfterValidator(_check_distinct)]


class Strict(BaseModel):
    """A part of a sweep file. It accepts no unknown keys, and each value only in its own type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Range(Strict):
    """A range to draw a parameter from.

    Attributes:
        low, high: Its ends, both included.
        log: Whether it is drawn uniformly in the logarithm; the model's own choice unless given.
    """

    low: float
    high: float
    log: bool | None = None


class KnownStudy(Strict):
    """An Optuna study, with whose best complete trials the search of a model begins.

    Attributes:
        storage: URL of Optuna's storage.
        name: Of the study; may be left out if the storage has only one.
        best: Number of its trials.
    """

    storage: str
    name: str = ""
    best: Count = 3


class Wider(Strict):
    """A second search of every cell over wider ranges, once the first is over; the best of both is retrained.

    Attributes:
        trials: Further search trials of each cell.
        space: By model and name, ranges that contain those of the first; all else is drawn as in the first.
    """

    trials: Count
    space: Annotated[dict[str, dict[str, Range]], Field(min_length=1)]


SearchValue = Annotated[
    Annotated[Range, Tag("a range")]
    | Annotated[float, Tag("a number")]
    | Annotated[list[Value], AfterValidator(_check_distinct), Tag("choices")],
    Discriminator(_form_of),
]
"""What a search draws: a number from a range, one of some choices, or a fixed number."""


class PerNumber(int):
    """Trials for each number that a search draws; as an integer it is the maximum of a cell."""

    LEAST, MOST = 16, 64
    FORM = re.compile(r"([1-9]\d?) per number")

    def __new__(cls, each: int) -> PerNumber:
        """Return so many trials for each number."""
        trials = super().__new__(cls, cls.MOST)
        trials.each = each
        return trials

    each: int

    def count_trials(self, numbers: int) -> int:
        """Return the trials of a cell whose search draws so many numbers."""
        return min(max(self.each * numbers, self.LEAST), self.MOST)


def _read_trials(value: Any, read_number: ValidatorFunctionWrapHandler) -> int:
    if not isinstance(value, str):
        return int(read_number(value))
    if form := PerNumber.FORM.fullmatch(value):
        return PerNumber(int(form[1]))
    raise ValueError('must be a whole number, or a text such as "8 per number"')


Trials = Annotated[
    int,
    Field(ge=0, le=LARGEST),
    WrapValidator(_read_trials),
    PlainSerializer(lambda trials: f"{trials.each} per number" if isinstance(trials, PerNumber) else trials),
]
"""A number of search trials, or how many for each number that is drawn: ``8 per number``."""


class Halving(Strict):
    """Successive halving: after ``first``, ``first`` · ``eta``, ... epochs the best 1/``eta`` of a cohort continue.

    Attributes:
        eta: What a cohort is divided by at each rung.
        first: Epochs to the first rung; each further one is ``eta`` times as far.
        cohort: Number of trials that compete; by default those of a round, or under rule 1 of a pack. Under rule 2,
            or with a number, they may train in several packs, which wait for each other at each rung and free their
            workers meanwhile; trials with different optimisers, schedules, options and sizes compete too. Which trials
            continue does not depend on packs and workers. The last cohort of a round is smaller if the number does not
            divide the round.
        gate: Under rule 2: a rung stops trials only if at least a quarter of those that compete beat the constant
            predictor on validation by a tenth of its error; otherwise all continue, but at most ``gate_most`` of them,
            drawn with a seed from the cohort's name and the epoch.
        gate_most: Greatest number of trials that continue if the gate is closed.
    """

    eta: Annotated[int, Field(ge=2, le=LARGEST)] = ETA
    first: Count = FIRST
    cohort: Annotated[int, Field(ge=2, le=LARGEST)] | None = None
    gate: bool = True
    gate_most: Count = 12


class Race(Strict):
    """A race between search and retraining, in which fresh trainings on validation data choose the winner.

    The best ``finalists`` of a cell's search train to the end with ``seeds`` fresh seeds, the same for all; then the
    ``best`` of these with ``more``. The mean of the logs of their validation errors decides. The trainings of the
    search are not used again, and the retrainings have other seeds. ``make honesty WORDS=selection`` compares the
    defaults with other rules.

    Attributes:
        finalists: How many settings of the search take part.
        seeds: Fresh seeds of each finalist.
        best: How many of the finalists continue.
        more: Further seeds of each that continues.
    """

    finalists: Annotated[int, Field(ge=2, le=64)] = RACE["finalists"]
    seeds: Annotated[int, Field(ge=1, le=64)] = RACE["seeds"]
    best: Annotated[int, Field(ge=2, le=64)] = RACE["best"]
    more: Annotated[int, Field(ge=1, le=64)] = RACE["more"]

    def count_trials(self, searched: int) -> int:
        """Return how many trainings the race of a cell has at most, after a search of so many trials."""
        finalists = min(self.finalists, searched)
        return finalists * self.seeds + min(self.best, finalists) * self.more if finalists > 1 else 0


RaceOrNone = Annotated[
    Annotated[Race, Tag("a race")] | Annotated[Literal[False], Tag("no race")],
    Discriminator(lambda value: "no race" if value is False else "a race"),
]
"""A race as a file describes it, or ``false``."""


class Budget(Strict):
    """What a sweep may cost at most; it stops cleanly once a limit is reached, and resumes with a larger budget.

    Attributes:
        hours: Running time of its drivers, earlier runs included.
        gpu_hours: Time that its packs hold GPUs, weighted by their shares.
        trials: Trials that this sweep trains, retrainings included; those that another sweep trained cost nothing.
    """

    hours: PositiveFloat | None = None
    gpu_hours: PositiveFloat | None = None
    trials: Count | None = None
