"""What a model file declares: its layer, published ranges and settings, and source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longwave.models.base.block import Blocks
from longwave.models.base.block_options import DROPOUT, OPTIONS, check_block, count_blocks, fits
from longwave.models.base.layer import Layer
from longwave.models.base.param import OptionValue, Param, ranges_on_task


@dataclass(frozen=True)
class Sizes:
    """Sizes set by a task and a trial.

    Attributes:
        inputs, hidden, outputs: Features p, d, q.
        length: Positions of an example, steps T of a sequence; chrono initialisation needs it.
        width: Features between residual blocks; by default ``hidden``.
    """

    inputs: int
    hidden: int
    outputs: int
    length: int
    width: int | None = None


@dataclass(frozen=True)
class Best:
    """The best setting in a paper for one task.

    Attributes:
        task: Task, with its variant if there are several: ``"adding N=5000"``.
        hidden: Hidden size d.
        values: Learning rate ``lr`` and the model's parameters, and options that differ from the default.
        note: What the sources leave unclear.
    """

    task: str
    hidden: int
    values: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True)
class ModelSpec:
    """One model of the benchmark. A model file assigns exactly one to ``MODEL``.

    Attributes:
        name: Unique key, equal to the file name: ``models/lem.py`` declares ``"lem"``.
        title: Name on the board.
        family: The idea behind it: ``"oscillator"``, ``"gated"``, ``"delay"``, ...
        source: Paper and equation numbers.
        layer: The layer, a recurrence or any other. Its docstring states equation, initialisation and what is read out.
        lr: The learning rate's range.
        count: ``count(p, d, q, **options)``: trainable parameters of the bare layer, its affine read-out included; see
            ``parameters``.
        ranges: Published ranges that differ by task: ``{task: {parameter: (low, high)}}``.
        best: Published best settings, from ``best_source``.
        printed: Names of variants of the model in published tables, with their options; names that only give a size, a
            source or a parameter's value are left out. The plain name, ``""``, means the defaults.
        looped: Whether a pack trains its members one after another, so that a larger pack saves no time.
        lacks: Returns in one line how to install missing requirements of the model; empty if there are none.
        version: Bumped when the same settings give another result.
    """

    name: str
    title: str
    family: str
    source: str
    layer: type[Layer[Any]]
    lr: Param
    count: Callable[..., int]
    ranges: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    best: Sequence[Best] = ()
    best_source: str = ""
    printed: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    looped: bool = False
    lacks: Callable[[], str] = str
    version: str = "1"

    @property
    def params(self) -> tuple[Param, ...]:
        """Hyper-parameters besides the learning rate, in the order of drawing; append new ones at the end."""
        return (*self.layer.PARAMS, DROPOUT) if fits(self.layer) else self.layer.PARAMS

    @property
    def options(self) -> Mapping[str, tuple[OptionValue, ...]]:
        """Static choices by name; the first value is the default: ``{"damping": ("explicit", "implicit")}``.

        They are the layer's and, if it fits into a residual block, those of ``Blocks``.
        """
        return {**self.layer.OPTIONS, **OPTIONS} if fits(self.layer) else self.layer.OPTIONS

    @property
    def defaults(self) -> dict[str, OptionValue]:
        """The default of each static choice."""
        return {name: choices[0] for name, choices in self.options.items()}

    def called(self, options: Mapping[str, OptionValue]) -> list[str]:
        """Return the model's names in published tables with these options, of any number of layers, in any block."""
        others = {"layers", *(OPTIONS if fits(self.layer) else ())}
        chosen = self.defaults | {name: value for name, value in options.items() if name not in others}
        return [name for name, form in {"": {}, **self.printed}.items() if self.defaults | {**form} == chosen]

    def check(self, options: Mapping[str, OptionValue], width: int | None = None) -> None:
        """Check that options, each valid alone, and a width are compatible.

        Raises:
            ValueError: They are not; the message names one of them.
        """
        check_block(options, width)
        chosen = self.defaults | dict(options)
        self.layer.check_options({name: chosen[name] for name in self.layer.OPTIONS})

    def relevant(self, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return the parameters that have an effect under ``options``."""
        params = self.layer.relevant({**self.defaults, **options})
        return (*params, DROPOUT) if options.get("block", "none") != "none" else params

    def parameters(
        self, p: int, d: int, q: int, width: int | None = None, options: Mapping[str, OptionValue] | None = None
    ) -> int:
        """Return the number of trainable parameters of a network, read-out and residual blocks included.

        Args:
            p, d, q: Input features, hidden size, outputs.
            width: Of blocks; by default d.
            options: Static choices.
        """
        chosen = dict(options or {})
        layer_options = {name: value for name, value in chosen.items() if name in self.layer.OPTIONS}
        if chosen.get("block", "none") == "none" or not fits(self.layer):
            return int(self.count(p, d, q, **layer_options))
        width = width or d
        cell = int(self.count(width, d, 0, **layer_options))
        return count_blocks(cell, p, width, self.layer.OUTPUTS * d, chosen) + (width + 1) * q

    def build(self, sizes: Sizes, members: int | None = None, **settings: Any) -> Layer[Any]:
        """Return the layer for a pack of ``members``, from hyper-parameters and options by name.

        Raises:
            ValueError: An option of blocks without a block, or as raised by the layer.
        """
        check_block(settings, sizes.width)
        features = (sizes.inputs, sizes.hidden)
        if not fits(self.layer):
            return self.layer(*features, members=members, t_max=sizes.length, **settings)
        if settings.get("block", "none") != "none":
            block_settings = {"width": sizes.width, "members": members, "t_max": sizes.length, **settings}
            return Blocks(self.layer, *features, **block_settings)
        layer_settings = {name: value for name, value in settings.items() if name not in OPTIONS}
        return self.layer(*features, members=members, t_max=sizes.length, **layer_settings)

    @property
    def papers_tasks(self) -> frozenset[str]:
        """The tasks for which its paper gives ranges or best settings."""
        return frozenset([*self.ranges, *(best.task.split()[0] for best in self.best)])

    def space(
        self,
        task: str,
        options: Mapping[str, OptionValue] | None = None,
        requested: Collection[str] = (),
        time_scale: int | None = None,
    ) -> tuple[Param, ...]:
        """Return the search space: the learning rate, then the parameters, with the ranges published for ``task``.

        On a task that is not in its paper, ranges of parameters in units of steps are derived from ``time_scale``.

        Args:
            task: Registry key of the task.
            options: Static choices; parameters without effect under them are left out.
            requested: Names of parameters to include although they are not ``searched`` by default.
            time_scale: Of the task, in steps; None leaves all ranges as they were published.
        """
        relevant = [p for p in self.relevant(options or {}) if p.searched or p.name in requested]
        if time_scale is not None and task in self.papers_tasks:
            time_scale = None
        return ranges_on_task((self.lr, *relevant), self.ranges.get(task, {}), self.source, time_scale)
