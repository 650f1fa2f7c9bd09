"""Comparison of two models, or two rows: task by task, and in one sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.overview import best_on_validation
from longwave.platform.boards.row import SHORT, Row, distinct_boards, group_by_board, named
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.statistics.contrast import Contrast, contrast
from longwave.platform.wording import list_first

Place = tuple[str, str]
NEAREST = 3
"""Undecided tasks that the verdict names: those that need the fewest seeds."""
NAMED = 5
"""Rows that an error names; it counts the others."""
NAMES = ("task", "variant", "model")
"""Settings not listed as differences, because the table shows them elsewhere."""
OF_ROW = ("model", "config", "median", "median_best", "median_worst", "mean", "std", "n", "diverged")
"""Fields of each row in a record."""

OF_MODEL = "A model is represented by the row with its best validation score."
HOW = (
    "Median over all seeds, 95 % interval, a diverged seed counted as worst. P(better): probability that a seed of the "
    "first beats one of the second; its interval is wider than the test's, so it may include 0.5 beside a verdict. "
    "Ratio: error of the first over that of the second, geometric means of the seeds that ended. Verdict: rank test of "
    "this pair at 5 %; the ranks of a board are stricter, adjusted for all its pairs. More seeds: number that each row "
    "needs for 80 % power."
)
ON_ONE_BOARD = {
    "better": "{0} beats {1} on {2}",
    "worse": "{0} loses to {1} on {2}",
    "equivalent": "{0} and {1} are equivalent on {2}",
    "undecided": "{0} and {1} are not significantly different on {2}",
    "no seed": "{0} and {1} have no seeds to compare on {2}",
}
"""Verdicts of a comparison on a single board, by the word of its contest."""
EQUIVALENT = "Equivalent: no seed diverged, and the 90 % interval of the ratio lies in 1/{0:g} to {0:g}."


@dataclass(frozen=True)
class Contest:
    """Two rows on one task.

    Attributes:
        a, b: The rows.
        contrast: Comparison of the first with the second; None if one has no seed that ended or diverged.
        differs: Settings in which the rows differ, each with both values; None for a row without that setting.
    """

    a: Row
    b: Row
    contrast: Contrast | None
    differs: Mapping[str, tuple[Any, Any]]

    @property
    def word(self) -> str:
        """``better``, ``worse``, ``equivalent`` or ``undecided``; ``no seed`` if a row has none."""
        return self.contrast.decision if self.contrast else "no seed"

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
        """What would settle an undecided contest, in words; empty for others."""
        return self.contrast.hint if self.contrast else ""

    def to_dict(self) -> dict[str, Any]:
        """Return one record: the task, both rows' medians and other statistics, P(better), the ratio, the decision."""
        fields: dict[str, Any] = {k: getattr(self.a, k) for k in ("task", "variant", "metric", "unit", "goal")}
        for side, row in (("a", self.a), ("b", self.b)):
            fields |= {f"{side}_{k}": getattr(row, k) for k in OF_ROW}
        for name in ("improvement", "ratio"):
            value = getattr(self.contrast, name) if self.contrast else None
            ends = (value.value, value.low, value.high) if value else (None, None, None)
            fields |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        differs = {name: list(values) for name, values in self.differs.items()}
        return {
            **fields,
            "decision": self.word,
            "more": self.contrast.more if self.contrast else None,
            "differs": differs,
        }


@dataclass(frozen=True)
class Comparison:
    """Two models, or two rows, over the tasks they have in common.

    Attributes:
        a, b: Their names.
        contests: One per task and variant.
        margin: Ratio of errors that makes no difference; None: every difference counts.
        alone: The row of one of them on each task and variant where the other has none.
        of_models: Whether one of them is a model, represented by one of its rows.
    """

    a: str
    b: str
    contests: Sequence[Contest]
    margin: float | None = None
    alone: Sequence[Row] = ()
    of_models: bool = True

    @property
    def boards(self) -> list[str]:
        """Names in print of the boards of the contests."""
        return distinct_boards([contest.a for contest in self.contests])

    @property
    def verdict(self) -> str:
        """One sentence: ``LEM beats coRNN on 4 of 6 boards; 2 undecided; about 7 more seeds would decide psmnist.``"""
        if len(self.contests) == 1:
            [contest], [board] = self.contests, self.boards
            more_decide = bool(contest.contrast and contest.contrast.more)
            hint = f": {contest.hint}{' would decide it' * more_decide}" if contest.hint else ""
            return f"{ON_ONE_BOARD[contest.word].format(self.a, self.b, board)}{hint}."
        tally = Counter(contest.word for contest in self.contests)
        parts = [f"{self.a} beats {self.b} on {tally['better']} of {len(self.contests)} boards"]
        parts += [f"loses on {tally['worse']}"] if tally["worse"] else []
        parts += [f"{tally[word]} {word}" for word in ("equivalent", "undecided") if tally[word]]
        parts += [f"{tally['no seed']} without a seed of both"] if tally["no seed"] else []
        boards = zip(self.contests, self.boards, strict=True)
        undecided = sorted((c.contrast.more, board, c.hint) for c, board in boards if c.contrast and c.contrast.more)
        hints = ", ".join(f"{hint} would decide {board}" for _, board, hint in undecided[:NEAREST])
        return "; ".join(parts + ([hints] if hints else [])) + "."

    @property
    def how(self) -> str:
        """How to read the table."""
        margin = f" {EQUIVALENT.format(self.margin)}" if self.margin else ""
        unpaired = f" Only one of them has a row on: {'; '.join(distinct_boards(self.alone))}." if self.alone else ""
        return f"{OF_MODEL + ' ' if self.of_models else ''}{HOW}{margin}{unpaired}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {
            "a": self.a,
            "b": self.b,
            "margin": self.margin,
            "verdict": self.verdict,
            "tasks": [contest.to_dict() for contest in self.contests],
            "alone": [row.place for row in self.alone],
        }


