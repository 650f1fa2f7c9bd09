"""Boards: from retrainings and published numbers to ranked rows. Pure functions."""

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
from longwave.platform.wording import list_first

AGREED = ("metric", "unit", "goal")
"""Fields on which the current rows of a board must agree."""
NAMED = 3
"""Rows that an error names; it counts the others."""


def check_pool(pool: Pool, groups: Iterable[Group], published: Iterable[Mapping[str, Any]]) -> None:
    """Raise ConfigError if a pool names a model or a family without results."""
    groups = list(groups)
    models = {group.config.model for group in groups} | {number["model"] for number in published}
    families = {group.family for group in groups if group.family}
    for kind, names, available in (("model", pool.models, models), ("family", pool.families, families)):
        for name in names:
            if name not in available:
                raise ConfigError(did_you_mean(f"results of {kind}", name, available))


def rows(groups: Iterable[Group], published: Iterable[Mapping[str, Any]], pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of all boards, one per task and variant, each in ``ranking.order``: best median first.

    Trivial predictors, and published numbers without a current row of the same form, are placed among the ranked rows
    by value but have no rank, as have rows of one seed; other published numbers are shown in the row they belong to.
    Then come rows without a finished seed, untrusted rows and superseded rows, all unranked.

    Raises:
        ConfigError: The current rows of a board disagree on what it measures; the message names them.
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
        board_groups = boards[task, variant]
        _check_agreement(board_groups)
        board_groups, representative = _known_to_all(board_groups, pool)
        board_numbers = [number for number in numbers.get(task, ()) if belongs(number, variant, representative.about)]
        result += _board(board_groups, representative, board_numbers, pool, families)
    return result


def _check_agreement(groups: Sequence[Group]) -> None:
    """Raise ConfigError if current groups of one board disagree on a field of ``AGREED``."""
    current = [group for group in groups if not group.superseded]
    for name in AGREED:
        if len({getattr(group.about, name) for group in current}) > 1:
            groups_by_value: dict[Any, list[Group]] = {}
            for group in current:
                groups_by_value.setdefault(getattr(group.about, name), []).append(group)
            config = groups[0].config
            sides = [f"{value!r} in {_named(value_rows)}" for value, value_rows in groups_by_value.items()]
            raise ConfigError(
                f"Rows of {named((config.task, config.variant))} disagree on its {name}: {'; '.join(sides)}. Bump the "
                "version of the task: its older rows are superseded then."
            )


def _known_to_all(groups: Sequence[Group], pool: Pool) -> tuple[list[Group], Group]:
    """Return the groups, the current ones with the trivial predictors of all of them, and a group to describe the
    board. So a row recorded before a predictor was added can lose to it too. If groups differ on a predictor's score,
    that of the first counts; untrusted rows are used only if there are no others.
    """
    current = [group for group in groups if not group.superseded] or list(groups)
    current = [group for group in current if not trust_in(group, pool.trust).untrusted] or current
    representative = current[0]
    predictors = {name: value for group in reversed(current) for name, value in group.about.trivial.items()}

    def with_all_predictors(group: Group) -> Group:
        return group if group.superseded else replace(group, about=replace(group.about, trivial=predictors))

    return [with_all_predictors(group) for group in groups], with_all_predictors(representative)


def _named(groups: Sequence[Group]) -> str:
    """Return the names of the first ``NAMED`` rows of some groups, sorted, and the number of others."""
    return list_first(sorted(f"{group.row[:SHORT]} ({group.config.model})" for group in groups), NAMED)


def _supersede_by_choice(rows: Sequence[RowTrust]) -> list[RowTrust]:
    """Return the rows, each superseded by the row that its retrainings or a longer search chose instead. A row with
    fewer seeds supersedes none, and a row whose sweeps are untrusted only untrusted ones.
    """
    seeds = {row.group.row: len(seeds_of(row.group)) for row in rows}
    trusted = {row.group.row for row in rows if not (row.untrusted or row.untrusted_choice)}

    def supersede(row: RowTrust) -> RowTrust:
        group = row.group
        for why, candidates in ((REJECTED, group.rejected_for), (WENT_ON, group.succeeded_by)):
            allowed = [name for name in candidates if row.untrusted or name in trusted]
            large_enough = [name for name in allowed if seeds.get(name, -1) >= seeds[group.row]]
            if large_enough and not group.superseded:
                return replace(row, group=replace(group, superseded=why.format(large_enough[0][:SHORT])))
        return row

    return [supersede(row) for row in rows]


def _board(
    groups: Sequence[Group], like: Group, numbers: Sequence[Mapping[str, Any]], pool: Pool, families: Mapping[str, str]
) -> list[Row]:
    """Return the rows of one task and variant; ``like`` describes the board."""
    groups = [group for group in groups if pool.holds(group.config.model, group.family)]
    trusts = _supersede_by_choice([trust_in(group, pool.trust) for group in groups])
    candidates = [(trust, seeds) for trust in trusts if len(seeds := seeds_of(trust.group)) >= pool.min_seeds]
    ranked = [
        k
        for k, (trust, seeds) in enumerate(candidates)
        if len(seeds) > 1 and not (trust.untrusted or trust.group.superseded)
    ]
    scale = scale_about(like.about)
    standing_of = dict(zip(ranked, standings([candidates[k][1] for k in ranked], scale), strict=True))
    trained_rows: list[Row] = []
    paired: set[str] = set()
    for k, (trust, seeds) in enumerate(candidates):
        matching = [n for n in numbers if same_form(n, trust.group.config, trust.group.about)]
        comparable = [] if trust.untrusted else matching
        trained_rows.append(trained(trust, seeds, comparable, standing_of.get(k)))
        paired |= {number["id"] for number in comparable if trained_rows[-1].current}
    if 2 * sum(row.leads for row in trained_rows) < len(ranked):
        trained_rows = [replace(row, stands_out=row.leads) for row in trained_rows]
    unpaired = [printed(like, n, families.get(n["model"], "")) for n in numbers if n["id"] not in paired]
    trivials = [trivial(like, name, value) for name, value in like.about.trivial.items()]
    local = [row for row in trained_rows if row.current and row.seed_count and not row.untrusted]
    unscored = [row for row in trained_rows if row.current and not row.seed_count]
    imported = [row for row in trained_rows if row.current and row.seed_count and row.untrusted]
    gave_way = [row for row in trained_rows if row.superseded]
    main, untrusted = (
        [part[k] for k in order([r.seeds or [r.mean] for r in part], scale)]
        for part in (local + unpaired + trivials, imported)
    )
    unscored, gave_way = (sorted(part, key=lambda r: (r.model, r.config)) for part in (unscored, gave_way))
    return labelled([*main, *unscored, *untrusted, *gave_way])
