"""BIDMC32SpO2: read the oxygen saturation off 32 seconds of pulse and electrocardiogram."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, note
from longwave.tasks.bidmc32hr import TASK as HEART_RATE
from longwave.tasks.bidmc32hr import load_windows, source

FILES = source("BIDMC32SpO2", 4001464)


@cache
def _load(variant: str) -> Data[Sequences]:
    return load_windows(FILES, variant)


TASK = replace(
    HEART_RATE,
    name="bidmc32spo2",
    title="BIDMC oxygen saturation",
    summary="Regression from long real signals: the oxygen saturation of the blood in percent.",
    load=_load,
    recipes={"": Recipe(hidden=128, batch=32, epochs=500, drops=(250,), source="ours: as for the heart rate")},
    protocols=(
        note("as for the heart rate the windows are shuffled, so the same patient is in all three splits", minor=True),
        note("none of the five papers prints a number for it", minor=True),
    ),
    files=FILES,
)
