"""Records read from the store: trials with their status, sweeps with their plan, models and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from longwave.platform.records.about import About
from longwave.platform.records.run import ENDED, Run
from longwave.platform.records.trial import Phase, TrialConfig

LOCAL = ""
"""Origin of a trial that was trained by sweeps and re-runs of this store."""


@dataclass(frozen=True)
class Trial:
    """A trial with its status.

    Attributes:
        status: ``planned``, ``running``, or its outcome.
        pack: Key of its pack.
        origin: Name of the bundle from which it was imported, or ``LOCAL``.
        rerun: Result of a stored re-run against its row: ``inside``, ``outside`` or ``undecided``; else "".
        flags: Flags of that bundle's checks that concern it, or a trial of the same search.
    """

    config: TrialConfig
    about: About
    status: str
    pack: str | None = None
    run: Run | None = None
    ended: datetime | None = None
    origin: str = LOCAL
    rerun: str = ""
    flags: Sequence[str] = ()


@dataclass(frozen=True)
class TrialEnd:
    """The main fields of a trial's outcome; see ``Run``.

    Attributes:
        origin: The bundle that it came with; None if it was trained here.
    """

    status: str
    epochs: int
    best_epoch: int | None
    valid: float | None
    test: float | None
    origin: str | None


@dataclass(frozen=True)
class PlannedTrial:
    """The fields of a sweep's trial that are needed to find what is missing.

    Attributes:
        status, pack: As in ``Trial``.
        valid: Best validation metric, if there is one.
        cell: Number of its cell in the sweep's plan; None for a trial that was added without a plan.
        epochs: Trained epochs, once it has ended.
    """

    id: str
    model: str
    phase: Phase
    status: str
    pack: str | None = None
    valid: float | None = None
    cell: int | None = None
    epochs: int = 0

    @property
    def open(self) -> bool:
        """Whether it has not ended yet."""
        return self.status not in ENDED


@dataclass(frozen=True)
class EpochCounts:
    """Counts of a sweep's trials and epochs, or of one phase of a cell.

    Attributes:
        ended: Number of ended trials.
        trained: Their trained epochs.
        reached: Epochs of open trials so far.
    """

    ended: int = 0
    trained: int = 0
    reached: int = 0

    def __add__(self, other: EpochCounts) -> EpochCounts:
        """Return the sum of both."""
        return EpochCounts(self.ended + other.ended, self.trained + other.trained, self.reached + other.reached)

    @property
    def epochs(self) -> int:
        """Epochs of all trials."""
        return self.trained + self.reached


@dataclass(frozen=True)
class StatusCounts:
    """The trials of a sweep that are of one cell and phase and have one status.

    Attributes:
        cell: Index of the cell; 0 for trials stored without it.
        phase: Of the trials.
        status: Of the trials; ``running`` for planned ones that a live driver trains.
        trials: Their number.
        epochs: Of all of them so far.
    """

    cell: int
    phase: Phase
    status: str
    trials: int
    epochs: int


@dataclass(frozen=True)
class RunningTrial:
    """Progress of a trial in training.

    Attributes:
        trial: Its id.
        owner: Name of its driver.
        since: Unix time of the start of this training.
        first: Epochs at that time, from a checkpoint, or 0.
        last: Epochs so far.
        reported: Unix time of the last epoch; None before the first.
    """

    trial: str
    owner: str
    since: float
    first: int
    last: int
    reported: float | None


@dataclass(frozen=True)
class PackPart:
    """Trials of one pack with the same progress.

    Attributes:
        cell: Index of their cell.
        pack: Key of the pack; empty if they are in none yet.
        status: Their outcome; empty if they have not ended.
        epochs: Epochs of each.
        trials: Number of trials.
        seconds: Share of each in its pack's time; 0 if imported.
    """

    cell: int
    phase: Phase
    pack: str
    status: str
    epochs: int
    trials: int
    seconds: float

    @property
    def open(self) -> bool:
        """Whether they have not ended yet."""
        return not self.status


@dataclass(frozen=True)
class PackAttempt:
    """One training of a pack.

    Attributes:
        pack: Its key.
        started, ended: Unix times; ``ended`` is None during training.
        reported: Unix time of its last epoch; None before the first.
    """

    pack: str
    started: float
    ended: float | None
    reported: float | None


@dataclass(frozen=True)
class SweepCost:
    """The cost of a sweep so far.

    Attributes:
        ran: Total running time of its drivers, in seconds.
        used: Device seconds of its packs, by kind: half a device for two seconds is one.
        expected: Device seconds that probes predicted for finished packs, by kind; under "" the number of packs without
            a prediction.
    """

    ran: float = 0.0
    used: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: SweepCost) -> SweepCost:
        """Return the sum of both."""
        return SweepCost(
            self.ran + other.ran, sum_by_device(self.used, other.used), sum_by_device(self.expected, other.expected)
        )


def sum_by_device(*seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the sum of seconds by kind of device."""
    return {kind: sum(s.get(kind, 0.0) for s in seconds) for kind in sorted({kind for s in seconds for kind in s})}


@dataclass(frozen=True)
class StoredSweep:
    """A sweep in the store.

    Attributes:
        content: The settings in its file.
        plan: Result of ``Sweep.to_dict``; None if imported.
        state: State that its drivers must enter: ``pause``, ``stop``, or empty to continue.
        origin: Name of the bundle that it was imported with; None if it was planned here.
    """

    name: str
    content: Mapping[str, Any]
    plan: Mapping[str, Any] | None = None
    state: str = ""
    origin: str | None = None


@dataclass(frozen=True)
class CatalogueEntry:
    """What pages need of a model or a task's variant, so that readers do not need torch. Written when a sweep is
    planned.

    Attributes:
        kind: ``model`` or ``task``; or ``rules`` of training, if a store uses other than the current ones.
        name: Registry key.
        version: The newest version planned here.
        family: Family of the model or task.
        variant: Variant of a task; empty for a model.
        data: Version of the data of a task's variant.
        facts: Title, source, equation, ranges and options of a model; title, summary, source, loss, metric and sizes of
            a task.
    """

    kind: Literal["model", "task", "rules"]
    name: str
    version: str
    family: str
    variant: str = ""
    data: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
