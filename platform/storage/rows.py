"""Converts records to rows of the store and back. Only this module knows which tables and columns hold a trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any

from longwave.platform.records.about import About
from longwave.platform.records.identity import digest
from longwave.platform.records.run import ENDED, Measure, Run
from longwave.platform.records.stored import LOCAL, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.schema import TrialRow
from longwave.platform.storage.texts import escape_unstorable

ELSEWHERE = ("trial", "environment", "patch", "measures")
"""Fields of a run that are not columns of its trial: its key, and those that have their own tables."""
OF_RUN = tuple(f.name for f in fields(Run) if f.name not in ELSEWHERE)
"""Fields of a run that are columns of its trial, under the same names."""
ValueRows = list[dict[str, Any]]


def planned_trials(trials: Iterable[tuple[TrialConfig, About]]) -> ValueRows:
    """Return the rows of trials without a record; trials with the same description share one object."""
    rows, abouts = ValueRows(), dict[int, dict[str, Any]]()
    for config, about in trials:
        columns = {name: getattr(config, name) for name in ("id", "task", "model", "phase", "row")}
        if id(about) not in abouts:
            abouts[id(about)] = about.to_dict()
        rows.append({**columns, "config": config.to_dict(), "about": abouts[id(about)]})
    return rows


def ended_trials(trials: Iterable[Trial]) -> ValueRows:
    """Return the rows of trials with their records."""
    rows = ValueRows()
    trials = list(trials)
    for row, trial in zip(planned_trials((t.config, t.about) for t in trials), trials, strict=True):
        assert trial.run
        provenance = {"origin": trial.origin or None, "rerun": trial.rerun, "ended": trial.ended}
        rows.append({**row, **columns_of_end(trial.run), **provenance})
    return rows


def columns_of_end(run: Run) -> dict[str, Any]:
    """Return the columns that a trial's end fills, except its time."""
    return {**{name: getattr(run, name) for name in OF_RUN}, "environment": environment_id(run)}


def trials_of_sweep(
    sweep: str, trials: Sequence[str], cells: Sequence[int | None] | None = None, start: int = 0
) -> ValueRows:
    """Return the rows of a sweep's plan: its trials in order, each with its cell."""
    return [
        {"sweep": sweep, "trial": trial, "position": start + k, "cell": cell}
        for k, (trial, cell) in enumerate(zip(trials, cells or [None] * len(trials), strict=True))
    ]


def cohort_members(trials: Iterable[TrialConfig]) -> ValueRows:
    """Return the rows that assign trials to their cohorts."""
    return [
        {"cohort": c.halving["cohort"], "epoch": 0, "trial": c.id, "valid": None, "stays": None}
        for c in trials
        if c.halving
    ]


def flag_rows(trials: Iterable[Trial]) -> ValueRows:
    """Return the rows of trials that are flagged."""
    return [
        {"trial": trial.config.id, "text": escape_unstorable("\n".join(trial.flags))} for trial in trials if trial.flags
    ]


def environment_rows(runs: Iterable[Run]) -> ValueRows:
    """Return the rows of the distinct environments of runs."""
    return list(
        {key: {"id": key, "facts": dict(run.environment)} for run in runs if (key := environment_id(run))}.values()
    )


def patch_rows(runs: Iterable[Run]) -> ValueRows:
    """Return the rows of the distinct patches of runs."""
    texts = {run.environment["diff"]: run.patch for run in runs if run.patch}
    return [{"id": key, "text": text} for key, text in texts.items()]


def measure_rows(runs: Iterable[Run]) -> ValueRows:
    """Return the rows of the measures of runs."""
    return [{"trial": run.trial, **asdict(measure)} for run in runs for measure in run.measures]


def environment_id(run: Run) -> str | None:
    """Return the hash of a run's environment; None if it has none."""
    return _facts_digest(frozenset(run.environment.items())) if run.environment else None


@lru_cache(1024)
def _facts_digest(facts: frozenset[tuple[str, str]]) -> str:
    """Return the digest of an environment; cached, as most trials share a few."""
    return digest(dict(facts))


def to_trial(
    row: TrialRow, facts: Mapping[str, str] | None, measures: Sequence[Measure] = (), flags: str | None = None
) -> Trial:
    """Return a trial, given its row, its environment, its measures and the text of its flags."""
    run = None
    if row.status in ENDED:
        columns = {name: getattr(row, name) for name in OF_RUN}
        run = Run(trial=row.id, environment=facts or {}, measures=tuple(measures), **columns)
    config, about = TrialConfig.from_dict(row.config), About.from_dict(row.about)
    provenance = (row.origin or LOCAL, row.rerun, tuple(flags.split("\n")) if flags else ())
    return Trial(config, about, row.status, row.pack, run, row.ended, *provenance)
