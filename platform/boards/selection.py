"""How a row's setting was chosen: its score in the search, how lucky that was, and how sure the choice is."""

from __future__ import annotations

import math
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
        score: Its best validation score in the search; None where no trial with it was trained whole.
        optimism: Ratio of the median retraining's validation error to that of ``score``: above 1 where the search was
            lucky. None where a metric has no perfect score.
        runner_up: Row of the runner-up in the race; empty without a race.
        better: Probability that the setting is better than the runner-up, by Student's t on the logs of the errors in
            the race, with the standard deviation of its finalists pooled; None where the race cannot say.
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
        row: Its identity.
        candidates: Trials of its cell: of the search those of its own setting, and all of the race.
        retrained: The best validation scores of its retrainings, None where one diverged.
        scale: Of the task's metric.
    """
    whole = [c for c in candidates if c.phase == "search" and c.row == row and c.status == "ok"]
    mine = [c.valid for c in whole if c.valid is not None]
    score = min(mine, key=scale.error) if mine else None
    optimism = None
    if score is not None and retrained and scale.perfect is not None:
        error, typical = scale.error(score), median(scale.errors(retrained))
        optimism = typical / error if error > 0 and math.isfinite(typical) else None
    logs = _race_logs(candidates, scale)
    if row not in logs or len(logs) < 2:
        return Selection(score, optimism)
    most = max(len(values) for values in logs.values())
    others = {name: values for name, values in logs.items() if name != row and len(values) == most}
    if not others:
        return Selection(score, optimism)
    second = min(others, key=lambda name: (fmean(others[name]), name))
    return Selection(score, optimism, second, _probability(logs[row], logs[second], [*logs.values()]))


def list_edges(config: TrialConfig, ranges: Sequence[SearchedRange]) -> list[str]:
    """Return which numbers of a setting lie at an edge of what was searched: ``lr at the high end of 0.0001 to 0.1``.

    A training number that has its default is left out.
    """
    edges = []
    for drawn in ranges:
        value = config.params.get(drawn.name, getattr(config, drawn.name, None) if drawn.name in FIELDS else None)
        if not isinstance(value, int | float) or drawn.low == drawn.high:
            continue
        if end := edge_of(value, drawn.low, drawn.high, drawn.log):
            edges.append(f"{drawn.name} at the {end} end of {drawn.low:g} to {drawn.high:g}")
    return edges


def _race_logs(candidates: Sequence[SearchedTrial], scale: Scale) -> dict[str, list[float]]:
    """Return the logs of the errors in the race by row, infinite where a training diverged."""
    logs: dict[str, list[float]] = {}
    for c in candidates if scale.perfect is not None else ():
        if c.phase == "race":
            logs.setdefault(c.row, []).extend(scale.log_errors([c.valid if c.status == "ok" else None]))
    return logs


def _probability(ours: Sequence[float], theirs: Sequence[float], all_logs: Sequence[Sequence[float]]) -> float | None:
    """Return the probability that the first setting has the smaller mean, given how seeds vary in all of a race."""
    from scipy.special import stdtr

    several = [logs for logs in all_logs if len(logs) > 1 and all(map(math.isfinite, logs))]
    freedom = sum(len(logs) - 1 for logs in several)
    if not freedom or not all(map(math.isfinite, (*ours, *theirs))):
        return None
    squares = sum((value - fmean(logs)) ** 2 for logs in several for value in logs)
    spread = math.sqrt(squares / freedom * (1 / len(ours) + 1 / len(theirs)))
    gap = fmean(theirs) - fmean(ours)
    return float(stdtr(freedom, gap / spread)) if spread else float(gap > 0) if gap else 0.5
