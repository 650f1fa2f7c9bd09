"""The record of one training: its epochs, measures and outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from longwave.platform.records.identity import digest
from longwave.platform.redaction import redact_code, redact_document, redacted

Status = Literal["ok", "diverged", "stopped", "failed"]
ENDED: tuple[Status, ...] = ("ok", "diverged", "stopped", "failed")
"""Outcomes of a trial; before that its status is ``planned`` or ``running``."""


@dataclass(frozen=True)
class Point:
    """One epoch of one trial.

    Attributes:
        trial: Trial id.
        epoch: From 1.
        loss: Mean training loss of the epoch, as trained.
        valid: Validation metric after the epoch, in the task's unit.
        seconds: The trial's share of its pack's time so far.
        at: Unix time of the report, for display and MLflow.
    """

    trial: str
    epoch: int
    loss: float
    valid: float
    seconds: float
    at: float

    @classmethod
    def short(cls, trial: str, epoch: int, loss: float, valid: float, seconds: float, at: float) -> Point:
        """Return an epoch whose times have fewer digits, because curves are most of a bundle. ``seconds`` is rounded
        down to 1 µs, and ``at`` to 0.1 ms.
        """
        return cls(trial, epoch, loss, valid, math.floor(seconds * 1e6) / 1e6, math.floor(at * 1e4) / 1e4)


EpochLine = tuple[str, int, float, float, float, float]
"""The fields of a ``Point`` in order, as a tuple, because there are millions."""


@dataclass(frozen=True)
class Measure:
    """A further number of a run, besides its validation and test metric.

    Attributes:
        key: What is measured: ``"test_accuracy"``.
        unit: Unit of ``value``.
        value: Finite.
        x_name, x: Position along an axis, if any: ``("length", 512.0)``, ``("depth", 3.0)``, ``("time", 0.5)``.
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
    """The outcome of one trial. Written once, never changed.

    Attributes:
        trial: Trial id.
        status: ``ok``; ``diverged``: a loss or metric that is not finite; ``stopped``: by successive halving;
            ``failed``: an error, with its reason.
        reason: Why it is not ``ok``; empty otherwise.
        epochs: Epochs trained.
        best_epoch: The selected epoch, that of the best validation metric or the last: see ``TrialConfig.selection``;
            ``None`` if there was none.
        valid: Validation metric at that epoch, in the task's unit.
        test: Test metric at the selected epoch; only for retrainings that ended ``ok``.
        seconds: The trial's share of its pack's time.
        members: Trials the pack started with.
        parameters: Trainable parameters.
        environment: Machine, versions, commit and kernel path. ``diff`` names the patch, if any.
        joules: The trial's share of its pack's energy; ``None`` if not measured.
        patch: Uncommitted changes of the code, for ``git apply``; stored once, under the name in ``diff``, and not read
            back with the run.
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
        """Rebuild from ``dataclasses.asdict``, also after JSON."""
        return cls(**{**data, "measures": tuple(Measure(**m) for m in data.get("measures", ()))})

    def without_secrets(self) -> Run:
        """Return the run for a store: without passwords in its reason, environment and patch. These are foreign texts:
        errors of any library, and uncommitted code.
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
