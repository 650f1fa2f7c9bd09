"""Read a sweep file: TOML in, a checked ``SweepFile`` out, or one line that says what is wrong and where."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationError,
)

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.sweeps.space import SAMPLERS

UNION_TAGS = ("Range", "float", "constrained-int", "literal['auto']")
"""What pydantic puts into an error's place to say which form of a value it tried; no key of the file."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]


def _known(sampler: str) -> str:
    if sampler not in SAMPLERS:
        raise ValueError(f"must be one of {', '.join(SAMPLERS)}")
    return sampler


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


Checked = TypeVar("Checked", bound=_Strict)


class Range(_Strict):
    """A range to draw a parameter from; ``log`` is the model's own choice unless given."""

    low: float
    high: float
    log: bool | None = None


class Halving(_Strict):
    """Successive halving inside packs: after ``first``, ``first`` · ``eta``, ... epochs the best 1/``eta`` go on."""

    eta: Annotated[int, Field(ge=2)] = 3
    first: PositiveInt = 1


class RecipeChanges(_Strict):
    """What a sweep, or one model of it, may change of the published recipe."""

    hidden: PositiveInt | None = None
    batch: PositiveInt | None = None
    epochs: PositiveInt | None = None
    steps: PositiveInt | None = None
    clip: PositiveFloat | None = None
    drops: list[PositiveInt] | None = None


class SweepFile(RecipeChanges):
    """A sweep as its file says it.

    Attributes:
        name: Names the sweep in the store.
        task, variant: What to train on; the task's default variant if empty.
        models: Which models.
        trials: Search trials a model.
        retrain: Retrainings of each winner, with fresh seeds.
        seed: Decides all draws and seeds of the search.
        sampler: One of Optuna's, by its name in ``space.SAMPLERS``; one that learns does so in ``rounds``.
        pack: Trials a pack; ``auto`` divides the trials over the workers.
        precision: ``float32`` or ``float64``.
        selection: The epoch a retraining is scored at: ``best`` by validation, or ``last``.
        space: By model and parameter: a range, or a number that fixes the parameter.
        model: By model: budget and static choices that differ, ``{"cornn": {"hidden": 24, "damping": "implicit"}}``.
    """

    name: Name
    task: str
    variant: str = ""
    models: Annotated[list[str], Field(min_length=1)]
    trials: PositiveInt
    retrain: Annotated[int, Field(ge=0)] = 5
    seed: Annotated[int, Field(ge=0)] = 0
    sampler: Annotated[str, AfterValidator(_known)] = "random"
    rounds: PositiveInt = 1
    pack: PositiveInt | Literal["auto"] = "auto"
    precision: Literal["float32", "float64"] = "float32"
    selection: Literal["best", "last"] = "best"
    halving: Halving | None = None
    space: dict[str, dict[str, Range | float]] = {}
    model: dict[str, dict[str, Any]] = {}


def read_sweep(path: Path) -> SweepFile:
    """Return the sweep in ``path``.

    Raises:
        ConfigError: The file is missing, is not TOML, or breaks a rule; the message names file, key and rule.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"Cannot read the sweep file {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from None
    return check_sweep(content, str(path))


def check_sweep(content: Mapping[str, Any], origin: str) -> SweepFile:
    """Return the sweep that ``content`` describes; ``origin`` names it in errors.

    Raises:
        ConfigError: As ``read_sweep``.
    """
    return _check(SweepFile, content, origin)


def check_recipe(content: Mapping[str, Any], origin: str) -> RecipeChanges:
    """Return the part of a recipe that ``content`` changes.

    Raises:
        ConfigError: As ``read_sweep``.
    """
    return _check(RecipeChanges, content, origin)


def _check(kind: type[Checked], content: Mapping[str, Any], origin: str) -> Checked:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = [str(part) for part in first["loc"] if part not in UNION_TAGS]
        if first["type"] == "extra_forbidden":
            known = Range.model_fields if len(place) > 1 and place[0] == "space" else kind.model_fields
            raise ConfigError(f"{origin}: {did_you_mean('key', place[-1], known)}") from None
        got = "" if first["type"] == "missing" else f", got {first['input']!r}"
        rule = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{origin}: {'.'.join(place)}: {rule}{got}.") from None
