"""Rows of the store by their name, and what two of them differ in. A row's name is its configuration's identity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from longwave.platform.errors import ConfigError
from longwave.platform.statistics.stats import difference, summary
from longwave.platform.storage.groups import mean_joules
from longwave.platform.storage.schema import TrialRow
from longwave.platform.storage.store import Store, Trial
from longwave.platform.storage.verification import OWN, verification

SHORT = 12
"""Digits of a row's name that are shown."""
CODE = ("commit", "dirty", "diff")
"""Facts of an environment about the code; the others but ``verification.OWN`` are about where it ran."""
SECTIONS = ("configuration", "protocol", "data", "code", "environment", "scores")
PROTOCOL = ("batch", "epochs", "steps", "drops", "clip", "optimiser", "precision", "selection")


@dataclass(frozen=True)
class DiffLine:
    """Something that two rows have in common or differ in.

    Attributes:
        section: One of ``SECTIONS``.
        what: Its name.
        a, b: What each row says; None: nothing. A difference of scores stands in ``a`` alone.
    """

    section: str
    what: str
    a: Any
    b: Any

    @property
    def differs(self) -> bool:
        """Whether the rows differ in this."""
        return bool(self.a != self.b)


def command(config: str) -> str:
    """Return the command that trains the row named ``config`` once more and checks its number."""
    return f"longwave reproduce {config[:SHORT]}"


def find(store: Store, name: str, task: str | None = None) -> list[Trial]:
    """Return the retrainings of a row, ended or not.

    Args:
        store: Where to look.
        name: The row's name, or its first hex digits, 4 or more.
        task: Look at rows of this task alone.

    Raises:
        ConfigError: The name fits no row, or several; the message names what to do.
    """
    name = name.lower()
    if not re.fullmatch("[0-9a-f]{4,16}", name):
        raise ConfigError(f"A row is named by 4 to 16 hex digits, got {name!r}. See the names with: {_list(task)}")
    where = [TrialRow.phase == "retrain", TrialRow.row.between(name, f"{name}g")]  # unlike LIKE, this uses the index
    trials = store.select(sa.and_(*where, *([TrialRow.task == task] if task else [])))
    rows = {t.config.row: t.config for t in trials}
    if not rows:
        place = f" of {task}" if task else ""
        raise ConfigError(f"No row{place} has a name that begins with {name}. See the names with: {_list(task)}")
    if len(rows) > 1:
        known = [f"{row[:SHORT]} ({c.model} on {c.task})" for row, c in sorted(rows.items())]
        named = ", ".join(known[:5]) + (f" and {len(known) - 5} more" if len(known) > 5 else "")
        raise ConfigError(f"{name} begins the names of {len(known)} rows: {named}. Give more digits.")
    return trials


def patches(store: Store, trials: Sequence[Trial]) -> list[str]:
    """Return the distinct uncommitted changes that ``trials`` ran with, as ``git apply`` takes them."""
    return [facts["patch"] for facts in store.facts(values(environments(trials), "diff")).values()]


def environments(trials: Sequence[Trial]) -> list[Mapping[str, str]]:
    """Return the facts about where each of ``trials`` ran, as far as they ended."""
    return [t.run.environment for t in trials if t.run]


def values(facts: Sequence[Mapping[str, str]], name: str) -> list[str]:
    """Return the distinct values of one fact, sorted."""
    return sorted({f[name] for f in facts if name in f})


def scores(trials: Sequence[Trial]) -> dict[int, float]:
    """Return the test metric of each retraining that has one, by seed."""
    return {t.config.seed: t.run.test for t in trials if t.run and t.run.test is not None}


def compared(store: Store, a: Sequence[Trial], b: Sequence[Trial]) -> list[DiffLine]:
    """Return everything two rows can differ in, what they have in common too, given their retrainings."""
    pages = [dict(_facts(store, trials)) for trials in (a, b)]
    keys = list(dict.fromkeys(key for section in SECTIONS for page in pages for key in page if key[0] == section))
    lines = [DiffLine(*key, pages[0].get(key), pages[1].get(key)) for key in keys]
    return lines + list(_difference(a, b))


def _facts(store: Store, trials: Sequence[Trial]) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield what a row says, by section and name."""
    config, about, facts = trials[0].config, trials[0].about, environments(trials)
    runs = [t.run for t in trials if t.run]
    for name in ("task", "variant", "model", "hidden"):
        yield ("configuration", name), getattr(config, name)
    for name, value in {**config.options, **config.params}.items():
        yield ("configuration", name), value
    yield ("configuration", "parameters"), next((run.parameters for run in runs if run.parameters), None)
    yield ("configuration", "sweeps"), store.asking([config.row])
    for name in PROTOCOL:
        yield ("protocol", name), config.to_dict()[name]
    yield ("protocol", "differs from the recipe"), list(about.get("departures", ()))
    yield ("data", "version"), config.data
    for name in sorted({name for f in facts for name in f} - {*OWN}, key=lambda n: (n not in CODE, n)):
        yield ("code" if name in CODE else "environment", name), " or ".join(values(facts, name))
    found = summary(list(scores(trials).values())) if scores(trials) else None
    yield ("scores", "metric"), f"{about.get('metric', '')} [{about.get('unit', '')}]"
    yield ("scores", "mean"), found and found.mean
    yield ("scores", "std"), found and found.std
    yield ("scores", "n"), len(scores(trials))
    for status in ("diverged", "failed"):
        yield ("scores", status), sum(run.status == status for run in runs)
    yield ("scores", "seconds a retraining"), sum(run.seconds for run in runs) / len(runs) if runs else None
    yield ("scores", "joules a retraining"), mean_joules(runs)
    yield ("scores", "verified"), verification(facts)


def _difference(a: Sequence[Trial], b: Sequence[Trial]) -> Iterator[DiffLine]:
    """Yield the difference of the means, paired where both have the same seeds; nothing for unlike metrics."""
    ours, theirs = scores(a), scores(b)
    same = [(t.config.task, t.config.variant, t.about.get("metric")) for t in (a[0], b[0])]
    if same[0] != same[1] or a[0].config.row == b[0].config.row:
        return
    if seeds := sorted(ours.keys() & theirs.keys()):
        paired = summary([ours[seed] - theirs[seed] for seed in seeds])
        yield DiffLine("scores", f"a − b, {len(seeds)} equal seeds", *_interval(paired.mean, paired.interval()))
    elif ours and theirs:
        one, other = summary(list(ours.values())), summary(list(theirs.values()))
        gap = difference(one, other)
        yield DiffLine("scores", "a − b", *_interval(one.mean - other.mean, gap.interval() if gap else None))


def _interval(value: float, interval: tuple[float, float] | None) -> tuple[dict[str, float | None], None]:
    low, high = interval or (None, None)
    return {"value": value, "low": low, "high": high}, None


def _list(task: str | None) -> str:
    return f"longwave board {task or ''} --format json".replace("  ", " ")
