"""What a task file declares: its data, sizes, loss and metric, and published recipes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.metric import Further, Metric
from longwave.tasks.base.predictor import Baseline, Measured, Predictor, measure
from longwave.tasks.base.raw import Source
from longwave.tasks.base.variants import split_fresh

BLIND = ("majority", "mean", "unigram", "class frequencies")
"""Names of trivial predictors that ignore their inputs."""
NO_SCORES: Mapping[str, float] = {}


def check_variant(task: str, variant: str, variants: Collection[str] = ("",)) -> None:
    """Check that ``task`` has a variant.

    Raises:
        ValueError: It does not; the message lists those that it has.
    """
    if variant not in variants:
        names = " or ".join(name or "''" for name in variants)
        rule = f"takes a variant {names}" if any(variants) else "has one variant, the empty one"
        raise ValueError(f"{task} {rule}, got {variant!r}.")


@dataclass(frozen=True)
class Recipe:
    """A published training recipe; also the default of a sweep.

    Attributes:
        hidden: Hidden size d, features.
        width: Features between residual blocks; by default ``hidden``.
        batch: Examples per step.
        epochs: Passes over the training split; of a task that draws fresh examples, blocks of ``steps`` steps.
        drops: Epochs after which the learning rate is divided by 10, or multiplied by ``drop_factor``.
        clip: Largest gradient norm of a member; without it, gradients are not clipped.
        steps: Steps per epoch of a task that draws fresh examples; others have none.
        optimiser, schedule: Names in the training rules.
        numbers: All other hyper-parameters of training by name, if they differ from the defaults:
            ``{"input_dropout": 0.03}``.
        source: Paper and table.
        paper: Key of that paper, as in published numbers; empty if the recipe is ours.
        unstated: Fields that the paper does not state, so that the values are ours.
    """

    hidden: int
    batch: int
    epochs: int
    source: str
    drops: tuple[int, ...] = ()
    clip: float | None = None
    steps: int | None = None
    optimiser: str = "adam"
    schedule: str = "drops"
    numbers: Mapping[str, float] = field(default_factory=dict)
    paper: str = ""
    unstated: tuple[str, ...] = ()
    width: int | None = None


class _Stated(TypedDict, total=False):
    hidden: int
    batch: int
    epochs: int
    drops: tuple[int, ...]
    clip: float | None
    steps: int | None
    optimiser: str
    schedule: str
    numbers: Mapping[str, float | None]
    paper: str
    unstated: tuple[str, ...]


@dataclass(frozen=True)
class Changes:
    """How a model's recipe differs from the general one; see ``changes``."""

    source: str
    stated: Mapping[str, Any]

    def of(self, recipe: Recipe) -> Recipe:
        """Return ``recipe`` with these changes; a hyper-parameter None is removed.

        The source is always replaced; if it is another paper, only fields named here are unstated.
        """
        numbers = {**recipe.numbers, **self.stated.get("numbers", {})}
        stated = {name: value for name, value in numbers.items() if value is not None}
        unstated = () if "paper" in self.stated else recipe.unstated
        return replace(recipe, **{"unstated": unstated, **self.stated, "source": self.source, "numbers": stated})


def changes(source: str, **stated: Unpack[_Stated]) -> Changes:
    """Return a recipe that states only what differs: ``changes("coRNN, Table 7: up to 60,000 steps", epochs=600)``."""
    return Changes(source, {**stated})


@dataclass(frozen=True)
class ProtocolNote:
    """How the protocol of papers differs from a task's, or what a reader must know about them.

    Attributes:
        text: One sentence.
        papers: Keys of the papers concerned, as in published numbers; none means all.
        minor: Whether it does not affect results, like a larger test split of the same distribution or a fixed seed of
            a random split. Published numbers with any other difference get the verdict "other protocol".
    """

    text: str
    papers: tuple[str, ...] = ()
    minor: bool = False


def note(text: str, *papers: str, minor: bool = False) -> ProtocolNote:
    """Return a note on protocols: ``note("coRNN trains on 47000 images, this task on 48000", "cornn")``."""
    return ProtocolNote(text, papers, minor)


