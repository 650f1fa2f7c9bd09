"""The rules a pack trains by: which words and numbers a recipe may hold, and what they do at each step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from longwave.models.base.param import Param
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import collect_specs, get_model, get_task
from longwave.platform.training.optimiser import FlatParameters, Number, Optimiser, Update, together
from longwave.platform.training.schedule import Moment, Schedule
from longwave.tasks.base.spec import TaskSpec

DROPOUTS = ("input_dropout", "output_dropout")
"""Numbers that the network reads."""


def _absent(name: str, symbol: str, low: float, high: float, meaning: str, **more: object) -> Param:
    """Return a number that is not there unless a recipe or a search names it."""
    return Param(name, symbol, low, high, False, meaning=meaning, searched=False, **more)  # type: ignore[arg-type]


_dropped = {"unit": "1", "zero": True, "most": 1.0, "default": 0.0}
COMMON = (
    _absent("clip_value", "clip", 0.1, 5.0, "Largest absolute value of a number of the gradient.", unit="1"),
    _absent("warmup", "warm-up", 0.0, 5.0, "Epochs in which the learning rate rises from 0, step by step, in a line.",
            unit="epochs", zero=True, default=0.0),
    _absent("input_dropout", "p_in", 0.0, 0.6, "Share of the numbers a layer is fed that are 0.", **_dropped),
    _absent("output_dropout", "p_out", 0.0, 0.6, "Share of the features that the read-out reads as 0.", **_dropped),
    _absent("label_smoothing", "ε", 0.0, 0.2, "Share of a target's probability spread over all classes.", **_dropped),
    _absent("patience", "patience", 5, 50, "Epochs without a better validation metric after which a training ends.",
            unit="epochs", whole=True),
    _absent("solved", "solved", 99.0, 100.0, "Validation metric that solves a task: a training ends after three epochs"
            " in a row that are no worse.", unit="the task's"),
)  # fmt: skip
"""Numbers that are valid under every optimiser and schedule. Each default means: not there."""


@cache
def optimisers() -> Mapping[str, Optimiser]:
    """Return every optimiser by name."""
    return collect_specs("longwave.platform.training.optimisers", "OPTIMISER", Optimiser)


@cache
def schedules() -> Mapping[str, Schedule]:
    """Return every schedule by name."""
    return collect_specs("longwave.platform.training.schedules", "SCHEDULE", Schedule)


def training_params(optimiser: str, schedule: str, groups: Collection[str] = ()) -> tuple[Param, ...]:
    """Return every number, beside the learning rate, that a recipe may hold under these words.

    Args:
        optimiser, schedule: Their names.
        groups: Names of the network's parameter groups; each can have its own rate.

    Raises:
        ConfigError: No such optimiser or schedule; the message names the nearest ones.
    """
    for kind, name, known in (("optimiser", optimiser, optimisers()), ("schedule", schedule, schedules())):
        if name not in known:
            raise ConfigError(did_you_mean(kind, name, known))
    rates = (
        _absent(f"rate_{group}", f"η_{group}/η", 0.1, 10.0, f"What η is multiplied with for the {group}'s weights.",
                unit="1", zero=True, default=1.0)
        for group in groups
    )  # fmt: skip
    return (*optimisers()[optimiser].params, *schedules()[schedule].params, *COMMON, *rates)


def groups_of(task: TaskSpec, model: ModelSpec) -> tuple[str, ...]:
    """Return the names of the parameter groups of a model's network on a task."""
    embedded = ("embedding",) if task.tokens not in (0, task.inputs) else ()
    return ("readout", *embedded, *getattr(model.layer, "GROUPS", ()))


def check_training(config: TrialConfig) -> None:
    """Do nothing for a trial whose optimiser, schedule and training numbers are ones that are here.

    Raises:
        ConfigError: An unknown word or number, a number out of its range or one that says its default, drops without
            their schedule, or smoothed labels where the task has no classes. The message is one line.
    """
    groups = groups_of(get_task(config.task), get_model(config.model))
    known = {p.name: p for p in training_params(config.optimiser, config.schedule, groups)}
    own = {"lr", *(p.name for p in get_model(config.model).params)}
    for name, value in config.params.items():
        if name in own:
            continue
        if name not in known:
            hint = f"Of {config.model} trained by {config.optimiser} with schedule {config.schedule}."
            raise ConfigError(did_you_mean("training number", name, {*known, *own}, hint))
        try:
            known[name].check(value)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if value == known[name].default:
            raise ConfigError(f"{name} {value:g} is the default and must be left out.")
    if config.drops and config.schedule != "drops":
        raise ConfigError(f"Schedule {config.schedule!r} has no drops, got {list(config.drops)}. Give drops = [].")
    if "label_smoothing" in config.params and not get_task(config.task).smooths:
        raise ConfigError(f"{config.task} has no classes, so label_smoothing has no effect. Leave it out.")


