"""Training rules of a pack: the words and parameters that a recipe may contain, and their effect at each step."""

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
"""Parameters that the network uses."""


def _absent(name: str, symbol: str, low: float, high: float, meaning: str, **options: object) -> Param:
    """Return a parameter that is unused unless a recipe or a search names it."""
    return Param(name, symbol, low, high, False, meaning=meaning, searched=False, **options)  # type: ignore[arg-type]


_dropped = {"unit": "1", "zero": True, "most": 1.0, "default": 0.0}
COMMON = (
    _absent("clip_value", "clip", 0.1, 5.0, "Largest absolute value of a number of the gradient.", unit="1"),
    _absent("warmup", "warm-up", 0.0, 5.0, "Epochs in which the learning rate rises to its full value, in equal steps;"
            " rounded to a whole number of steps, n.5 to the even one.", unit="epochs", zero=True, default=0.0),
    _absent("input_dropout", "p_in", 0.0, 0.6, "Share of the numbers a layer is fed that are 0.", **_dropped),
    _absent("output_dropout", "p_out", 0.0, 0.6, "Share of the features that the read-out reads as 0.", **_dropped),
    _absent("label_smoothing", "ε", 0.0, 0.2, "Share of a target's probability spread over all classes.", **_dropped),
    _absent("patience", "patience", 5, 50, "Epochs without a better validation metric after which a training ends.",
            unit="epochs", whole=True),
    _absent("solved", "solved", 99.0, 100.0, "Validation metric that solves a task: a training ends after three epochs"
            " in a row that are no worse.", unit="the task's"),
)  # fmt: skip
"""Parameters that are valid for every optimiser and schedule; each default means unused."""


@cache
def optimisers() -> Mapping[str, Optimiser]:
    """Return all optimisers by name."""
    return collect_specs("longwave.platform.training.optimisers", "OPTIMISER", Optimiser)


@cache
def schedules() -> Mapping[str, Schedule]:
    """Return all schedules by name."""
    return collect_specs("longwave.platform.training.schedules", "SCHEDULE", Schedule)


def training_params(optimiser: str, schedule: str, groups: Collection[str] = ()) -> tuple[Param, ...]:
    """Return all training parameters, besides the learning rate, for an optimiser and a schedule.

    Args:
        optimiser, schedule: Their names.
        groups: Names of the network's parameter groups, each of which can have its own rate.

    Raises:
        ConfigError: No such optimiser or schedule; the message names the nearest ones.
    """
    for kind, name, registered in (("optimiser", optimiser, optimisers()), ("schedule", schedule, schedules())):
        if name not in registered:
            raise ConfigError(did_you_mean(kind, name, registered))
    rates = (
        _absent(f"rate_{group}", f"η_{group}/η", 0.1, 10.0, f"What η is multiplied by for the {group}'s weights.",
                unit="1", zero=True, default=1.0)
        for group in groups
    )  # fmt: skip
    return (*optimisers()[optimiser].params, *schedules()[schedule].params, *COMMON, *rates)


def groups_of(task: TaskSpec, model: ModelSpec) -> tuple[str, ...]:
    """Return the names of the parameter groups of a model's network on a task."""
    embedded = ("embedding",) if task.tokens not in (0, task.inputs) else ()
    return ("readout", *embedded, *getattr(model.layer, "GROUPS", ()))


def check_training(config: TrialConfig) -> None:
    """Check a trial's optimiser, schedule and training parameters.

    Raises:
        ConfigError: An unknown word or parameter, a value out of range or equal to its default, drops without their
            schedule, or smoothed labels for a task without classes. The message is one line.
    """
    groups = groups_of(get_task(config.task), get_model(config.model))
    allowed = {p.name: p for p in training_params(config.optimiser, config.schedule, groups)}
    model_params = {"lr", *(p.name for p in get_model(config.model).params)}
    for name, value in config.params.items():
        if name in model_params:
            continue
        if name not in allowed:
            hint = f"Of {config.model} trained by {config.optimiser} with schedule {config.schedule}."
            raise ConfigError(did_you_mean("training number", name, {*allowed, *model_params}, hint))
        try:
            allowed[name].check(value)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if value == allowed[name].default:
            raise ConfigError(f"{name} {value:g} is the default and must be left out.")
    if config.drops and config.schedule != "drops":
        raise ConfigError(f"Schedule {config.schedule!r} has no drops, got {list(config.drops)}. Give drops = [].")
    if "label_smoothing" in config.params and not get_task(config.task).smooths:
        raise ConfigError(f"{config.task} has no classes, so label_smoothing has no effect. Leave it out.")


