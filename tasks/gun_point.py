"""GunPoint: drawing a gun or pointing a finger, by the height of a hand."""

from __future__ import annotations

from longwave.tasks.formats.archive import archive_task, from_aeon

FILES = from_aeon("gun_point", "GunPoint", "b7901fea64f1478306a5b2fd24bbadf3", "29b4dcc6cc288913e3d4b9dc414844ad", 200)

TASK = archive_task(
    FILES,
    summary="Real motion: a hand draws a gun or points; an easy set that serves as a smoke test.",
    steps=150,
    features=1,
    classes=2,
    train=50,
    donor="Ratanamahatana and Keogh 2005",
    length="150",
    lag="the whole series",
)
