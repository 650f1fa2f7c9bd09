"""The description of a row: titles, units, departures from the published recipe, trivial predictors."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from longwave.platform.errors import StoreError
from longwave.platform.records.trial import TrialConfig

VERSION = 2
"""Version of ``About``: bumped when a field is dropped or changes its meaning. Version 1 had no recipe."""
RANGE = re.compile(r" (-?\d+)-(\d+)\b")
"""A range as the value of an option: `` -1-1`` in ``DeltaNet (eigenvalues -1-1)``."""


@dataclass(frozen=True)
class About:
    """What explains a trial's row to a reader but is not part of its identity.

    Attributes:
        task, model: Names in print; the model's with the options that are not the default, see ``model_in_print``.
        metric, unit: The test metric and its unit.
        goal: Whether the metric should be large, ``"max"``, or small, ``"min"``.
        called: Names that published tables give to the model with these options.
        departures: Differences of the protocol from the recipe: ``("epochs 30 (published 400)",)``; ``(ours 400)`` if
            no paper states it.
        trivial: Test metric of each trivial predictor of the task.
        recipe: Source of the task's recipe for the model; empty if not recorded.
        paper: Key of the recipe's paper, as in published numbers; empty if the recipe is ours.
        known: Known differences of papers' protocols from the task and the recipe, in sentences, each with the keys of
            the papers concerned; none means all.
        minor: Those that do not bias the metric, such as a larger test split.
        margin: Ratio of errors within which a published number counts as met.
        floor: Smallest error that counts, in ``unit``: half a test item for an accuracy; 0 if unknown.
        layers: Layers of the model; 0 if not recorded.
        version: Version of this record.

    Raises:
        ValueError: A field has the wrong type, the goal is neither of the two, or a number is impossible.
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
        if not (0 < self.margin < math.inf and 0 <= self.floor < math.inf):
            raise ValueError(
                f"A margin is above 0 and a floor at least 0, both finite, got {self.margin} and {self.floor}."
            )
        if not (self.layers >= 0 and 1 <= self.version <= VERSION):
            raise ValueError(
                f"Layers are at least 0 and the version is 1 to {VERSION}, got {self.layers} and {self.version}."
            )

    @property
    def model_in_print(self) -> str:
        """``model`` with ranges in words: ``DeltaNet (eigenvalues -1 to 1)``. Records keep the options as given."""
        return RANGE.sub(r" \1 to \2", self.model)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        content = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in content.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> About:
        """Rebuild from ``to_dict``.

        Raises:
            StoreError: It has a newer version, or lacks fields; the message says which.
        """
        if not isinstance(version := data.get("version", VERSION), int) or version > VERSION:
            raise StoreError(
                f"The description of a row has version {version!r}, newer than this Longwave. Upgrade longwave."
            )
        names = {f.name for f in fields(cls)}
        try:
            content: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in names}
            return cls(**content)
        except (TypeError, ValueError) as error:
            raise StoreError(f"The description of a row is damaged: {error}") from None


def list_departures(config: TrialConfig, recipe: Mapping[str, Any], numbers: Collection[str] = ()) -> tuple[str, ...]:
    """Return the differences of a trial's protocol from a recipe: ``("epochs 30 (published 400)",)``, or ``(ours
    400)``.

    Args:
        config: The trial.
        recipe: Fields of ``tasks.base.spec.Recipe`` by name.
        numbers: Names in the trial's ``params`` that are parameters of training, not of the model.
    """

    def origin(name: str) -> str:
        return "published" if recipe["paper"] and name not in recipe["unstated"] else "ours"

    # Recipes in older stores have no ``width``.
    names = ("hidden", "width", "batch", "epochs", "steps", "clip", "optimiser", "schedule")
    pairs = {name: (getattr(config, name), recipe.get(name)) for name in names}
    pairs |= {
        name: (config.params.get(name), recipe["numbers"].get(name)) for name in sorted({*recipe["numbers"], *numbers})
    }
    departures = [
        f"{name} {_number_text(actual)} ({origin(name)} {_number_text(expected)})"
        for name, (actual, expected) in pairs.items()
        if actual != expected
    ]
    drops = tuple(d for d in recipe["drops"] if d < config.epochs)
    if config.schedule == "drops" and config.drops != drops:
        factor = config.params.get("drop_factor", 0.1)
        dropped = "η/10" if factor == 0.1 else f"η·{factor:g}"
        departures.append(f"{dropped} after epochs {list(config.drops)} ({origin('drops')} {list(recipe['drops'])})")
    return tuple(departures)


def _number_text(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:g}"
