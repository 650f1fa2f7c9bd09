"""BIDMC32RR: read the rate of breathing off 32 seconds of pulse and electrocardiogram."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, note
from longwave.tasks.bidmc32hr import TASK as HEART_RATE
from longwave.tasks.bidmc32hr import load_windows, source

FILES = source("BIDMC32RR", 4001463)


@cache
def _load(variant: str) -> Data[Sequences]:
    return load_windows(FILES, variant)


TASK = replace(
    HEART_RATE,
    name="bidmc32rr",
    title="BIDMC respiratory rate",
    summary="Regression from long real signals: the rate of breathing, in breaths a minute.",
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=32,
            epochs=500,
            drops=(250,),
            source="UnICORNN as in the thesis, §3.3, and its code",
            paper="thesis",
        )
    },
    protocols=(
        note("as in the papers the windows are shuffled, so the same patient is in all three splits", minor=True),
        note(
            "UnICORNN's code gives no seed of the split; this task takes that of LEM's heart rates",
            "thesis",
            minor=True,
        ),
    ),
    files=FILES,
)
