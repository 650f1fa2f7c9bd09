"""Reports of packs on their training, and what packs know of competing trials."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from longwave.platform.records.probe import Probe
from longwave.platform.records.run import Point, Run

Ending = Literal["over", "paused", "died"]
"""How a pack's work ended: finished; paused at a checkpoint, to be continued later; or its worker died."""


@dataclass(frozen=True)
class Rung:
    """A trial at a rung of successive halving, or at an epoch of a pruner.

    Attributes:
        cohort: Name of the trials that compete.
        epoch: The rung.
        trial: Trial id.
        valid: Score for its rank: its best validation metric so far, or with ``selection="last"`` and for a pruner the
            current one; in the task's unit.
        stays: Whether it continues; None until all scores of the cohort are known.
    """

    cohort: str
    epoch: int
    trial: str
    valid: float
    stays: bool | None = None


@dataclass(frozen=True)
class Report:
    """One report of a pack. Recording it twice must change nothing.

    Attributes:
        points: Epochs.
        runs: Outcomes of trials.
        rungs: Scores and decisions at rungs of successive halving.
        began: Last valid epoch of each trial when a training starts or continues: that of its checkpoint, or 0. It
            supersedes earlier reports of later epochs.
        probes: Packs that ran out of memory.
        notices: Messages for the user.
        slowest: Longest step so far, in seconds.
    """

    points: Sequence[Point] = ()
    runs: Sequence[Run] = ()
    rungs: Sequence[Rung] = ()
    began: Mapping[str, int] = field(default_factory=dict)
    probes: Sequence[Probe] = ()
    notices: Sequence[str] = ()
    slowest: float = 0.0

    @property
    def is_sign(self) -> bool:
        """Whether it only reports that the pack makes progress."""
        return not (self.points or self.runs or self.rungs or self.began or self.probes or self.notices)

    @property
    def trials(self) -> set[str]:
        """Ids of the trials it is about."""
        return {row.trial for rows in (self.points, self.runs, self.rungs) for row in rows} | set(self.began)

    def __add__(self, later: Report) -> Report:
        """Return both reports as one; for a trial at a rung the later one counts."""
        rungs = {(r.epoch, r.trial): r for r in (*self.rungs, *later.rungs)}
        return Report(
            (*self.points, *later.points),
            (*self.runs, *later.runs),
            tuple(rungs.values()),
            {**self.began, **later.began},
            (*self.probes, *later.probes),
            (*self.notices, *later.notices),
            max(self.slowest, later.slowest),
        )

    def of(self, trials: Collection[str]) -> Report:
        """Return the report restricted to some trials."""
        ids = set(trials)
        return Report(
            [p for p in self.points if p.trial in ids],
            [r for r in self.runs if r.trial in ids],
            [r for r in self.rungs if r.trial in ids],
            {trial: epoch for trial, epoch in self.began.items() if trial in ids},
            self.probes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        return {
            "points": [vars(p) for p in self.points],
            "runs": [asdict(r) for r in self.runs],
            "rungs": [asdict(r) for r in self.rungs],
            "began": dict(self.began),
            "probes": [asdict(p) for p in self.probes],
            "notices": list(self.notices),
            "slowest": self.slowest,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """Rebuild from ``to_dict``, also after JSON."""
        return cls(
            [Point(**p) for p in data["points"]],
            [Run.from_dict(r) for r in data["runs"]],
            [Rung(**r) for r in data["rungs"]],
            data["began"],
            [Probe(**p) for p in data["probes"]],
            tuple(data.get("notices", ())),
            data.get("slowest", 0.0),
        )


@dataclass(frozen=True)
class Cohort:
    """The trials that compete in successive halving, as known when one of their packs starts.

    Attributes:
        cohort: Its name.
        members: The ids of all its trials.
        gone: Trials that ended, with their trained epochs.
        rungs: Recorded scores and decisions.
        scores: Validation scores of the trials that ended normally: completed, solved, or out of patience.
    """

    cohort: str
    members: tuple[str, ...]
    gone: Mapping[str, int]
    rungs: tuple[Rung, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)

    def after(self, report: Report) -> Cohort:
        """Return the cohort after a report; known scores and decisions are not changed."""
        if not report.runs and not report.rungs:
            return self
        rungs = {(r.epoch, r.trial): r for r in self.rungs}
        for rung in report.rungs:
            known = rungs.setdefault((rung.epoch, rung.trial), rung)
            if known.stays is None:
                rungs[rung.epoch, rung.trial] = replace(known, stays=rung.stays)
        gone = {**self.gone, **{r.trial: r.epochs for r in report.runs}}
        scores = {r.trial: r.valid for r in report.runs if r.status == "ok" and r.valid is not None}
        return replace(self, gone=gone, rungs=tuple(rungs.values()), scores={**self.scores, **scores})


def split_reports(reports: Sequence[Report]) -> Iterator[list[Report]]:
    """Yield reports in order, in parts that can each be written at once. Within a part, no report restarts a trial that
    an earlier one reports on, or reports on a trial that an earlier one ended.
    """
    part: list[Report] = []
    reported: set[str] = set()
    ended: set[str] = set()
    for report in reports:
        if reported & report.began.keys() or ended & report.trials:
            yield part
            part, reported, ended = [], set(), set()
        part.append(report)
        reported |= report.trials
        ended |= {run.trial for run in report.runs}
    if part:
        yield part