class Rules:
    """What a pack does with losses and gradients; every number is each member's own.

    A number that all members share is one Python float, so that a pack of equal rules does no more work than it must.

    Args:
        task: What they are trained on.
        configs: The members, of one shape.
        parameters: What is stepped.
        groups: Parameter groups by name.
    """

    def __init__(
        self,
        task: TaskSpec,
        configs: Sequence[TrialConfig],
        parameters: FlatParameters,
        groups: Mapping[str, WeightGroup] | None = None,
    ) -> None:
        first, values, groups = configs[0], parameters.values, groups or {}
        self.configs, self.parameters, self.device = configs, parameters, values.device
        self.task, self.optimiser = task, optimisers()[first.optimiser]
        self.schedule = schedules()[first.schedule]
        known = training_params(first.optimiser, first.schedule, groups)
        self.each: list[dict[str, Any]] = [{p.name: c.params.get(p.name, p.default) for p in known} for c in configs]
        self.lr = torch.tensor([[c.params["lr"]] for c in configs], dtype=values.dtype, device=values.device)
        self.numbers = {p.name: self._number(p.name) for p in self.optimiser.params}
        self.factors = self._factors(groups)
        self._spare_decay(groups)
        self.clip = None if first.clip is None else together([c.clip or 0.0 for c in configs], values.device)
        self.clip_value = self._number("clip_value") if "clip_value" in first.params else None
        self.smoothing: Tensor | None = None
        if "label_smoothing" in first.params:
            self.smoothing = self.lr.new_tensor([numbers["label_smoothing"] for numbers in self.each])

    def state(self) -> dict[str, Tensor]:
        """Return what the optimiser keeps, at the start of a training."""
        return {name: torch.zeros_like(self.parameters.values) for name in self.optimiser.state}

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss that is trained on, (M,)."""
        loss = self.task.loss
        return loss(outputs, targets) if self.smoothing is None else loss(outputs, targets, smoothing=self.smoothing)

    def step(self, state: Mapping[str, Tensor], count: int, scale: Number) -> None:
        """Clip the gradients, first their norm and then their values, and take one step.

        Args:
            state: What the optimiser keeps; see ``state()``.
            count: Number of the step, from 1.
            scale: What η is multiplied with; see ``scales``.
        """
        if self.clip is not None:
            self.parameters.clip(self.clip)
        if self.clip_value is not None:
            self.parameters.clip_values(self.clip_value)
        values, grad = self.parameters.values, self.parameters.grad
        self.optimiser.step(Update(values, grad, state, self.numbers, self.lr, scale, self.factors, count))

    def scales(self, epoch: int, steps: int, valids: Mapping[str, Sequence[float]]) -> Callable[[int], Number]:
        """Return what the schedule and the warm-up multiply η with at each step of an epoch, from step 0.

        Args:
            epoch: From 1.
            steps: Steps an epoch.
            valids: The validation metrics of each trial so far, by id.
        """
        goal, done = self.task.metric.goal, (epoch - 1) * steps
        warm = [round(numbers["warmup"] * steps) for numbers in self.each]

        def at(step: int) -> Number:
            factors = []
            for config, numbers, w in zip(self.configs, self.each, warm, strict=True):
                total = config.epochs * steps
                moment = Moment(epoch, done + step, total, w, config.drops, valids.get(config.id, ()), goal)
                rise = min(1.0, (moment.step + 1) / w) if w else 1.0
                factors.append(rise * self.schedule.factor(moment, numbers))
            return together(factors, self.device)

        if self.schedule.each_step or done < max(warm):
            return at
        same = at(0)
        return lambda _: same

    def _number(self, name: str) -> Number:
        return together([numbers[name] for numbers in self.each], self.device)

    def _factors(self, groups: Mapping[str, WeightGroup]) -> Tensor | None:
        """Return what η is multiplied with for each parameter, (1, P) or (M, P); None if with nothing."""
        rates = {n: [g.rate * numbers[f"rate_{n}"] for numbers in self.each] for n, g in groups.items()}
        if all(rate == 1 for own in rates.values() for rate in own):
            return None
        members, columns = max(len(set(own)) for own in rates.values()), self.parameters.columns()
        values = self.parameters.values
        factors = torch.ones_like(values if members > 1 else values[:1])
        for name, own in rates.items():
            for weight in groups[name].weights:
                factors[:, columns[weight]] *= together(own, self.device)
        return factors

    def _spare_decay(self, groups: Mapping[str, WeightGroup]) -> None:
        """Make the weight decay 0 where a group has none, (1, P) or (M, P)."""
        spared = [weight for group in groups.values() if not group.decay for weight in group.weights]
        decay = self.numbers.get("weight_decay", 0.0)
        if not spared or (not isinstance(decay, Tensor) and not decay):
            return
        where = torch.ones(1, self.parameters.values.shape[1], dtype=torch.float64, device=self.device)
        for weight in spared:
            where[:, self.parameters.columns()[weight]] = 0.0
        self.numbers["weight_decay"] = decay * where
