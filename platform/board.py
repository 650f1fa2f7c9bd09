"""Boards: from retrainings and published numbers to ranked rows. Pure functions; nothing is read here but arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from longwave.platform.stats import mean_interval, mean_std, rank_ranges
from longwave.platform.store import Store, Trial

ENOUGH = 5
"""Retrainings below which a row is provisional."""
OTHER_FORM = "different model variant"
"""Stands for a verdict where a published number belongs to another form of the model."""


@dataclass(frozen=True)
class Row:
    """One line of a board: one configuration of one model on one task, its retrainings inside.

    Attributes:
        task, model: Registry keys; ``variant`` the task's form, ``title`` the model's name in print, with the options
            that are not its default.
        config: Identity of the configuration; ``params``, ``options``, ``hidden`` say what it is.
        metric, unit, goal: What is measured.
        mean, std: Test metric over the retrainings that ended ok; std with n − 1.
        n: How many those are.
        low, high: 95 % t-interval of the mean.
        diverged, failed: Retrainings that ended so: shown, never averaged, never hidden.
        searched: Search trials behind the choice, of which ``search_diverged`` diverged.
        provisional: Fewer than 5 retrainings.
        rank_low, rank_high: Best and worst rank the intervals allow; None without a mean.
        departures: How the protocol differs from the published recipe.
        parameters: Trainable numbers.
        train_seconds, find_seconds: Time of the retrainings, and of the search.
        published: Numbers the papers print for this model on this task.
        trials: Ids of the retrainings; none for a trivial predictor.
        trivial: Whether this is a predictor that is not trained by a sweep, for comparison and without a rank.
    """

    task: str
    variant: str
    model: str
    title: str
    metric: str
    unit: str
    goal: str
    mean: float | None
    config: str = ""
    params: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    hidden: int = 0
    std: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    diverged: int = 0
    failed: int = 0
    searched: int = 0
    search_diverged: int = 0
    provisional: bool = False
    departures: Sequence[str] = ()
    parameters: int | None = None
    train_seconds: float = 0.0
    find_seconds: float = 0.0
    published: Sequence[Mapping[str, Any]] = ()
    trials: Sequence[str] = ()
    rank_low: int | None = None
    rank_high: int | None = None
    environments: Sequence[Mapping[str, str]] = ()
    trivial: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def board(store: Store, task: str) -> list[Row]:
    """Return the ranked rows of ``task`` in the store."""
    again = store.retrainings(task)
    return rows(again, store.searches(task), store.published(task))


def rows(
    again: Sequence[Trial], searches: Mapping[str, Sequence[Trial]], published: Sequence[Mapping[str, Any]]
) -> list[Row]:
    """Return one row a configuration and variant, best mean first; rows without a mean last.

    Trivial predictors stand among them, without a rank.

    Args:
        again: Retrainings of one task.
        searches: Search trials behind each row, by its identity.
        published: Published numbers of the task.
    """
    groups: dict[str, list[Trial]] = {}
    for trial in again:
        groups.setdefault(trial.config.row, []).append(trial)
    made = [_row(group, searches.get(key, ()), published) for key, group in groups.items()]
    by_variant: dict[str, list[Row]] = {}
    for row in made:
        by_variant.setdefault(row.variant, []).append(row)
    return [
        row
        for variant in sorted(by_variant)
        for row in _ordered(_ranked(by_variant[variant]), _trivial(by_variant[variant][0], again))
    ]


def verdict(row_interval: tuple[float, float] | None, provisional: bool, goal: str, value: float) -> str:
    """Return how a reproduced mean stands to a published value.

    ``better`` or ``worse`` where the value lies outside the mean's 95 % interval; inside it ``reproduced`` with at
    least 5 retrainings and ``undecided`` with fewer.
    """
    if row_interval is None:
        return "undecided"
    low, high = row_interval
    if low <= value <= high:
        return "undecided" if provisional else "reproduced"
    return "better" if (value > high) == (goal == "min") else "worse"


def shown(mean: float | None, std: float | None) -> str:
    """Return ``mean ± std`` with two digits of std and as many decimals in the mean; a dash for no mean."""
    if mean is None:
        return "—"
    if not std:
        return f"{mean:.4g}"
    decimals = max(0, 1 - math.floor(math.log10(std)))
    return f"{mean:.{decimals}f} ± {std:.{decimals}f}"


def _row(group: Sequence[Trial], search: Sequence[Trial], published: Sequence[Mapping[str, Any]]) -> Row:
    config, about = group[0].config, group[0].about
    runs = [t.run for t in group if t.run is not None]
    scores = [run.test for run in runs if run.status == "ok" and run.test is not None]
    mean, std = mean_std(scores) if scores else (None, None)
    interval = mean_interval(scores) if scores else None
    provisional = len(scores) < ENOUGH
    key = (config.model, about["published"], about["metric"])
    same = [p for p in published if (p["model"], p["variant"], p["metric"]) == key]
    return Row(
        task=config.task,
        variant=config.variant,
        model=config.model,
        title=about["model"],
        config=config.row,
        params=config.params,
        options=config.options,
        hidden=config.hidden,
        metric=about["metric"],
        unit=about["unit"],
        goal=about["goal"],
        mean=mean,
        std=std,
        n=len(scores),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        diverged=sum(run.status == "diverged" for run in runs),
        failed=sum(run.status == "failed" for run in runs),
        searched=len(search),
        search_diverged=sum(t.status == "diverged" for t in search),
        provisional=provisional,
        departures=about["departures"],
        parameters=next((run.parameters for run in runs if run.parameters), None),
        train_seconds=sum(run.seconds for run in runs),
        find_seconds=sum(t.run.seconds for t in search if t.run),
        published=[_published(p, about, interval, provisional) for p in same],
        trials=[t.config.id for t in group],
        environments=list({tuple(sorted(run.environment.items())): run.environment for run in runs}.values()),
    )


def _trivial(like: Row, again: Sequence[Trial]) -> list[Row]:
    """Return a row for each trivial predictor of the task and variant of ``like``."""
    about = next(t.about for t in again if t.config.id == like.trials[0])
    same = {name: getattr(like, name) for name in ("task", "variant", "metric", "unit", "goal")}
    return [
        Row(**same, model=name, title=name, mean=value, trivial=True)
        for name, value in about.get("trivial", {}).items()
    ]


def _ordered(ranked: list[Row], trivial: list[Row]) -> list[Row]:
    """Return both by mean, rows without one last; what is ranked keeps its order."""
    for row in trivial:
        sign = -1 if row.goal == "max" else 1
        place = next(
            (k for k, r in enumerate(ranked) if r.mean is None or sign * r.mean > sign * (row.mean or 0)), None
        )
        ranked.insert(len(ranked) if place is None else place, row)
    return ranked


def _published(
    number: Mapping[str, Any], about: Mapping[str, Any], interval: tuple[float, float] | None, provisional: bool
) -> dict[str, Any]:
    """Return one published number for a row, with how the row's mean stands to it."""
    same_form = number["model_variant"] in about.get("called", [""])
    source, _, table = str(number["sources"]).partition(", ")
    return {
        "value": number["value"],
        "std": number["std"],
        "statistic": number["statistic"],
        "n": number["n"],
        "source": source,
        "table": table,
        "model_variant": number["model_variant"],
        "units": number["units"],
        "verdict": verdict(interval, provisional, about["goal"], number["value"]) if same_form else OTHER_FORM,
    }


def _ranked(made: Sequence[Row]) -> list[Row]:
    """Return the rows of one task and variant in order, each with its range of ranks."""
    valued = [row for row in made if row.mean is not None]
    high = bool(valued) and valued[0].goal == "max"
    valued.sort(key=lambda row: (-row.mean if high else row.mean, row.config))  # type: ignore[operator]
    intervals = [None if row.low is None or row.high is None else (row.low, row.high) for row in valued]
    ranks = rank_ranges(intervals, high)
    ranked = [Row(**{**vars(row), "rank_low": a, "rank_high": b}) for row, (a, b) in zip(valued, ranks, strict=True)]
    return ranked + sorted((row for row in made if row.mean is None), key=lambda row: (row.model, row.config))
