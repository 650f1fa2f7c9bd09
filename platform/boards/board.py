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
from longwave.platform.literature.published import names
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.statistics.ranking import letters, standings
from longwave.platform.statistics.stats import Summary, direction, mean_std
from longwave.platform.statistics.verdict import ENOUGH

OF_BOARD = ("task", "variant", "metric", "unit", "goal")
"""What the rows of one board share."""
AGREED = ("metric", "unit", "goal", "published")
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
    """Return the rows of all boards, one board a task and variant: best mean first, then those without, then old ones.

    Among the ranked rows stand, without a rank, trivial predictors and each published number of a model's form that
    has no current row; where it has, the number stands in that row. Superseded rows are ranked with nobody.

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
        near = [number for number in numbers.get(task, ()) if belongs(number, like.about)]
        found += _board(theirs, like, near, pool, families)
    return found


def _check_agreement(groups: Sequence[Group]) -> None:
    """Raise ConfigError where current groups of one board say different things of it."""
    for name in AGREED:
        said: dict[Any, list[Group]] = {}
        for group in groups:
            if not group.superseded:
                said.setdefault(getattr(group.about, name), []).append(group)
        if len(said) > 1:
            config = groups[0].config
            sides = [f"{_short(value)} in {_named(theirs)}" for value, theirs in said.items()]
            what = "published names" if name == "published" else name
            raise ConfigError(
                f"Rows of {named((config.task, config.variant))} disagree on its {what}: {'; '.join(sides)}. Bump the "
                "version of the task: its older rows are superseded then."
            )


def _short(value: Any) -> str:
    return repr(value) if isinstance(value, str) else ", ".join(map(repr, value))


def _named(groups: Sequence[Group]) -> str:
    """Return the names of the rows of some groups, sorted, and how many more there are."""
    found = sorted(f"{group.row[:SHORT]} ({group.config.model})" for group in groups)
    return ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")


def _board(
    groups: Sequence[Group], like: Group, numbers: Sequence[Mapping[str, Any]], pool: Pool, families: Mapping[str, str]
) -> list[Row]:
    """Return the rows of one task and variant; ``like`` explains them."""
    kept: list[Row] = []
    paired: set[str] = set()
    for group in groups:
        if not pool.holds(group.config.model, group.family):
            continue
        same = [n for n in numbers if n["model"] == group.config.model and n["model_variant"] in group.about.called]
        row = _row(group, same)
        if row.n >= pool.min_seeds:
            kept.append(row)
            paired |= {number["id"] for number in same if row.current}
    alone = [_published(like, n, families.get(n["model"], "")) for n in numbers if n["id"] not in paired]
    trivial = [_trivial(like, name, value) for name, value in like.about.trivial.items()]
    sign = direction(like.about.goal)
    ranked = _ranked([row for row in kept if row.current and row.mean is not None], like.about.goal)
    with_mean = sorted(ranked + alone + trivial, key=lambda row: -sign * (row.mean or 0.0))
    bare = [row for row in kept if row.current and row.mean is None]
    old = [row for row in kept if row.superseded]
    return with_mean + [row for part in (bare, old) for row in sorted(part, key=lambda r: (r.model, r.config))]


def _row(group: Group, numbers: Sequence[Mapping[str, Any]]) -> Row:
    config, about, runs = group.config, group.about, group.runs
    ended = [(run.test, run.valid) for run in runs if run.status == "ok"]
    scores = [test for test, _ in ended if test is not None]
    valid = [value for _, value in ended if value is not None]
    mean, std = mean_std(scores) if scores else (None, None)
    interval = None if mean is None else Summary(mean, std, len(scores)).interval()
    ends = Counter(run.status for run in runs)
    return Row(
        **_same(group),
        **{name: getattr(config, name) for name in ("model", "params", "options", "hidden")},
        title=about.model,
        config=group.row,
        settings=config.in_full(),
        departures=about.departures,
        mean=mean,
        std=std,
        n=len(scores),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        scores=scores,
        valid=sum(valid) / len(valid) if valid else None,
        diverged=ends["diverged"],
        failed=ends["failed"],
        missing=ends["planned"] + ends["running"],
        searched=group.search.trials,
        search_diverged=group.search.diverged,
        provisional=len(scores) < ENOUGH,
        parameters=next((run.parameters for run in runs if run.parameters), None),
        train_seconds=sum(run.seconds for run in runs),
        find_seconds=group.search.seconds,
        published=[beside(number, scores, about.goal, config.hidden) for number in numbers],
        trials=[run.id for run in runs],
        verification=verification(group.checks, group.reruns),
        **{name: getattr(group, name) for name in ("sweeps", "environments", "joules", "family", "superseded")},
    )


def _trivial(like: Group, name: str, value: float) -> Row:
    """Return a trivial predictor's row on the board of ``like``."""
    return Row(**_same(like), kind="trivial", model=name, title=name, mean=value)


def _published(like: Group, number: Mapping[str, Any], family: str) -> Row:
    """Return a published number as a row of its own on the board of ``like``."""
    form = f" ({number['model_variant'].strip('()')})" if number["model_variant"] else ""
    return Row(
        **_same(like),
        kind="published",
        model=number["model"],
        title=names().get(number["model"], number["model"]) + form,
        family=family,
        mean=number["value"],
        std=number["std"],
        n=number["n"] or 0,
        hidden=int(number["units"] or 0),
        parameters=number["params"],
        published=[quoted(number)],
    )


def _same(like: Group) -> dict[str, Any]:
    """Return ``OF_BOARD`` of the board that a group is on."""
    return {name: getattr(like.config if name in ("task", "variant") else like.about, name) for name in OF_BOARD}


def _ranked(rows: Sequence[Row], goal: str) -> list[Row]:
    """Return rows with a mean, each with its range of ranks and its tie groups."""
    places = standings([Summary(row.mean or 0.0, row.std, row.n) for row in rows], goal)
    return [
        replace(row, rank_low=place.low, rank_high=place.high, ties=letters(place.ties))
        for row, place in zip(rows, places, strict=True)
    ]
