"""What explains a row to a reader: titles, units, departures from the published recipe, trivial predictors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from longwave.platform.errors import StoreError
from longwave.platform.records.trial import TrialConfig

VERSION = 1
"""Of the form of ``About``: bumped when a field is dropped or changes its meaning."""


@dataclass(frozen=True)
class About:
    """What explains a trial's row to a reader, and is no part of its identity.

    Attributes:
        task, model: Names in print; the model's with the options that are not the default.
        metric, unit: What is measured, and in what.
        goal: Whether it should be large, ``"max"``, or small, ``"min"``.
        published: Names that published tables give to the task's variant.
        called: Names that published tables give to the model with these options.
        departures: How the protocol differs from the recipe: ``("epochs 30 (published 400)",)``.
        trivial: Test metric of each trivial predictor of the task.
        version: Of this form.

    Raises:
        ValueError: A field has not its type, or the goal is neither of the two.
    """

    task: str
    model: str
    metric: str
    unit: str
    goal: str
    published: tuple[str, ...] = ("",)
    called: tuple[str, ...] = ("",)
    departures: tuple[str, ...] = ()
    trivial: Mapping[str, float] = field(default_factory=dict)
    version: int = VERSION

    def __post_init__(self) -> None:
        for name in ("task", "model", "metric", "unit", "goal"):
            if not isinstance(value := getattr(self, name), str):
                raise ValueError(f"What explains a row has a text {name}, got {value!r}.")
        for name in ("published", "called", "departures"):
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
        found = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> About:
        """Rebuild from ``to_dict``.

        Raises:
            StoreError: It is of a newer form, or has not the fields of this one; the message says so.
        """
        if not isinstance(version := data.get("version", VERSION), int) or version > VERSION:
            raise StoreError(
                f"What explains a row has version {version!r}, newer than this Longwave. Upgrade longwave."
            )
        known = {f.name for f in fields(cls)}
        try:
            found: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
            return cls(**found)
        except (TypeError, ValueError) as error:
            raise StoreError(f"What explains a row is damaged: {error}") from None


def departures(config: TrialConfig, recipe: Mapping[str, Any], numbers: Collection[str] = ()) -> tuple[str, ...]:
    """Return how a trial's protocol differs from a recipe: ``("epochs 30 (published 400)",)``, or ``(ours 400)``.

    Args:
        config: The trial.
        recipe: Fields of ``tasks.base.spec.Recipe`` by name.
        numbers: Those of the trial's ``params`` that are numbers of training and no parameters of the model.
    """
    whose = "ours" if "ours" in recipe["source"] else "published"
    names = ("hidden", "batch", "epochs", "steps", "clip", "optimiser", "schedule")
    pairs = {name: (getattr(config, name), recipe[name]) for name in names}
    pairs |= {
        name: (config.params.get(name), recipe["numbers"].get(name)) for name in sorted({*recipe["numbers"], *numbers})
    }
    found = [f"{name} {_shown(here)} ({whose} {_shown(said)})" for name, (here, said) in pairs.items() if here != said]
    drops = tuple(d for d in recipe["drops"] if d < config.epochs)
    if config.schedule == "drops" and config.drops != drops:
        found.append(f"η/10 after epochs {list(config.drops)} ({whose} {list(recipe['drops'])})")
    return tuple(found)


def _shown(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:g}"
