"""Driver, energy and utilisation of a GPU from NVML, NVIDIA's management library, if available."""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any

import torch


class Meter:
    """Measures the energy of a device, lap by lap. NVML counts the energy of the whole GPU since its driver was loaded,
    so ours is unknown while another process computes there.

    Args:
        device: The device; only CUDA devices are measured.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._last = self._read()

    def lap(self) -> float:
        """Return the joules since the previous lap, or the start; NaN if unknown."""
        previous, self._last = self._last, self._read()
        return self._last - previous

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
    """Return a GPU's current utilisation, 0 to 1; None if unknown, or shared with other processes."""
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
    """Return the initialised module pynvml of the package nvidia-ml-py; None without it or the library."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml
