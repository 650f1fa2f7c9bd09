"""Measure the memory and time of a pack over a few steps on this process's device."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psutil
import torch

from longwave.platform.processes import peak_memory
from longwave.platform.records.probe import Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.training import energy, environment
from longwave.platform.training.pack import Pack
from longwave.platform.training.schedule import steps_an_epoch
from longwave.platform.training.train import loaded, out_of_memory

WARM, STEPS = 2, 5
"""Warm-up steps, in which loops are compiled, and least number of timed steps."""
SECONDS = 1.0
"""Least seconds of timed steps, unless the epoch ends: NVML's utilisation covers about the last second."""
QUICK_STEPS, QUICK_SECONDS = 2, 0.25
"""Least steps of a quick probe, of which all but the first are timed, and its least seconds."""


class Gauge(Protocol):
    """Measurements of a device."""

    def capacity(self) -> int:
        """Return its memory in bytes."""

    def start(self) -> None:
        """Reset the peak memory."""

    def wait(self) -> None:
        """Wait until the device is idle."""

    def peak(self) -> int:
        """Return the peak memory since ``start``, in bytes."""

    def busy(self) -> float | None:
        """Return its utilisation, 0 to 1; None if unknown."""


class CudaGauge:
    """A CUDA device, measured by torch and NVML."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def capacity(self) -> int:
        """Return its memory in bytes."""
        return int(torch.cuda.get_device_properties(self.device).total_memory)

    def start(self) -> None:
        """Reset the peak memory."""
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)

    def wait(self) -> None:
        """Wait for all launched kernels."""
        torch.cuda.synchronize(self.device)

    def peak(self) -> int:
        """Return the peak of torch's memory plus the overhead of a process on the device, in bytes."""
        free, total = torch.cuda.mem_get_info(self.device)
        overhead = max(total - free - torch.cuda.memory_reserved(self.device), 0)
        return int(torch.cuda.max_memory_allocated(self.device)) + overhead

    def busy(self) -> float | None:
        """Return NVML's current utilisation, if only this process uses the device."""
        return energy.busy(self.device)


class CoreGauge:
    """This process on CPU cores, measured by the growth of its resident memory."""

    def __init__(self) -> None:
        self._before = 0

    def capacity(self) -> int:
        """Return the machine's memory in bytes."""
        return int(psutil.virtual_memory().total)

    def start(self) -> None:
        """Reset the peak memory, if Linux permits it."""
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._before = psutil.Process().memory_info().rss

    def wait(self) -> None:
        """Do nothing."""

    def peak(self) -> int:
        """Return the growth in bytes, at least one page."""
        peak = peak_memory() or psutil.Process().memory_info().rss
        return max(peak - self._before, os.sysconf("SC_PAGE_SIZE"))

    def busy(self) -> float | None:
        """Return None."""
        return None


@environment.flushing_subnormals()
def probe(configs: Sequence[TrialConfig], kind: str, gauge: Gauge | None = None, quick: bool = False) -> Probe:
    """Return the memory and time of a pack on this process's device. Its training is discarded.

    Args:
        configs: Trials of one shape.
        kind: Kind of the device, as named by placement.
        gauge: Measures the device; by default that of packs here.
        quick: Whether to train only about two steps, enough to distinguish minutes from hours.

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
    """Return the seconds of a step after warm-up; of the last one if the epoch has fewer steps."""
    ends: list[float] = [time.perf_counter()]

    def after_step() -> bool:
        gauge.wait()
        ends.append(time.perf_counter())
        if quick:
            return len(ends) > QUICK_STEPS and ends[-1] - ends[1] > QUICK_SECONDS
        return len(ends) > WARM + STEPS and ends[-1] - ends[WARM] > SECONDS

    pack.train_epoch(after_step)
    timed = ends[min(1 if quick else WARM, len(ends) - 2) :]
    return (timed[-1] - timed[0]) / (len(timed) - 1)