@dataclass(frozen=True)
class TaskSpec:
    """One task of the benchmark. A task file assigns exactly one to ``TASK``.

    Attributes:
        name: Unique key, equal to the file name.
        title: Name on the board.
        family: The kind of task it is: ``"recall"``, ``"images"``, ``"dynamics"``, ...; never a family of models.
        summary: One sentence: what it tests.
        inputs, outputs: Features p and q. For tokens p is the size of their embedding; if it equals ``tokens`` they are
            one-hot and not embedded.
        loss: ``loss(outputs, targets) -> (M,)``, the mean for each member; differentiable. With label smoothing it also
            takes ``smoothing``, (M,).
        metric: The headline metric.
        chance: The metric of a predictor that ignores its inputs, from the distribution of the data: a number, or a
            function of the variant; ``None`` if only the data give it. See ``chance_at``.
        load: ``load(variant) -> Data``. Raises ValueError for an unknown variant, DataError for files that are missing
            or break a rule.
        recipes: Published recipe by model; ``""`` applies to all other models, and the others state only differences.
        source: Where the task comes from: paper, equation, generator or data set.
        licence: Of the data.
        length: Steps of a sequence, in words if they vary.
        lag: How far back the relevant information is, in words.
        targets: Which steps, nodes or graphs have targets, in words, for display only.
        variant: The default variant; empty if there is only one.
        variants: The possible variants, in words; protocols that differ between papers are variants.
        protocols: How the papers' protocols differ from this one.
        tokens: Size V of the vocabulary, 0 if inputs are numbers.
        version: Bumped when loss, metric, split rules or targets change, and so results. The data have their own hash.
        horizon: Steps ahead, for forecasting.
        files: The data set to fetch; None for generated data.
        baselines: Trivial predictors by name, measured alongside the models.
        margin: Ratio of errors within which a published number counts as reproduced.
        further: Further metrics on the test split.
        time_scales: Of forecasting tasks, by variant, or under ``""`` for all: the first lag, in steps, at which the
            absolute autocorrelation of the training inputs, averaged over features, falls below 1/e. Empty otherwise:
            the memory needed is then the sequence.
    """

    name: str
    title: str
    family: str
    summary: str
    inputs: int
    outputs: int
    loss: Callable[..., Tensor]
    metric: Metric
    chance: float | Callable[[str], float] | None
    load: Callable[[str], Data[Any]]
    recipes: Mapping[str, Recipe | Changes]
    source: str
    licence: str
    length: str
    lag: str
    targets: str = "at the last step"
    variant: str = ""
    variants: str = ""
    protocols: tuple[ProtocolNote, ...] = ()
    tokens: int = 0
    version: str = "1"
    horizon: int | None = None
    files: Source | None = None
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    margin: float = 1.25
    further: tuple[Further, ...] = ()
    time_scales: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name, version and horizon: ``lorenz96@1+25``."""
        return f"{self.name}@{self.version}" + (f"+{self.horizon}" if self.horizon else "")

    @property
    def smooths(self) -> bool:
        """Whether the loss can smooth labels."""
        return "smoothing" in inspect.signature(self.loss).parameters

    def recipe(self, model: str) -> Recipe:
        """Return the published recipe of ``model``, or the general one."""
        of_model, general = self.recipes.get(model, self.recipes[""]), self.recipes[""]
        if isinstance(general, Changes):
            raise TypeError(f"{self.name}: the general recipe must be complete.")
        return of_model.of(general) if isinstance(of_model, Changes) else of_model

    def time_scale(self, variant: str) -> int | None:
        """Return the time scale of a variant, in steps; None unless it is a forecast."""
        return self.time_scales.get(split_fresh(variant)[0], self.time_scales.get(""))

    def chance_at(self, variant: str, scores: Mapping[str, float] = NO_SCORES) -> float | None:
        """Return the metric of a predictor that ignores its inputs, at a variant.

        Args:
            variant: One that the task has.
            scores: Result of ``trivial``, for a task whose chance level comes from the data; without it None is
                returned there.
        """
        if self.chance is not None:
            return self.chance(variant) if callable(self.chance) else self.chance
        return next((scores[name] for name in BLIND if name in scores), None)

    def measured(self, data: Data[Any]) -> dict[str, Measured]:
        """Return by name the test measurement of each trivial predictor that can run here."""
        lacking = self.lacking()
        here = {name: each for name, each in self.baselines.items() if name not in lacking}
        return {name: measure(each, data, self.metric, self.id, self.further) for name, each in here.items()}

    def lacking(self) -> dict[str, str]:
        """Return by name, for each trivial predictor that cannot run here, how to install its packages, in one line."""
        missing = {name: each.lacks() for name, each in self.baselines.items() if isinstance(each, Predictor)}
        return {name: line for name, line in missing.items() if line}

    def trivial(self, data: Data[Any]) -> dict[str, float]:
        """Return the metric on the test split of each trivial predictor that can run here; see ``measured``."""
        return {name: each.score for name, each in self.measured(data).items()}
