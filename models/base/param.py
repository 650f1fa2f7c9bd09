"""Hyper-parameters that a sweep may vary, and static choices: a layer's arguments besides its sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

OptionValue = str | int | bool
"""A static choice of a model: a name, a number of layers, or true and false."""


@dataclass(frozen=True)
class Param:
    """A hyper-parameter, and the range from which a random search draws it.

    Attributes:
        name: Key in a trial's ``params``, as in the code: ``dt``.
        symbol: As in the paper and on the board: ``Δt``.
        low, high: Bounds of the draw, both included, in ``unit``.
        log: Draw uniformly in log(value); needs ``low > 0``.
        unit: ``"steps"`` of a model's time that one step of the data lasts, ``"1/step"``, ``"steps back"`` of a delay,
            ``"1"`` (dimensionless).
        meaning: One sentence.
        published: Source of the range; empty if no paper gives one.
        zero: Whether the value 0 is allowed. Negative values never are.
        most: The largest value allowed.
        whole: Whether the value must be a whole number.
        searched: Whether a search draws it by default. If not, the sweep file has to name it.
        default: Value if none is given: a number, or the name of the parameter whose value it shares. If None, a
            searched parameter must be given, and any other is absent and has no effect.

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
        """Check a value.

        Raises:
            ValueError: The value is not finite, negative, zero where zero is not allowed, above ``most``, or not
                whole where it must be.
        """
        valid = math.isfinite(value) and 0 <= value <= self.most and (self.zero or value > 0)
        if not valid or (self.whole and value != int(value)):
            raise ValueError(f"{self.symbol} ({self.name}) must be {self.rule}, got {value}.")

    @property
    def rule(self) -> str:
        """The valid values, in words: ``a finite number > 0``."""
        kind = "whole" if self.whole else "finite"
        return f"a {kind} number {'≥' if self.zero else '>'} 0" + (
            f" and ≤ {self.most:g}" if self.most < math.inf else ""
        )

    @property
    def draw(self) -> str:
        """The scale on which a search draws it, in words: ``log, integer``."""
        return ("log" if self.log else "linear") + (", integer" if self.whole else "")

    @property
    def if_not_given(self) -> str:
        """What happens if a sweep does not name it, in words: ``drawn``, ``absent``, ``as dt``, or its value."""
        if self.searched:
            return "drawn"
        if isinstance(self.default, str):
            return f"as {self.default}"
        return "absent" if self.default is None else f"{self.default:g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, with None for a missing upper bound; ``from_dict`` restores it."""
        return {**asdict(self), "most": self.most if self.most < math.inf else None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Param:
        """Rebuild from ``to_dict``."""
        return cls(**{**data, "most": math.inf if data["most"] is None else data["most"]})

    def in_time(self, time_scale: int) -> Param:
        """Return the parameter with the range implied by a task's time scale τ, in steps, if its unit involves steps.

        A step of the data lasts between 1/τ and 3 time units of a model, so that one unit is at most as long as the
        memory of the data; rates range from 0.1/τ to 10/τ, and delays from one step to 4τ. Other parameters, and the
        learning rate, are unchanged.
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
        """Return the same parameter with another range."""
        return replace(self, low=low, high=high, published=published, log=self.log if log is None else log)


def ranges_on_task(
    params: Sequence[Param], ranges: Mapping[str, tuple[float, float]], source: str, time_scale: int | None
) -> tuple[Param, ...]:
    """Return parameters with their search ranges on a task.

    Args:
        params: With their default ranges.
        ranges: Published for the task, by name, in ``source``.
        time_scale: Of the task, in steps, to derive ranges from it; None to use the published ones.
    """
    if time_scale is not None:
        return tuple(p.in_time(time_scale) for p in params)
    return tuple(p.between(*ranges[p.name], published=source) if p.name in ranges else p for p in params)


def whole_number(name: str, value: Any) -> int:
    """Return a size as an int.

    Raises:
        ValueError: It is not a whole number of at least 1; ``name`` begins the message.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {value!r}.") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}.")
    return number


def learning_rate(low: float, high: float, published: str = "") -> Param:
    """Return η, the learning rate, drawn log-uniformly from [low, high]."""
    return Param("lr", "η", low, high, True, "1/step", "Learning rate.", published)
