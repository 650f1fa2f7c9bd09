"""Records as rows of the store, and back: the one place that knows how a trial lies in its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from longwave.platform.records.about import About
from longwave.platform.records.identity import digest
from longwave.platform.records.run import ENDED, Measure, Run
from longwave.platform.records.stored import HERE, Known, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.schema import Base, EnvironmentRow, KnownRow, MeasureRow, PatchRow, TrialRow

ELSEWHERE = ("trial", "environment", "patch", "measures")
"""Fields of a run that are no columns of its trial: its key, and what tables of their own hold."""
OF_RUN = tuple(f.name for f in fields(Run) if f.name not in ELSEWHERE)
"""Fields of a run that are columns of its trial, under the same names."""


def planned(trials: Iterable[tuple[TrialConfig, About]]) -> list[dict[str, Any]]:
    """Return the rows of trials that are asked for; those with one explanation share it."""
    blank = {"status": "planned", "reason": "", "epochs": 0, "seconds": 0.0, "members": 1, "rerun": ""}
    found, abouts = [], dict[int, dict[str, Any]]()
    for config, about in trials:
        columns = {name: getattr(config, name) for name in ("id", "task", "model", "phase", "row")}
        if id(about) not in abouts:
            abouts[id(about)] = about.to_dict()
        found.append({**columns, "config": config.to_dict(), "about": abouts[id(about)], **blank})
    return found


def asks(
    sweep: str, trials: Sequence[str], cells: Sequence[int | None] | None = None, start: int = 0
) -> list[dict[str, Any]]:
    """Return the rows that say a sweep asked for trials, in order, each in a cell of its plan."""
    return [
        {"sweep": sweep, "trial": trial, "position": start + k, "cell": cell}
        for k, (trial, cell) in enumerate(zip(trials, cells or [None] * len(trials), strict=True))
    ]


def competing(trials: Sequence[TrialConfig]) -> list[dict[str, Any]]:
    """Return the rows that say which cohorts trials compete in."""
    return [
        {"cohort": c.halving["cohort"], "epoch": 0, "trial": c.id, "valid": None, "stays": None}
        for c in trials
        if c.halving
    ]


def ended(run: Run) -> dict[str, Any]:
    """Return the columns that a trial's end fills, but for the time."""
    return {**{name: getattr(run, name) for name in OF_RUN}, "environment": place(run)}


def whole(trial: Trial) -> dict[str, Any]:
    """Return the row of a trial that ended elsewhere."""
    assert trial.run
    came = {"origin": trial.origin or None, "rerun": trial.rerun, "ended": trial.ended}
    [row] = planned([(trial.config, trial.about)])
    return {**row, **ended(trial.run), **came}


def flags(trials: Iterable[Trial]) -> list[dict[str, Any]]:
    """Return the rows that say which trials are flagged."""
    return [{"trial": trial.config.id, "told": "\n".join(trial.flags)} for trial in trials if trial.flags]


def beside(runs: Iterable[Run]) -> list[tuple[type[Base], list[dict[str, Any]]]]:
    """Return the rows of other tables that runs bring, by table: where they were, patches, measures."""
    kept = list(runs)
    places = {key: {"id": key, "facts": dict(run.environment)} for run in kept if (key := place(run))}
    patches = {run.environment["diff"]: run.patch for run in kept if run.patch}
    measures = [{"trial": run.trial, **asdict(measure)} for run in kept for measure in run.measures]
    return [
        (EnvironmentRow, list(places.values())),
        (PatchRow, [{"id": key, "text": text} for key, text in patches.items()]),
        (MeasureRow, measures),
    ]


def place(run: Run) -> str | None:
    """Return the name of where a run was: the hash of the facts about it; None without any."""
    return digest(dict(run.environment)) if run.environment else None


def trial(
    row: TrialRow, facts: Mapping[str, str] | None, measures: Sequence[Measure] = (), flags: str | None = None
) -> Trial:
    """Return a trial, given its row, where it ran, its measures and what its flags say."""
    run = None
    if row.status in ENDED:
        columns = {name: getattr(row, name) for name in OF_RUN}
        run = Run(trial=row.id, environment=facts or {}, measures=tuple(measures), **columns)
    config, about = TrialConfig.from_dict(row.config), About.from_dict(row.about)
    came = (row.origin or HERE, row.rerun, tuple(flags.split("\n")) if flags else ())
    return Trial(config, about, row.status, row.pack, run, row.ended, *came)


def measure(row: MeasureRow) -> Measure:
    """Return a measure from its row."""
    return Measure(row.key, row.unit, row.value, row.x_name, row.x)


def known(row: KnownRow) -> Known:
    """Return what is known of a model or a task from its row."""
    return Known(**{f.name: getattr(row, f.name) for f in fields(Known)})
