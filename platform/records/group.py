"""What a board is made of: the retrainings of each configuration, and the tally of the search behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from longwave.platform.records.about import About
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig


@dataclass(frozen=True)
class RunSummary:
    """A trial as far as a board needs it, ended or not; metrics in the task's unit, the others as recorded."""

    id: str
    status: str
    test: float | None = None
    valid: float | None = None
    seconds: float = 0.0
    parameters: int | None = None
    joules: float | None = None


@dataclass(frozen=True)
class SearchedTrial:
    """A trial of a search or a race, as far as the choice of a setting needs it."""

    id: str
    row: str
    phase: str
    status: str
    valid: float | None


@dataclass(frozen=True)
class SearchedRange:
    """A range from which a search drew a number.

    Attributes:
        name: Of the number.
        low, high: The smallest and the largest that was drawn.
        log: Whether draws were uniform in its logarithm.
        time_scale: Of the task, in steps, where the range follows from it; 0 where it does not.
    """

    name: str
    low: float
    high: float
    log: bool
    time_scale: int = 0


@dataclass(frozen=True)
class Tally:
    """Search trials behind a choice.

    Attributes:
        trials: How many there are.
        diverged, whole, stopped: How many of them diverged, were trained whole, and were stopped by successive halving;
            the others failed, or have not ended.
        seconds: Of search and race.
    """

    trials: int = 0
    diverged: int = 0
    seconds: float = 0.0
    whole: int = 0
    stopped: int = 0


@dataclass(frozen=True)
class Group:
    """All retrainings of one configuration.

    Attributes:
        config: Of one of them: what they have in common is all but phase, seed and halving.
        about: What explains it to a reader.
        runs: Its retrainings, ended or not, by id, without those that chose it and count no longer.
        search: Search trials of its model and task in the sweeps that planned a retraining.
        sweeps: Names of those sweeps, sorted.
        ways: How those sweeps searched, if they have search trials; see ``search.searched_by`` and ``distinct_ways``.
        environments: Distinct facts on where it ran.
        came: Of its retrainings that were imported, the name of the bundle they came in, by id.
        checks: Of its retrainings that were imported, whether no check raised a flag that bears on them.
        reruns: How re-runs made here, kept as retrainings, stood to it: ``inside``, ``outside`` or ``undecided``.
        task_title: Name of its task in print.
        family: Of its model, where known.
        candidates: Of that search the trials of its own setting, and all trials of the race.
        ranges: From which the numbers of its setting were drawn; of several sweeps and of a second search what all of
            them hold together. Those that are not known are left out.
        drawn: Validation scores of the search trials, None where one has none; empty where no paper prints a number of
            its model on its task.
        superseded: Why it is of an older version than what is trained now; empty if it is not.
        succeeded_by: Rows that were chosen where its search went on, with all of its trials and more.
        rejected_for: Rows whose retrainings validate better, and which a sweep chose instead of it.
    """

    config: TrialConfig
    about: About
    runs: Sequence[RunSummary]
    search: Tally = field(default_factory=Tally)
    sweeps: Sequence[str] = ()
    ways: Sequence[str] = ()
    environments: Sequence[Mapping[str, str]] = ()
    came: Mapping[str, str] = field(default_factory=dict)
    checks: Sequence[bool] = ()
    reruns: Sequence[str] = ()
    task_title: str = ""
    family: str = ""
    candidates: Sequence[SearchedTrial] = ()
    ranges: Sequence[SearchedRange] = ()
    drawn: Sequence[float | None] = ()
    superseded: str = ""
    succeeded_by: Sequence[str] = ()
    rejected_for: Sequence[str] = ()

    @property
    def row(self) -> str:
        """Identity of the configuration."""
        return self.config.row

    @property
    def joules(self) -> float | None:
        """Energy of a retraining; see ``mean_joules``."""
        return mean_joules(self.runs)


@dataclass(frozen=True)
class Pool:
    """Which rows a board ranks against each other.

    Attributes:
        models: Registry keys; none means all.
        min_seeds: Retrainings that ended, ok or diverged, below which a row is left out.
        families: Models of these alone; none means all. With ``models``, both must hold.
        trust: Bundles whose trainings count like those made here, by their full names.
    """

    models: Sequence[str] = ()
    min_seeds: int = 0
    families: Sequence[str] = ()
    trust: Sequence[str] = ()

    def __str__(self) -> str:
        """Return what was left out and who is trusted, as a caption; empty where nothing was filtered."""
        models = [f"models {', '.join(self.models)}"] if self.models else ["models"] if self.families else []
        named = [" of family ".join([*models, " or ".join(self.families)])] if self.families else models
        counted = [f"rows with at least {self.min_seeds} retrainings"] if self.min_seeds else []
        alone = f"Ranked among {' and '.join(named + counted)} alone." if named or counted else ""
        trusted = f"Trusted, as the reader asked: {', '.join(name[:12] for name in self.trust)}." if self.trust else ""
        return " ".join(filter(None, (alone, trusted)))

    def holds(self, model: str, family: str = "") -> bool:
        """Return whether a model of a family belongs to it; one of which no family is known belongs to none."""
        return (not self.models or model in self.models) and (not self.families or family in self.families)


EVERYBODY = Pool()
"""The pool that leaves nobody out."""


def mean_joules(runs: Iterable[RunSummary | Run]) -> float | None:
    """Return the mean energy of those runs of which it is known; None where of none."""
    known = [run.joules for run in runs if run.joules is not None]
    return sum(known) / len(known) if known else None
