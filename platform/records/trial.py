"""The configuration of one training: frozen, plain data, identified by a hash of its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, Literal

from longwave.platform.errors import StoreError
from longwave.platform.records.identity import digest

Phase = Literal["search", "race", "retrain"]
Precision = Literal["float32", "float64", "bfloat16"]
PROTOCOL = "1"
"""Version of the training rules. Bump it when a change of order, clipping, optimiser, halving or selection changes
results."""
SIZES = ("hidden", "width", "batch", "epochs", "steps")
WORDS = ("optimiser", "schedule")
FIELDS = (*SIZES, "clip", *WORDS)
"""Fields that a sweep may fix, vary in a grid or search; all other searched values are in ``params``."""
OF_ONE_TRIAL = ("phase", "seed", "halving")
"""Fields in which the retrainings of a configuration differ, so that they are not part of it."""
ALWAYS = {"hashed": MISSING}
"""Metadata of a field that every identity includes, even at its default."""


@dataclass(frozen=True)
class TrialConfig:
    """Everything that decides the result of one training. Equal configs have equal ids.

    A new field needs a default, and changes no id, because an identity includes only what differs from the defaults. If
    a default changes, put its old value into the field's metadata as ``hashed``, so that no identity changes, and bump
    ``PROTOCOL``.

    Attributes:
        task, variant: Registry key of the task and its form.
        data: Version of the data: hash of the input and target tensors.
        model, options: Registry key of the model, and its options that are not the default.
        params: Learning rate and the model's parameters by name: ``{"lr": 0.01, "dt": 0.5}``; and training parameters
            that differ from their defaults: ``{"momentum": 0.9}``.
        hidden: Hidden size d, features.
        batch: Sequences per step.
        epochs: Passes over the training split; of a task that draws fresh examples, blocks of ``steps`` steps.
        phase: ``"search"`` and ``"race"``, in which finalists of a search train with fresh seeds, never see test data;
            ``"retrain"`` repeats the winner with new seeds.
        seed: Seeds initial weights and data order.
        task_version: Version of the task: its loss, metric and split rules.
        model_version: Version of the model.
        protocol: Version of the training rules.
        steps: Steps per epoch of a task that draws fresh examples; ``None`` for others.
        drops: Epochs after which the learning rate drops, by default to a tenth.
        clip: Largest gradient norm; ``None`` means no clipping.
        optimiser: ``"adam"``, ``"sgd"``, ...
        precision: ``"float32"``, ``"float64"``, or ``"bfloat16"``: float32, except that a fused loop on a GPU stores
            the drive and the values saved for the backward pass in bfloat16.
        selection: Epoch at which a retraining is scored: ``"best"`` by validation, or ``"last"``.
        halving: ``{"eta", "first", "cohort"}`` of successive halving, or ``None``. The cohort names the trials it
            competes with: the other members decide whether it is stopped. With ``"gate"``, a validation score, and
            ``"gate_most"`` a rung stops trials by their scores only where a quarter of them beat the gate. Or
            ``{"pruner", "first", "every", "offset", "cohort"}``: one of Optuna's pruners decides, at the epochs that
            ``pruning_epochs`` says.
        schedule: Learning rate schedule: ``"drops"``, ``"cosine"``, ...
        width: Features between residual blocks; ``None`` for the hidden size, and without blocks.
    """

    task: str
    variant: str
    data: str
    model: str
    options: Mapping[str, str | int | bool]
    params: Mapping[str, float]
    hidden: int
    batch: int
    epochs: int
    phase: Phase
    seed: int
    task_version: str = field(kw_only=True)
    model_version: str = field(kw_only=True)
    protocol: str = field(default=PROTOCOL, kw_only=True, metadata=ALWAYS)
    steps: int | None = None
    drops: tuple[int, ...] = ()
    clip: float | None = None
    optimiser: str = "adam"
    precision: str = "float32"
    selection: str = "best"
    halving: Mapping[str, Any] | None = None
    schedule: str = "drops"
    width: int | None = None

    @cached_property
    def id(self) -> str:
        """Identity of the trial: 16 hex digits of the SHA-256 of its content."""
        return digest(self.to_dict())

    @cached_property
    def row(self) -> str:
        """Identity of the configuration, equal for all its retrainings: the content without phase, seed and halving."""
        return digest({k: v for k, v in self.to_dict().items() if k not in OF_ONE_TRIAL})

    @cached_property
    def shape(self) -> str:
        """Equal for trials that can train in one pack: the content without seed, drops and values of parameters."""
        free = {"params": sorted(self.params), "seed": 0, "drops": 0, "clip": self.clip is None}
        return digest({**self.to_dict(), **free})

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that the identity includes, those that differ from defaults, as plain JSON data."""
        defaults = self._left_out().items()
        return {name: plain for name, default in defaults if (plain := _plain_value(getattr(self, name))) != default}

    def in_full(self) -> dict[str, Any]:
        """Return the full configuration with defaults, without ``OF_ONE_TRIAL``, as plain JSON data."""
        return {name: _plain_value(getattr(self, name)) for name in self._left_out() if name not in OF_ONE_TRIAL}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrialConfig:
        """Rebuild from ``to_dict``.

        Raises:
            StoreError: It has an unknown field, or lacks one; the message says which.
        """
        defaults = cls._left_out()
        if unknown := sorted(data.keys() - defaults.keys()):
            raise StoreError(f"A trial has a field {unknown[0]!r} that this Longwave does not know. Upgrade longwave.")
        content = {**defaults, **data}
        if absent := [name for name, value in content.items() if value is MISSING]:
            raise StoreError(f"A trial has no field {absent[0]!r}: its record is damaged.")
        return cls(**{**content, "drops": tuple(content["drops"])})

    @classmethod
    @cache
    def _left_out(cls) -> dict[str, Any]:
        """Return the value of each field at which an identity omits it; cached, because there are many trials."""
        return {f.name: default_of(f) for f in fields(cls)}


def cohort_key(members: Sequence[TrialConfig]) -> str:
    """Return the name of trials that compete in successive halving: a hash of their ids without the cohort."""
    return digest([replace(c, halving=None).id for c in members])


def default_of(config_field: Field[Any]) -> Any:
    """Return the value at which an identity omits a field, as JSON data; MISSING if it includes every value."""
    value = config_field.metadata.get("hashed", config_field.default)
    return value if value is MISSING else _plain_value(value)


def _plain_value(value: Any) -> Any:
    """Return a field's value as JSON data."""
    if value is None or isinstance(value, str | int | float):  # the common case, and isinstance with Mapping is slow
        return value
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
