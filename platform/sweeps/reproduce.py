"""Train a row once more, and report whether the new score agrees with it. The row changes only on request."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from longwave.platform.about import about
from longwave.platform.boards.diff import ended, environments, scale, scores, values
from longwave.platform.boards.row import SHORT
from longwave.platform.boards.trust import shipped
from longwave.platform.errors import ConfigError
from longwave.platform.paths import home
from longwave.platform.records.identity import derive_seed, digest
from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.stored import LOCAL, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.contrast import improvement, ratio
from longwave.platform.statistics.prediction import (
    WRONG,
    can_fail,
    find_detection_chance,
    find_interval_factor,
    prediction_interval,
)
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.stats import Summary, summary
from longwave.platform.storage.store import Store
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.environment import describe
from longwave.platform.training.train import train, unfit

Agreement = Literal["inside", "outside", "undecided"]
MATTERS = "commit diff lock torch numpy device driver cuda cudnn tf32 kernel precision threads subnormals".split()
"""Facts that can change a number."""


@dataclass(frozen=True)
class RerunPlan:
    """One more training of a row, and what to expect of it.

    Attributes:
        row: The row's retrainings so far that count; see ``comparable_trials``.
        config: What to train.
        expected: Mean, std and number of the row's scores.
        diverged: Retrainings of the row that diverged.
        interval: Contains 95 % of further scores; None if there are too few scores. See ``prediction_interval``.
        used_seeds: Seeds of all retrainings of the row, imported ones included.
    """

    row: list[Trial]
    config: TrialConfig
    expected: Summary
    diverged: int
    interval: tuple[float, float] | None
    used_seeds: frozenset[int] = frozenset()

    @property
    def reach(self) -> float | None:
        """Factor between the row's typical error and the ends of the interval; None without one, or without ratios."""
        return find_interval_factor(ended(self.row), scale(self.row))

    @property
    def power(self) -> float | None:
        """Probability that a seed with ``WRONG`` times the error falls outside; None if ``reach`` is None."""
        return find_detection_chance(ended(self.row), scale(self.row), WRONG)

    @property
    def can_fail(self) -> bool:
        """Whether a score inside the interval is evidence for the row."""
        return can_fail(ended(self.row), scale(self.row))

    @property
    def before(self) -> float | None:
        """The row's earlier score with the seed of ``config``; None if there is none or it diverged."""
        return scores(self.row).get(self.config.seed)


