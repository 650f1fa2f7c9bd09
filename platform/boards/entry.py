"""One row of a board, from a group of retrainings, a trivial predictor or a published number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from longwave.platform.boards.row import Row
from longwave.platform.boards.selection import describe_selection, list_edges
from longwave.platform.boards.trust import RowTrust
from longwave.platform.literature.pairing import pair_number, quoted
from longwave.platform.literature.published import title
from longwave.platform.records.about import About
from longwave.platform.records.group import Group
from longwave.platform.statistics.median import median
from longwave.platform.statistics.ranking import Standing, letters
from longwave.platform.statistics.scale import Scale, Score, scale_of
from longwave.platform.statistics.sign import beats
from longwave.platform.statistics.stats import summary
from longwave.platform.statistics.verdict import ENOUGH

OF_BOARD = ("task", "variant", "metric", "unit", "goal")
"""Fields that all rows of a board share."""


def seeds_of(group: Group) -> list[Score]:
    """Return the test metric of each retraining that ended ok, then None for each that diverged."""
    scores: list[Score] = [run.test for run in group.runs if run.status == "ok" and run.test is not None]
    return [*scores, *(None for run in group.runs if run.status == "diverged")]


def trained(
    trust: RowTrust, seeds: Sequence[Score], numbers: Sequence[Mapping[str, Any]], standing: Standing | None
) -> Row:
    """Return a group's row from its ``seeds_of``, its published numbers, and its standing if it is ranked."""
    group = trust.group
    config, about, runs, scale = group.config, group.about, group.runs, scale_about(group.about)
    ends = Counter(run.status for run in runs)
    edges = list_edges(config, group.ranges) if group.ranges else None
    return Row(
        **_same(group),
        **_middle(seeds, about),
        **_described([score for score in seeds if score is not None]),
        **{name: getattr(config, name) for name in ("model", "params", "options", "hidden")},
        title=about.model_in_print,
        layers=about.layers,
        config=group.row,
        settings=config.in_full(),
        recipe=about.recipe,
        departures=about.departures,
        known=_known(about),
        valid=_valid(group),
        diverged=ends["diverged"],
        failed=ends["failed"],
        missing=ends["planned"] + ends["running"],
        searched=group.search.trials,
        search_diverged=group.search.diverged,
        search_stopped=group.search.stopped,
        search_whole=group.search.whole,
        **_selected(group),
        at_edge=edges,
        provisional=len(seeds) < ENOUGH,
        parameters=next((run.parameters for run in runs if run.parameters), None),
        train_seconds=sum(run.seconds for run in runs),
        find_seconds=group.search.seconds,
        published=[pair_number(number, seeds, scale, about, config, group.drawn, edges) for number in numbers],
        trials=list(dict.fromkeys([*(run.id for run in runs), *trust.untrusted_runs])),
        untrusted=trust.untrusted,
        untrusted_runs=trust.untrusted_runs,
        verification=trust.level,
        margin=about.margin,
        floor=about.floor,
        rank_low=standing.low if standing else None,
        rank_high=standing.high if standing else None,
        ties=letters(standing.ties) if standing else "",
        **{name: getattr(group, name) for name in ("sweeps", "ways", "environments", "joules", "family", "superseded")},
    )


def _described(scores: Sequence[float]) -> dict[str, Any]:
    """Return a row's statistics of the seeds that ended ok."""
    if not scores:
        return {}
    summarised = summary(scores)
    low, high = summarised.interval() or (None, None)
    return {
        "mean": summarised.mean,
        "std": summarised.std,
        "n": summarised.n,
        "low": low,
        "high": high,
        "scores": scores,
    }


def _selected(group: Group) -> dict[str, Any]:
    """Return a row's fields on how its setting was chosen."""
    chosen = describe_selection(group.row, group.candidates, _valid_scores(group), scale_about(group.about))
    return {
        "search_score": chosen.score,
        "optimism": chosen.optimism,
        "runner_up": chosen.runner_up,
        "better": chosen.better,
    }


def _valid_scores(group: Group) -> list[Score]:
    """Return the best validation metric of each of a group's seeds that ended ok, then None for each that diverged."""
    ended: list[Score] = [run.valid for run in group.runs if run.status == "ok" and run.valid is not None]
    return [*ended, *(None for run in group.runs if run.status == "diverged")]


def _valid(group: Group) -> Score:
    """Return the median validation metric over a group's seeds, a diverged one worst; None without any."""
    valid = _valid_scores(group)
    return median(valid, scale_about(group.about)).value if valid else None


def _middle(seeds: Sequence[Score], about: About) -> dict[str, Any]:
    """Return a row's fields from its median; none if no seed ended."""
    if not seeds:
        return {}
    middle = median(seeds, scale_about(about))
    return {
        "median": middle.value,
        "median_best": middle.best,
        "median_worst": middle.worst,
        "median_level": middle.level,
        "loses_to": _loses_to(middle.value, about),
    }


def _loses_to(score: Score, about: About) -> str:
    """Return the best trivial predictor if it is better than ``score``, else an empty text."""
    scale = scale_about(about)
    errors = {name: scale.error(value) for name, value in about.trivial.items()}
    best = min(errors, key=errors.__getitem__, default="")
    return best if best and beats(about.trivial[best], score, scale) else ""


def _known(about: About) -> list[str]:
    """Return known differences of the recipe's paper from the task; none if the recipe is ours."""
    return [fact for fact, papers in about.known.items() if about.paper and (not papers or about.paper in papers)]


def scale_about(about: About) -> Scale:
    """Return the scale of a task's metric."""
    return scale_of(about.metric, about.goal, about.unit, about.floor)


def trivial(like: Group, name: str, value: float) -> Row:
    """Return a trivial predictor's row on the board of ``like``."""
    return Row(**_same(like), kind="trivial", model=name, title=name, mean=value)


def printed(like: Group, number: Mapping[str, Any], family: str) -> Row:
    """Return a separate row for a published number on the board of ``like``."""
    return Row(
        **_same(like),
        kind="published",
        model=number["model"],
        title=title(number),
        family=family,
        mean=number["value"],
        std=number["std"],
        n=number["n"] or 0,
        hidden=int(number["units"] or 0),
        parameters=number["params"],
        loses_to=_loses_to(number["value"], like.about),
        published=[quoted(number)],
    )


def _same(like: Group) -> dict[str, Any]:
    """Return the fields that a group shares with its board."""
    same = {name: getattr(like.config if name in ("task", "variant") else like.about, name) for name in OF_BOARD}
    return {**same, "task_title": like.task_title or like.about.task}
