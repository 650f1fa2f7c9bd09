"""What happened in one training: its epochs, what was measured, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from longwave.platform.records.identity import digest
from longwave.platform.redaction import redact_code, redact_document, redacted

Status = Literal["ok", "diverged", "stopped", "failed"]
ENDED: tuple[Status, ...] = ("ok", "diverged", "stopped", "failed")
"""How a trial can end. Before that its row says ``planned`` or ``running``."""


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

    @classmethod
    def short(cls, trial: str, epoch: int, loss: float, valid: float, seconds: float, at: float) -> Point:
        """Return an epoch whose times have fewer digits, since curves are most of what a bundle holds.

        Seconds taken are whole millionths, the time of the report whole 0.1 ms, both rounded down.
        """
        return cls(trial, epoch, loss, valid, math.floor(seconds * 1e6) / 1e6, math.floor(at * 1e4) / 1e4)


EpochLine = tuple[str, int, float, float, float, float]
"""The fields of a ``Point``, in their order: where there are millions."""


@dataclass(frozen=True)
class Measure:
    """One more number of a run, beside its validation and test metric.

    Attributes:
        key: What is measured: ``"test_accuracy"``.
        unit: Of ``value``.
        value: Finite.
        x_name, x: Where along an axis, if anywhere: ``("length", 512.0)``, ``("depth", 3.0)``, ``("time", 0.5)``.
    """

    key: str
    unit: str
    value: float
    x_name: str = ""
    x: float = 0.0

    def __post_init__(self) -> None:
        if not self.key or not (math.isfinite(self.value) and math.isfinite(self.x)):
            raise ValueError(f"A measure has a key and finite numbers, got {self.key!r}, {self.value}, {self.x}.")


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
        parameters: Trainable parameters.
        environment: Where it ran: machine, versions, commit, kernel path. ``diff`` names the patch, if any.
        joules: The trial's share of the energy its pack took; ``None`` where nothing measured it.
        patch: How the code differed from its commit, as ``git apply`` takes it; the store keeps it once, under the
            name in ``diff``, and does not give it back with the run.
        measures: Further numbers.
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
    patch: str = ""
    measures: tuple[Measure, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Run:
        """Rebuild from what ``dataclasses.asdict`` gives, also after JSON."""
        return cls(**{**data, "measures": tuple(Measure(**m) for m in data.get("measures", ()))})

    def without_secrets(self) -> Run:
        """Return the run as a store takes it: without passwords in its reason, its environment and its patch.

        These are texts of others: of whatever library raised an error, and of code that is not committed.
        """
        facts, patch = redact_document(self.environment), redact_code(self.patch)
        facts |= {"diff": digest({"patch": patch})} if patch != self.patch else {}
        return replace(self, reason=redacted(self.reason), environment=facts, patch=patch)

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
