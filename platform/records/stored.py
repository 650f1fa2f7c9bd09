"""What the store gives back: trials with how they stand, sweeps with their plan, what is known of models and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from longwave.platform.records.about import About
from longwave.platform.records.run import ENDED, Run
from longwave.platform.records.trial import Phase, TrialConfig

LOCAL = ""
"""Origin of a trial that was trained by this store's own sweeps and re-runs."""


@dataclass(frozen=True)
class Trial:
    """A trial, with how it stands.

    Attributes:
        status: ``planned``, ``running``, or how it ended.
        pack: Key of the pack it belongs to.
        origin: Name of the bundle it was imported in, or ``LOCAL``.
        rerun: Of a re-run that was kept, how it stood to its row: ``inside``, ``outside`` or ``undecided``; else "".
        flags: What checks of that bundle object to in it, or against one that was searched with it.
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
    """How a trial stands, in short: see ``Run``."""

    status: str
    epochs: int
    best_epoch: int | None
    valid: float | None
    test: float | None


@dataclass(frozen=True)
class PlannedTrial:
    """A trial of a sweep in short: what it takes to find what is missing.

    Attributes:
        status, pack: As in ``Trial``.
        valid: Best validation metric, if there is one.
        cell: Number of its cell in the sweep's plan; None of a trial that was added without a plan.
        epochs: Epochs that it was trained, once it has ended.
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
    """What there is of a sweep's trials, or of those of one phase of a cell.

    Attributes:
        ended: How many have ended.
        trained: Epochs that these were trained.
        reached: Epochs that the open ones have.
    """

    ended: int = 0
    trained: int = 0
    reached: int = 0

    def __add__(self, other: EpochCounts) -> EpochCounts:
        """Return the sum of both."""
        return EpochCounts(self.ended + other.ended, self.trained + other.trained, self.reached + other.reached)

    @property
    def epochs(self) -> int:
        """Epochs of all."""
        return self.trained + self.reached


@dataclass(frozen=True)
class RunningTrial:
    """How far a trial is that is trained now.

    Attributes:
        trial: Its id.
        owner: Name of its driver.
        since: Unix time at which this training of it began.
        first: Epochs that it had then: of a checkpoint, or 0.
        last: Epochs it has.
        reported: Unix time of the last of them; None before the first.
    """

    trial: str
    owner: str
    since: float
    first: int
    last: int
    reported: float | None


@dataclass(frozen=True)
class PackPart:
    """Trials of one pack that have come equally far.

    Attributes:
        cell: Index of their cell.
        pack: Key of the pack; empty while they are in none.
        status: How they ended; empty while they have not.
        epochs: Epochs that each of them has.
        trials: How many they are.
        seconds: The share of each in its pack's time; 0 if they were imported.
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
    """One time that a pack was trained.

    Attributes:
        pack: Its key.
        started, ended: Unix times; ``ended`` is None while it is trained.
        reported: Unix time of its last epoch; None before the first.
    """

    pack: str
    started: float
    ended: float | None
    reported: float | None


@dataclass(frozen=True)
class SweepCost:
    """What a sweep has taken.

    Attributes:
        ran: Seconds that its drivers ran, summed.
        used: Seconds that its packs held devices, by kind: half of one for two seconds is one.
        expected: What probes said of the packs that are over; under "" of how many they said nothing.
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
    """Return for each kind of device the sum of its seconds."""
    return {kind: sum(s.get(kind, 0.0) for s in seconds) for kind in sorted({kind for s in seconds for kind in s})}


@dataclass(frozen=True)
class StoredSweep:
    """A sweep as the store has it.

    Attributes:
        content: The settings its file says.
        plan: What ``sweeps.plan.Sweep.to_dict`` gives; None for one that was imported.
        state: What its drivers are to do: ``pause``, ``stop``, or go on where it is empty.
    """

    name: str
    content: Mapping[str, Any]
    plan: Mapping[str, Any] | None = None
    state: str = ""


@dataclass(frozen=True)
class CatalogueEntry:
    """What pages need of a model or of a task's variant, so that no reader needs torch. Planning a sweep writes it.

    Attributes:
        kind: ``model`` or ``task``; ``rules``, those of training, where a store is to take other than the present ones.
        name: Registry key.
        version: The newest that planned here.
        family: The idea behind it.
        variant: Of a task; empty for a model.
        data: Of a task's variant, the version of its data.
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
