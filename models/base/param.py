"""A number that a sweep may vary, or a static choice: what a layer takes beside its sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

OptionValue = str | int | bool
"""A static choice of a model: a word, a number of layers, or yes and no."""


@dataclass(frozen=True)
class Param:
    """One number a sweep may vary, and the range a random search draws it from.

    Attributes:
        name: Key in a trial's ``params``, as the code spells it: ``dt``.
        symbol: As the paper and the board write it: ``Δt``.
        low, high: Bounds of the draw, both included, in ``unit``.
        log: Draw uniformly in log(value); needs ``low > 0``.
        unit: ``"steps"`` of a model's time that one step of the data lasts, ``"1/step"``, ``"steps back"`` of a delay,
            ``"1"`` (a pure number).
        meaning: One sentence.
        published: Where the range comes from; empty when no paper prints one.
        zero: Whether the value 0 is allowed. Negative values never are.
        most: The largest value allowed.
        whole: Whether the value must be a whole number.
        searched: Whether a search draws it unasked. If not, a sweep's file has to name it.
        default: What holds where no value is given: a number, or the name of the parameter whose value it shares.
            With None a searched one must be given, and any other is absent: what it stands for does not happen.

    Raises:
        ValueError: ``low > high``, a bound outside the valid values, or ``log`` with ``low <= 0``.
    """

    name: str
    symbol: str
    low: float
    high: float
    log: bool
    unit: str
    meaning: str
    published: str = ""
    zero: bool = False
    most: float = math.inf
    whole: bool = False
    searched: bool = True
    default: float | str | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"{self.name}: low must not exceed high, got low={self.low}, high={self.high}.")
        if self.log and self.low <= 0:
            raise ValueError(f"{self.name}: a log range needs low > 0, got low={self.low}.")
        for bound in (self.low, self.high):
            self.check(bound)

    def check(self, value: float) -> None:
        """Do nothing for a valid value.

        Raises:
            ValueError: The value is not finite, negative, zero where zero is not allowed, above ``most``, or not
                whole where it must be.
        """
        valid = math.isfinite(value) and 0 <= value <= self.most and (self.zero or value > 0)
        if not valid or (self.whole and value != int(value)):
            raise ValueError(f"{self.symbol} ({self.name}) must be {self.rule}, got {value}.")

    @property
    def rule(self) -> str:
        """Which values are valid, in words: ``a finite number > 0``."""
        kind = "whole" if self.whole else "finite"
        return f"a {kind} number {'≥' if self.zero else '>'} 0" + (
            f" and ≤ {self.most:g}" if self.most < math.inf else ""
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, in which no upper bound is None; ``from_dict`` restores it."""
        return {**asdict(self), "most": self.most if self.most < math.inf else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Param:
        """Rebuild from ``to_dict``."""
        return cls(**{**data, "most": math.inf if data["most"] is None else data["most"]})

    def in_time(self, time_scale: int) -> Param:
        """Return the parameter with the range that follows from a task's time scale τ, in steps, if its unit has steps.

        A step of the data is between 1/τ and 3 units of a model's time, so that one unit is at most as long as the data
        remember and some steps long; rates are from 0.1/τ to 10/τ, and delays from one step to 4τ. Other parameters,
        and the learning rate, stay as they are.
        """
        ranges = {
            "steps": (1 / time_scale, 3.0),
            "1/step": (0.1 / time_scale, 10 / time_scale),
            "steps back": (1.0, 4.0 * time_scale),
        }
        if self.name == "lr" or not self.searched or self.unit not in ranges:
            return self
        low, high = ranges[self.unit]
        return self.between(low, min(high, self.most), f"the task's time scale, {time_scale} steps", log=True)

    def between(self, low: float, high: float, published: str = "", log: bool | None = None) -> Param:
        """Return the same parameter with another range of the draw."""
        return replace(self, low=low, high=high, published=published, log=self.log if log is None else log)


def ranges_on_task(
    params: Sequence[Param], ranges: Mapping[str, tuple[float, float]], source: str, time_scale: int | None
) -> tuple[Param, ...]:
    """Return parameters with the ranges that a search on a task has for them.

    Args:
        params: With the ranges of other tasks.
        ranges: Published for the task, by name, in ``source``.
        time_scale: Of the task, in steps, where ranges follow from it; None where those published hold.
    """
    if time_scale is not None:
        return tuple(p.in_time(time_scale) for p in params)
    return tuple(p.between(*ranges[p.name], published=source) if p.name in ranges else p for p in params)


def learning_rate(low: float, high: float, published: str = "") -> Param:
    """Return η, the learning rate of Adam, drawn log-uniformly from [low, high]."""
    return Param("lr", "η", low, high, True, "1/step", "Learning rate of Adam.", published)
