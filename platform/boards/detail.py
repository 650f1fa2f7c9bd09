"""One row or one trial in full: settings, seeds, scores, provenance, cost and commands."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.diff import counted_trials, facts_of_row
from longwave.platform.boards.printed import quote_number, write_verdict
from longwave.platform.boards.row import SHORT, Row, command
from longwave.platform.boards.texts import NONE, metric_words, rank
from longwave.platform.boards.verification import HERE
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial


@dataclass(frozen=True)
class Fact:
    """A fact about a row or a trial.

    Attributes:
        section: ``configuration``, ``protocol``, ..., ``seeds``, ``cost``, ``commands``.
        what: Its name.
        value: Plain JSON data; None if unknown.
    """

    section: str
    what: str
    value: Any


def of_row(trials: Sequence[Trial], row: Row, left_out: Collection[str] = (), option: str = "") -> list[Fact]:
    """Return all facts about a row.

    Args:
        trials: Its retrainings.
        row: The row on its board.
        left_out: Ids of retrainings that do not count; see ``trust.left_out``.
        option: Option of commands that names the store; see ``store_option``.
    """
    facts = [Fact("row", "name", row.config), Fact("row", "rank", rank(row)), Fact("row", "verified", row.verification)]
    facts += [Fact("row", "superseded", row.superseded)] if row.superseded else []
    facts += [Fact(section, what, value) for (section, what), value in facts_of_row(trials, row.sweeps, left_out)]
    facts += [
        Fact("seeds", f"seed {t.config.seed}", _ended(t) + (_why_left_out(t) if t.config.id in left_out else ""))
        for t in sorted(trials, key=lambda t: t.config.seed)
    ]
    facts += [Fact("selection", *fact) for fact in _selection_facts(row)]
    facts += [
        Fact("published", f"number {k}", f"{quote_number(number)}: {write_verdict(number)}")
        for k, number in enumerate(row.published, 1)
    ]
    runs = [t.run for t in counted_trials(trials, left_out) if t.run]
    facts += [
        Fact("cost", "seconds of the retrainings", sum(run.seconds for run in runs)),
        Fact("cost", "search trials drawn", row.searched),
        Fact("cost", "search trials stopped early", row.search_stopped),
        Fact("cost", "search trials diverged", row.search_diverged),
        Fact("cost", "search trials completed", row.search_whole),
        Fact("cost", "seconds of search and race", row.find_seconds),
        Fact("commands", "train it once more", command(row.config) + option),
        Fact("commands", "beside another row", f"longwave diff {row.config[:SHORT]} ROW{option}"),
        Fact("commands", "its board", f"longwave board {row.task}{option}"),
    ]
    return facts


def _selection_facts(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the known facts on how the setting of a row was chosen."""
    for what, value in (
        ("how it was searched", list(row.ways) or None),
        ("validation score in the search", row.search_score),
        ("validation error of the median retraining, times that of the search", row.optimism),
        ("runner-up of the race", row.runner_up[:SHORT] or None),
        ("probability that it is better than the runner-up", row.better),
        ("at an edge of what was searched", row.at_edge if row.at_edge is None else list(row.at_edge) or NONE),
    ):
        if value is not None:
            yield what, value


def of_trial(trial: Trial, sweeps: Sequence[str], attempts: Sequence[str], option: str = "") -> list[Fact]:
    """Return all facts about one trial.

    Args:
        trial: The trial.
        sweeps: Sweeps that contain it.
        attempts: Outcome of each attempt; empty for one that is running.
        option: As for ``of_row``.
    """
    return [Fact(*fact) for fact in _facts(trial, sweeps, attempts, option)]


def _facts(trial: Trial, sweeps: Sequence[str], attempts: Sequence[str], option: str) -> Iterator[tuple[str, str, Any]]:
    config, row = trial.config, trial.config.row
    yield from (("trial", "name", config.id), ("trial", "of the row", row), ("trial", "phase", config.phase))
    yield from (("trial", "seed", config.seed), ("trial", "sweeps", list(sweeps)), ("trial", "pack", trial.pack))
    for name, value in config.in_full().items():
        yield from (("settings", *fact) for fact in (value.items() if isinstance(value, dict) else [(name, value)]))
    yield from (("settings", f"halving: {name}", value) for name, value in (config.halving or {}).items())
    yield "settings", "differs from the recipe", list(trial.about.departures)
    yield "end", "status", trial.status
    yield "end", "attempts", [attempt or "under way" for attempt in attempts]
    if trial.run:
        yield from _ran(trial, trial.run)
    yield "commands", "its row", f"longwave show {row[:SHORT]}{option}"
    if config.phase == "retrain":
        yield "commands", "train it once more", f"{command(row)} --seed {config.seed}{option}"


def _ran(trial: Trial, run: Run) -> Iterator[tuple[str, str, Any]]:
    """Yield a trial's end, scores, cost and provenance."""
    about = trial.about
    for name in ("reason", "epochs", "best_epoch", "parameters"):
        yield "end", name.replace("_", " "), getattr(run, name)
    yield "scores", "metric", f"{metric_words(about.metric)} [{about.unit}]"
    yield from (("scores", "validation", run.valid), ("scores", "test", run.test))
    for measure in run.measures:
        position = f", {measure.x_name} {measure.x:g}" if measure.x_name else ""
        yield "scores", f"{measure.key} [{measure.unit}]{position}", measure.value
    yield from (("cost", "seconds", run.seconds), ("cost", "joules", run.joules))
    yield "cost", "trials of its pack", run.members
    yield "provenance", "origin", trial.origin or HERE
    yield "provenance", "flags", list(trial.flags)
    yield from (("provenance", name, value) for name, value in sorted(run.environment.items()))


def _why_left_out(trial: Trial) -> str:
    return f", not counted: {'imported and untrusted' if trial.origin else 'it was used to choose the row'}"


def _ended(trial: Trial) -> str:
    """Return one line on a retraining: its score and cost, or its status."""
    run = trial.run
    if run is None:
        return f"{trial.status}, trial {trial.config.id}"
    score = f"{run.test:.6g}" if run.test is not None else f"{run.status}: {run.reason}"
    best = f", validation {run.valid:.6g} at epoch {run.best_epoch}" if run.valid is not None else ""
    return f"{score}{best}, {run.epochs} epochs, {run.seconds:.3g} s, trial {trial.config.id}"
