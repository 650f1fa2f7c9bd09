"""Boards: from retrainings and published numbers to ranked rows. Pure functions; nothing is read here but arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.literature.pairing import belongs, beside, quoted
from longwave.platform.literature.published import names
from longwave.platform.statistics.ranking import letters, standings
from longwave.platform.statistics.stats import Summary, direction, mean_std
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.storage.groups import EVERYBODY, Group, Pool
from longwave.platform.storage.store import Store

Kind = Literal["reproduced", "published", "trivial"]
RowState = Literal["ok", "diverged", "failed", "missing"]


@dataclass(frozen=True)
class Row:
    """One line of a board: one configuration of one model on one task under one protocol, its seeds inside.

    Attributes:
        task, model: Registry keys; ``variant`` the task's form, ``title`` the model's name in print, with its options.
        metric, unit, goal: What is measured.
        mean, std: Test metric over the retrainings that ended ok, std with n − 1; or the published number.
        kind: ``reproduced``: retrained here; ``published``: a number that papers print and nobody retrained here;
            ``trivial``: a predictor that no sweep trains. Only the first kind is ranked.
        config: Identity of the configuration; ``params``, ``options``, ``hidden`` say what it is, ``settings`` all of
            it: the trial's content without phase, seed and halving.
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
        rank_low, rank_high: Best and worst rank in the pool; None without a mean.
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
    def state(self) -> RowState:
        """``ok`` with a mean; else why there is none: ``diverged``, ``failed``, or ``missing`` (not ended yet)."""
        if self.mean is not None:
            return "ok"
        return "diverged" if self.diverged else "failed" if self.failed else "missing"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**asdict(self), "trivial": self.trivial, "state": self.state}


def board(store: Store, task: str | None = None, pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of ``task``, or of all tasks, in the store.

    Raises:
        ConfigError: The pool names a model of which the store knows no result.
    """
    groups, published = store.groups(task), store.published(task)
    known = {group.settings["model"] for group in groups} | {number["model"] for number in published}
    for name in pool.models:
        if name not in known:
            raise ConfigError(did_you_mean("results of model", name, known))
    return rows(groups, published, pool)


def rows(groups: Iterable[Group], published: Iterable[Mapping[str, Any]], pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of all boards, one board a task and variant, best mean first, rows without a mean last.

    Among the ranked rows stand, without a rank, trivial predictors and each published number of a model's form that
    has no ranked row; where it has, the number stands in that row.
    """
    boards: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        boards.setdefault((group.settings["task"], group.settings["variant"]), []).append(group)
    numbers: dict[str, list[Mapping[str, Any]]] = {}
    for number in published:
        if pool.holds(number["model"]):
            numbers.setdefault(number["task"], []).append(number)
    found = []
    for task, variant in sorted(boards):
        theirs = boards[task, variant]
        near = [number for number in numbers.get(task, ()) if belongs(number, theirs[0].about)]
        found += _board(theirs, near, pool)
    return found


def shown(mean: float | None, std: float | None) -> str:
    """Return ``mean ± std`` with two digits of std and as many decimals in the mean; a dash for no mean."""
    if mean is None:
        return "—"
    if not std:
        return f"{mean:.4g}"
    decimals = max(0, 1 - int(f"{std:.1e}".partition("e")[2]))
    return f"{mean:.{decimals}f} ± {std:.{decimals}f}"


def _board(groups: Sequence[Group], numbers: Sequence[Mapping[str, Any]], pool: Pool) -> list[Row]:
    """Return the rows of one task and variant."""
    kept: list[Row] = []
    paired: set[str] = set()
    for group in groups:
        if not pool.holds(group.settings["model"]):
            continue
        called = group.about.get("called", [""])
        same = [n for n in numbers if n["model"] == group.settings["model"] and n["model_variant"] in called]
        row = _row(group, same)
        if row.n >= pool.min_seeds:
            kept.append(row)
            paired |= {number["id"] for number in same}
    like = groups[0]
    alone = [_published(like, number) for number in numbers if number["id"] not in paired]
    trivial = [_trivial(like, name, value) for name, value in like.about.get("trivial", {}).items()]
    goal = like.about["goal"]
    sign, ranked = direction(goal), _ranked([row for row in kept if row.mean is not None], goal)
    with_mean = sorted(ranked + alone + trivial, key=lambda row: -sign * (row.mean or 0.0))
    return with_mean + sorted((row for row in kept if row.mean is None), key=lambda row: (row.model, row.config))


def _row(group: Group, numbers: Sequence[Mapping[str, Any]]) -> Row:
    settings, about, runs = group.settings, group.about, group.runs
    ended = [(run.test, run.valid) for run in runs if run.status == "ok"]
    scores = [test for test, _ in ended if test is not None]
    valid = [value for _, value in ended if value is not None]
    mean, std = mean_std(scores) if scores else (None, None)
    interval = None if mean is None else Summary(mean, std, len(scores)).interval()
    ends = Counter(run.status for run in runs)
    return Row(
        **_same(group),
        **{name: settings[name] for name in ("model", "params", "options", "hidden")},
        title=about["model"],
        config=group.row,
        settings=settings,
        departures=about["departures"],
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
        published=[beside(number, scores, about["goal"], settings["hidden"]) for number in numbers],
        trials=[run.id for run in runs],
        **{name: getattr(group, name) for name in ("sweeps", "environments", "joules", "verification")},
    )


def _trivial(like: Group, name: str, value: float) -> Row:
    """Return a trivial predictor's row on the board of ``like``."""
    return Row(**_same(like), kind="trivial", model=name, title=name, mean=value)


def _published(like: Group, number: Mapping[str, Any]) -> Row:
    """Return a published number as a row of its own on the board of ``like``."""
    form = f" ({number['model_variant'].strip('()')})" if number["model_variant"] else ""
    return Row(
        **_same(like),
        kind="published",
        model=number["model"],
        title=names().get(number["model"], number["model"]) + form,
        mean=number["value"],
        std=number["std"],
        n=number["n"] or 0,
        hidden=int(number["units"] or 0),
        parameters=number["params"],
        published=[quoted(number)],
    )


def _same(like: Group) -> dict[str, Any]:
    """Return what the rows of one board share."""
    both = {**like.about, **like.settings}
    return {name: both[name] for name in ("task", "variant", "metric", "unit", "goal")}


def _ranked(rows: Sequence[Row], goal: str) -> list[Row]:
    """Return rows with a mean, each with its range of ranks and its tie groups."""
    places = standings([Summary(row.mean or 0.0, row.std, row.n) for row in rows], goal)
    return [
        replace(row, rank_low=place.low, rank_high=place.high, ties=letters(place.ties))
        for row, place in zip(rows, places, strict=True)
    ]
