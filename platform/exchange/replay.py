"""Train some of a bundle's trials again, from the start to an epoch drawn by chance, and compare."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import BundledTrial, File
from longwave.platform.exchange.finding import AuditFinding
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.sweeps.reproduce import MATTERS
from longwave.platform.training.environment import describe, device, flushing_subnormals
from longwave.platform.training.pack import Pack
from longwave.platform.training.precision import PRECISIONS
from longwave.platform.training.train import unfit
from longwave.tasks.base.raw import DataError

SAME = 1e-6
"""Relative difference of one training from itself, as ``reproduce`` takes it."""
CODE = ("commit", "diff", "lock", "subnormals")
"""Facts that are others with every version of the program, most of which change no number."""


@dataclass(frozen=True)
class Retraced:
    """A trial trained again up to an epoch.

    Attributes:
        points: Its epochs.
        run: How it ended; None where it was not over.
        facts: Where it ran now.
    """

    points: list[Point]
    run: Run | None
    facts: Mapping[str, str]


def replay(file: File, count: int, chance: random.Random | None = None) -> Iterator[AuditFinding]:
    """Yield what differs in ``count`` trials of a bundle, drawn by chance, once they are trained again here.

    Each is trained from the start to an epoch drawn by chance; one that halving could cut to its first cut at the most,
    as none knows who was left in its pack from there on. With the same kernel path and all facts that matter the
    same, another number rejects the bundle; where a fact differs, it is a flag that names it.
    """
    chance = chance or random.SystemRandom()
    trials = [e for e in file.content.trials if e.run.status != "failed" and e.run.epochs > 0]
    for entry in chance.sample(trials, min(count, len(trials))):
        name, about = f"trial {entry.config.id}", [entry.config.id]
        try:
            if why := unfit(entry.config):
                raise ConfigError(f"it was made {why}")
            last = min(entry.run.epochs, (entry.config.halving or {}).get("first", entry.run.epochs))
            trained = train_again(entry.config, chance.randint(1, last), packed=entry.run.members > 1)
        except (ConfigError, DataError) as error:
            yield AuditFinding("replay", "flag", f"{name} cannot be trained again here: {error}", about)
            continue
        if finding := compare(entry, trained, file.content.environments.get(entry.place or "", {})):
            yield finding


def compare(entry: BundledTrial, trained: Retraced, there: Mapping[str, str]) -> AuditFinding | None:
    """Return what is said against a trial that was trained again; None where both are the same.

    Args:
        entry: The trial.
        trained: What became of it here.
        there: Facts on where it ran before.
    """
    name, about = f"trial {entry.config.id}", [entry.config.id]
    names = [n for n in MATTERS if n not in CODE and there.get(n, "—") != trained.facts.get(n, "—")]
    differs = (
        f" ({names[0]} {there.get(names[0], '—')} there, {trained.facts.get(names[0], '—')} here)" if names else ""
    )
    if _path(there) != _path(trained.facts):
        other = f"{name} cannot be compared: this machine takes another kernel path{differs}."
        return AuditFinding("replay", "flag", other, about)
    if wrong := describe_difference(entry, trained):
        return AuditFinding("replay", "flag" if names else "reject", f"{name} {wrong}{differs}.", about)
    return None


@flushing_subnormals()
def train_again(config: TrialConfig, epochs: int, packed: bool = False) -> Retraced:
    """Return a trial trained for so many epochs, or to its end if that is before.

    Args:
        config: The trial.
        epochs: How many.
        packed: Whether it trained with others: products of one member round otherwise than those of several, whose
            number changes nothing. So it is trained beside itself then.

    Raises:
        ConfigError: It cannot be trained in its precision here.
        DataError: The data are not here.
    """
    data = get_task(config.task).load(config.variant).to(device(), PRECISIONS[config.precision])
    pack = Pack([config] * (1 + packed), data, device())
    kernel = str(pack.network.layer.why())
    while pack.configs and pack.done < epochs:
        pack.train_epoch()
        pack.close_epoch()
    if pack.configs and pack.done == config.epochs:
        pack.note(pack.close())
    run = next(iter(pack.report.runs), None)
    points = list({point.epoch: point for point in pack.report.points}.values())
    return Retraced(points, run, {**describe(), "kernel": kernel, "precision": config.precision})


def describe_difference(entry: BundledTrial, trained: Retraced) -> str:
    """Return in what a trial differs from its replay, in words; empty if in nothing."""
    by_epoch = {point.epoch: point for point in entry.points}
    for point in trained.points:
        for what in ("loss", "valid"):
            here = getattr(point, what)
            there = getattr(by_epoch.get(point.epoch), what, None)
            if there is None:
                return f"has no epoch {point.epoch}, but has one when trained again, with {what} {here:g}"
            if not math.isclose(here, there, rel_tol=SAME):
                return f"has {what} {there!r} at epoch {point.epoch}; trained again it is {here!r}"
    if trained.run and trained.run.status == "diverged" and entry.run.status != "diverged":
        return f"did not diverge, but does when trained again, at epoch {trained.run.epochs}"
    here, there = trained.run.test if trained.run else None, entry.run.test
    if here is not None and (there is None or not math.isclose(here, there, rel_tol=SAME)):
        return f"has the test metric {there!r}; trained again it is {here!r}"
    return ""


def _path(facts: Mapping[str, str]) -> str:
    """Return the kernel path: what stands before the reason why it was taken."""
    return facts.get("kernel", "").partition(":")[0]
