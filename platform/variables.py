"""Checks of environment variables; durations are read only here."""

from __future__ import annotations

import math
import os

from longwave.platform.errors import ConfigError

SECONDS = {
    "LONGWAVE_LEASE_SECONDS": (30.0, "more than 0"),
    "LONGWAVE_CHECKPOINT_SECONDS": (60.0, "0 or more"),
    "LONGWAVE_STORE_WAIT": (math.nan, "0 or more"),
}
"""Default and allowed range of each variable; without a default it is NaN unless set."""
KERNELS = ("", "reference", "cpu", "triton")
"""Allowed values of LONGWAVE_KERNEL, which ``models.kernels.dispatch`` reads; importing that takes seconds."""


def read_seconds(name: str) -> float:
    """Return the value of a variable of ``SECONDS``, or its default if it is unset or empty.

    Raises:
        ConfigError: The value is not a number in that range.
    """
    default, allowed = SECONDS[name]
    if not (text := os.environ.get(name, "").strip()):
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    smallest = 0.0 if allowed == "0 or more" else math.ulp(0.0)
    if not smallest <= seconds < math.inf:
        raise ConfigError(f"{name} is a number of seconds, {allowed}, got {text!r}. Correct it, or: unset {name}")
    return seconds


def check_variables() -> None:
    """Raise ConfigError for the first variable whose value is not allowed."""
    for name in SECONDS:
        read_seconds(name)
    if (path := os.environ.get("LONGWAVE_KERNEL", "")) not in KERNELS:
        allowed = ", ".join(KERNELS[1:-1])
        advice = "Correct it, or: unset LONGWAVE_KERNEL"
        raise ConfigError(f"LONGWAVE_KERNEL is {allowed} or {KERNELS[-1]}, got {path!r}. {advice}")