def resolve(rows: Sequence[Row], name: str) -> str:
    """Return the model that ``name`` names, or the full identity of the row whose first digits it is.

    Raises:
        ConfigError: It names neither, or several rows, or a superseded one; the message says what to do.
    """
    retrained = [row for row in rows if row.kind == "retrained"]
    models = {row.model for row in retrained if row.current}
    if name in models:
        return name
    name = name.lower()
    if not re.fullmatch("[0-9a-f]{4,16}", name):
        raise ConfigError(did_you_mean("retrained model", name, models, "Rows are named by 4 hex digits or more."))
    matching = sorted((row for row in retrained if row.config.startswith(name)), key=lambda row: row.config)
    if not matching:
        command = "longwave board --rows --format json"
        raise ConfigError(f"No trained row has a name that begins with {name}. See the names with: {command}")
    if len(matching) > 1:
        shown = list_first([f"{row.config[:SHORT]} ({row.model} on {row.task})" for row in matching], NAMED)
        raise ConfigError(f"{name} begins the names of {len(matching)} rows: {shown}. Give more digits.")
    if matching[0].superseded:
        raise ConfigError(
            f"Row {matching[0].config[:SHORT]} is superseded: {matching[0].superseded}. It cannot be compared. "
            "See how it differs from another with: longwave diff"
        )
    return matching[0].config


def compare(rows: Sequence[Row], a: str, b: str, margin: float | None = None, task: str | None = None) -> Comparison:
    """Compare two models or two rows.

    Args:
        rows: Rows of any boards.
        a, b: A model's registry key, for its best row on validation of each task, or a row's identity.
        margin: Ratio of errors that makes no difference, in either direction; None: every difference counts.
        task: Only on this task.

    Raises:
        ConfigError: They are the same, have no task in common, or the margin is not a finite number above 1.
    """
    if margin is not None and not 1 < margin < math.inf:
        raise ConfigError(f"A margin is a ratio of errors above 1, got margin {margin:g}. Try 1.05.")
    sides = [_best_by_board(rows, name) for name in (a, b)]
    common = [board for board in sorted(sides[0]) if board in sides[1] and task in (None, board[0])]
    if not common:
        tasks = [", ".join(map(named, sorted(side))) or "no task" for side in sides]
        lack = "have no task in common" if task is None else f"cannot be compared on {task}"
        raise ConfigError(f"{a} and {b} {lack}: {a} ran on {tasks[0]}; {b} on {tasks[1]}.")
    pairs = [(sides[0][board], sides[1][board]) for board in common]
    if all(x.config == y.config for x, y in pairs):
        raise ConfigError(
            f"{a} and {b} are the same row. Compare two rows, or two models; see them with: longwave board"
        )
    contests = [_contest(x, y, margin) for x, y in pairs]
    either = sides[0] | sides[1]
    one_side = sorted(board for board in sides[0].keys() ^ sides[1].keys() if task in (None, board[0]))
    alone = [either[board] for board in one_side]
    of_models = any(name == row.model for name, row in zip((a, b), pairs[0], strict=True))
    first, second = (_called(row, name) for name, row in zip((a, b), pairs[0], strict=True))
    if first == second:
        first, second = (f"{first} ({row.config[:SHORT]})" for row in pairs[0])
    return Comparison(first, second, contests, margin, alone, of_models)


def _best_by_board(rows: Sequence[Row], name: str) -> dict[Place, Row]:
    """Return the row of a model, or the row of an identity, by task and variant."""
    matching = (row for row in rows if row.current and name in (row.model, row.config))
    return {board: best_on_validation(board_rows) for board, board_rows in group_by_board(matching).items()}


def _called(row: Row, name: str) -> str:
    """Return the name of one side: its model's title, or its row's label."""
    return row.model_title if name == row.model else row.label


def _contest(a: Row, b: Row, margin: float | None) -> Contest:
    result = contrast(a.seeds, b.seeds, a.scale, margin) if a.seeds and b.seeds else None
    flat = [_flat(row.settings) for row in (a, b)]
    names = [name for name in {**flat[0], **flat[1]} if flat[0].get(name) != flat[1].get(name)]
    return Contest(a, b, result, {name: (flat[0].get(name), flat[1].get(name)) for name in names})


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with parameters and options flattened."""
    inner = {name: value for part in ("params", "options") for name, value in settings.get(part, {}).items()}
    return {**{k: v for k, v in settings.items() if k not in (*NAMES, "params", "options")}, **inner}
