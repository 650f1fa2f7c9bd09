"""Train random trials of a bundle again, from the start to a random epoch, and compare."""

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
"""Allowed relative difference between repeated trainings, as in ``reproduce``."""
CODE = ("commit", "diff", "lock", "subnormals")
"""Facts that differ between versions of the program, most of which change no number."""


@dataclass(frozen=True)
class Retraced:
    """A trial trained again up to an epoch.

    Attributes:
        points: Its epochs.
        run: Its outcome; None if it has not ended.
        facts: Environment of the new training.
    """

    points: list[Point]
    run: Run | None
    facts: Mapping[str, str]


def list_replayable(file: File) -> list[BundledTrial]:
    """Return the trials of a bundle that can be trained again: those that did not fail and have an epoch."""
    return [e for e in file.content.trials if e.run.status != "failed" and e.run.epochs > 0]


def replay(file: File, count: int, chance: random.Random | None = None) -> Iterator[AuditFinding]:
    """Train ``count`` random trials of ``list_replayable`` again here, and yield the differences. Each is trained from
    the start to a random epoch; with successive halving at most to the first cut, because which trials remained in its
    pack after that is unknown. A different number rejects the bundle if kernel path and all relevant facts agree;
    otherwise it is a flag that names the differing fact.
    """
    chance = chance or random.SystemRandom()
    for entry in chance.sample(list_replayable(file), count):
        name, about = f"trial {entry.config.id}", [entry.config.id]
        try:
            if why := unfit(entry.config):
                raise ConfigError(f"it was made {why}")
            last_epoch = min(entry.run.epochs, (entry.config.halving or {}).get("first", entry.run.epochs))
            trained = train_again(entry.config, chance.randint(1, last_epoch), packed=entry.run.members > 1)
        except (ConfigError, DataError) as error:
            yield AuditFinding("replay", "flag", f"{name} cannot be trained again here: {error}", about)
            continue
        if finding := compare(entry, trained, file.content.environments.get(entry.place or "", {})):
            yield finding


def compare(entry: BundledTrial, trained: Retraced, original: Mapping[str, str]) -> AuditFinding | None:
    """Return a finding if a trial differs from its replay; None if both agree.

    Args:
        entry: The trial.
        trained: Its replay here.
        original: Environment of the original training.
    """
    name, about = f"trial {entry.config.id}", [entry.config.id]
    names = [n for n in MATTERS if n not in CODE and original.get(n, "—") != trained.facts.get(n, "—")]
    differs = (
        f" ({names[0]} {original.get(names[0], '—')} there, {trained.facts.get(names[0], '—')} here)" if names else ""
    )
    if _path(original) != _path(trained.facts):
        message = f"{name} cannot be compared: this machine takes another kernel path{differs}."
        return AuditFinding("replay", "flag", message, about)
    if wrong := describe_difference(entry, trained):
        return AuditFinding("replay", "flag" if names else "reject", f"{name} {wrong}{differs}.", about)
    return None


@flushing_subnormals()
def train_again(config: TrialConfig, epochs: int, packed: bool = False) -> Retraced:
    """Train a trial for a number of epochs, or to its end if that comes first.

    Args:
        config: The trial.
        epochs: Number of epochs.
        packed: Whether it was trained in a pack. Products of one member round differently from those of several,
            however many, so the trial is then trained in a pack of two copies.

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
    """Return how a trial differs from its replay, in words; empty if it does not."""
    by_epoch = {point.epoch: point for point in entry.points}
    for point in trained.points:
        for metric in ("loss", "valid"):
            replayed = getattr(point, metric)
            recorded = getattr(by_epoch.get(point.epoch), metric, None)
            if recorded is None:
                return f"has no epoch {point.epoch}, but has one when trained again, with {metric} {replayed:g}"
            if not math.isclose(replayed, recorded, rel_tol=SAME):
                return f"has {metric} {recorded!r} at epoch {point.epoch}; trained again it is {replayed!r}"
    if trained.run and trained.run.status == "diverged" and entry.run.status != "diverged":
        return f"did not diverge, but does when trained again, at epoch {trained.run.epochs}"
    replayed, recorded = trained.run.test if trained.run else None, entry.run.test
    if replayed is not None and (recorded is None or not math.isclose(replayed, recorded, rel_tol=SAME)):
        return f"has the test metric {recorded!r}; trained again it is {replayed!r}"
    return ""


def _path(facts: Mapping[str, str]) -> str:
    """Return the kernel path without its reason."""
    return facts.get("kernel", "").partition(":")[0]
