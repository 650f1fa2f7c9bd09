"""Keys of a sweep file, each with its form and its default, and what follows from them."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveFloat

from longwave.platform.records.search import SAMPLER
from longwave.platform.records.trial import Precision
from longwave.platform.sweeps.file.values import (
    LARGEST,
    Budget,
    Cells,
    Count,
    Halving,
    KnownStudy,
    PerNumber,
    Race,
    RaceOrNone,
    SearchValue,
    Strict,
    Trials,
    Value,
    Wider,
)
from longwave.rules import as_list


def _in_form(pattern: str, rule: str) -> AfterValidator:
    """Return a check that a string has the form of a pattern, which ``rule`` puts into words."""

    def check_form(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(rule)
        return value

    return AfterValidator(check_form)


Name = Annotated[
    str,
    _in_form(
        "[A-Za-z0-9][A-Za-z0-9._-]{0,79}",
        "must be 1 to 80 letters, digits, dots, hyphens and underscores, the first a letter or digit",
    ),
]
RowName = Annotated[str, _in_form("[0-9a-f]{16}", "must be the full name of a row, 16 characters of 0-9 and a-f")]


def _check_drops(epochs: list[int]) -> list[int]:
    if len(set(epochs)) < len(epochs):
        raise ValueError("must name each epoch once")
    return epochs


Drops = Annotated[list[Count], AfterValidator(_check_drops)]
Warm = Annotated[list[Literal["published", "rows"]], BeforeValidator(as_list)]
Files = Annotated[list[str], BeforeValidator(as_list)]


class RecipeChanges(Strict):
    """What a sweep, or one model of it, may change of the published recipe.

    Attributes:
        hidden, width, batch, epochs, steps, clip, drops: As in ``tasks.base.spec.Recipe``.
        recipe: Optimiser and schedule, and any training number by name: ``{"optimiser": "sgd", "momentum": 0.9}``.
        grid: Values to try one after another: of sizes, of whatever ``recipe`` takes, and of a model's options. Each
            combination is a cell, which is searched and retrained by itself.
    """

    hidden: Count | None = None
    width: Count | None = None
    batch: Count | None = None
    epochs: Count | None = None
    steps: Count | None = None
    clip: PositiveFloat | None = None
    drops: Drops | None = None
    recipe: dict[str, Value] = {}
    grid: dict[str, Cells] = {}


class SweepFile(RecipeChanges):
    """A sweep as its file describes it.

    Attributes:
        name: Names the sweep in the store.
        task, variant: What to train on; the task's default variant if empty.
        tasks, variants: Instead of ``task``, several tasks, and the variants of those that do not take their default.
        models: The models to train.
        trials: Search trials of each cell; with 0 there is no search, and the fixed settings are retrained. The text
            ``8 per number`` gives a cell so many for each number that its search draws, from 16 to 64 in all; a range
            or a list with a single value counts too, a number that ``space`` fixes does not.
        retrain: Retrainings of each winner, with fresh seeds.
        seed: Determines all draws and seeds of the search.
        rule: How a search draws and chooses. 2: each task, variant and model has its own draws, halving stops trials by
            their scores only if a quarter have learned something, and a race with fresh seeds chooses the winner. 1,
            as in edition 1: a model has the same draws on every task, and the best score of the search wins.
        sampler: One of Optuna's by its class, ``CmaEsSampler``, or a short name in ``space.SAMPLERS``. One that learns,
            such as ``tpe``, fits the results of earlier ``rounds``, and draws only parameters that have an effect with
            the optimiser, schedule and options that it drew.
        rounds: Rounds of a search, each drawn by a sampler that knows the results of those before.
        sampler_arguments: Arguments of the sampler, ``{"popsize": 8}``. An argument that is itself a class of Optuna's
            is given by name, or as a table with ``class``: ``{"class": "TPESampler", "n_startup_trials": 5}``.
        warm: Settings with which a search begins, counted as trials: ``published``, those that the model's paper found
            best on the task; ``rows``, those of the store's best rows on validation; or both, in that order. Whatever
            they leave open is drawn as usual. Settings outside the space are left out; ``sweep plan`` says why.
        study: By model, an Optuna study with whose best trials the search begins, after those of ``warm``. It is read
            once, when the sweep is planned.
        pack: Trials a pack; ``auto`` divides the trials over the workers.
        halving: Successive halving, which stops bad trials early.
        pruner: Instead, one of Optuna's pruners, ``MedianPruner``, which compares the trials of a round, or under rule
            1 of a pack, at the same epoch. Its steps are epochs.
        pruner_arguments: As ``sampler_arguments``.
        race: The race of finalists; ``false`` for none. By default there is one under rule 2.
        precision: ``float32``, ``float64``, or ``bfloat16``: float32 except that a fused loop on a GPU stores its
            values for the backward pass in bfloat16.
        selection: The epoch a retraining is scored at: ``best`` by validation, or ``last``.
        instead_of: Rows, by their full names, that this sweep's row of the same task, variant and model replaces. It
            was chosen by comparing retrainings of both on validation, so it is retrained with other seeds, and only
            these count. Requires ``trials = 0``, and one cell a model.
        space: By model and name of a parameter, a training number, a size, ``clip``, ``optimiser`` or ``schedule``: a
            range, choices, or a number that fixes it.
        wider: A second search over wider ranges.
        model: By model: budget and static choices that differ, ``{"cornn": {"hidden": 24, "damping": "implicit"}}``,
            and its own tables ``recipe`` and ``grid``.
        plugins: Files and folders with further models and tasks, relative to the sweep file's folder.
        keep_weights: Whether the weights of retrainings are kept, in the storage beside their checkpoints.
        budget: Upper limits of its cost. Budget, priority, ``plugins`` and ``keep_weights`` may be changed at any time.
        priority: A sweep waits while one of a higher priority runs on the same machine from the same store.
    """

    name: Name
    task: str | None = None
    variant: str = ""
    tasks: list[str] = []
    variants: dict[str, str] = {}
    models: Annotated[list[str], Field(min_length=1)]
    trials: Trials
    rule: Literal[1, 2] = 1
    retrain: Annotated[int, Field(ge=0, le=LARGEST)] = 5
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    sampler: str = SAMPLER
    sampler_arguments: dict[str, Any] = {}
    rounds: Count = 1
    warm: Warm = []
    study: dict[str, KnownStudy] = {}
    pack: Count | Literal["auto"] = "auto"
    precision: Precision = "float32"
    selection: Literal["best", "last"] = "best"
    instead_of: list[RowName] = []
    halving: Halving | None = None
    pruner: str | None = None
    pruner_arguments: dict[str, Any] = {}
    race: RaceOrNone | None = None
    space: dict[str, dict[str, SearchValue]] = {}
    wider: Wider | None = None
    model: dict[str, dict[str, Any]] = {}
    plugins: Files = []
    keep_weights: bool = False
    budget: Budget = Budget()
    priority: Annotated[int, Field(ge=-LARGEST, le=LARGEST)] = 0

    @property
    def variant_by_task(self) -> dict[str, str]:
        """The variant of each task, empty for the default."""
        return {self.task: self.variant} if self.task else {t: self.variants.get(t, "") for t in self.tasks}

    def of_cell(self, numbers: int) -> SweepFile:
        """Return the file for a cell whose search draws so many numbers, with their exact number of ``trials``."""
        if not isinstance(self.trials, PerNumber):
            return self
        return self.model_copy(update={"trials": self.trials.count_trials(numbers)})

    @property
    def trials_text(self) -> str:
        """How many search trials a cell has, in words: ``8``, or ``16 to 64 (8 per searched number)``."""
        if isinstance(self.trials, PerNumber):
            return f"{PerNumber.LEAST} to {PerNumber.MOST} ({self.trials.each} per searched number)"
        return str(self.trials)

    @property
    def searched(self) -> int:
        """Search trials of a cell, including those of a second search; the maximum if they depend on the cell."""
        return self.trials + (self.wider.trials if self.wider else 0)

    @property
    def least_searched(self) -> int:
        """Smallest number of search trials that a cell may have."""
        return self.of_cell(0).searched

    @property
    def race_settings(self) -> Race | None:
        """The race that chooses the winner of each cell, if any."""
        if self.race is None and self.rule == 2 and self.trials and self.retrain:
            return Race()
        return self.race or None

    @property
    def raced(self) -> int:
        """Trials of a cell's race, at most."""
        return self.race_settings.count_trials(self.searched) if self.race_settings else 0

    @property
    def trained(self) -> int:
        """Trials of a cell, including those of its race and retrainings."""
        return self.searched + self.raced + self.retrain

    @property
    def joint_packs(self) -> bool:
        """Whether the trials of a cohort may train in several packs, which wait for each other at each rung."""
        cohort = self.halving is not None and self.halving.cohort
        return self.stops_early and (self.rule == 2 or bool(cohort))

    @property
    def stops_early(self) -> bool:
        """Whether trials of a search compete, and some are stopped: by successive halving or a pruner."""
        return self.halving is not None or self.pruner is not None

    @property
    def has_grid(self) -> bool:
        """Whether any model has more than one cell."""
        return any(self.names_in_grid(model) for model in self.models)

    @property
    def cell_count(self) -> int:
        """How many cells there are, over all tasks and models."""
        return len(self.variant_by_task) * sum(
            math.prod(len(values) for values in self.grid_of(model).values()) for model in self.models
        )

    def names_in_grid(self, model: str) -> list[str]:
        """Return the names that grids vary for a model."""
        return [*self.grid_of(model)]

    def grid_of(self, model: str) -> dict[str, list[Any]]:
        """Return the values that grids vary for a model, by name."""
        return {**self.grid, **self.model.get(model, {}).get("grid", {})}
