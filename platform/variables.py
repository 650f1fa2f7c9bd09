"""Numbers that environment variables set: the one place that reads them."""

from __future__ import annotations

import math
import os

from longwave.platform.errors import ConfigError

SECONDS = {
    "LONGWAVE_LEASE_SECONDS": (30.0, "more than 0"),
    "LONGWAVE_CHECKPOINT_SECONDS": (60.0, "0 or more"),
    "LONGWAVE_STORE_WAIT": (math.nan, "0 or more"),
}
"""Default and range of each; one without a default is NaN where nothing sets it."""


def read_seconds(name: str) -> float:
    """Return what a variable of ``SECONDS`` says, or its default where it is not set or empty.

    Raises:
        ConfigError: It is no such number.
    """
    default, allowed = SECONDS[name]
    if not (text := os.environ.get(name, "").strip()):
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    least = 0.0 if allowed == "0 or more" else math.ulp(0.0)
    if not least <= seconds < math.inf:
        raise ConfigError(f"{name} is a number of seconds, {allowed}, got {text!r}. Correct it, or: unset {name}")
    return seconds


def check_variables() -> None:
    """Raise ConfigError for the first variable that is no number of its range."""
    for name in SECONDS:
        read_seconds(name)
