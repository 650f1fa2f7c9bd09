"""What a model file declares: its parameters, its published ranges, its builder, its source."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longwave.models.recurrence import Recurrence

Choice = str | int | bool
"""A static choice of a model: a word, a number of layers, or yes and no."""


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
class Best:
    """The setting a paper found best on one task.

    Attributes:
        task: Task, with its form where there are several: ``"adding N=5000"``.
        hidden: Hidden size d.
        values: Learning rate ``lr`` and the model's parameters, and options that differ from the default.
        note: What the sources leave open.
    """

    task: str
    hidden: int
    values: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True)
class ModelSpec:
    """One model of the benchmark. A model file binds exactly one of these to ``MODEL``.

    Attributes:
        name: Unique key, equal to the file name: ``models/lem.py`` declares ``"lem"``.
        title: As the board prints it.
        family: The idea it stands for: ``"oscillator"``, ``"gated"``, ``"delay"``, ...
        source: Paper and equation numbers.
        layer: The recurrent layer. Its docstring states equation, initialisation and what is read out.
        lr: The learning rate's range.
        count: ``count(p, d, q, **options)``: trainable numbers, the affine read-out's (d + 1) q included.
        ranges: Published ranges that differ by task: ``{task: {parameter: (low, high)}}``.
        best: Published best settings, from ``best_source``.
        printed: Names that published tables give to forms of the model, and the options each stands for; none for
            a name that says a size or a source. The plain name, ``""``, stands for the defaults.
        looped: Whether a pack trains its members one after another, so that a larger pack saves no time.
    """

    name: str
    title: str
    family: str
    source: str
    layer: type[Recurrence]
    lr: Param
    count: Callable[..., int]
    ranges: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    best: Sequence[Best] = ()
    best_source: str = ""
    printed: Mapping[str, Mapping[str, Choice]] = field(default_factory=dict)
    looped: bool = False

    @property
    def params(self) -> tuple[Param, ...]:
        """What a sweep may vary beside the learning rate, in drawing order; append new ones at the end."""
        return self.layer.PARAMS

    @property
    def options(self) -> Mapping[str, tuple[Choice, ...]]:
        """Static choices by name; the first value is the default: ``{"damping": ("explicit", "implicit")}``."""
        return self.layer.OPTIONS

    @property
    def defaults(self) -> dict[str, Choice]:
        """The default of each static choice."""
        return {name: choices[0] for name, choices in self.options.items()}

    def called(self, options: Mapping[str, Choice]) -> list[str]:
        """Return the names that published tables give to the model with these options."""
        return [
            n for n, o in {"": {}, **self.printed}.items() if {**self.defaults, **o} == {**self.defaults, **options}
        ]

    def build(self, sizes: Sizes, members: int | None = None, **chosen: Any) -> Recurrence:
        """Return the layer for a pack of ``members``, from hyper-parameters and options by name."""
        return self.layer(sizes.inputs, sizes.hidden, members=members, t_max=sizes.length, **chosen)

    def space(
        self, task: str, options: Mapping[str, Choice] | None = None, asked: Collection[str] = ()
    ) -> tuple[Param, ...]:
        """Return the search space: the learning rate, then the parameters, with the ranges published for ``task``.

        Args:
            task: Registry key of the task.
            options: Static choices; parameters that mean nothing under them are left out.
            asked: Names of parameters to include although they are not ``searched`` by themselves.
        """
        ranges = self.ranges.get(task, {})
        relevant = [
            p for p in self.layer.relevant({**self.defaults, **(options or {})}) if p.searched or p.name in asked
        ]
        return tuple(
            p.between(*ranges[p.name], published=self.source) if p.name in ranges else p for p in (self.lr, *relevant)
        )
