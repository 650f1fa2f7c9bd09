"""OSULeaf: which of six trees a leaf is from, by its outline."""

from __future__ import annotations

from longwave.tasks.formats.archive import archive_task, from_aeon

FILES = from_aeon("osu_leaf", "OSULeaf", "352ada2ec17753ad2f6908063f97bb94", "e8e9a5c1bff95a2bbcac1e024cd6be01", 442)

TASK = archive_task(
    FILES,
    summary="Real outlines: a leaf's edge as its distance from the centre, step by step around it.",
    steps=427,
    features=1,
    classes=6,
    train=200,
    donor="Gandhi 2002",
    length="427",
    lag="the whole outline",
)