class Rules:
    """The treatment of losses and gradients in a pack, with parameters per member. A value that all members share is
    one Python float, which saves work.

    Args:
        task: Task of the members.
        configs: Trials of the members, of one shape.
        parameters: Parameters to step.
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
        valid_params = training_params(first.optimiser, first.schedule, groups)
        self.each: list[dict[str, Any]] = [
            {p.name: c.params.get(p.name, p.default) for p in valid_params} for c in configs
        ]
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
        """Return the initial state of the optimiser."""
        return {name: torch.zeros_like(self.parameters.values) for name in self.optimiser.state}

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the training loss, (M,)."""
        loss = self.task.loss
        return loss(outputs, targets) if self.smoothing is None else loss(outputs, targets, smoothing=self.smoothing)

    def step(self, state: Mapping[str, Tensor], count: int, scale: Number) -> None:
        """Clip the gradients, first by norm and then by value, and take one step.

        Args:
            state: State of the optimiser; see ``state()``.
            count: Number of the step, from 1.
            scale: Factor of η; see ``scales``.
        """
        if self.clip is not None:
            self.parameters.clip(self.clip)
        if self.clip_value is not None:
            self.parameters.clip_values(self.clip_value)
        values, grad = self.parameters.values, self.parameters.grad
        self.optimiser.step(Update(values, grad, state, self.numbers, self.lr, scale, self.factors, count))

    def scales(self, epoch: int, steps: int, valids: Mapping[str, Sequence[float]]) -> Callable[[int], Number]:
        """Return the factor of η by schedule and warm-up at each step of an epoch, from step 0.

        Args:
            epoch: From 1.
            steps: Steps per epoch.
            valids: Validation metrics of each trial so far, by id.
        """
        goal, done = self.task.metric.goal, (epoch - 1) * steps
        warmup_steps = [round(numbers["warmup"] * steps) for numbers in self.each]

        def factor_at(step: int) -> Number:
            factors = []
            for config, numbers, w in zip(self.configs, self.each, warmup_steps, strict=True):
                total = config.epochs * steps
                moment = Moment(epoch, done + step, total, w, config.drops, valids.get(config.id, ()), goal)
                rise = min(1.0, (moment.step + 1) / w) if w else 1.0
                factors.append(rise * self.schedule.factor(moment, numbers))
            return together(factors, self.device)

        if self.schedule.each_step or done < max(warmup_steps):
            return factor_at
        constant = factor_at(0)
        return lambda _: constant

    def _number(self, name: str) -> Number:
        return together([numbers[name] for numbers in self.each], self.device)

    def _factors(self, groups: Mapping[str, WeightGroup]) -> Tensor | None:
        """Return the factor of η for each parameter, (1, P) or (M, P); None if all are 1."""
        rates = {n: [g.rate * numbers[f"rate_{n}"] for numbers in self.each] for n, g in groups.items()}
        if all(rate == 1 for member_rates in rates.values() for rate in member_rates):
            return None
        members, columns = max(len(set(member_rates)) for member_rates in rates.values()), self.parameters.columns()
        values = self.parameters.values
        factors = torch.ones_like(values if members > 1 else values[:1])
        for name, member_rates in rates.items():
            for weight in groups[name].weights:
                factors[:, columns[weight]] *= together(member_rates, self.device)
        return factors

    def _spare_decay(self, groups: Mapping[str, WeightGroup]) -> None:
        """Set the weight decay to 0 for groups without it, (1, P) or (M, P)."""
        without_decay = [weight for group in groups.values() if not group.decay for weight in group.weights]
        decay = self.numbers.get("weight_decay", 0.0)
        if not without_decay or (not isinstance(decay, Tensor) and not decay):
            return
        mask = torch.ones(1, self.parameters.values.shape[1], dtype=torch.float64, device=self.device)
        for weight in without_decay:
            mask[:, self.parameters.columns()[weight]] = 0.0
        self.numbers["weight_decay"] = decay * mask
