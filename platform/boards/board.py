"""Boards: from retrainings and published numbers to ranked rows. Pure functions; nothing is read here but arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.boards.entry import printed, scale_about, seeds_of, trained, trivial
from longwave.platform.boards.labels import labelled
from longwave.platform.boards.row import REJECTED, SHORT, WENT_ON, Row, named
from longwave.platform.boards.trust import RowTrust, trust_in
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.literature.pairing import belongs, same_form
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.statistics.ranking import order, standings

AGREED = ("metric", "unit", "goal")
"""What explains a board: its current rows must say the same of it."""
NAMED = 3
"""Rows that an error names; of more it says how many."""


def check_pool(pool: Pool, groups: Iterable[Group], published: Iterable[Mapping[str, Any]]) -> None:
    """Raise ConfigError where a pool names a model or a family of which there is no result."""
    groups = list(groups)
    models = {group.config.model for group in groups} | {number["model"] for number in published}
    families = {group.family for group in groups if group.family}
    for kind, names, known in (("model", pool.models, models), ("family", pool.families, families)):
        for name in names:
            if name not in known:
                raise ConfigError(did_you_mean(f"results of {kind}", name, known))


def rows(groups: Iterable[Group], published: Iterable[Mapping[str, Any]], pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of all boards, one board a task and variant, each in ``ranking.order``: best median first.

    Among the ranked rows stand by their value, without a rank, trivial predictors and each published number of a
    model's form that has no current row; where it has, the number stands in that row. Behind them come rows of which no
    seed ended, then untrusted ones, then superseded ones, which are ranked with nobody.

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
    result = []
    for task, variant in sorted(boards):
        theirs = boards[task, variant]
        _check_agreement(theirs)
        theirs, like = _known_to_all(theirs, pool)
        near = [number for number in numbers.get(task, ()) if belongs(number, variant, like.about)]
        result += _board(theirs, like, near, pool, families)
    return result


def _check_agreement(groups: Sequence[Group]) -> None:
    """Raise ConfigError where current groups of one board say different things of it."""
    current = [group for group in groups if not group.superseded]
    for name in AGREED:
        if len({getattr(group.about, name) for group in current}) > 1:
            groups_by_value: dict[Any, list[Group]] = {}
            for group in current:
                groups_by_value.setdefault(getattr(group.about, name), []).append(group)
            config = groups[0].config
            sides = [f"{value!r} in {_named(theirs)}" for value, theirs in groups_by_value.items()]
            raise ConfigError(
                f"Rows of {named((config.task, config.variant))} disagree on its {name}: {'; '.join(sides)}. Bump the "
                "version of the task: its older rows are superseded then."
            )


def _known_to_all(groups: Sequence[Group], pool: Pool) -> tuple[list[Group], Group]:
    """Return the groups, each current one with the trivial predictors that any of them tells, and one for all.

    A row that was recorded before a predictor was added loses to it all the same. Of one name the score that the first
    group tells stands. Untrusted rows are asked only where there are no others.
    """
    current = [group for group in groups if not group.superseded] or list(groups)
    current = [group for group in current if not trust_in(group, pool.trust).untrusted] or current
    like = current[0]
    every = {name: value for group in reversed(current) for name, value in group.about.trivial.items()}

    def with_all_predictors(group: Group) -> Group:
        return group if group.superseded else replace(group, about=replace(group.about, trivial=every))

    return [with_all_predictors(group) for group in groups], with_all_predictors(like)


def _named(groups: Sequence[Group]) -> str:
    """Return the names of the rows of some groups, sorted, and how many more there are."""
    names = sorted(f"{group.row[:SHORT]} ({group.config.model})" for group in groups)
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _supersede_by_choice(rows: Sequence[RowTrust]) -> list[RowTrust]:
    """Return the rows; one is superseded by that which its retrainings or a longer search chose.

    Not by a row with fewer seeds, and not by an untrusted one, unless it is untrusted too.
    """
    seeds = {row.group.row: len(seeds_of(row.group)) for row in rows}
    trusted = {row.group.row for row in rows if not row.untrusted}

    def supersede(row: RowTrust) -> RowTrust:
        group = row.group
        for why, candidates in ((REJECTED, group.rejected_for), (WENT_ON, group.succeeded_by)):
            allowed = [name for name in candidates if row.untrusted or name in trusted]
            able = [name for name in allowed if seeds.get(name, -1) >= seeds[group.row]]
            if able and not group.superseded:
                return replace(row, group=replace(group, superseded=why.format(able[0][:SHORT])))
        return row

    return [supersede(row) for row in rows]


def _board(
    groups: Sequence[Group], like: Group, numbers: Sequence[Mapping[str, Any]], pool: Pool, families: Mapping[str, str]
) -> list[Row]:
    """Return the rows of one task and variant; ``like`` explains them."""
    groups = [group for group in groups if pool.holds(group.config.model, group.family)]
    trusts = _supersede_by_choice([trust_in(group, pool.trust) for group in groups])
    held = [(trust, seeds) for trust in trusts if len(seeds := seeds_of(trust.group)) >= pool.min_seeds]
    ranked = [k for k, (trust, seeds) in enumerate(held) if seeds and not (trust.untrusted or trust.group.superseded)]
    scale = scale_about(like.about)
    standing_of = dict(zip(ranked, standings([held[k][1] for k in ranked], scale), strict=True))
    kept: list[Row] = []
    paired: set[str] = set()
    for k, (trust, seeds) in enumerate(held):
        mine = [n for n in numbers if same_form(n, trust.group.config, trust.group.about)]
        same = [] if trust.untrusted else mine
        kept.append(trained(trust, seeds, same, standing_of.get(k)))
        paired |= {number["id"] for number in same if kept[-1].current}
    if 2 * sum(row.leads for row in kept) < len(ranked):
        kept = [replace(row, stands_out=row.leads) for row in kept]
    alone = [printed(like, n, families.get(n["model"], "")) for n in numbers if n["id"] not in paired]
    simple = [trivial(like, name, value) for name, value in like.about.trivial.items()]
    local = [row for row in kept if row.current and row.seed_count and not row.untrusted]
    bare = [row for row in kept if row.current and not row.seed_count]
    foreign = [row for row in kept if row.current and row.seed_count and row.untrusted]
    old = [row for row in kept if row.superseded]
    first, untrusted = (
        [part[k] for k in order([r.seeds or [r.mean] for r in part], scale)]
        for part in (local + alone + simple, foreign)
    )
    bare, old = (sorted(part, key=lambda r: (r.model, r.config)) for part in (bare, old))
    return labelled([*first, *bare, *untrusted, *old])
