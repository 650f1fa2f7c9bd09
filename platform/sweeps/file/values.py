"""What a value or a table in a sweep file may be: numbers, words, ranges and choices; successive halving, a budget."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, PositiveFloat, Tag

from longwave.platform.records.search import ETA, FIRST


def _check_value(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number or a word")
    return _check_setting(value)


def _check_setting(value: Any) -> Any:
    if not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("must be a finite number, a word, true or false")
    return value


def _check_distinct(values: list[Any]) -> list[Any]:
    if not values or len({(isinstance(v, bool), v) for v in values}) < len(values):
        raise ValueError("must be one value or more, each once")
    return values


def _form_of(wish: Any) -> str:
    return "a range" if isinstance(wish, dict | Range) else "choices" if isinstance(wish, list) else "a number"


LARGEST = 2**31 - 1
"""Of sizes and counts."""
Count = Annotated[int, Field(gt=0, le=LARGEST)]
Value = Annotated[Any, AfterValidator(_check_value)]
Cells = Annotated[list[Annotated[Any, AfterValidator(_check_setting)]], AfterValidator(_check_distinct)]


class Strict(BaseModel):
    """A part of a sweep file: no key but its own, each of its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Range(Strict):
    """A range to draw a parameter from; ``log`` is the model's own choice unless given."""

    low: float
    high: float
    log: bool | None = None


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
"""What a search is to draw: from a range, one of some choices, or a number that is fixed."""


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
