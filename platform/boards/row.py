"""A line of a board: one configuration of one model with all its seeds; or a number that was not retrained here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from longwave.platform.records.identity import digest
from longwave.platform.statistics.scale import Scale, Score, scale_of
from longwave.platform.statistics.stats import Estimate, diverged_share

Kind = Literal["reproduced", "published", "trivial"]
RowState = Literal["ok", "diverged", "failed", "missing"]
SHORT = 12
"""Digits of a row's name that are shown."""
REJECTED = "replaced by {}, whose retrainings validate better"
WENT_ON = "replaced by {} after a longer search"
"""Why a row is superseded by another of its model, whose name is filled in."""


@dataclass(frozen=True)
class Row:
    """One line of a board. What each field is to a reader stands in ``columns.py``.

    Attributes:
        task, variant: What it ran on; ``task_title`` is the task's name in print.
        model, title: Registry key, and the name in print with its options.
        mark: What tells it from other rows of its title on its board; empty where none has it. See ``labels``.
        metric, unit, goal: What is measured.
        mean, std: Test metric over the retrainings that ended ok, std with n − 1; or the published number. It describes
            and claims nothing.
        kind: ``reproduced``: retrained here; ``published``: a number that papers print and nobody retrained here;
            ``trivial``: a predictor that no sweep trains. Only the first kind is ranked.
        family: Of the model; empty where it is not known.
        superseded: Why the row is superseded: it is of an older version than what is trained now, or was replaced after
            a longer search; empty if it is current.
        config: Identity of the configuration; ``params``, ``options``, ``hidden`` say what it is, ``settings`` all of
            it: ``TrialConfig.in_full``.
        layers: Of the model, its default too; 0 where that is not known.
        n: Retrainings behind the mean; of a published row, runs as printed, 0 where the paper does not say.
        low, high: 95 % t-interval of the mean.
        median: Median test metric over ``seeds``, a diverged one worst: what rows are ordered and ranked by. None where
            half of them or more diverged, for the other kinds, and where no retraining ended.
        median_best, median_worst: Ends of its interval; None where an end is a diverged seed, as for ``median``.
        median_level: How often such an interval covers the true median; None for a single seed.
        scores: Test metric of each retraining that ended ok.
        valid: Median over ``seeds`` of the best validation metric, a diverged one worst; what a model's best row is
            chosen by. None where half of them or more diverged.
        diverged, failed, missing: Retrainings that ended so, and those not ended yet: shown, never averaged.
        searched: Search trials behind the choice, of which ``search_diverged`` diverged, ``search_stopped`` were
            stopped by successive halving and ``search_whole`` were trained whole.
        search_score, optimism, runner_up, better: How the setting was chosen; see ``selection.Selection``.
        at_edge: Numbers of the setting at an edge of what was searched: ``lr at the high end of 0.0001 to 0.1``; None
            where no range is known.
        provisional: Fewer than 5 retrainings ended, ok or diverged.
        recipe: Where the recipe was printed that the task has for the model; empty where that is not known.
        departures: How the trial differs from that recipe.
        known: How the recipe's paper is known to differ from the task, beside ``departures``.
        loses_to: Best trivial predictor if it is better than the median, or than the published number; else empty.
        parameters: Trainable parameters.
        train_seconds, find_seconds: Time of the retrainings, and of the search.
        published: Numbers the papers print for this model on this task; of a published row, that number. See
            ``pairing.pair_number`` for the keys.
        trials: Ids of the retrainings, none for the other kinds; ``sweeps`` asked for them.
        ways: How those sweeps searched: sampler, rounds, successive halving, what the search began with.
        environments: Distinct facts on where they ran: machine, versions, commit, kernel path.
        joules: Energy of a retraining: mean over those of which it is known, None where of none.
        verification: How far the numbers are verified here; empty for the other kinds. See ``verification``.
        untrusted: Whether it was imported and nothing made here speaks for it: it is shown, and ranked with nobody.
        untrusted_runs: Ids of its retrainings that were imported and count in nothing, unless it is untrusted.
        rank_low, rank_high: Best and worst rank in the pool; None where no retraining ended, superseded, untrusted.
        ties: Tie groups as letters, "a" the best: rows that share a letter are not told apart.
        stands_out: Whether it is in the best tie group, and that holds less than half of the ranked rows.
        margin: Ratio of errors within which a printed number counts as met.
        floor: Least error that counts, in ``unit``.
    """

    task: str
    variant: str
    model: str
    title: str
    metric: str
    unit: str
    goal: str
    mean: float | None = None
    kind: Kind = "reproduced"
    mark: str = ""
    task_title: str = ""
    family: str = ""
    superseded: str = ""
    config: str = ""
    params: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    hidden: int = 0
    layers: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    std: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    median: float | None = None
    median_best: float | None = None
    median_worst: float | None = None
    median_level: float | None = None
    scores: Sequence[float] = ()
    valid: float | None = None
    diverged: int = 0
    failed: int = 0
    missing: int = 0
    searched: int = 0
    search_diverged: int = 0
    search_stopped: int = 0
    search_whole: int = 0
    search_score: float | None = None
    optimism: float | None = None
    runner_up: str = ""
    better: float | None = None
    at_edge: Sequence[str] | None = None
    provisional: bool = False
    recipe: str = ""
    departures: Sequence[str] = ()
    known: Sequence[str] = ()
    loses_to: str = ""
    parameters: int | None = None
    train_seconds: float = 0.0
    find_seconds: float = 0.0
    published: Sequence[Mapping[str, Any]] = ()
    trials: Sequence[str] = ()
    sweeps: Sequence[str] = ()
    ways: Sequence[str] = ()
    environments: Sequence[Mapping[str, str]] = ()
    joules: float | None = None
    verification: str = ""
    untrusted: bool = False
    untrusted_runs: Sequence[str] = ()
    rank_low: int | None = None
    rank_high: int | None = None
    ties: str = ""
    stands_out: bool = False
    margin: float = 1.25
    floor: float = 0.0

    @property
    def label(self) -> str:
        """The title with the mark, which no other row of its board has: ``GRU (hidden 19)``."""
        return f"{self.title} {self.mark}".replace(") (", ", ") if self.mark else self.title

    @property
    def model_title(self) -> str:
        """The name of its model in print, without what this row varies: ``τ-GRU`` of ``τ-GRU (form beta=0)``."""
        return self.title.partition(" (")[0]

    @property
    def trivial(self) -> bool:
        """Whether this is a trivial predictor."""
        return self.kind == "trivial"

    @property
    def current(self) -> bool:
        """Whether it was retrained, and not in an older version: such rows are compared, and ranked if trusted."""
        return self.kind == "reproduced" and not self.superseded

    @property
    def seeds(self) -> list[Score]:
        """Test metric of each retraining that ended ok, then None for each that diverged: what is ranked."""
        return [*self.scores, *[None] * self.diverged]

    @property
    def seed_count(self) -> int:
        """Number of ``seeds``; failed and missing retrainings are none of them."""
        return len(self.scores) + self.diverged

    @property
    def share(self) -> Estimate | None:
        """Share of ``seeds`` that diverged, with its 95 % interval; None where there are none."""
        return diverged_share(self.diverged, self.seed_count) if self.seed_count else None

    @property
    def scale(self) -> Scale:
        """How the scores of its board become errors."""
        return scale_of(self.goal, self.unit, self.floor)

    @property
    def state(self) -> RowState:
        """``ok`` with a mean; else why there is none: ``diverged``, ``failed``, or ``missing`` (not ended yet)."""
        if self.mean is not None:
            return "ok"
        return "diverged" if self.diverged else "failed" if self.failed else "missing"

    @property
    def leads(self) -> bool:
        """Whether it is in the best tie group, "a"; the 27th is "a1"."""
        return self.ties.startswith("a") and not self.ties[1:2].isdigit()

    @property
    def shines(self) -> bool:
        """Whether a table sets it in bold: it stands out, has seeds enough, and no trivial predictor is better.

        A best group of half of the board or more says that the board cannot tell its rows apart.
        """
        return self.stands_out and not self.loses_to and not self.provisional

    @property
    def place(self) -> str:
        """Name of its board: the task with its variant."""
        return named((self.task, self.variant))

    @property
    def board(self) -> str:
        """Name of its board in print: ``El Niño delay model, h=25``."""
        return ", ".join(filter(None, (self.task_title or self.task, self.variant)))

    @property
    def key(self) -> str:
        """Name in links: the configuration's identity; of the other kinds, a hash of what was printed."""
        if self.kind == "reproduced":
            return self.config
        printed = [{k: v for k, v in number.items() if k not in ("sources", "note")} for number in self.published]
        return digest([self.task, self.variant, self.kind, self.model, printed])

    @property
    def command(self) -> str:
        """Command that trains it once more and checks its number; empty for the other kinds."""
        return command(self.config) if self.kind == "reproduced" else ""


def group_by_board(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by task and variant, boards and rows in the order in which they come."""
    by_board: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_board.setdefault((row.task, row.variant), []).append(row)
    return by_board


def distinct_boards(rows: Sequence[Row]) -> list[str]:
    """Return the names in print of the boards of some rows, one a board; where two have the same, their tasks' keys."""
    names = [row.board for row in rows]
    return [name if names.count(name) == 1 else row.place for name, row in zip(names, rows, strict=True)]


def command(config: str) -> str:
    """Return the command that trains the row named ``config`` once more and checks its number."""
    return f"longwave reproduce {config[:SHORT]}"


def named(place: tuple[str, str]) -> str:
    """Return a task with its variant: ``adding N=500``."""
    return " ".join(filter(None, place))
