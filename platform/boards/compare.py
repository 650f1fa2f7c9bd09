"""Two models, or two rows, against each other: task by task, and in one sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.overview import best_on_validation
from longwave.platform.boards.row import SHORT, Row, named
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.statistics.contrast import LIMIT, Contrast, contrast

Place = tuple[str, str]
NEAREST = 3
"""Undecided tasks that the verdict names; those that need fewest seeds."""
NAMED = 5
"""Rows that an error names; of more it says how many."""
NAMES = ("task", "variant", "model")
"""Settings that two rows need not have in common to be compared, and that the table names elsewhere."""


@dataclass(frozen=True)
class Contest:
    """Two rows on one task.

    Attributes:
        a, b: The rows.
        contrast: How the first stands to the second; None where one has no score.
        differs: Settings in which the rows differ, each with both values; None where one has no such setting.
    """

    a: Row
    b: Row
    contrast: Contrast | None
    differs: Mapping[str, tuple[Any, Any]]

    @property
    def word(self) -> str:
        """``better``, ``worse``, ``equivalent`` or ``undecided``; ``no score`` where a row has none."""
        return self.contrast.decision if self.contrast else "no score"

    @property
    def place(self) -> str:
        """The task with its variant."""
        return self.a.place

    @property
    def decided(self) -> bool:
        """Whether one of the rows is better."""
        return self.word in ("better", "worse")

    @property
    def hint(self) -> str:
        """What would decide an undecided contest, in words; empty for others."""
        if self.contrast is None or self.contrast.decision != "undecided":
            return ""
        if self.a.n < 2 or self.b.n < 2:
            return "one seed cannot decide"
        more = self.contrast.more
        return f"about {more} more seeds" if more is not None else f"{LIMIT} more seeds would not do"

    def to_dict(self) -> dict[str, Any]:
        """Return one record: the task, both rows' statistics, the gain and its interval, the decision."""
        found: dict[str, Any] = {k: getattr(self.a, k) for k in ("task", "variant", "metric", "unit", "goal")}
        for side, row in (("a", self.a), ("b", self.b)):
            found |= {f"{side}_{k}": getattr(row, k) for k in ("model", "config", "mean", "std", "n", "diverged")}
        for name in ("gain", "improvement"):
            value = getattr(self.contrast, name) if self.contrast else None
            ends = (value.value, value.low, value.high) if value else (None, None, None)
            found |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        differs = {name: list(values) for name, values in self.differs.items()}
        return {
            **found,
            "decision": self.word,
            "more": self.contrast.more if self.contrast else None,
            "differs": differs,
        }


@dataclass(frozen=True)
class Comparison:
    """Two models, or two rows, over the tasks they have in common.

    Attributes:
        a, b: How they are called.
        contests: One a task and variant.
        rope: Half-width of the region of practical equivalence, in each task's unit.
        alone: Tasks on which one of them alone has a row.
    """

    a: str
    b: str
    contests: Sequence[Contest]
    rope: float = 0.0
    alone: Sequence[Place] = ()

    @property
    def verdict(self) -> str:
        """One sentence: ``LEM beats coRNN on 4 of 6 tasks; 2 undecided; about 7 more seeds would decide psmnist.``"""
        tally = Counter(contest.word for contest in self.contests)
        n = len(self.contests)
        parts = [f"{self.a} beats {self.b} on {tally['better']} of {n} task{'s' if n > 1 else ''}"]
        parts += [f"loses on {tally['worse']}"] if tally["worse"] else []
        parts += [f"{tally[word]} {word}" for word in ("equivalent", "undecided") if tally[word]]
        parts += [f"{tally['no score']} without a score of both"] if tally["no score"] else []
        open_ = [(c.contrast.more, c.place) for c in self.contests if c.contrast and c.contrast.more]
        near = [f"{more} more seeds would decide {place}" for more, place in sorted(open_)[:NEAREST]]
        return "; ".join(parts + ([f"about {', '.join(near)}"] if near else [])) + "."

    @property
    def how(self) -> str:
        """How the table is to be read."""
        rope = f" Gains within ±{self.rope:g} make no difference." if self.rope else ""
        alone = f" Without a row of both: {', '.join(map(named, self.alone))}." if self.alone else ""
        return (
            "Each model's row is its best on validation. Gain: how much better the first mean is, in the metric's "
            "unit, with Welch's interval; P(better): that a seed of the first is better than one of the second. Every "
            f"interval holds by itself: it is not adjusted for the number of tasks.{rope}{alone}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "a": self.a,
            "b": self.b,
            "rope": self.rope,
            "verdict": self.verdict,
            "tasks": [contest.to_dict() for contest in self.contests],
            "alone": [named(place) for place in self.alone],
        }


