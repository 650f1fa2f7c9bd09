"""JapaneseVowels: which of nine speakers says two vowels, from twelve cepstral coefficients."""

from __future__ import annotations

from longwave.tasks.formats.archive import archive_task, from_aeon

FILES = from_aeon(
    "japanese_vowels", "JapaneseVowels", "9165e3eec783ac6342d658685c864d19", "14d15214e3ab6ac39ab2d48901d3e2a3", 640
)

TASK = archive_task(
    FILES,
    summary="Real speech of unequal length: one of nine men by his /ae/, in cepstral coefficients.",
    steps=0,
    features=12,
    classes=9,
    train=270,
    donor="Kudo, Toyama and Shimbo 1999",
    length="7 to 29",
    lag="the whole utterance",
)
