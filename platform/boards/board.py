"""Boards: from retrainings and published numbers to ranked rows. Pure functions; nothing is read here but arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.boards.entry import printed, scale_about, seeds_of, trained, trivial
from longwave.platform.boards.labels import labelled
from longwave.platform.boards.row import SHORT, WENT_ON, Row, named
from longwave.platform.boards.trust import Seat, check_trust, seated
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.literature.pairing import belongs
from longwave.platform.records.group import EVERYBODY, Group, Pool
from longwave.platform.statistics.ranking import order, standings

AGREED = ("metric", "unit", "goal")
"""What explains a board: its current rows must say the same of it."""
NAMED = 3
"""Rows that an error names; of more it says how many."""


def check_pool(pool: Pool, groups: Iterable[Group], published: Iterable[Mapping[str, Any]]) -> None:
    """Raise ConfigError where a pool names a model, a family or a bundle of which there is no result."""
    groups = list(groups)
    models = {group.config.model for group in groups} | {number["model"] for number in published}
    families = {group.family for group in groups if group.family}
    for kind, asked, known in (("model", pool.models, models), ("family", pool.families, families)):
        for name in asked:
            if name not in known:
                raise ConfigError(did_you_mean(f"results of {kind}", name, known))
    check_trust(pool.trust, groups)


def rows(groups: Iterable[Group], published: Iterable[Mapping[str, Any]], pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of all boards, one board a task and variant, each in ``ranking.order``: best median first.

    Among the ranked rows stand by their value, without a rank, trivial predictors and each published number of a
    model's form that has no current row; where it has, the number stands in that row. Behind them come rows of which no
    seed ended, then guests, then superseded ones, which are ranked with nobody.

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
        _check_agreement(theirs)
        theirs, like = _known_to_all(theirs, pool)
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


def _known_to_all(groups: Sequence[Group], pool: Pool) -> tuple[list[Group], Group]:
    """Return the groups, each current one with the trivial predictors that any of them tells, and one for all.

    A row that was recorded before a predictor was added loses to it all the same. Of one name the score that the first
    group tells stands. Guests are not heard, unless there are none but guests.
    """
    current = [group for group in groups if not group.superseded] or list(groups)
    current = [group for group in current if not seated(group, pool.trust).guest] or current
    like = current[0]
    every = {name: value for group in reversed(current) for name, value in group.about.trivial.items()}

    def told(group: Group) -> Group:
        return group if group.superseded else replace(group, about=replace(group.about, trivial=every))

    return [told(group) for group in groups], told(like)


def _named(groups: Sequence[Group]) -> str:
    """Return the names of the rows of some groups, sorted, and how many more there are."""
    found = sorted(f"{group.row[:SHORT]} ({group.config.model})" for group in groups)
    return ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")


def _searched_on(seats: Sequence[Seat]) -> list[Seat]:
    """Return the seats; a row is superseded by the one that was chosen where its search went on.

    Not by a row with fewer seeds, and not by a guest, unless it is one too.
    """
    seeds = {seat.group.row: len(seeds_of(seat.group)) for seat in seats}
    ours = {seat.group.row for seat in seats if not seat.guest}

    def told(seat: Seat) -> Seat:
        group = seat.group
        among = [row for row in group.succeeded_by if seat.guest or row in ours]
        able = [row for row in among if seeds.get(row, -1) >= seeds[group.row]]
        if group.superseded or not able:
            return seat
        return replace(seat, group=replace(group, superseded=f"{WENT_ON}{able[0][:SHORT]}"))

    return [told(seat) for seat in seats]


def _board(
    groups: Sequence[Group], like: Group, numbers: Sequence[Mapping[str, Any]], pool: Pool, families: Mapping[str, str]
) -> list[Row]:
    """Return the rows of one task and variant; ``like`` explains them."""
    groups = [group for group in groups if pool.holds(group.config.model, group.family)]
    seats = _searched_on([seated(group, pool.trust) for group in groups])
    held = [(seat, seeds) for seat in seats if len(seeds := seeds_of(seat.group)) >= pool.min_seeds]
    ranked = [k for k, (seat, seeds) in enumerate(held) if seeds and not seat.guest and not seat.group.superseded]
    scale = scale_about(like.about)
    standing = dict(zip(ranked, standings([held[k][1] for k in ranked], scale), strict=True))
    kept: list[Row] = []
    paired: set[str] = set()
    for k, (seat, seeds) in enumerate(held):
        config, called = seat.group.config, seat.group.about.called
        same = [n for n in numbers if n["model"] == config.model and n["model_variant"] in called and not seat.guest]
        kept.append(trained(seat, seeds, same, standing.get(k)))
        paired |= {number["id"] for number in same if kept[-1].current}
    alone = [printed(like, n, families.get(n["model"], "")) for n in numbers if n["id"] not in paired]
    simple = [trivial(like, name, value) for name, value in like.about.trivial.items()]
    own = [row for row in kept if row.current and row.asked and not row.guest]
    bare = [row for row in kept if row.current and not row.asked]
    told = [row for row in kept if row.current and row.asked and row.guest]
    old = [row for row in kept if row.superseded]
    first, guests = (
        [part[k] for k in order([r.seeds or [r.mean] for r in part], scale)] for part in (own + alone + simple, told)
    )
    bare, old = (sorted(part, key=lambda r: (r.model, r.config)) for part in (bare, old))
    return labelled([*first, *bare, *guests, *old])
