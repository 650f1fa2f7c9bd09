"""Differences between two rows, from their settings to their scores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from longwave.platform.boards.texts import metric_words
from longwave.platform.boards.verification import HERE
from longwave.platform.records.group import mean_joules
from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig
from longwave.platform.statistics.contrast import contrast
from longwave.platform.statistics.median import median
from longwave.platform.statistics.paired import paired_contrast
from longwave.platform.statistics.scale import Scale, Score, scale_of
from longwave.platform.statistics.stats import Estimate, summary

CODE = ("commit", "dirty", "diff")
"""Facts of an environment about the code; the others are about machine and packages."""
SECTIONS = ("configuration", "protocol", "data", "code", "environment", "scores")
SUBJECT = ("task", "variant", "model", "hidden", "options", "params", "data")
"""Settings that define the model and its task."""
OF_PROTOCOL = tuple(f.name for f in fields(TrialConfig) if f.name not in (*SUBJECT, *OF_ONE_TRIAL))
"""All other settings, with versions: they define how it is trained."""


@dataclass(frozen=True)
class DiffLine:
    """A fact about two rows, equal or not.

    Attributes:
        section: One of ``SECTIONS``.
        what: Its name.
        a, b: The value of each row; None if unknown. A comparison of the two is in ``a`` only.
    """

    section: str
    what: str
    a: Any
    b: Any

    @property
    def differs(self) -> bool:
        """Whether the rows differ in this."""
        return bool(self.a != self.b)


def environments(trials: Sequence[Trial]) -> list[Mapping[str, str]]:
    """Return the environment of each of ``trials`` that ended."""
    return [t.run.environment for t in trials if t.run]


def values(facts: Sequence[Mapping[str, str]], name: str) -> list[str]:
    """Return the distinct values of one fact, sorted."""
    return sorted({f[name] for f in facts if name in f})


def scores(trials: Sequence[Trial]) -> dict[int, Score]:
    """Return the test metric of each retraining by seed, None if it diverged; failed ones are left out."""
    runs = {t.config.seed: t.run for t in trials if t.run}
    return {seed: run.test for seed, run in runs.items() if run.test is not None or run.status == "diverged"}


def ended(trials: Sequence[Trial]) -> list[float]:
    """Return the test metric of each retraining that ended ok."""
    return [score for score in scores(trials).values() if score is not None]


def scale(trials: Sequence[Trial]) -> Scale:
    """Return the scale of a row's metric."""
    about = trials[0].about
    return scale_of(about.metric, about.goal, about.unit, about.floor)


def compared(
    a: Sequence[Trial],
    b: Sequence[Trial],
    sweeps: tuple[Sequence[str], Sequence[str]] = ((), ()),
    left_out: Collection[str] = (),
) -> list[DiffLine]:
    """Return all facts about two rows, equal or not.

    Args:
        a, b: Their retrainings.
        sweeps: Names of the sweeps that contain each.
        left_out: Ids of retrainings that do not count; see ``trust.left_out``.
    """
    pages = [dict(facts_of_row(trials, names, left_out)) for trials, names in zip((a, b), sweeps, strict=True)]
    keys = list(dict.fromkeys(key for section in SECTIONS for page in pages for key in page if key[0] == section))
    lines = [DiffLine(*key, pages[0].get(key), pages[1].get(key)) for key in keys]
    return lines + [DiffLine("scores", what, value, None) for what, value in _contrast(a, b, left_out)]


def counted_trials(trials: Sequence[Trial], left_out: Collection[str]) -> list[Trial]:
    """Return the retrainings that count."""
    return [trial for trial in trials if trial.config.id not in left_out]


def facts_of_row(
    trials: Sequence[Trial], sweeps: Sequence[str], left_out: Collection[str] = ()
) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield the facts about a row by section and name, in the order of ``SECTIONS``."""
    trials = counted_trials(trials, left_out)
    config, about, metric_scale = trials[0].config, trials[0].about, scale(trials)
    settings, facts, runs = config.in_full(), environments(trials), [t.run for t in trials if t.run]
    for name in ("task", "variant", "model", "hidden"):
        yield ("configuration", name), settings[name]
    for name, value in {**config.options, **config.params}.items():
        yield ("configuration", name), value
    yield ("configuration", "parameters"), next((run.parameters for run in runs if run.parameters), None)
    yield ("configuration", "sweeps"), list(sweeps)
    for name in OF_PROTOCOL:
        yield ("protocol", name), settings[name]
    yield ("protocol", "differs from the recipe"), list(about.departures)
    yield ("data", "version"), config.data
    for name in sorted({name for f in facts for name in f}, key=lambda n: (n not in CODE, n)):
        yield ("code" if name in CODE else "environment", name), " or ".join(values(facts, name))
    spread = summary(ended(trials)) if ended(trials) else None
    seeds = list(scores(trials).values())
    middle = median(seeds, metric_scale).value if seeds else None
    yield ("scores", "metric"), f"{metric_words(about.metric)} [{about.unit}]"
    yield ("scores", "median"), "diverged" if seeds and middle is None else middle
    yield ("scores", "mean"), spread and spread.mean
    yield ("scores", "std"), spread and spread.std
    yield ("scores", "n"), len(ended(trials))
    for status in ("diverged", "failed"):
        yield ("scores", status), sum(run.status == status for run in runs)
    yield ("scores", "seconds a retraining"), sum(run.seconds for run in runs) / len(runs) if runs else None
    yield ("scores", "joules a retraining"), mean_joules(runs)
    yield ("scores", "origin"), sorted({t.origin or HERE for t in trials})
    yield ("scores", "re-runs"), sorted(t.rerun for t in trials if t.rerun)
    yield ("scores", "flags"), sorted({flag for t in trials for flag in t.flags})


def _contrast(a: Sequence[Trial], b: Sequence[Trial], left_out: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the comparison of two rows as in ``compare``; nothing if tasks or metrics differ. If they share at least
    two seeds, the paired comparison follows.
    """
    a, b = (counted_trials(trials, left_out) for trials in (a, b))
    ours, theirs = scores(a), scores(b)
    subjects = [(t.config.task, t.config.variant, t.about.metric) for t in (a[0], b[0])]
    if subjects[0] != subjects[1] or a[0].config.row == b[0].config.row or not ours or not theirs:
        return
    result = contrast(list(ours.values()), list(theirs.values()), scale(a))
    yield "error of a / error of b", _ends(result.ratio)
    yield "P(better)", _ends(result.improvement)
    yield "a against b", result.decision + (f" ({result.hint})" if result.hint else "")
    seeds = sorted(ours.keys() & theirs.keys())
    if len(seeds) > 1:
        paired = paired_contrast([ours[s] for s in seeds], [theirs[s] for s in seeds], scale(a))
        yield f"error of a / error of b, {len(seeds)} equal seeds", _ends(paired.ratio)
        yield "P(better) of equal seeds", _ends(paired.better)
        yield "a against b, seed by seed", paired.decision


def _ends(value: Estimate | None) -> dict[str, float | None] | None:
    return asdict(value) if value else None
