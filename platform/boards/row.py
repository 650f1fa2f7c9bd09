"""A row of a board: one configuration of one model with all its seeds, or a number that was not retrained here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from longwave.platform.records.identity import digest
from longwave.platform.statistics.scale import Scale, Score, scale_of
from longwave.platform.statistics.stats import Estimate, diverged_share

Kind = Literal["retrained", "published", "trivial"]
RowState = Literal["ok", "diverged", "failed", "missing"]
SHORT = 12
"""Digits shown of the name of a row or of a bundle."""
REJECTED = "replaced by {}, whose retrainings validate better"
WENT_ON = "replaced by {} after a longer search"
"""Why a row is superseded by another of its model, with that row's name."""
IN_WORDS = {"test=": "test set ", "noise=per_sample": "noise per sample", "noise=uniform": "uniform noise"}
"""Options of a variant that are printed in words, each from the start of an option on."""


@dataclass(frozen=True)
class Row:
    """One row of a board. ``columns.py`` explains each field to readers.

    Attributes:
        task, variant: Its task; ``task_title`` is the task's name in print.
        model, title: Registry key of its model, and the name in print with its options.
        mark: What distinguishes it from other rows of its title on its board; empty without any. See ``labels``.
        metric, unit, goal: The test metric.
        mean, std: Test metric over the retrainings that ended ok, std with n − 1; or the published number. Descriptive
            only.
        kind: ``retrained``: trained here; ``published``: a number from a paper, not trained here;
            ``trivial``: a predictor that no sweep trains. Only the first kind is ranked.
        family: Family of the model; empty if unknown.
        superseded: Why the row is superseded: a newer version of task, model or rules was trained, or a longer search
            replaced it; empty if it is current.
        config: Identity of the configuration, whose main settings are ``params``, ``options`` and ``hidden``;
            ``settings`` has all of them, as ``TrialConfig.in_full``.
        layers: Number of layers, also if it is the default; 0 if unknown.
        n: Retrainings behind the mean; for a published row, runs as printed, 0 if the paper does not say.
        low, high: 95 % t-interval of the mean.
        median: Median test metric over ``seeds``, a diverged one worst: rows are ordered and ranked by it. None if half
            of them or more diverged, for the other kinds, and if no retraining ended.
        median_best, median_worst: Ends of its interval; None if that end is a diverged seed, as for ``median``.
        median_level: Coverage of the interval; None for a single seed.
        scores: Test metric of each retraining that ended ok.
        valid: Median over ``seeds`` of the best validation metric, a diverged one worst; a model's best row is chosen
            by it. None if half of them or more diverged.
        diverged, failed, missing: Retrainings that diverged, failed or have not ended; not averaged.
        searched: Search trials behind the choice, of which ``search_diverged`` diverged, ``search_stopped`` were
            stopped by successive halving and ``search_whole`` were trained to their last epoch.
        search_score, optimism, runner_up, better: How the setting was chosen; see ``Selection``.
        at_edge: Parameters at an edge of their search range: ``lr at the high end of 0.0001 to 0.1``; None if the
            ranges are unknown.
        provisional: Whether fewer than 5 retrainings ended, ok or diverged.
        recipe: Source of the task's recipe for the model; empty if unknown.
        departures: Differences of the training from that recipe.
        known: Known differences of the recipe's paper from the task, besides ``departures``.
        loses_to: Best trivial predictor if it is better than the median, or than the published number; else empty.
        parameters: Trainable parameters.
        train_seconds, find_seconds: Time of the retrainings, and of the search.
        published: Published numbers for this model on this task; for a published row, that number. See
            ``pairing.pair_number`` for the keys.
        trials: Ids of the retrainings, none for the other kinds; ``sweeps`` contain them.
        ways: How those sweeps searched: sampler, rounds, successive halving, warm start.
        environments: Distinct environments of the retrainings: machine, versions, commit, kernel path.
        joules: Mean energy of a retraining, over those for which it is known; None without any.
        verification: To what extent the numbers are verified here; empty for the other kinds. See ``verification``.
        untrusted: Whether it was imported and nothing made here supports it: it is shown, but not ranked.
        untrusted_runs: Ids of its imported retrainings, which count in no number unless the whole row is untrusted.
        rank_low, rank_high: Best and worst rank in the pool; None if fewer than two retrainings ended, superseded or
            untrusted.
        ties: Tie groups as letters, "a" the best: rows that share a letter are not significantly different.
        stands_out: Whether it is in the best tie group, and that holds less than half of the ranked rows.
        margin: Ratio of errors within which a published number counts as met.
        floor: Smallest error that counts, in ``unit``.
    """

    task: str
    variant: str
    model: str
    title: str
    metric: str
    unit: str
    goal: str
    mean: float | None = None
    kind: Kind = "retrained"
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
        """The title with the mark, unique on its board: ``GRU (hidden 19)``."""
        return f"{self.title} {self.mark}".replace(") (", ", ") if self.mark else self.title

    @property
    def model_title(self) -> str:
        """The name of its model in print, without options: ``τ-GRU`` of ``τ-GRU (form beta=0)``."""
        return self.title.partition(" (")[0]

    @property
    def trivial(self) -> bool:
        """Whether this is a trivial predictor."""
        return self.kind == "trivial"

    @property
    def current(self) -> bool:
        """Whether it was retrained here and not superseded: such rows are compared, and ranked if trusted."""
        return self.kind == "retrained" and not self.superseded

    @property
    def seeds(self) -> list[Score]:
        """Test metric of each retraining that ended ok, then None for each that diverged: what is ranked."""
        return [*self.scores, *[None] * self.diverged]

    @property
    def seed_count(self) -> int:
        """Number of ``seeds``, without failed and missing retrainings."""
        return len(self.scores) + self.diverged

    @property
    def counted_trials(self) -> list[str]:
        """Ids of the retrainings that count in its numbers: all, or without untrusted ones beside trusted ones."""
        left_out = () if self.untrusted else self.untrusted_runs
        return [trial for trial in self.trials if trial not in left_out]

    @property
    def share(self) -> Estimate | None:
        """Share of ``seeds`` that diverged, with its 95 % interval; None without seeds."""
        return diverged_share(self.diverged, self.seed_count) if self.seed_count else None

    @property
    def scale(self) -> Scale:
        """Scale that turns the scores of its board into errors."""
        return scale_of(self.metric, self.goal, self.unit, self.floor)

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
        """Whether a table sets it in bold: it stands out, has enough seeds, and no trivial predictor is better. If the
        best group is half of the board or more, the board cannot separate its rows.
        """
        return self.stands_out and not self.loses_to and not self.provisional

    @property
    def place(self) -> str:
        """Name of its board: the task with its variant."""
        return named((self.task, self.variant))

    @property
    def board(self) -> str:
        """Name of its board in print: ``El Niño delay model, h=25, test set 2`` for the variant ``h=25,test=2``."""
        options = "|".join(IN_WORDS)
        in_words = re.sub(rf"\b(?:{options})", lambda match: IN_WORDS[match[0]], self.variant)
        variant = in_words.replace(",", ", ").replace("_", " ")
        return ", ".join(filter(None, (self.task_title or self.task, variant)))

    @property
    def key(self) -> str:
        """Name in links: the configuration's identity; for the other kinds, a hash of the published number."""
        if self.kind == "retrained":
            return self.config
        printed = [{k: v for k, v in number.items() if k not in ("sources", "note")} for number in self.published]
        return digest([self.task, self.variant, self.kind, self.model, printed])

    @property
    def command(self) -> str:
        """Command that trains it once more and checks its number; empty for the other kinds."""
        return command(self.config) if self.kind == "retrained" else ""


def group_by_board(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by task and variant; order is preserved."""
    by_board: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_board.setdefault((row.task, row.variant), []).append(row)
    return by_board


def distinct_boards(rows: Sequence[Row]) -> list[str]:
    """Return the names in print of the boards of rows, one row per board; the tasks' keys if two names are equal."""
    names = [row.board for row in rows]
    return [name if names.count(name) == 1 else row.place for name, row in zip(names, rows, strict=True)]


def sum_search_seconds(rows: Sequence[Row]) -> float:
    """Return the time of the searches behind rows. If one row replaced another, the longer search contains the other
    and counts alone.
    """
    replacements = {why.format(row.key[:SHORT]): row for row in rows for why in (REJECTED, WENT_ON)}
    pairs = [(row, replacements[row.superseded]) for row in rows if row.superseded in replacements]
    contained = {min(pair, key=lambda row: row.find_seconds).key for pair in pairs}
    return sum(row.find_seconds for row in rows if row.key not in contained)


def command(config: str) -> str:
    """Return the command that trains the row named ``config`` once more and checks its number."""
    return f"longwave reproduce {config[:SHORT]}"


def named(board: tuple[str, str]) -> str:
    """Return a task with its variant: ``adding N=500``."""
    return " ".join(filter(None, board))