@dataclass(frozen=True)
class Rerun:
    """How a row's further training ended.

    Attributes:
        plan: What was expected.
        run: How it ended; a run that ``failed`` shows nothing about the row.
        points: Its epochs.
    """

    plan: RerunPlan
    run: Run
    points: Sequence[Point]

    @property
    def outcome(self) -> Agreement:
        """Whether it agrees with the row; see ``agreement``."""
        return agreement(self.run, ended(self.plan.row), self.plan.diverged, scale(self.plan.row))

    @property
    def ratio(self) -> float | None:
        """Its error divided by the row's; None if it has no score, or the metric has no positive scale."""
        estimate = ratio([self.run.test], ended(self.plan.row), scale(self.plan.row))
        return estimate.value if estimate else None

    @property
    def improvement(self) -> float | None:
        """Share of the row's seeds that are worse, ties counting half; None if the training failed."""
        if self.run.test is None and self.run.status != "diverged":
            return None
        return improvement([self.run.test], list(scores(self.plan.row).values()), scale(self.plan.row)).value

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        """Facts that can change a number and differ between the row and this machine: name, the row's, ours."""
        facts = environments(self.plan.row)
        compared = [(name, values(facts, name) or ["—"], self.run.environment.get(name, "—")) for name in MATTERS]
        return [
            (name, " or ".join(row_values), value) for name, row_values, value in compared if value not in row_values
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        plan = self.plan
        return {
            "row": plan.config.row,
            "seed": plan.config.seed,
            "expected": asdict(plan.expected),
            "diverged": plan.diverged,
            "interval": plan.interval,
            "reach": plan.reach,
            "power": plan.power,
            "status": self.run.status,
            "reason": self.run.reason,
            "value": self.run.test,
            "ratio": self.ratio,
            "improvement": self.improvement,
            "same_seed_before": plan.before,
            "outcome": self.outcome,
            "differences": [dict(zip(("what", "row", "here"), line, strict=True)) for line in self.differences],
        }


def agreement(run: Run, row_scores: Sequence[float], diverged: int, metric_scale: Scale) -> Agreement:
    """Return whether the score of a further training of a row lies inside the interval of the row's scores.

    One that diverged is outside if none of the row's seeds did, and undecided if some did. A score inside an interval
    too wide to miss is undecided, too.

    Args:
        run: How it ended.
        row_scores: The row's scores.
        diverged: Retrainings of the row that diverged.
        metric_scale: The scale of its metric.
    """
    if run.status == "diverged":
        return "undecided" if diverged else "outside"
    if run.test is None or not row_scores:
        return "undecided"
    if (interval := prediction_interval(row_scores, metric_scale)) is None:
        expected = summary(row_scores)
        return "inside" if expected.std == 0 and math.isclose(run.test, expected.mean, rel_tol=1e-6) else "undecided"
    if not interval[0] <= run.test <= interval[1]:
        return "outside"
    return "inside" if can_fail(row_scores, metric_scale) else "undecided"


def plan_rerun(store: Store, name: str, seed: int | None = None, task: str | None = None) -> RerunPlan:
    """Return the plan of one more training of the row ``name``; nothing is run.

    Args:
        store: Where the row is.
        name: Its name or the first digits, as ``Store.rows`` takes them.
        seed: Seed to train with; by default one that no retraining of the row has.
        task: Look only at rows of this task.

    Raises:
        ConfigError: No such row, no score in it, or versions here are not those the row was made with.
    """
    retrainings = store.rows(name, task)
    uncounted = store.uncounted()
    row = comparable_trials([trial for trial in retrainings if trial.config.id not in uncounted])
    config, row_scores = row[0].config, ended(row)
    if not row_scores:
        raise ConfigError(
            f"Row {config.row[:SHORT]} has no score to compare with, because none of its retrainings ended ok."
        )
    if why := unfit(config):
        raise ConfigError(f"Row {config.row[:SHORT]} was made {why}: a new score could not be compared with it.")
    used_seeds = {t.config.seed for t in retrainings}
    fresh = (s for k in range(10**6) if (s := derive_seed("reproduce", seed_key(config), k)) not in used_seeds)
    rerun_config = replace(config, seed=next(fresh) if seed is None else seed)
    diverged = len(scores(row)) - len(row_scores)
    interval = prediction_interval(row_scores, scale(row))
    return RerunPlan(row, rerun_config, summary(row_scores), diverged, interval, frozenset(used_seeds))


def comparable_trials(row: Sequence[Trial]) -> list[Trial]:
    """Return the retrainings that a further one is compared with: local ones, else those of bundles that the package
    trusts, else all imported ones.

    If all local retrainings are re-runs of an imported row, the imported ones are used: re-runs are meant to confirm
    these.
    """
    local, imported = ([t for t in row if (t.origin == LOCAL) is is_local] for is_local in (True, False))
    if any(not t.rerun for t in local):
        return local
    return [t for t in imported if t.origin in shipped()] or imported or local


def train_again(plan: RerunPlan, watch: Callable[[Point], None] = lambda point: None, weights: bool = False) -> Rerun:
    """Run a planned training in this process.

    Interrupted and called again with the same code, it resumes from a checkpoint that is at most a minute old.

    Args:
        plan: What to train.
        watch: Called with each epoch.
        weights: Whether to keep the weights, in ``home()``.
    """
    points: dict[int, Point] = {}
    ends: list[Run] = []

    def emit(report: Report) -> None:
        ends.extend(report.runs)
        for point in report.points:
            points[point.epoch] = point
            watch(point)

    code = [describe().get(name) for name in ("commit", "diff")]
    checkpoint = Checkpoint(home() / "reruns" / f"{digest([plan.config.id, *code])}.safetensors")
    train([plan.config], emit, checkpoint, weights=home() if weights else None)
    checkpoint.remove()
    return Rerun(plan, ends[0], list(points.values()))


def store_rerun(store: Store, rerun: Rerun) -> bool:
    """Store a re-run as one more retraining of its row, unless it failed; return whether it was stored.

    It belongs to no sweep, is marked as a re-run with its outcome, and is described as this Longwave describes it.

    Raises:
        ConfigError: As ``check_seed_is_new``, or another process stored one with that seed meanwhile.
    """
    if rerun.run.status == "failed":
        return False
    check_seed_is_new(rerun.plan)
    config = rerun.plan.config
    if not store.add_rerun(config, about(config), rerun.points, rerun.run, rerun.outcome):
        rule = f"Seed {config.seed} was added to the row by another process meanwhile"
        raise ConfigError(f"{rule}. Run the command again: it takes the next seed.")
    return True


def check_seed_is_new(plan: RerunPlan) -> None:
    """Raise ConfigError if the row has a retraining with the plan's seed: a re-run with it cannot be kept."""
    if plan.config.seed in plan.used_seeds:
        raise ConfigError(f"Seed {plan.config.seed} is already in the row and cannot be added again. Leave --seed out.")


def check_seed_is_stored(plan: RerunPlan) -> None:
    """Raise ConfigError if the row has no retraining with the plan's seed: no command would find saved weights."""
    if plan.config.seed not in plan.used_seeds:
        raise ConfigError(
            f"The row has no retraining with seed {plan.config.seed}, so its weights would belong to none. Add --keep, "
            "or name the --seed of a retraining."
        )
