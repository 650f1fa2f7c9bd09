"""What is asked of one training. Frozen, plain data, named by its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from longwave.platform.records.identity import digest

Phase = Literal["search", "retrain"]


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
