"""The input of a board: retrainings of each configuration, and counts of the search behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from longwave.platform.records.about import About
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.wording import describe_count


@dataclass(frozen=True)
class RunSummary:
    """The fields of a trial that a board needs, ended or not; metrics are in the task's unit."""

    id: str
    status: str
    test: float | None = None
    valid: float | None = None
    seconds: float = 0.0
    parameters: int | None = None
    joules: float | None = None


@dataclass(frozen=True)
class SearchedTrial:
    """The fields of a search or race trial that the choice of a setting needs."""

    id: str
    row: str
    phase: str
    status: str
    valid: float | None


@dataclass(frozen=True)
class SearchedRange:
    """A range from which a search drew a parameter.

    Attributes:
        name: Name of the parameter.
        low, high: Ends of the range.
        log: Whether draws were uniform in the logarithm.
        time_scale: Time scale of the task in steps, if the range follows from it; else 0.
    """

    name: str
    low: float
    high: float
    log: bool
    time_scale: int = 0


@dataclass(frozen=True)
class Tally:
    """Counts of the search trials behind a choice.

    Attributes:
        trials: Their number.
        diverged, whole, stopped: How many diverged, were trained to the last epoch, and were stopped by successive
            halving; the others failed, or have not ended.
        seconds: Time of search and race.
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
        config: Configuration of one of them; they agree in everything except phase, seed and halving.
        about: Description for readers.
        runs: Its retrainings, ended or not, ordered by id, without those that were used to choose it.
        search: Search trials of its model and task in the sweeps that planned a retraining.
        sweeps: Names of those sweeps, sorted.
        ways: How those sweeps searched, if they have search trials; see ``search.searched_by`` and ``distinct_ways``.
        environments: Distinct environments of its retrainings.
        came: Name of the bundle of each imported retraining, by id.
        untrusted_searches: Names of the bundles, which nobody trusts, from which sweeps made here took search trials,
            if no other sweep planned the row.
        checks: For each imported retraining, whether no check raised a flag that affects it.
        reruns: Results of re-runs made here and stored as retrainings: ``inside``, ``outside`` or ``undecided``.
        task_title: Name of its task in print.
        family: Family of its model, if known.
        candidates: Search trials of its setting, and all trials of the race.
        ranges: Ranges from which its parameters were drawn; for several sweeps, or a second search, their hull. Unknown
            ones are left out.
        drawn: Validation scores of the search trials, None for trials without; empty if there is no published number of
            its model on its task.
        superseded: Why its version is older than what is trained now; empty if it is not.
        succeeded_by: Rows chosen by a longer search with all trials of its search.
        rejected_for: Rows that a sweep chose instead, because their retrainings validate better.
    """

    config: TrialConfig
    about: About
    runs: Sequence[RunSummary]
    search: Tally = field(default_factory=Tally)
    sweeps: Sequence[str] = ()
    ways: Sequence[str] = ()
    environments: Sequence[Mapping[str, str]] = ()
    came: Mapping[str, str] = field(default_factory=dict)
    untrusted_searches: Collection[str] = ()
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
    """The rows that a board ranks against each other.

    Attributes:
        models: Registry keys; none means all.
        min_seeds: Least number of retrainings that ended, ok or diverged.
        families: Only models of these families; none means all. Combined with ``models``, both must hold.
        trust: Full names of bundles whose trainings count like those made here.
    """

    models: Sequence[str] = ()
    min_seeds: int = 0
    families: Sequence[str] = ()
    trust: Sequence[str] = ()

    def __str__(self) -> str:
        """Return the filters and trusted bundles as a caption; empty if there are none."""
        models = (
            [f"models {', '.join(dict.fromkeys(self.models))}"] if self.models else ["models"] if self.families else []
        )
        filters = [" of family ".join([*models, " or ".join(self.families)])] if self.families else models
        min_seeds_text = (
            [f"rows with at least {describe_count(self.min_seeds, 'retraining')}"] if self.min_seeds else []
        )
        only = f"Ranked: only {', in '.join(filters + min_seeds_text)}." if filters or min_seeds_text else ""
        trusted = f"Trusted, as the reader asked: {', '.join(name[:12] for name in self.trust)}." if self.trust else ""
        return " ".join(filter(None, (only, trusted)))

    def holds(self, model: str, family: str = "") -> bool:
        """Return whether a model is in the pool; one without a known family matches no family."""
        return (not self.models or model in self.models) and (not self.families or family in self.families)


EVERYBODY = Pool()
"""The pool of all rows."""


def mean_joules(runs: Iterable[RunSummary | Run]) -> float | None:
    """Return the mean energy of the runs for which it is known; None without any."""
    energies = [run.joules for run in runs if run.joules is not None]
    return sum(energies) / len(energies) if energies else None
