"""Boards: from retrainings and published numbers to ranked rows. Pure functions; nothing is read here but arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.boards.row import SHORT, Row, named
from longwave.platform.boards.verification import verification
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.literature.pairing import belongs, beside, quoted
from longwave.platform.literature.published import title
from longwave.platform.records.about import About
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.statistics.median import median
from longwave.platform.statistics.ranking import Standing, letters, order, standings
from longwave.platform.statistics.scale import Scale, Score, scale_of
from longwave.platform.statistics.stats import summary
from longwave.platform.statistics.verdict import ENOUGH

OF_BOARD = ("task", "variant", "metric", "unit", "goal")
"""What the rows of one board share."""
AGREED = ("metric", "unit", "goal")
"""What explains a board: its current rows must say the same of it."""
NAMED = 3
"""Rows that an error names; of more it says how many."""


def check_pool(pool: Pool, groups: Iterable[Group], published: Iterable[Mapping[str, Any]]) -> None:
    """Raise ConfigError where a pool names a model or a family of which there is no result."""
    groups = list(groups)
    models = {group.config.model for group in groups} | {number["model"] for number in published}
    families = {group.family for group in groups if group.family}
    for kind, asked, known in (("model", pool.models, models), ("family", pool.families, families)):
        for name in asked:
            if name not in known:
                raise ConfigError(did_you_mean(f"results of {kind}", name, known))


def rows(groups: Iterable[Group], published: Iterable[Mapping[str, Any]], pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of all boards, one board a task and variant, each in ``ranking.order``: best median first.

    Among the ranked rows stand by their value, without a rank, trivial predictors and each published number of a
    model's form that has no current row; where it has, the number stands in that row. Behind them come rows of which no
    seed ended, then superseded ones, which are ranked with nobody.

    Raises:
        ConfigError: Current rows of a board disagree on what it measures; the message names them.
    """
    boards: dict[tuple[str, str], list[Group]] = {}
    families: dict[str, str] = {}
    for group in groups:
        boards.setdefault((group.config.task, group.config.variant), []).append(group)
        if group.family:
            families[group.config.model] = group.family
    numbers: dict[str, list[Mapping[str, Any]]] = {}
    for number in published:
        if pool.holds(number["model"], families.get(number["model"], "")):
            numbers.setdefault(number["task"], []).append(number)
    found = []
    for task, variant in sorted(boards):
        theirs = boards[task, variant]
        like = next((group for group in theirs if not group.superseded), theirs[0])
        _check_agreement(theirs)
        theirs, like = _known_to_all(theirs, like)
        near = [number for number in numbers.get(task, ()) if belongs(number, variant, like.about)]
        found += _board(theirs, like, near, pool, families)
    return found


def _check_agreement(groups: Sequence[Group]) -> None:
    """Raise ConfigError where current groups of one board say different things of it."""
    current = [group for group in groups if not group.superseded]
    for name in AGREED:
        if len({getattr(group.about, name) for group in current}) > 1:
            said: dict[Any, list[Group]] = {}
            for group in current:
                said.setdefault(getattr(group.about, name), []).append(group)
            config = groups[0].config
            sides = [f"{value!r} in {_named(theirs)}" for value, theirs in said.items()]
            raise ConfigError(
                f"Rows of {named((config.task, config.variant))} disagree on its {name}: {'; '.join(sides)}. Bump the "
                "version of the task: its older rows are superseded then."
            )


def _known_to_all(groups: Sequence[Group], like: Group) -> tuple[list[Group], Group]:
    """Return the groups, and ``like`` among them, each current one with the trivial predictors that any of them tells.

    A row that was recorded before a predictor was added loses to it all the same. Of one name the score of ``like``,
    then that of an earlier group stands.
    """
    current = [like, *(group for group in groups if not group.superseded)]
    every = {name: value for group in reversed(current) for name, value in group.about.trivial.items()}

    def told(group: Group) -> Group:
        return group if group.superseded else replace(group, about=replace(group.about, trivial=every))

    return [told(group) for group in groups], told(like)


def _named(groups: Sequence[Group]) -> str:
    """Return the names of the rows of some groups, sorted, and how many more there are."""
    found = sorted(f"{group.row[:SHORT]} ({group.config.model})" for group in groups)
    return ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")


