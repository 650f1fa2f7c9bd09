"""What a server's run of a trial must hold, and what an existing run lacks or has in excess."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from longwave.platform.redaction import redact_document
from longwave.platform.storage.outbox import PendingTrial

LOGGED = ("hidden", "batch", "epochs", "steps", "clip", "optimiser", "schedule", "seed", "precision")
"""Fields of a trial that are sent to a server, in addition to parameters, training numbers and options."""
LONGEST = 6000
"""Characters that MLflow keeps of a parameter."""
Metrics = Mapping[str, list[tuple[int, int, float]]]
"""Step, Unix time in ms and value of what was measured, by name."""


@dataclass(frozen=True)
class Tracked:
    """A run as a server has it: ``values`` are the last ones of its metrics."""

    id: str
    trial: str
    status: str
    tags: Mapping[str, str]
    params: Mapping[str, str]
    values: Mapping[str, float]

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.status in ("FINISHED", "FAILED")


def metrics_of(waiting: PendingTrial) -> Metrics:
    """Return all that was measured in a trial, as a complete run has it."""
    trial, points = waiting.trial, waiting.points
    times = [(p.epoch, int(p.at * 1000)) for p in points]
    metrics = {
        "loss": [(*time, p.loss) for time, p in zip(times, points, strict=True)],
        f"valid_{trial.about.metric}": [(*time, p.valid) for time, p in zip(times, points, strict=True)],
    }
    if trial.run and trial.run.test is not None and trial.run.best_epoch:
        at = int(trial.ended.timestamp() * 1000) if trial.ended else 0
        metrics[f"test_{trial.about.metric}"] = [(trial.run.best_epoch, at, trial.run.test)]
    return metrics


def params_of(waiting: PendingTrial) -> dict[str, str]:
    """Return the parameters of a trial's run."""
    config = waiting.trial.config
    params = {**config.params, **config.options, "model": config.model, "variant": config.variant, "data": config.data}
    params |= {name: getattr(config, name) for name in LOGGED}
    return {key: str(value)[:LONGEST] for key, value in redact_document(params).items()}


def tags_of(waiting: PendingTrial) -> dict[str, str]:
    """Return the tags that change while a trial is trained; they are written last, once what they claim is there."""
    tags = {"longwave.epoch": str(last_epoch(waiting)), "longwave.attempt": str(waiting.attempt)}
    tags |= {"longwave.status": waiting.trial.run.status} if waiting.trial.run else {}
    return {**redact_document(tags)}


def status_of(waiting: PendingTrial) -> str:
    """Return a trial's status in MLflow's terms."""
    run = waiting.trial.run
    return ("FINISHED" if run.status in ("ok", "stopped") else "FAILED") if run else "RUNNING"


def last_epoch(waiting: PendingTrial) -> int:
    """Return the last epoch of a trial that there is to send; 0 where there is none."""
    return waiting.points[-1].epoch if waiting.points else 0


def is_same_number(ours: float, theirs: float) -> bool:
    """Return whether a server has a number as it was sent; MLflow stores infinity as the largest float."""
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return math.isclose(ours, theirs, rel_tol=1e-12) or (
        math.isinf(ours) and ours * theirs > 0 and abs(theirs) > 1.7e308
    )


def what_is_missing(waiting: PendingTrial, run: Tracked | None) -> str:
    """Return what a run, as a search shows it, lacks of a trial; empty if nothing."""
    if run is None or run.trial != waiting.trial.config.id:
        return "its run"
    if any(run.params.get(key) != value for key, value in params_of(waiting).items()):
        return "its parameters"
    if any(run.tags.get(key) != value for key, value in tags_of(waiting).items()) or run.status != status_of(waiting):
        return "its state"
    last = {key: line[-1][-1] for key, line in metrics_of(waiting).items() if line}
    wrong = [key for key, value in last.items() if key not in run.values or not is_same_number(value, run.values[key])]
    return f"its {wrong[0]}" if wrong else ""


def holds_only_own(there: Metrics, waiting: PendingTrial) -> bool:
    """Return whether all values of a run are the trial's own."""
    ours = metrics_of(waiting)
    return all(_is_in_curve(value, ours.get(key, [])) for key, line in there.items() for value in line)


def has_whole_curve(there: Metrics, waiting: PendingTrial) -> bool:
    """Return whether a run has exactly the values of a trial, each once, at their steps and times."""
    ours = metrics_of(waiting)
    return holds_only_own(there, waiting) and all(len(there.get(key, [])) == len(line) for key, line in ours.items())


def _is_in_curve(value: tuple[int, int, float], line: list[tuple[int, int, float]]) -> bool:
    return any(value[:2] == own[:2] and is_same_number(own[2], value[2]) for own in line)
