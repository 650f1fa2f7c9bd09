"""A line of a board: one configuration of one model, its seeds inside; or a number that nobody retrained here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from longwave.platform.records.identity import digest

Kind = Literal["reproduced", "published", "trivial"]
RowState = Literal["ok", "diverged", "failed", "missing"]
SHORT = 12
"""Digits of a row's name that are shown."""


@dataclass(frozen=True)
class Row:
    """One line of a board. What each field is to a reader stands in ``columns.py``.

    Attributes:
        task, variant: What it ran on.
        model, title: Registry key, and the name in print with its options.
        metric, unit, goal: What is measured.
        mean, std: Test metric over the retrainings that ended ok, std with n − 1; or the published number.
        kind: ``reproduced``: retrained here; ``published``: a number that papers print and nobody retrained here;
            ``trivial``: a predictor that no sweep trains. Only the first kind is ranked.
        family: Of the model; empty where it is not known.
        superseded: Why it is of an older version than what is trained now; empty if it is not.
        config: Identity of the configuration; ``params``, ``options``, ``hidden`` say what it is, ``settings`` all of
            it: ``TrialConfig.in_full``.
        n: Retrainings behind the mean; of a published row, runs as printed, 0 where the paper does not say.
        low, high: 95 % t-interval of the mean.
        scores: Test metric of each retraining that ended ok.
        valid: Mean over those of the best validation metric; what a model's best row is chosen by.
        diverged, failed, missing: Retrainings that ended so, and those not ended yet: shown, never averaged.
        searched: Search trials behind the choice, of which ``search_diverged`` diverged.
        provisional: Fewer than 5 retrainings.
        departures: How the protocol differs from the published recipe.
        parameters: Trainable numbers.
        train_seconds, find_seconds: Time of the retrainings, and of the search.
        published: Numbers the papers print for this model on this task; of a published row, that number. See
            ``pairing.beside`` for the keys.
        trials: Ids of the retrainings, none for the other kinds; ``sweeps`` asked for them.
        environments: Distinct facts on where they ran: machine, versions, commit, kernel path.
        joules: Energy of a retraining: mean over those of which it is known, None where of none.
        verification: How far the numbers are verified here; empty for the other kinds. See ``verification``.
        rank_low, rank_high: Best and worst rank in the pool; None without a mean, or if superseded.
        ties: Tie groups as letters, "a" the best: rows that share a letter are not told apart.
    """

    task: str
    variant: str
    model: str
    title: str
    metric: str
    unit: str
    goal: str
    mean: float | None
    kind: Kind = "reproduced"
    family: str = ""
    superseded: str = ""
    config: str = ""
    params: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    hidden: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    std: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    scores: Sequence[float] = ()
    valid: float | None = None
    diverged: int = 0
    failed: int = 0
    missing: int = 0
    searched: int = 0
    search_diverged: int = 0
    provisional: bool = False
    departures: Sequence[str] = ()
    parameters: int | None = None
    train_seconds: float = 0.0
    find_seconds: float = 0.0
    published: Sequence[Mapping[str, Any]] = ()
    trials: Sequence[str] = ()
    sweeps: Sequence[str] = ()
    environments: Sequence[Mapping[str, str]] = ()
    joules: float | None = None
    verification: str = ""
    rank_low: int | None = None
    rank_high: int | None = None
    ties: str = ""

    @property
    def trivial(self) -> bool:
        """Whether this is a trivial predictor."""
        return self.kind == "trivial"

    @property
    def current(self) -> bool:
        """Whether it was retrained here, and not in an older version: such rows are compared and ranked."""
        return self.kind == "reproduced" and not self.superseded

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
    def place(self) -> str:
        """Name of its board: the task with its variant."""
        return named((self.task, self.variant))

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


def command(config: str) -> str:
    """Return the command that trains the row named ``config`` once more and checks its number."""
    return f"longwave reproduce {config[:SHORT]}"


def named(place: tuple[str, str]) -> str:
    """Return a task with its variant: ``adding N=500``."""
    return " ".join(filter(None, place))
