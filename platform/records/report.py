"""What a pack reports of its training at once, and what it gets of the trials it competes with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from longwave.platform.records.probe import Probe
from longwave.platform.records.run import Point, Run

Ending = Literal["over", "paused", "died"]
"""How a pack's work ended: nothing is left to do; it goes on later from its checkpoint; its worker is gone."""


@dataclass(frozen=True)
class Rung:
    """A trial at a rung of successive halving, or where a pruner is asked.

    Attributes:
        cohort: Name of the trials that compete.
        epoch: The rung.
        trial: Trial id.
        valid: What it is ranked by: its best validation metric so far, or with ``selection="last"`` and for a pruner
            the present one; in the task's unit.
        stays: Whether it goes on; None until the whole cohort's scores are known.
    """

    cohort: str
    epoch: int
    trial: str
    valid: float
    stays: bool | None = None


@dataclass(frozen=True)
class Report:
    """What a pack reports at once. Taking the same twice must change nothing.

    Attributes:
        points: Epochs.
        runs: Ends.
        rungs: Scores at rungs of successive halving, and what was decided there.
        began: For each trial the last epoch that stands: that of the checkpoint, 0 anew. Every training that starts
            or goes on says it first; what an earlier one said of later epochs is superseded.
        probes: Packs that memory ran out for.
        notices: Lines to show to whoever runs the sweep.
        slowest: Seconds of the longest step so far.
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
        """Whether it says no more than that its pack makes steps."""
        return not (self.points or self.runs or self.rungs or self.began or self.probes or self.notices)

    @property
    def trials(self) -> set[str]:
        """Ids of the trials it is about."""
        return {row.trial for rows in (self.points, self.runs, self.rungs) for row in rows} | set(self.began)

    def __add__(self, later: Report) -> Report:
        """Return both as one; of two words on one trial at one rung the later."""
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
        """Return what it says of some trials."""
        wanted = set(trials)
        return Report(
            [p for p in self.points if p.trial in wanted],
            [r for r in self.runs if r.trial in wanted],
            [r for r in self.rungs if r.trial in wanted],
            {trial: epoch for trial, epoch in self.began.items() if trial in wanted},
            self.probes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON data; see ``from_dict``."""
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
    """What is known of the trials that compete in successive halving when one of their packs starts.

    Attributes:
        cohort: Its name.
        members: The ids of all its trials.
        gone: Trials that ended, with the epochs they trained.
        rungs: As recorded.
    """

    cohort: str
    members: tuple[str, ...]
    gone: Mapping[str, int]
    rungs: tuple[Rung, ...] = ()

    def after(self, report: Report) -> Cohort:
        """Return what is known after a report. A score or a decision that is known already stands as it is."""
        if not report.runs and not report.rungs:
            return self
        rungs = {(r.epoch, r.trial): r for r in self.rungs}
        for new in report.rungs:
            old = rungs.setdefault((new.epoch, new.trial), new)
            if old.stays is None:
                rungs[new.epoch, new.trial] = replace(old, stays=new.stays)
        gone = {**self.gone, **{r.trial: r.epochs for r in report.runs}}
        return replace(self, gone=gone, rungs=tuple(rungs.values()))


def split_reports(reports: Sequence[Report]) -> Iterator[list[Report]]:
    """Yield reports in their order, divided so that those of a part may be written as one.

    None of them begins a trial anew that an earlier one reports on, or reports on a trial that an earlier one ended.
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
