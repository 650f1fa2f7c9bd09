"""The records that travel through Longwave: what was asked, what happened. Frozen, plain data, content-addressed.

TrialConfig (asked)  ->  Point (each epoch), Run (once, at the end)  ->  board rows
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Phase = Literal["search", "retrain"]
Status = Literal["ok", "diverged", "stopped", "failed"]
ENDED: tuple[Status, ...] = ("ok", "diverged", "stopped", "failed")
"""How a trial can end. Before that its row says ``planned`` or ``running``."""


def canonical(content: object) -> str:
    """Return JSON that depends on the content alone, not on key order; what is not finite is a ValueError."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(content: object) -> str:
    """Return the SHA-256 of the canonical JSON of ``content``, 64 hex digits."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def digest(content: object) -> str:
    """Return the first 16 digits of ``sha256``."""
    return sha256(content)[:16]


def derive_seed(*parts: object) -> int:
    """Return a seed in [0, 2³¹) that depends on ``parts`` alone; other parts give unrelated seeds."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) >> 1


@dataclass(frozen=True)
class TrialConfig:
    """Everything that decides the result of one training. Equal configs have equal ids.

    Attributes:
        task, variant: Registry key of the task and its form.
        data: Version of the data: hash of the tensors fed.
        model, options: Registry key of the model and its static choices.
        params: Learning rate and the model's parameters by name: ``{"lr": 0.01, "dt": 0.5}``.
        hidden: Hidden size d, features.
        batch: Sequences a step.
        epochs: Passes over the training split, or blocks of ``steps`` of a stream.
        steps: Steps an epoch of a stream; ``None`` for a training split.
        drops: Epochs after which the learning rate is divided by 10.
        clip: Largest gradient norm; ``None`` means no clipping.
        optimiser: Always ``"adam"``.
        precision: ``"float32"`` or ``"float64"``.
        selection: The epoch a retraining is scored at: ``"best"`` by validation, or ``"last"``.
        halving: ``{"eta", "first", "cohort"}`` of successive halving, or ``None``. The cohort names the trials it
            competes with: their company decides whether it is stopped.
        phase: ``"search"`` never sees test data; ``"retrain"`` repeats a winner with a fresh seed.
        seed: Seeds initial weights and data order.
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
    steps: int | None = None
    drops: tuple[int, ...] = ()
    clip: float | None = None
    optimiser: str = "adam"
    precision: str = "float32"
    selection: str = "best"
    halving: Mapping[str, Any] | None = None

    @property
    def id(self) -> str:
        """Identity of the trial: 16 hex digits of the SHA-256 of its content."""
        return digest(self.to_dict())

    @property
    def row(self) -> str:
        """Identity of the configuration, equal for all its retrainings: the content without phase and seed."""
        return digest({k: v for k, v in self.to_dict().items() if k not in ("phase", "seed", "halving")})

    @property
    def shape(self) -> str:
        """Equal for trials that can train in one pack: the content without the parameters' values and the seed."""
        return digest({**self.to_dict(), "params": sorted(self.params), "seed": 0})

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        return {**asdict(self), "drops": list(self.drops)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrialConfig:
        """Rebuild from ``to_dict``; an unknown key is a TypeError."""
        return cls(**{**data, "drops": tuple(data["drops"])})


@dataclass(frozen=True)
class Point:
    """One epoch of one trial.

    Attributes:
        trial: Trial id.
        epoch: From 1.
        loss: Mean training loss of the epoch, as trained.
        valid: Validation metric after the epoch, in the task's unit.
        seconds: The trial's share of its pack's time so far.
        at: Unix time of the report; for display and for MLflow.
    """

    trial: str
    epoch: int
    loss: float
    valid: float
    seconds: float
    at: float


@dataclass(frozen=True)
class Run:
    """How one trial ended. Written once, never changed.

    Attributes:
        trial: Trial id.
        status: ``ok``; ``diverged``: a loss or metric that is not finite; ``stopped``: by successive halving;
            ``failed``: an error, with its reason.
        reason: Why it is not ``ok``; empty otherwise.
        epochs: Epochs trained.
        best_epoch: Epoch of the best validation metric; ``None`` if there was none.
        valid: Best validation metric, in the task's unit.
        test: Test metric at the selected epoch; only for retrainings that ended ``ok``.
        seconds: The trial's share of its pack's time.
        members: Trials the pack started with.
        parameters: Trainable numbers.
        environment: Machine, versions, commit, kernel path.
        joules: The trial's share of the energy its pack took; ``None`` where nothing measured it.
    """

    trial: str
    status: Status
    reason: str = ""
    epochs: int = 0
    best_epoch: int | None = None
    valid: float | None = None
    test: float | None = None
    seconds: float = 0.0
    members: int = 1
    parameters: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    joules: float | None = None

    def __post_init__(self) -> None:
        if self.status not in ENDED:
            raise ValueError(f"Trial {self.trial}: a status is one of {', '.join(ENDED)}, got {self.status!r}.")
        if (self.status == "ok") == bool(self.reason):
            raise ValueError(
                f"Trial {self.trial}: give a reason exactly when not ok, got {self.status=}, {self.reason=}."
            )
        if self.status == "ok" and self.valid is None:
            raise ValueError(f"Trial {self.trial}: an ok trial has a validation metric.")
        if self.status != "ok" and self.test is not None:
            raise ValueError(f"Trial {self.trial}: a trial that is not ok has no test metric, got {self.test}.")
        for name in ("valid", "test"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"Trial {self.trial}: {name} must be finite, got {value}; record it as diverged.")
