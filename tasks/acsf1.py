"""ACSF1: which of ten household appliances draws this power."""

from __future__ import annotations

from longwave.tasks.formats.archive import archive_task, from_aeon

FILES = from_aeon("acsf1", "ACSF1", "3e40c2609d59dc2f34ad069333beff5c", "8f1b297ec9583daad694b5890fffb78f", 200)

TASK = archive_task(
    FILES,
    summary="Memory of real power traces: an appliance by its consumption, with long idle stretches.",
    steps=1460,
    features=1,
    classes=10,
    train=100,
    donor="Gisler et al. 2013",
    length="1460",
    lag="hundreds of steps: what an appliance did before it idled",
)
