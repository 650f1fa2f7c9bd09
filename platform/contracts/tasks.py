"""All rules for tasks: declarations agree with the data, splits and seeds are sound, loss and metric are consistent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from longwave.platform.contracts.loaded import FEW, MANY, SAMPLE, LoadedTask
from longwave.platform.contracts.rule import NotMeant, Rule, RuleOutcome, check_subjects, require
from longwave.platform.errors import ConfigError
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model
from longwave.platform.statistics.scale import scale_of
from longwave.platform.training.pack import Pack
from longwave.platform.training.rules import training_params
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.feedback import FreeRuns
from longwave.tasks.base.sequences import Sequences, Text
from longwave.tasks.base.spec import TaskSpec


def _check_declared(task: LoadedTask) -> None:
    spec = task.spec
    texts = ("title", "family", "summary", "source", "licence", "length", "lag")
    require(not (absent := [name for name in texts if not getattr(spec, name)]), f"it has no {' and no '.join(absent)}")
    require("" in spec.recipes, 'its recipes lack "", the one that holds for all models')
    streamed = spec.recipe("").steps is not None
    require(streamed == (task.data.train is None), "steps an epoch are for a stream, and a stream needs them")


def _check_recipes(task: LoadedTask) -> None:
    for model in task.spec.recipes:
        recipe, prefix = task.spec.recipe(model), f"the recipe {model!r}"
        try:
            params = {p.name: p for p in training_params(recipe.optimiser, recipe.schedule)}
        except ConfigError as error:
            require(False, f"{prefix}: {error}")
        for name, number in recipe.numbers.items():
            require(name in params, f"{prefix} names the training number {name}, which does not exist")
            params[name].check(number)
        require(
            recipe.hidden > 0 and recipe.batch > 0 and recipe.epochs > 0, f"{prefix} has a size that is not positive"
        )
        require(recipe.source, f"{prefix} has no source")
        require(
            all(0 < drop < recipe.epochs for drop in recipe.drops), f"{prefix} drops the rate outside of its epochs"
        )


def _check_fed(task: LoadedTask) -> None:
    spec = task.spec
    for name, split in task.splits.items():
        first = split.take(torch.arange(min(FEW, len(split))))
        x, n = first.inputs, len(first)
        if spec.tokens:
            require(x.dim() == 2 and x.dtype == torch.int64, f"{name}: tokens are whole numbers, (n, steps)")
            require(x.min() >= 0 and x.max() < spec.tokens, f"{name}: a token is not below tokens = {spec.tokens}")
        else:
            actual = tuple(x.shape)
            require(
                x.dim() == 3 and actual[2] == spec.inputs, f"{name}: inputs are {actual}, not (n, steps, {spec.inputs})"
            )
            require(x.dtype == torch.float32 and x.isfinite().all(), f"{name}: inputs are finite float32 numbers")
        _check_asked(name, split, first, spec.outputs, n)


def _check_asked(name: str, split: Sequences, first: Sequences, outputs: int, n: int) -> None:
    targets = first.targets
    if targets.is_floating_point():
        require(targets.shape[-1] == outputs, f"{name}: targets have {targets.shape[-1]} numbers, not {outputs}")
        require(targets.isfinite().flatten(1).any(1).all(), f"{name}: an example has no target")
        return
    classes = targets[targets != NO_TARGET]
    require(targets.dtype == torch.int64 and len(classes) >= n, f"{name}: an example has no target")
    count = max(outputs, 2)
    require(classes.min() >= 0 and classes.max() < count, f"{name}: a class is not below outputs = {count}")


def _check_disjoint(task: LoadedTask) -> None:
    data = task.data
    fixed = replace(data, train=data.training(SAMPLE), stream=None) if data.train is None else data
    if isinstance(data.valid, Text):
        raise NotMeant("a text is one example")
    for (one, other), count in fixed.repeated().items():
        require(not count, f"{count} examples of the {one} split are in the {other} split, too")


def _check_repeats(task: LoadedTask) -> None:
    torch.default_generator.manual_seed(7)
    np.random.seed(7)
    for cached in _find_caches(task.spec.load):
        cached.cache_clear()
    reloaded = task.spec.load(task.spec.variant)
    require(
        reloaded.version == task.data.version, "the data differ when loaded twice: draw them from a seeded generator"
    )
    stream = task.data.stream
    if stream is not None:
        parts = [[*stream(seed, FEW).content()] for seed in (3, 3, 4)]
        require(_same_data(parts[0], parts[1]), "the stream gives different examples for the same seed")
        require(not _same_data(parts[0], parts[2]), "the stream gives the same examples for another seed")


def _find_caches(load: Any) -> Iterator[Any]:
    """Yield the caching wrappers of a function, outermost first."""
    while load is not None:
        if hasattr(load, "cache_clear"):
            yield load
        load = getattr(load, "__wrapped__", None)


def _same_data(one: Sequence[str | Tensor], other: Sequence[str | Tensor]) -> bool:
    return all(torch.equal(a, b) if isinstance(a, Tensor) else a == b for a, b in zip(one, other, strict=True))  # type: ignore[arg-type]


def _check_variants(task: LoadedTask) -> None:
    try:
        task.spec.load("nonsense_")
    except ValueError:
        return
    require(False, "a variant 'nonsense_' is loaded: begin with check_variant")


def _check_agreement(task: LoadedTask) -> None:
    spec, targets, perfect = task.spec, task.targets, task.perfect()
    candidates = torch.stack([perfect, task.outputs(1), task.outputs(2)])
    best, *others = spec.metric.score(candidates, targets).tolist()
    maximised = spec.metric.goal == "max"
    require(
        all(o < best if maximised else o > best for o in others),
        f"the {spec.metric.name} of the right answers is not best",
    )
    negative = f"the {spec.metric.name} of the right answers is {best:g}, but 0 is the best that is minimised"
    require(maximised or best >= 0, f"{negative}: give its negative as a metric that is maximised")
    loss = spec.loss(candidates, targets.expand(3, *targets.shape))
    require(loss.shape == (3,), f"the loss of 3 members is {tuple(loss.shape)}: give one number a member")
    require((loss[0] < loss[1:]).all(), "the loss of the right answers is not least")
    leaf = candidates.clone().requires_grad_()
    (slope,) = torch.autograd.grad(spec.loss(leaf, targets.expand(3, *targets.shape))[1], leaf)
    require(slope[1].isfinite().all() and slope[1].any(), "the loss has no finite gradient")
    require(not slope[[0, 2]].any(), "the loss of one member depends on the outputs of another")


def _broken_outputs(task: LoadedTask) -> None:
    spec, targets, finite = task.spec, task.targets, torch.stack([task.outputs(k) for k in range(3)])
    before = spec.metric.score(finite, targets)
    scored = targets.isfinite() if targets.is_floating_point() else (targets != NO_TARGET).unsqueeze(-1)
    last = scored.expand(finite.shape[1:]).flatten().nonzero()[-1]
    for broken in (math.nan, math.inf, -math.inf):
        outputs = finite.clone()
        outputs[1].view(-1)[last] = broken
        after = spec.metric.score(outputs, targets)
        logit = broken < 0 and not targets.is_floating_point()  # an output of −∞ rules out a class
        require(logit or not after[1].isfinite(), f"a member with an output {broken} has a score")
        require(torch.equal(after[[0, 2]], before[[0, 2]]), "a broken output of one member changes the score of others")


def _check_chance(task: LoadedTask) -> None:
    spec = task.spec
    if spec.metric.name == "accuracy" and isinstance(spec.chance, float | int):
        train_targets = task.data.training(MANY).targets
        classes = len(train_targets[train_targets != NO_TARGET].unique())
        reason = f"chance is {spec.chance:.3g} %, and a guess among its {classes} classes scores {100 / classes:.3g} %"
        require(classes < spec.outputs or abs(spec.chance - 100 / classes) <= 3 / classes, reason)
    level = spec.chance_at(spec.variant, spec.trivial(task.data))
    if level is None:
        raise NotMeant("its chance level is not stated, and no trivial predictor ignores the inputs")
    perfect = scale_of(spec.metric.name, spec.metric.goal, spec.metric.unit).perfect
    require(math.isfinite(level) and level != perfect, f"its chance level is {level:g}, that of the right answers")


def _check_trivial(task: LoadedTask) -> None:
    require(task.spec.baselines, "it has no trivial predictor: give baselines, such as Majority or Mean")
    for name, score in task.spec.trivial(task.data).items():
        require(math.isfinite(score), f"the trivial predictor {name} scores {score:g}")


def _check_training(task: LoadedTask) -> None:
    spec, data, model = task.spec, task.data, get_model("gru")
    if not isinstance(data.valid, model.layer.READS):
        raise NotMeant(f"it feeds {type(data.valid).__name__}, which a GRU does not read")
    if isinstance(data.test, FreeRuns):
        raise NotMeant("it is scored over free runs, which the rule of a step does not follow")
    recipe = spec.recipe("gru")
    first = TrialConfig(
        task=spec.name, task_version=spec.version, variant=spec.variant, data=data.version, model="gru",
        model_version=model.version, options={}, params={"lr": 0.01}, hidden=4, batch=2, epochs=1, phase="search",
        seed=1, steps=1 if recipe.steps else None,
    )  # fmt: skip
    pack = Pack([first, replace(first, seed=2)], data.to("cpu"))
    pack.train_epoch(lambda: True)
    require(pack.loss.isfinite().all(), "the loss of a GRU is not finite after one step")


RULES: Sequence[Rule[LoadedTask]] = (
    Rule("Its description is complete, and its data load.", _check_declared),
    Rule("Its recipes use only what the training rules know.", _check_recipes),
    Rule("Its batches have the declared sizes and types.", _check_fed),
    Rule("No example is in two splits.", _check_disjoint, quick=False),
    Rule("The data are the same each time, and a stream follows its seed.", _check_repeats, quick=False),
    Rule("Unknown variants are rejected.", _check_variants),
    Rule("Loss and metric agree on the right answers, and are computed per member.", _check_agreement),
    Rule("A broken output gets no score and affects no other member.", _broken_outputs),
    Rule("Its chance level is that of a guess.", _check_chance, quick=False),
    Rule("Its trivial predictors run.", _check_trivial, quick=False),
    Rule("A small GRU trains on it.", _check_training),
)


def task_findings(spec: TaskSpec, quick: bool = False) -> Iterator[RuleOutcome]:
    """Yield the outcome of each rule, or of each quick one, for a task, at its default variant."""
    return check_subjects([rule for rule in RULES if rule.quick or not quick], [("", LoadedTask(spec))])
