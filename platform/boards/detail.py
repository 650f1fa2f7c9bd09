"""One row or one trial in full: settings, seeds, scores, where it came from, what it took, and what to do with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.diff import facts_of_row
from longwave.platform.boards.row import SHORT
from longwave.platform.boards.selection import describe_selection
from longwave.platform.boards.verification import HERE
from longwave.platform.records.group import SearchedTrial
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.scale import scale_of


@dataclass(frozen=True)
class Fact:
    """A fact about a row or a trial.

    Attributes:
        section: ``configuration``, ``protocol``, ..., ``seeds``, ``cost``, ``commands``.
        what: Its name.
        value: Plain JSON data; None for nothing.
    """

    section: str
    what: str
    value: Any


def of_row(trials: Sequence[Trial], sweeps: Sequence[str], candidates: Sequence[SearchedTrial]) -> list[Fact]:
    """Return all that is known of a row.

    Args:
        trials: Its retrainings.
        sweeps: Those that asked for them.
        candidates: The search trials behind its settings, and the trials of the race that chose them.
    """
    search = [candidate for candidate in candidates if candidate.phase == "search"]
    row = trials[0].config.row
    facts = [Fact("row", "name", row)]
    facts += [Fact(section, what, value) for (section, what), value in facts_of_row(trials, sweeps)]
    facts += [Fact("seeds", f"seed {t.config.seed}", _ended(t)) for t in sorted(trials, key=lambda t: t.config.seed)]
    facts += _selection_facts(trials, candidates)
    runs = [t.run for t in trials if t.run]
    facts += [
        Fact("cost", "seconds of the retrainings", sum(run.seconds for run in runs)),
        Fact("cost", "search trials drawn", len(search)),
        Fact("cost", "search trials trained whole", sum(run.status == "ok" for run in search)),
        Fact("cost", "seconds of the search", sum(run.seconds for run in search)),
        Fact("commands", "train it once more", f"longwave reproduce {row[:SHORT]}"),
        Fact("commands", "beside another row", f"longwave diff {row[:SHORT]} ROW"),
        Fact("commands", "its board", f"longwave board {trials[0].config.task}"),
    ]
    return facts


def _selection_facts(trials: Sequence[Trial], candidates: Sequence[SearchedTrial]) -> Iterator[Fact]:
    """Yield how the setting of a row was chosen; nothing where no trial of its search is known."""
    about, runs = trials[0].about, [t.run for t in trials if t.run and t.run.status in ("ok", "diverged")]
    retrained = [run.valid if run.status == "ok" else None for run in runs]
    scale = scale_of(about.goal, about.unit, about.floor)
    chosen = describe_selection(trials[0].config.row, candidates, retrained, scale)
    for what, value in (
        ("validation score in the search", chosen.score),
        ("validation error of the median retraining, times that of the search", chosen.optimism),
        ("runner-up of the race", chosen.runner_up[:SHORT] or None),
        ("probability that it is better than the runner-up", chosen.better),
    ):
        if value is not None:
            yield Fact("selection", what, value)


def of_trial(trial: Trial, sweeps: Sequence[str], attempts: Sequence[str]) -> list[Fact]:
    """Return all that is known of one trial.

    Args:
        trial: The trial.
        sweeps: Those that asked for it.
        attempts: How each attempt at it ended; empty of one that has not.
    """
    return [Fact(*fact) for fact in _facts(trial, sweeps, attempts)]


def _facts(trial: Trial, sweeps: Sequence[str], attempts: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    config, row = trial.config, trial.config.row
    yield from (("trial", "name", config.id), ("trial", "of the row", row), ("trial", "phase", config.phase))
    yield from (("trial", "seed", config.seed), ("trial", "sweeps", list(sweeps)), ("trial", "pack", trial.pack))
    for name, value in config.in_full().items():
        yield from (("settings", *fact) for fact in (value.items() if isinstance(value, dict) else [(name, value)]))
    yield "settings", "halving", dict(config.halving) if config.halving else None
    yield "settings", "differs from the recipe", list(trial.about.departures)
    yield "end", "status", trial.status
    yield "end", "attempts", [attempt or "under way" for attempt in attempts]
    if trial.run:
        yield from _ran(trial, trial.run)
    yield "commands", "its row", f"longwave show {row[:SHORT]}"
    if config.phase == "retrain":
        yield "commands", "train it once more", f"longwave reproduce {row[:SHORT]} --seed {config.seed}"


def _ran(trial: Trial, run: Run) -> Iterator[tuple[str, str, Any]]:
    """Yield how a trial ended, what that took and where it was."""
    about = trial.about
    for name in ("reason", "epochs", "best_epoch", "parameters"):
        yield "end", name.replace("_", " "), getattr(run, name)
    yield "scores", "metric", f"{about.metric} [{about.unit}]"
    yield from (("scores", "validation", run.valid), ("scores", "test", run.test))
    for measure in run.measures:
        at = f", {measure.x_name} {measure.x:g}" if measure.x_name else ""
        yield "scores", f"{measure.key} [{measure.unit}]{at}", measure.value
    yield from (("cost", "seconds", run.seconds), ("cost", "joules", run.joules))
    yield "cost", "trials of its pack", run.members
    yield "provenance", "origin", trial.origin or HERE
    yield "provenance", "flags", list(trial.flags)
    yield from (("provenance", name, value) for name, value in sorted(run.environment.items()))


def _ended(trial: Trial) -> str:
    """Return how a retraining stands, in one line: its score, and what it took."""
    run = trial.run
    if run is None:
        return f"{trial.status}, trial {trial.config.id}"
    score = f"{run.test:.6g}" if run.test is not None else f"{run.status}: {run.reason}"
    best = f", validation {run.valid:.6g} at epoch {run.best_epoch}" if run.valid is not None else ""
    return f"{score}{best}, {run.epochs} epochs, {run.seconds:.3g} s, trial {trial.config.id}"
