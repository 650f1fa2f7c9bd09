"""What explains a row to a reader: titles, units, departures from the published recipe, trivial predictors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from longwave.platform.errors import StoreError
from longwave.platform.records.trial import TrialConfig

VERSION = 2
"""Of the form of ``About``: bumped when a field is dropped or changes its meaning. The first had no recipe."""


@dataclass(frozen=True)
class About:
    """What explains a trial's row to a reader, and is no part of its identity.

    Attributes:
        task, model: Names in print; the model's with the options that are not the default.
        metric, unit: What is measured, and in what.
        goal: Whether it should be large, ``"max"``, or small, ``"min"``.
        called: Names that published tables give to the model with these options.
        departures: How the protocol differs from the recipe: ``("epochs 30 (published 400)",)``; ``(ours 400)`` where
            no paper states it.
        trivial: Test metric of each trivial predictor of the task.
        recipe: Where the recipe was printed that the task has for the model; empty where that is not recorded.
        paper: Key of the paper that recipe is of, as published numbers name it; empty where it is ours.
        known: How the papers' protocols are known to differ from the task's and the recipe, in sentences, each with
            the keys of the papers it is about; none: all.
        minor: Those of them that change nothing that is measured, as a larger test split does.
        margin: Ratio of errors within which a printed number counts as met.
        floor: Least error that counts, in ``unit``: half a test item for an accuracy; 0 where not known.
        layers: Of the model; 0 where not recorded.
        version: Of this form.

    Raises:
        ValueError: A field has not its type, or the goal is neither of the two.
    """

    task: str
    model: str
    metric: str
    unit: str
    goal: str
    called: tuple[str, ...] = ("",)
    departures: tuple[str, ...] = ()
    trivial: Mapping[str, float] = field(default_factory=dict)
    recipe: str = ""
    paper: str = ""
    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    minor: tuple[str, ...] = ()
    margin: float = 1.25
    floor: float = 0.0
    layers: int = 0
    version: int = VERSION

    def __post_init__(self) -> None:
        for name in ("task", "model", "metric", "unit", "goal"):
            if not isinstance(value := getattr(self, name), str):
                raise ValueError(f"What explains a row has a text {name}, got {value!r}.")
        for name in ("called", "departures", "minor"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(part, str) for part in value):
                raise ValueError(f"What explains a row has texts {name}, got {value!r}.")
        if self.goal not in ("max", "min"):
            raise ValueError(f"A goal is max or min, got {self.goal!r}.")
        numbers = isinstance(self.trivial, Mapping) and all(
            isinstance(name, str) and isinstance(value, float) and math.isfinite(value)
            for name, value in self.trivial.items()
        )
        if not numbers:
            raise ValueError(f"Trivial predictors have finite scores, got {self.trivial!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        content = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in content.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> About:
        """Rebuild from ``to_dict``.

        Raises:
            StoreError: It is of a newer form, or has not the fields of this one; the message says so.
        """
        if not isinstance(version := data.get("version", VERSION), int) or version > VERSION:
            raise StoreError(
                f"The description of a row has version {version!r}, newer than this Longwave. Upgrade longwave."
            )
        known = {f.name for f in fields(cls)}
        try:
            content: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
            return cls(**content)
        except (TypeError, ValueError) as error:
            raise StoreError(f"The description of a row is damaged: {error}") from None


def list_departures(config: TrialConfig, recipe: Mapping[str, Any], numbers: Collection[str] = ()) -> tuple[str, ...]:
    """Return how a trial's protocol differs from a recipe: ``("epochs 30 (published 400)",)``, or ``(ours 400)``.

    Args:
        config: The trial.
        recipe: Fields of ``tasks.base.spec.Recipe`` by name.
        numbers: Those of the trial's ``params`` that are numbers of training and no parameters of the model.
    """

    def whose(name: str) -> str:
        return "published" if recipe["paper"] and name not in recipe["unstated"] else "ours"

    # A recipe of a store that knew no ``width`` has none.
    names = ("hidden", "width", "batch", "epochs", "steps", "clip", "optimiser", "schedule")
    pairs = {name: (getattr(config, name), recipe.get(name)) for name in names}
    pairs |= {
        name: (config.params.get(name), recipe["numbers"].get(name)) for name in sorted({*recipe["numbers"], *numbers})
    }
    departures = [
        f"{name} {_number_text(here)} ({whose(name)} {_number_text(there)})"
        for name, (here, there) in pairs.items()
        if here != there
    ]
    drops = tuple(d for d in recipe["drops"] if d < config.epochs)
    if config.schedule == "drops" and config.drops != drops:
        departures.append(f"η/10 after epochs {list(config.drops)} ({whose('drops')} {list(recipe['drops'])})")
    return tuple(departures)


def _number_text(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:g}"