def resolve(rows: Sequence[Row], name: str) -> str:
    """Return the model of ``rows`` that ``name`` names, or the full identity of the row whose first digits it gives.

    Raises:
        ConfigError: It names neither, or several rows, or a superseded one; the message says what to do.
    """
    ours = [row for row in rows if row.kind == "reproduced"]
    models = {row.model for row in ours if row.current}
    if name in models:
        return name
    name = name.lower()
    if not re.fullmatch("[0-9a-f]{4,16}", name):
        raise ConfigError(did_you_mean("retrained model", name, models, "Rows are named by 4 hex digits or more."))
    found = sorted((row for row in ours if row.config.startswith(name)), key=lambda row: row.config)
    if not found:
        see = "longwave board --rows --format json"
        raise ConfigError(f"No row has a name that begins with {name}. See the names with: {see}")
    if len(found) > 1:
        known = ", ".join(f"{row.config[:SHORT]} ({row.model} on {row.task})" for row in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise ConfigError(f"{name} begins the names of {len(found)} rows: {known}{more}. Give more digits.")
    if found[0].superseded:
        raise ConfigError(
            f"Row {found[0].config[:SHORT]} is superseded: {found[0].superseded}. Nothing is compared with it; what it "
            "differs in from another says: longwave diff"
        )
    return found[0].config


def compare(rows: Sequence[Row], a: str, b: str, rope: float = 0.0) -> Comparison:
    """Compare two models or two rows.

    Args:
        rows: Rows of any boards.
        a, b: Each a model's registry key, which stands for its best row on validation of each task, or a row's
            identity.
        rope: Half-width of the region of practical equivalence, in the metric's unit.

    Raises:
        ConfigError: They are the same, have no task in common, or the rope is no finite number of at least 0.
    """
    if not 0 <= rope < math.inf:
        raise ConfigError(f"A region of practical equivalence has a half-width of at least 0, got --rope {rope:g}.")
    sides = [_by_place(rows, name) for name in (a, b)]
    common = [place for place in sorted(sides[0]) if place in sides[1]]
    if not common:
        where = [", ".join(map(named, sorted(side))) or "no task" for side in sides]
        raise ConfigError(f"{a} and {b} have no task in common: {a} ran on {where[0]}; {b} on {where[1]}.")
    pairs = [(sides[0][place], sides[1][place]) for place in common]
    if all(x.config == y.config for x, y in pairs):
        raise ConfigError(
            f"{a} and {b} are the same row. Compare two rows, or two models; see them with: longwave board"
        )
    contests = [_contest(x, y, rope) for x, y in pairs]
    alone = sorted(sides[0].keys() ^ sides[1].keys())
    return Comparison(_called(sides[0], a), _called(sides[1], b), contests, rope, alone)


def _by_place(rows: Sequence[Row], name: str) -> dict[Place, Row]:
    """Return the row of a model, or the row of an identity, by task and variant."""
    found: dict[Place, list[Row]] = {}
    for row in rows:
        if row.current and name in (row.model, row.config):
            found.setdefault((row.task, row.variant), []).append(row)
    return {place: best_on_validation(theirs) for place, theirs in found.items()}


def _called(side: Mapping[Place, Row], name: str) -> str:
    """Return how a side is called: its model's title, with the start of a row's identity."""
    row = next(iter(side.values()), None)
    if row is None:
        return name
    return row.title.partition(" (")[0] if name == row.model else f"{row.title} #{row.config[:8]}"


def _contest(a: Row, b: Row, rope: float) -> Contest:
    both = contrast(a.scores, b.scores, a.goal, rope) if a.scores and b.scores else None
    theirs = [_flat(row.settings) for row in (a, b)]
    names = [name for name in {**theirs[0], **theirs[1]} if theirs[0].get(name) != theirs[1].get(name)]
    return Contest(a, b, both, {name: (theirs[0].get(name), theirs[1].get(name)) for name in names})


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with parameters and options by their own names."""
    inner = {name: value for part in ("params", "options") for name, value in settings.get(part, {}).items()}
    return {**{k: v for k, v in settings.items() if k not in (*NAMES, "params", "options")}, **inner}
