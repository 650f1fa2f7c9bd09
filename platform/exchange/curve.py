"""A trial's epochs as a bundle holds them, by column: curves are most of what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FailFast, ValidationInfo, field_serializer, field_validator, model_validator

from longwave.platform.records.run import Point

Numbers = Annotated[list[float], FailFast()]


class Curve(BaseModel):
    """All epochs of a trial, the first in front; none is left out.

    Attributes:
        single: Whether every loss and metric is a float32, as most are. They are then written in the fewest digits
            that tell a float32, which is half of what a float64 takes, and read as it: no bit is lost.
        loss, valid, seconds, at: As of ``Point``, one number an epoch.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    single: bool
    loss: Numbers
    valid: Numbers
    seconds: Numbers
    at: Numbers

    @classmethod
    def of(cls, points: Sequence[Point]) -> Curve:
        """Return the curve of a trial's epochs, which come in order."""
        loss, valid = [p.loss for p in points], [p.valid for p in points]
        single = all(_single(column).tolist() == column for column in (loss, valid))
        times = {"seconds": [p.seconds for p in points], "at": [p.at for p in points]}
        return cls(single=single, loss=loss, valid=valid, **times)

    def points(self, trial: str) -> list[Point]:
        """Return the epochs of the trial of that id."""
        rows = zip(self.loss, self.valid, self.seconds, self.at, strict=True)
        return [Point(trial, epoch, *row) for epoch, row in enumerate(rows, 1)]

    @field_validator("loss", "valid")
    @classmethod
    def _read(cls, column: list[float], info: ValidationInfo) -> list[float]:
        if not info.data.get("single"):
            return column
        read = _single(column)
        if not np.isfinite(read).all():
            raise ValueError("a number in it is no float32")
        return [float(number) for number in read]

    @field_serializer("loss", "valid")
    def _written(self, column: list[float]) -> list[float]:
        return [float(number) for number in _single(column).astype(str)] if self.single else column

    @model_validator(mode="after")
    def _same_length(self) -> Self:
        lengths = [len(column) for column in (self.loss, self.valid, self.seconds, self.at)]
        if len(set(lengths)) > 1:
            raise ValueError(f"loss, valid, seconds and at have one number an epoch, got {lengths}")
        return self


def _single(column: list[float]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.asarray(column, np.float64).astype(np.float32)