def _board(
    groups: Sequence[Group], like: Group, numbers: Sequence[Mapping[str, Any]], pool: Pool, families: Mapping[str, str]
) -> list[Row]:
    """Return the rows of one task and variant; ``like`` explains them."""
    asked = [(group, _seeds(group)) for group in groups if pool.holds(group.config.model, group.family)]
    held = [(group, seeds) for group, seeds in asked if len(seeds) >= pool.min_seeds]
    ranked = [k for k, (group, seeds) in enumerate(held) if seeds and not group.superseded]
    scale = _scale(like.about)
    standing = dict(zip(ranked, standings([held[k][1] for k in ranked], scale), strict=True))
    kept: list[Row] = []
    paired: set[str] = set()
    for k, (group, seeds) in enumerate(held):
        same = [n for n in numbers if n["model"] == group.config.model and n["model_variant"] in group.about.called]
        kept.append(_row(group, seeds, same, standing.get(k)))
        paired |= {number["id"] for number in same if kept[-1].current}
    alone = [_published(like, n, families.get(n["model"], "")) for n in numbers if n["id"] not in paired]
    trivial = [_trivial(like, name, value) for name, value in like.about.trivial.items()]
    ended = [row for row in kept if row.current and row.asked] + alone + trivial
    places = order([row.seeds or [row.mean] for row in ended], scale)
    bare = [row for row in kept if row.current and not row.asked]
    old = [row for row in kept if row.superseded]
    last = [row for part in (bare, old) for row in sorted(part, key=lambda r: (r.model, r.config))]
    return [ended[place] for place in places] + last


def _seeds(group: Group) -> list[Score]:
    """Return the test metric of each retraining that ended ok, then None for each that diverged."""
    scores: list[Score] = [run.test for run in group.runs if run.status == "ok" and run.test is not None]
    return [*scores, *(None for run in group.runs if run.status == "diverged")]


def _row(group: Group, seeds: Sequence[Score], numbers: Sequence[Mapping[str, Any]], standing: Standing | None) -> Row:
    """Return a group's row, given its ``_seeds``, the published numbers beside it, and its standing if it has one."""
    config, about, runs = group.config, group.about, group.runs
    ends = Counter(run.status for run in runs)
    return Row(
        **_same(group),
        **_middle(seeds, about),
        **_described([score for score in seeds if score is not None]),
        **{name: getattr(config, name) for name in ("model", "params", "options", "hidden")},
        title=about.model,
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
        provisional=len(seeds) < ENOUGH,
        parameters=next((run.parameters for run in runs if run.parameters), None),
        train_seconds=sum(run.seconds for run in runs),
        find_seconds=group.search.seconds,
        published=[beside(number, seeds, _scale(about), about, config) for number in numbers],
        trials=[run.id for run in runs],
        verification=verification(group.checks, group.reruns),
        margin=about.margin,
        floor=about.floor,
        rank_low=standing.low if standing else None,
        rank_high=standing.high if standing else None,
        ties=letters(standing.ties) if standing else "",
        **{name: getattr(group, name) for name in ("sweeps", "environments", "joules", "family", "superseded")},
    )


def _described(scores: Sequence[float]) -> dict[str, Any]:
    """Return the fields of a row that describe the seeds that ended ok."""
    if not scores:
        return {}
    found = summary(scores)
    low, high = found.interval() or (None, None)
    return {"mean": found.mean, "std": found.std, "n": found.n, "low": low, "high": high, "scores": scores}


def _valid(group: Group) -> Score:
    """Return the median validation metric over a group's seeds, a diverged one worst; None where none is known."""
    ended: list[Score] = [run.valid for run in group.runs if run.status == "ok" and run.valid is not None]
    valid = [*ended, *(None for run in group.runs if run.status == "diverged")]
    return median(valid, _scale(group.about)).value if valid else None


def _middle(seeds: Sequence[Score], about: About) -> dict[str, Any]:
    """Return the fields of a row that come from its median; none where no seed ended."""
    if not seeds:
        return {}
    found = median(seeds, _scale(about))
    return {
        "median": found.value,
        "median_best": found.best,
        "median_worst": found.worst,
        "median_level": found.level,
        "loses_to": _loses_to(found.value, about),
    }


def _loses_to(score: Score, about: About) -> str:
    """Return the best trivial predictor if it is better than ``score``, else nothing."""
    scale = _scale(about)
    errors = {name: scale.error(value) for name, value in about.trivial.items()}
    best = min(errors, key=errors.__getitem__, default="")
    return best if best and errors[best] < scale.error(score) else ""


def _known(about: About) -> list[str]:
    """Return how the paper of a trial's recipe is known to differ from the task; nothing where the recipe is ours."""
    return [said for said, papers in about.known.items() if about.paper and (not papers or about.paper in papers)]


def _scale(about: About) -> Scale:
    return scale_of(about.goal, about.unit, about.floor)


def _trivial(like: Group, name: str, value: float) -> Row:
    """Return a trivial predictor's row on the board of ``like``."""
    return Row(**_same(like), kind="trivial", model=name, title=name, mean=value)


def _published(like: Group, number: Mapping[str, Any], family: str) -> Row:
    """Return a published number as a row of its own on the board of ``like``."""
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
    """Return ``OF_BOARD`` of the board that a group is on."""
    return {name: getattr(like.config if name in ("task", "variant") else like.about, name) for name in OF_BOARD}
