"""What no training could have told: times before there was a program, speeds beyond the device, curves without noise.

Each check flags, since a clock may be wrong and a device new. What it compares with is generous: an honest run is far
from every limit here. A forger who knows the limits stays within them; what none finds is listed in the Methods.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from longwave.platform.exchange.bundle import BundledTrial, File
from longwave.platform.exchange.inspection import DAY, Said
from longwave.platform.exchange.remade import loaded
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.training.schedule import steps_an_epoch

BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
"""The first commit: nothing was trained by this program before."""
CLOCKS = 3600.0
"""Seconds by which the clocks of a driver and its workers may differ."""
CORE, GPU = 2e11, 1e15
"""Multiply-adds a second that nothing reaches: a core with two 512-bit units at 6 GHz; an H200, in eight bits."""
CORES = 512
"""Of a processor that does not say."""
STEP = 2e-5
"""Seconds that no step of a pack stays below, whatever is trained: some launches of the least work."""
LONG = 8
"""Epochs from which on a curve can be too smooth."""
LEARNED = 0.3
"""Share of itself by which it must have changed: what hardly learns is smooth."""
EXACT = 1e-6
"""Relative distance from a formula, or between scaled curves, that float32 can tell."""
WIDE = 1e-3
"""Change, in logs, below which curves say too little to be compared."""
REASON = re.compile(r"loss (\S+), validation (\S+) at epoch (\d+)")
TESTED = re.compile(r"test metric \S+ at epoch (\d+)")
"""Why a run diverged, as ``training.pack`` says it."""
Values = NDArray[np.float64]


def dates(file: File) -> Said:
    """A training is of a time in which there was this program, begins before it ends, and its epochs follow in time."""
    latest = datetime.now(UTC).timestamp() + DAY
    for entry in file.content.trials:
        name, at = f"trial {entry.config.id}", entry.curve.at
        for what, told in (("ended", entry.ended.timestamp()), *(("has an epoch", t) for t in (at[:1] + at[-1:]))):
            if not BEGAN.timestamp() <= told < latest:
                yield "flag", f"{name} {what} at {_when(told)}: {_wrong(told)}.", [entry.config.id]
                break
        if any(later < before - CLOCKS for before, later in pairwise([*at, entry.ended.timestamp()])):
            yield "flag", f"{name} ended before it began: its epochs do not follow in time.", [entry.config.id]


def speed(file: File) -> Said:
    """A training takes as long as the multiply-adds of its model on the named device, at the least, in every epoch."""
    for entry in file.content.trials:
        if entry.run.status == "failed":
            continue
        facts = file.content.environments.get(entry.place or "", {})
        name, took = f"trial {entry.config.id}", [0.0, *entry.curve.seconds]
        floor = epoch_floor(entry.config, max(1, entry.run.members), facts.get("device", ""))
        shortest = min((after - before for before, after in pairwise(took)), default=math.inf)
        if shortest < floor:
            least = f"on {facts.get('device', 'no device')} it is {floor:.2g} s at the least"
            yield "flag", f"{name} took {shortest:.2g} s for an epoch, {least}.", [entry.config.id]


def epoch_floor(config: TrialConfig, members: int, device: str) -> float:
    """Return seconds that no epoch of a trial stays below: its share of its pack's steps, or its multiply-adds.

    Every weight but the read-out's is multiplied at every place of a sequence, forward and backward; half of that
    count is taken, since some weights are added alone. 0 where the data are not here.
    """
    data, task = loaded(config.task, config.variant), get_task(config.task)
    if data is None:
        return 0.0
    steps = steps_an_epoch(config, data)
    weights = get_model(config.model).count(task.inputs, config.hidden, task.outputs, **config.options)
    inner = max(0, weights - (config.hidden + 1) * task.outputs)
    examples = min(steps * config.batch, len(data.train) if data.train is not None else math.inf)
    return max(STEP * steps / members, examples * data.valid.places * inner / peak(device))


def peak(device: str) -> float:
    """Return multiply-adds a second that a device, as ``environment.describe`` names it, does not reach."""
    cores = re.search(r", (\d{1,4}) cores$", device)
    return (int(cores[1]) if cores else CORES) * CORE if cores or "NVIDIA" not in device else GPU


def numbers(file: File) -> Said:
    """Losses and metrics are numbers of the precision that they were trained in."""
    for entry in file.content.trials:
        epochs = zip(entry.curve.loss, entry.curve.valid, strict=True)
        told = [*(x for epoch in epochs for x in epoch), entry.run.valid, entry.run.test]
        wrong = [x for x in told if x is not None and float(np.float32(min(x, 3e38))) != x and x < 3e38]
        if wrong and entry.config.precision != "float64":
            why = "which is no float32: no training here gives it"
            yield "flag", f"trial {entry.config.id} tells {wrong[0]!r}, {why}.", [entry.config.id]


def ends(file: File) -> Said:
    """A run that diverged met a number that is not finite, at the end of its curve."""
    for entry in file.content.trials:
        run, name, about = entry.run, f"trial {entry.config.id}", [entry.config.id]
        if run.status != "diverged":
            continue
        if said := REASON.fullmatch(run.reason):
            finite = all(map(_finite, said.groups()[:2]))
            if finite or int(said[3]) != run.epochs or len(entry.curve.loss) != run.epochs - 1:
                yield "flag", f"{name} is told as diverged ({run.reason}), and its curve is finite there.", about
        elif not (said := TESTED.fullmatch(run.reason)) or entry.config.phase != "retrain":
            yield "flag", f"{name} is told as diverged for a reason that no training gives: {run.reason}.", about
        elif len(entry.curve.loss) != run.epochs or int(said[1]) != run.epochs:
            told = f"told as diverged ({run.reason}), and its curve has {len(entry.curve.loss)} epochs"
            yield "flag", f"{name} is {told}.", about


def smooth(file: File) -> Said:
    """A curve has noise: it follows no short formula, and is no multiple of the curve of another seed."""
    of_kind: dict[str, list[tuple[BundledTrial, Values]]] = {"training losses": [], "validation metrics": []}
    for entry in file.content.trials:
        of_kind["training losses"].append((entry, np.array(entry.curve.loss)))
        if get_task(entry.config.task).metric.unit != "%":  # shares of few items repeat
            of_kind["validation metrics"].append((entry, np.array(entry.curve.valid)))
    for what, curves in of_kind.items():
        told = [(entry, curve) for entry, curve in curves if len(curve) > 2 and curve.min() > 0]
        for entry, curve in told:
            if formula := followed(curve):
                told_of = f"{what} without noise: they follow {formula} exactly"
                yield "flag", f"trial {entry.config.id} has {told_of}.", [entry.config.id]
        for one, other in scaled([(e.config, curve) for e, curve in told]):
            copied = f"{what} that are those of trial {other.id} times a number"
            yield "flag", f"trial {one.id} has {copied}.", [one.id, other.id]


def followed(curve: Values) -> str:
    """Return the short formula that a positive curve follows but for float32's rounding; empty where it follows none.

    Too short a curve follows any, and one that hardly changes is smooth.
    """
    if len(curve) < LONG or np.ptp(curve) < LEARNED * curve.max():
        return ""
    t = np.arange(1.0, len(curve) + 1)
    for name, x, back in (
        ("a parabola", t, None),
        ("a parabola in logs", t, np.log(curve)),
        ("a power law", np.log(t), np.log(curve)),
    ):
        y = curve if back is None else back
        rest = np.abs(np.polynomial.Polynomial.fit(x, y, 2)(x) - y)
        if (rest if back is not None else rest / curve).max() < EXACT:
            return name
    steps = np.abs(np.diff(curve))
    if steps.min() > WIDE * curve.max():
        rest = np.abs(np.polynomial.Polynomial.fit(t[1:], np.log(steps), 1)(t[1:]) - np.log(steps))
        if rest.max() < WIDE:
            return "an exponential to a limit"
    return ""


def scaled(curves: Sequence[tuple[TrialConfig, Values]]) -> Iterator[tuple[TrialConfig, TrialConfig]]:
    """Yield pairs of trials of which one curve is the other's times a number, as far as both go; three epochs or more.

    Trials of one seed and model are passed over: a number that has no effect, as a clipping norm that is never met,
    gives equal curves. So are curves that hardly change.
    """
    logs = [(config, np.log(curve)) for config, curve in curves]
    moved = sorted(((y[1] - y[0], k) for k, (_, y) in enumerate(logs) if np.ptp(y) > WIDE), key=lambda pair: pair[0])
    for place, (start, k) in enumerate(moved):
        for other, j in moved[place + 1 :]:
            if other - start > EXACT:
                break
            (a, y), (b, z) = logs[k], logs[j]
            n = min(len(y), len(z))
            if (a.seed, a.model) != (b.seed, b.model) and np.ptp(y[:n] - z[:n]) < EXACT and np.ptp(y[:n]) > WIDE:
                yield b, a


def _finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return True


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}" if abs(seconds) < 2e11 else f"{seconds:g} s"


def _wrong(seconds: float) -> str:
    return f"there is no such training before {BEGAN:%Y-%m-%d}" if seconds < BEGAN.timestamp() else "in the future"
