"""What a task file declares: its data, its sizes, its loss and metric, its published recipes."""

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
from longwave.tasks.base.searched import Searched
from longwave.tasks.base.variants import split_fresh

BLIND = ("majority", "mean", "unigram")
"""Names of trivial predictors that ignore their inputs."""
NO_SCORES: Mapping[str, float] = {}


def check_variant(task: str, variant: str, known: Collection[str] = ("",)) -> None:
    """Do nothing for a variant that ``task`` has.

    Raises:
        ValueError: It has no such variant; the message says which ones it has.
    """
    if variant not in known:
        names = " or ".join(name or "''" for name in known)
        rule = f"takes a variant {names}" if any(known) else "has one variant, the empty one"
        raise ValueError(f"{task} {rule}, got {variant!r}.")


@dataclass(frozen=True)
class Recipe:
    """A published training recipe; also the default of a sweep.

    Attributes:
        hidden: Hidden size d, features.
        width: Features that residual blocks hand on; ``None`` for the hidden size.
        batch: Examples a step.
        epochs: Passes over the training split, or blocks of ``steps`` of a stream.
        drops: Epochs after which the learning rate is divided by 10, or falls to ``drop_factor`` of what it was.
        clip: Largest gradient norm of a member; ``None`` means no clipping.
        steps: Steps an epoch of a stream; ``None`` for a training split.
        optimiser, schedule: Words of the training rules.
        numbers: Every other number of training by name, where it is not the rules' own default:
            ``{"input_dropout": 0.03}``.
        source: Paper and table.
        paper: Key of that paper, as published numbers name it; empty where the recipe is ours.
        unstated: Fields that the paper does not state, so that they are ours.
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
    """How a model's recipe differs from the one that holds for all others; see ``changes``."""

    source: str
    stated: Mapping[str, Any]

    def of(self, recipe: Recipe) -> Recipe:
        """Return ``recipe`` with what is stated here in its place; a number None is not there.

        The source always is of its own, and of another paper no field is unstated but those named here.
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
    """How the protocol of papers differs from a task's, or what a reader must know of both.

    Attributes:
        text: One sentence.
        papers: Keys of the papers it is about, as published numbers name them; none: all.
        minor: Whether it changes nothing that is measured, as a larger test split of the same law or a fixed seed of a
            random split. A number whose paper has another protocol in any other way is compared as such.
    """

    text: str
    papers: tuple[str, ...] = ()
    minor: bool = False


def note(text: str, *papers: str, minor: bool = False) -> ProtocolNote:
    """Return a note on protocols: ``note("coRNN trains on 47000 images, this task on 48000", "cornn")``."""
    return ProtocolNote(text, papers, minor)


@dataclass(frozen=True)
class TaskSpec:
    """One task of the benchmark. A task file binds exactly one of these to ``TASK``.

    Attributes:
        name: Unique key, equal to the file name.
        title: As the board prints it.
        family: The kind of task it is: ``"recall"``, ``"images"``, ``"dynamics"``, ...; never a family of models.
        summary: One sentence: what it tests.
        inputs, outputs: Features p and q. For tokens p is the size of their embedding; where it equals ``tokens``
            they are fed one-hot and nothing is embedded.
        loss: ``loss(outputs, targets) -> (M,)``, the mean for each member; differentiable. One that can smooth labels
            takes ``smoothing``, (M,), too.
        metric: The headline metric.
        chance: The metric of a predictor that ignores its inputs, by the law of the data: a number, or a function of
            the variant where that decides; ``None`` where the data alone tell. See ``chance_at``.
        load: ``load(variant) -> Data``. Raises ValueError for a variant that does not exist, DataError for files that
            are missing or break a rule.
        recipes: Published recipe by model; ``""`` holds for all other models, and the others state only what differs.
        source: Where the task comes from: paper, equation, generator or data set.
        licence: Of the data.
        length: Steps of a sequence, in words where they vary.
        lag: How far back the needed information lies, in words.
        asked: At which steps or nodes outputs are read, in words; the batch itself knows.
        variant: The default variant; empty for a task that has one form.
        variants: What a variant may be, in words; protocols that differ between papers are variants.
        protocols: How the papers' protocols differ from this one.
        tokens: Size V of the vocabulary, 0 where inputs are numbers.
        version: Bumped when loss, metric, split rules or what is asked change, so that results do. The data have their
            own hash beside it.
        horizon: Steps ahead, for forecasting.
        files: The data set to fetch; None for generated data.
        baselines: Trivial predictors by name, measured beside the models.
        margin: Ratio of errors within which a printed number counts as met.
        further: What is measured of the test split beside the metric.
        time_scales: Of a series that is forecast, by variant, or under ``""`` for all: the first lag, in steps, at
            which the absolute autocorrelation of the training inputs, averaged over features, falls below 1/e. Empty
            where nothing is forecast: what must be kept there is the sequence.
        searched: What models reached in a declared short search, where no paper prints a number; None without one.
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
    asked: str = "at the last step"
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
    searched: Searched | None = None
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
        """Return the published recipe of ``model``, or the one that holds for all others."""
        own, general = self.recipes.get(model, self.recipes[""]), self.recipes[""]
        if isinstance(general, Changes):
            raise TypeError(f"{self.name}: the recipe that holds for all others must be whole.")
        return own.of(general) if isinstance(own, Changes) else own

    def time_scale(self, variant: str) -> int | None:
        """Return the time scale of a variant, in steps; None where nothing is forecast."""
        return self.time_scales.get(split_fresh(variant)[0], self.time_scales.get(""))

    def chance_at(self, variant: str, scores: Mapping[str, float] = NO_SCORES) -> float | None:
        """Return the metric of a predictor that ignores its inputs, at a variant.

        Args:
            variant: One that the task has.
            scores: What ``trivial`` gives, for a task whose data alone tell; without them it is None there.
        """
        if self.chance is not None:
            return self.chance(variant) if callable(self.chance) else self.chance
        return next((scores[name] for name in BLIND if name in scores), None)

    def measured(self, data: Data[Any]) -> dict[str, Measured]:
        """Return by name what is measured on the test split of each trivial predictor that can run here."""
        lacking = self.lacking()
        here = {name: each for name, each in self.baselines.items() if name not in lacking}
        return {name: measure(each, data, self.metric, self.id, self.further) for name, each in here.items()}

    def lacking(self) -> dict[str, str]:
        """Return by name, of each trivial predictor that cannot run here, how to get what it needs, in one line."""
        missing = {name: each.lacks() for name, each in self.baselines.items() if isinstance(each, Predictor)}
        return {name: line for name, line in missing.items() if line}

    def trivial(self, data: Data[Any]) -> dict[str, float]:
        """Return the metric on the test split of each trivial predictor that can run here; see ``measured``."""
        return {name: each.score for name, each in self.measured(data).items()}
