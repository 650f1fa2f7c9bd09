"""What a model file declares: its parameters, its published ranges, its builder, its source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longwave.models.recurrence import Recurrence


@dataclass(frozen=True)
class Param:
    """One number a sweep may vary, and the range a random search draws it from.

    Attributes:
        name: Key in a trial's ``params``, as the code spells it: ``dt``.
        symbol: As the paper and the board write it: ``Δt``.
        low, high: Bounds of the draw, both included, in ``unit``.
        log: Draw uniformly in log(value); needs ``low > 0``.
        unit: ``"steps"``, ``"1/step"``, ``"1"`` (a pure number).
        meaning: One sentence.
        published: Where the range comes from; empty when no paper prints one.
        zero: Whether the value 0 is allowed. Negative values never are.

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
            ValueError: The value is not finite, negative, or zero where zero is not allowed.
        """
        if not math.isfinite(value) or value < 0 or (value == 0 and not self.zero):
            sign = "≥" if self.zero else ">"
            raise ValueError(f"{self.symbol} ({self.name}) must be a finite number {sign} 0, got {value}.")

    def between(self, low: float, high: float, published: str = "", log: bool | None = None) -> Param:
        """Return the same parameter with another range of the draw."""
        return replace(self, low=low, high=high, published=published, log=self.log if log is None else log)


def learning_rate(low: float, high: float, published: str = "") -> Param:
    """Return η, the learning rate of Adam, drawn log-uniformly from [low, high]."""
    return Param("lr", "η", low, high, True, "1/step", "Learning rate of Adam.", published)


@dataclass(frozen=True)
class Sizes:
    """Sizes that a task and a trial fix.

    Attributes:
        inputs, hidden, outputs: Features p, d, q.
        length: Steps T of a sequence; chrono initialisation needs it.
    """

    inputs: int
    hidden: int
    outputs: int
    length: int


@dataclass(frozen=True)
class ModelSpec:
    """One model of the benchmark. A model file binds exactly one of these to ``MODEL``.

    Attributes:
        name: Unique key, equal to the file name: ``models/lem.py`` declares ``"lem"``.
        title: As the board prints it.
        source: Paper and equation numbers.
        params: What a sweep varies beside the learning rate, in drawing order; append new ones at the end.
        lr: The learning rate's range.
        build: ``build(sizes, members, **hyper_and_options) -> Recurrence`` for a pack of ``members``.
        options: Static choices by name; the first value is the default: ``{"damping": ("explicit", "implicit")}``.
        ranges: Published ranges that differ by task: ``{task: {parameter: (low, high)}}``.
        looped: Whether a pack trains its members one after another, so that a larger pack saves no time.
        kaiming_readout: Draw the read-out's weights from N(0, 2/d) as LEM's authors do, not torch's default.
    """

    name: str
    title: str
    source: str
    params: tuple[Param, ...]
    lr: Param
    build: Callable[..., Recurrence]
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    looped: bool = False
    kaiming_readout: bool = False

    def space(self, task: str) -> tuple[Param, ...]:
        """Return the search space on ``task``: the learning rate, then the parameters, with published ranges."""
        ranges = self.ranges.get(task, {})
        return tuple(
            p.between(*ranges[p.name], published=self.source) if p.name in ranges else p
            for p in (self.lr, *self.params)
        )
