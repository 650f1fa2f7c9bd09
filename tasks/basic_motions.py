"""BasicMotions: standing, walking, running or badminton, by a watch's accelerometer and gyroscope."""

from __future__ import annotations

from longwave.tasks.formats.archive import archive_task, from_aeon

FILES = from_aeon(
    "basic_motions", "BasicMotions", "ebf723e9e78fb3396ab2420cddfb0856", "72a1a7bec5ac32a305fe0a6d0a2cefdc", 80
)

TASK = archive_task(
    FILES,
    summary="Real motion in six channels; near 100 % is usual, so it serves as a smoke test.",
    steps=100,
    features=6,
    classes=4,
    train=40,
    donor="Clements, University of East Anglia",
    length="100",
    lag="a stride, some 10 steps",
)
