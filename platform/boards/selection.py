"""How a row's setting was chosen: its search score, how optimistic that was, and how certain the choice is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from longwave.platform.records.group import SearchedRange, SearchedTrial
from longwave.platform.records.trial import FIELDS, TrialConfig
from longwave.platform.statistics.edges import edge_of
from longwave.platform.statistics.scale import Scale


@dataclass(frozen=True)
class Selection:
    """How a setting was chosen.

    Attributes:
        score: Its best validation score in the search; None if no trial with it was trained to the last epoch.
        optimism: Ratio of the median retraining's validation error to that of ``score``: above 1 if the search was
            lucky. None if the metric has no perfect score.
        runner_up: Row of the runner-up in the race; empty without a race.
        better: Probability that the setting is better than the runner-up, by Student's t on the logs of the errors in
            the race, or on the scores if the metric has no perfect one, with the standard deviation pooled over its
            finalists; None if the race does not determine it.
    """

    score: float | None
    optimism: float | None
    runner_up: str = ""
    better: float | None = None


def describe_selection(
    row: str, candidates: Sequence[SearchedTrial], retrained: Sequence[float | None], scale: Scale
) -> Selection:
    """Return how the setting of a row was chosen.

    Args:
        row: Identity of the row.
        candidates: Trials of its cell: search trials of its setting, and all race trials.
        retrained: The best validation scores of its retrainings, None for a diverged one.
        scale: Of the task's metric.
    """
    trained_fully = [c for c in candidates if c.phase == "search" and c.row == row and c.status == "ok"]
    scores = [c.valid for c in trained_fully if c.valid is not None]
    score = min(scores, key=scale.error) if scores else None
    optimism = None
    if score is not None and retrained and scale.perfect is not None:
        error, typical = scale.error(score), median(scale.errors(retrained))
        optimism = typical / error if error > 0 and math.isfinite(typical) else None
    logs = _race_logs(candidates, scale)
    if row not in logs or len(logs) < 2:
        return Selection(score, optimism)
    trainings = Counter(c.row for c in candidates if c.phase == "race")
    most = max(trainings.values())
    others = {name: values for name, values in logs.items() if name != row and trainings[name] == most}
    if not others:
        return Selection(score, optimism)

    def rank_in_race(name: str) -> tuple[int, float, str]:
        """As the race does: by diverged trainings, then by the mean of the others."""
        ended = [*filter(math.isfinite, others[name])]
        return len(others[name]) - len(ended), fmean(ended) if ended else math.inf, name

    second = min(others, key=rank_in_race)
    return Selection(score, optimism, second, _probability(logs[row], logs[second], [*logs.values()]))


def list_edges(config: TrialConfig, ranges: Sequence[SearchedRange]) -> list[str]:
    """Return which parameters are at an edge of their search range: ``lr at the high end of 0.0001 to 0.1``. Training
    parameters at their default are left out.
    """
    edges = []
    for searched in ranges:
        value = config.params.get(
            searched.name, getattr(config, searched.name, None) if searched.name in FIELDS else None
        )
        if not isinstance(value, int | float) or searched.low == searched.high:
            continue
        if end := edge_of(value, searched.low, searched.high, searched.log):
            edges.append(f"{searched.name} at the {end} end of {searched.low:g} to {searched.high:g}")
    return edges


def _race_logs(candidates: Sequence[SearchedTrial], scale: Scale) -> dict[str, list[float]]:
    """Return ``Scale.log_errors`` in the race by row, infinite for a diverged training; others have none."""
    logs: dict[str, list[float]] = {}
    for c in candidates:
        if c.phase == "race" and c.status in ("ok", "diverged"):
            logs.setdefault(c.row, []).extend(scale.log_errors([c.valid if c.status == "ok" else None]))
    return logs


def _probability(ours: Sequence[float], theirs: Sequence[float], all_logs: Sequence[Sequence[float]]) -> float | None:
    """Return the probability that the first setting has the smaller mean, with the variance of seeds pooled over the
    race."""
    from scipy.special import stdtr

    repeated = [logs for logs in all_logs if len(logs) > 1 and all(map(math.isfinite, logs))]
    freedom = sum(len(logs) - 1 for logs in repeated)
    if not freedom or not all(map(math.isfinite, (*ours, *theirs))):
        return None
    squares = sum((value - fmean(logs)) ** 2 for logs in repeated for value in logs)
    spread = math.sqrt(squares / freedom * (1 / len(ours) + 1 / len(theirs)))
    gap = fmean(theirs) - fmean(ours)
    return float(stdtr(freedom, gap / spread)) if spread else float(gap > 0) if gap else 0.5
