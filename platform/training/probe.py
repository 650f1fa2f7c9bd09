"""Probe a pack for some steps: the memory and time that it takes on this process's device."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil
import torch

from longwave.platform.records.probe import Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.training import energy, environment
from longwave.platform.training.pack import Pack
from longwave.platform.training.schedule import steps_an_epoch
from longwave.platform.training.train import loaded, out_of_memory

WARM, STEPS = 2, 5
"""Steps before time is taken, in which loops are compiled, and steps that count at least."""
SECONDS = 1.0
"""For how long steps are counted, unless the epoch is over: NVML's word on a GPU is of about the last second."""
QUICK_STEPS, QUICK_SECONDS = 2, 0.25
"""Steps of a quick probe at least, all but the first of which count, and for how long it goes on."""


class Gauge(Protocol):
    """What can be read of a device."""

    def capacity(self) -> int:
        """Return its memory, bytes."""

    def start(self) -> None:
        """Forget the peak of what ran before."""

    def wait(self) -> None:
        """Return when the device has done what it was given."""

    def peak(self) -> int:
        """Return the most memory held since ``start``, bytes."""

    def busy(self) -> float | None:
        """Return the part of the time that it is at work; None where that is not known."""


class CudaGauge:
    """A CUDA device, by torch and NVML."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def capacity(self) -> int:
        """Return its memory, bytes."""
        return int(torch.cuda.get_device_properties(self.device).total_memory)

    def start(self) -> None:
        """Forget the peak."""
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)

    def wait(self) -> None:
        """Return when all that was launched is done."""
        torch.cuda.synchronize(self.device)

    def peak(self) -> int:
        """Return what torch held at most, and what a process takes of a device by itself."""
        free, all_of_it = torch.cuda.mem_get_info(self.device)
        own = max(all_of_it - free - torch.cuda.memory_reserved(self.device), 0)
        return int(torch.cuda.max_memory_allocated(self.device)) + own

    def busy(self) -> float | None:
        """Return what NVML says of the last moments, if this process alone computes there."""
        return energy.busy(self.device)


class CoreGauge:
    """This process on its cores: how far its resident memory grows."""

    def __init__(self) -> None:
        self._before = 0

    def capacity(self) -> int:
        """Return the machine's memory, bytes."""
        return int(psutil.virtual_memory().total)

    def start(self) -> None:
        """Forget the peak, where Linux lets a process do that."""
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._before = psutil.Process().memory_info().rss

    def wait(self) -> None:
        """Do nothing."""

    def peak(self) -> int:
        """Return the growth, bytes, of a page at least."""
        try:
            status = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
            peak = int(status) * 1024
        except (OSError, IndexError):
            peak = psutil.Process().memory_info().rss
        return max(peak - self._before, os.sysconf("SC_PAGE_SIZE"))

    def busy(self) -> float | None:
        """Return None."""
        return None


@environment.flushing_subnormals()
def probe(configs: Sequence[TrialConfig], kind: str, gauge: Gauge | None = None, quick: bool = False) -> Probe:
    """Return the memory and time that a pack takes on this process's device. Nothing of its training is kept.

    Args:
        configs: Its trials, of one shape.
        kind: Of the device, as placement names it.
        gauge: Reads the device; by default the one that packs train on here.
        quick: Train little more than two steps: enough to tell minutes from hours.

    Raises:
        DataError, ConfigError: As in training.
    """
    device = environment.device()
    gauge = gauge or (CudaGauge(device) if device.type == "cuda" else CoreGauge())
    first = configs[0]
    data = loaded(first.task, first.variant, first.data, first.precision, str(device))
    gauge.start()
    try:
        pack = Pack(configs, data, device)
        step = _step_seconds(pack, gauge, quick)
        busy, start = gauge.busy(), time.perf_counter()
        pack.score(data.valid)
        gauge.wait()
        epoch = step * steps_an_epoch(first, data) + time.perf_counter() - start
    except Exception as error:
        if not out_of_memory(error):
            raise
        return Probe(kind, load_key(first), len(configs), gauge.capacity(), gauge.capacity(), fits=False)
    return Probe(kind, load_key(first), len(configs), gauge.peak(), gauge.capacity(), step, epoch, busy)


def _step_seconds(pack: Pack, gauge: Gauge, quick: bool) -> float:
    """Return the seconds of a step once loops are compiled; of the last one, where an epoch has fewer."""
    ends: list[float] = [time.perf_counter()]

    def after_step() -> bool:
        gauge.wait()
        ends.append(time.perf_counter())
        if quick:
            return len(ends) > QUICK_STEPS and ends[-1] - ends[1] > QUICK_SECONDS
        return len(ends) > WARM + STEPS and ends[-1] - ends[WARM] > SECONDS

    pack.train_epoch(after_step)
    counted = ends[min(1 if quick else WARM, len(ends) - 2) :]
    return (counted[-1] - counted[0]) / (len(counted) - 1)
