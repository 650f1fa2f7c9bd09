"""What NVML, NVIDIA's management library, says of a GPU: its driver, and the energy it took. Without NVML, nothing."""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any

import torch


class Meter:
    """Measures the energy a device takes, lap by lap.

    NVML counts what the whole GPU took since its driver was loaded. So nothing is known while another process computes
    there: the number would not be ours.

    Args:
        device: The device; only the energy of a CUDA device is known.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._last = self._read()

    def lap(self) -> float:
        """Return the joules taken since the lap before, or since the start; NaN where they are not known."""
        before, self._last = self._last, self._read()
        return self._last - before

    def _read(self) -> float:
        nvml = _nvml() if self.device.type == "cuda" else None
        if nvml is None:
            return math.nan
        try:
            gpu = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(self.device).uuid}")
            if len(nvml.nvmlDeviceGetComputeRunningProcesses(gpu)) > 1:
                return math.nan
            return float(nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)) / 1000
        except nvml.NVMLError:
            return math.nan


def driver() -> str:
    """Return the version of NVIDIA's driver, or ``"unknown"``."""
    nvml = _nvml()
    if nvml is None:
        return "unknown"
    try:
        return str(nvml.nvmlSystemGetDriverVersion())
    except nvml.NVMLError:
        return "unknown"


def busy(device: torch.device) -> float | None:
    """Return the part of the last moments that a GPU was at work, 0 to 1; None where that is unknown or not ours."""
    nvml = _nvml() if device.type == "cuda" else None
    if nvml is None:
        return None
    try:
        gpu = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        if len(nvml.nvmlDeviceGetComputeRunningProcesses(gpu)) > 1:
            return None
        return float(nvml.nvmlDeviceGetUtilizationRates(gpu).gpu) / 100
    except nvml.NVMLError:
        return None


@cache
def _nvml() -> Any | None:
    """Return the module pynvml, of the package nvidia-ml-py, ready for use; None where it or the library is absent."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml
