"""Train a row once more, and say whether the number fits what the row says. The row stays as it is unless asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from longwave.platform.boards.diff import environments, scores, values
from longwave.platform.boards.row import SHORT
from longwave.platform.errors import ConfigError
from longwave.platform.paths import home
from longwave.platform.records.identity import derive_seed, digest
from longwave.platform.records.legacy import seed_key
from longwave.platform.records.run import Point, Run
from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.stats import Difference, Summary, summary
from longwave.platform.storage.store import Store
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.environment import describe
from longwave.platform.training.train import train, unfit

Agreement = Literal["inside", "outside", "undecided"]
MATTERS = "commit diff lock torch numpy device driver cuda cudnn tf32 kernel precision threads".split()
"""Facts that can change a number."""


@dataclass(frozen=True)
class RerunPlan:
    """One more training of a row, and what to expect of it.

    Attributes:
        row: The row's retrainings so far.
        config: What to train.
        expected: Mean, std and number of the row's scores.
        interval: Where 95 % of further scores fall, by Student's t; None where the scores do not say: there is one, or
            they are all equal.
    """

    row: list[Trial]
    config: TrialConfig
    expected: Summary
    interval: tuple[float, float] | None

    @property
    def before(self) -> float | None:
        """The row's own score with the seed of ``config``, where it has one."""
        return scores(self.row).get(self.config.seed)


@dataclass(frozen=True)
class Rerun:
    """How a row's further training ended.

    Attributes:
        plan: What was expected.
        run: How it ended; with status ``failed`` it says nothing about the row.
        points: Its epochs.
    """

    plan: RerunPlan
    run: Run
    points: Sequence[Point]

    @property
    def outcome(self) -> Agreement:
        """Whether the score lies inside the interval. One that diverged is outside."""
        score, expected, interval = self.run.test, self.plan.expected, self.plan.interval
        if self.run.status == "diverged":
            return "outside"
        if score is None:
            return "undecided"
        if interval is None:
            return "inside" if expected.std == 0 and math.isclose(score, expected.mean, rel_tol=1e-6) else "undecided"
        return "inside" if interval[0] <= score <= interval[1] else "outside"

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        """Facts that can change a number and are others here than in the row: name, there, here."""
        facts = environments(self.plan.row)
        found = [(name, values(facts, name) or ["—"], self.run.environment.get(name, "—")) for name in MATTERS]
        return [(name, " or ".join(there), here) for name, there, here in found if here not in there]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        plan = self.plan
        return {
            "row": plan.config.row,
            "seed": plan.config.seed,
            "expected": asdict(plan.expected),
            "interval": plan.interval,
            "status": self.run.status,
            "reason": self.run.reason,
            "value": self.run.test,
            "same_seed_before": plan.before,
            "outcome": self.outcome,
            "differences": [dict(zip(("what", "row", "here"), line, strict=True)) for line in self.differences],
        }


def plan(store: Store, name: str, seed: int | None = None, task: str | None = None) -> RerunPlan:
    """Return what training the row ``name`` once more would be; nothing is run.

    Args:
        store: Where the row is.
        name: Its name or the first digits, as ``Store.rows`` takes them.
        seed: Seed to train with; by default one that no retraining of the row has.
        task: Look at rows of this task alone.

    Raises:
        ConfigError: No such row, no score in it, or versions here are not those the row was made with.
    """
    row = store.rows(name, task)
    config, found = row[0].config, list(scores(row).values())
    if not found:
        raise ConfigError(f"Row {config.row[:SHORT]} has no score to compare with: none of its retrainings ended ok.")
    if why := unfit(config):
        raise ConfigError(f"Row {config.row[:SHORT]} was made {why}: another number would prove nothing.")
    taken = {t.config.seed for t in row}
    fresh = (s for k in range(10**6) if (s := derive_seed("reproduce", seed_key(config), k)) not in taken)
    again = replace(config, seed=next(fresh) if seed is None else seed)
    return RerunPlan(row, again, summary(found), prediction(summary(found)))


def prediction(scores: Summary, level: float = 0.95) -> tuple[float, float] | None:
    """Return the interval in which one more score falls as often as ``level`` says: mean ± t·std·√(1 + 1/n).

    None for a single score, and for a few that are all equal: they say nothing about how others spread.
    """
    if scores.std is None:
        return None
    error = scores.std * math.sqrt(1 + 1 / scores.n)
    return Difference(scores.mean, error, scores.n - 1, 2 / (scores.n + 1)).interval(level)


def rerun(plan: RerunPlan, watch: Callable[[Point], None] = lambda point: None) -> Rerun:
    """Train what ``plan`` says, in this process; ``watch`` hears of each epoch.

    Interrupted and asked again by the same code, it goes on from where it was at most a minute before.
    """
    points: dict[int, Point] = {}
    ends: list[Run] = []

    def emit(new: Sequence[Point], runs: Sequence[Run]) -> None:
        ends.extend(runs)
        for point in new:
            points[point.epoch] = point
            watch(point)

    code = [describe().get(name) for name in ("commit", "diff")]
    checkpoint = Checkpoint(home() / "reruns" / f"{digest([plan.config.id, *code])}.safetensors")
    train([plan.config], emit, checkpoint)
    checkpoint.remove()
    return Rerun(plan, ends[0], list(points.values()))


def keep(store: Store, done: Rerun) -> bool:
    """Store a re-run as one more retraining of its row, and return whether it is one: not if it failed.

    No sweep asks for it, and it is marked as a re-run with its outcome.

    Raises:
        ConfigError: As ``check_new``.
    """
    if done.run.status == "failed":
        return False
    check_new(done.plan)
    store.ask(None, [done.plan.config], [done.plan.row[0].about])
    store.write(done.points, [done.run], rerun=done.outcome)
    return True


def check_new(plan: RerunPlan) -> None:
    """Raise ConfigError if the row has a retraining with the plan's seed: a re-run with it cannot be kept."""
    if plan.config.id in {t.config.id for t in plan.row}:
        raise ConfigError(f"Seed {plan.config.seed} is in the row already and cannot be kept again. Leave --seed out.")
