"""A trial's epochs as stored in a bundle, by column, since curves are most of its content."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial
from itertools import count, repeat
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from longwave.platform.records.run import EpochLine, Point

COLUMNS = ("loss", "valid", "seconds", "at")
Numbers = Annotated[list[float], FailFast(), AfterValidator(partial(array, "d"))]
"""Read from a list and stored as an array, which needs a quarter of the memory: there are millions."""


class Curve(BaseModel):
    """All epochs of a trial, in order.

    Attributes:
        single: Whether every loss and metric is a float32, as most are. They are then written with the fewest digits
            that identify a float32, half of a float64's, and read back exactly.
        loss, valid, seconds, at: As in ``Point``, one number per epoch.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    single: bool
    loss: Numbers
    valid: Numbers
    seconds: Numbers
    at: Numbers

    @classmethod
    def of(cls, points: Sequence[Point]) -> Curve:
        """Return the curve of a trial's epochs, given in order."""
        loss, valid = [p.loss for p in points], [p.valid for p in points]
        single = all(_single(column).tolist() == column for column in (loss, valid))
        times = {"seconds": [p.seconds for p in points], "at": [p.at for p in points]}
        return cls(single=single, loss=loss, valid=valid, **times)

    def lines(self, trial: str) -> list[EpochLine]:
        """Return the epochs as lines for the store, with this trial's id."""
        return list(zip(repeat(trial), count(1), self.loss, self.valid, self.seconds, self.at))

    def points(self, trial: str) -> list[Point]:
        """Return the epochs as points of this trial."""
        return [Point(*line) for line in self.lines(trial)]

    @field_validator("loss", "valid")
    @classmethod
    def _read(cls, column: Sequence[float], info: ValidationInfo) -> Sequence[float]:
        if not info.data.get("single"):
            return column
        numbers = _single(column)
        if not np.isfinite(numbers).all():
            raise ValueError("a number in it is no float32")
        return array("d", numbers.astype(np.float64).tobytes())

    @field_serializer("loss", "valid")
    def _write(self, column: Sequence[float]) -> list[float]:
        return [float(number) for number in _single(column).astype(str)] if self.single else list(column)

    @field_serializer("seconds", "at")
    def _write_times(self, column: Sequence[float]) -> list[float]:
        return list(column)

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        lengths = [len(column) for column in (self.loss, self.valid, self.seconds, self.at)]
        if len(set(lengths)) > 1:
            raise ValueError(f"loss, valid, seconds and at have one number an epoch, got {lengths}")
        return self


def _single(column: Sequence[float]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.asarray(column, np.float64).astype(np.float32)
