"""Small trials, and a recorder of their packs' reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trials import present_trial

from longwave.platform.records.report import Report, Rung
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.train import train

PARAMS = {"lr": 0.005, "dt": 0.1, "gamma": 1.0, "epsilon": 1.0, "alpha": 1.0}


def trial(model: str = "lem", task: str = "adding", seed: int = 1, **changes: object) -> TrialConfig:
    """Return a small trial."""
    spec = get_model(model)
    facts = {
        "task": task,
        "variant": "N=20" if task == "adding" else "",
        "data": "here",
        "model": model,
        "options": {},
        "params": {p.name: PARAMS.get(p.name, p.low) for p in spec.space(task)},
        "hidden": 8,
        "batch": 10,
        "epochs": 4,
        "steps": 5 if task == "adding" else None,
        "phase": "search",
        "seed": seed,
    }
    return present_trial(**{**facts, **changes})  # type: ignore[arg-type]


class PackRecorder:
    """Records the reports of a pack."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.runs: list[Run] = []
        self.rungs: list[Rung] = []
        self.began: list[Mapping[str, int]] = []

    def __call__(self, report: Report) -> None:
        self.points += report.points
        self.runs += report.runs
        self.rungs += report.rungs
        self.began.append(report.began) if report.began else None

    def curve(self, config: TrialConfig) -> list[tuple[float, float]]:
        return [(p.loss, p.valid) for p in self.points if p.trial == config.id]

    def run(self, config: TrialConfig) -> Run:
        [run] = [r for r in self.runs if r.trial == config.id]
        return run


def trained(configs: Sequence[TrialConfig], checkpoint: Checkpoint | None = None) -> PackRecorder:
    recorder = PackRecorder()
    train(configs, recorder, checkpoint)
    return recorder
