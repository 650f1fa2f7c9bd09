"""Google12: recognise ten spoken words among others, from mel spectra of one second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.raw import DataError, Remote, Source
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.audio import decibels, list_digest, map_rows, mel_filters, read_sound, spectrum
from longwave.tasks.trivial.constant import Majority

RATE, SIZE, HOP, BANDS, FRAMES = 16000, 1024, 128, 80, 126
WORDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
"""Classes 2 to 11; 0 is any other word, 1 is silence."""
NOISE = "_background_noise_"
LISTS = {"valid": "validation_list.txt", "test": "testing_list.txt"}
FILES = Source(
    name="speech_commands",
    title="Google Speech Commands V2",
    licence="CC BY 4.0",
    needs=(*LISTS.values(), *(f"{folder}/" for folder in (NOISE, *WORDS))),
    remotes=(
        Remote(
            "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
            "speech_commands_v0.02.tar.gz",
            "6b74f3901214cb2c2934e98196829835",
            unpack=True,
        ),
    ),
    counts={"words": 105_829, "names in validation_list.txt": 9981, "names in testing_list.txt": 11_005},
    by_hand="Or unpack speech_commands_v0.02.tar.gz and give its folder.",
)
Item = tuple[Path, int]
"""A file, and the first sample of its second."""


@cache
def _mel_filters() -> np.ndarray:
    return mel_filters(RATE, SIZE, BANDS, 40.0, RATE / 2)


def features(x: np.ndarray) -> np.ndarray:
    """Return the input for a sound x, (S,) of at most 1 s at 16 kHz: (126, 80) float32 of mean 0 and variance 1.

    As in LEM's code, with the defaults of librosa 0.8.1: magnitudes of frames of 1024 samples, 128 apart, the sound
    reflected at both ends; 80 mel bands from 40 to 8000 Hz; decibels below the loudest, at most 80. Frames that are
    missing are 0 dB.
    """
    mirrored = np.pad(x.astype(np.float64), SIZE // 2, mode="reflect")
    levels = decibels(spectrum(mirrored, SIZE, HOP) @ _mel_filters().T)
    frames = np.zeros((FRAMES, BANDS))
    frames[: len(levels)] = levels
    spread = frames.std(ddof=1)
    scaled: np.ndarray = (frames - frames.mean()) / (spread or 1.0)
    return scaled.astype(np.float32)


def _read_lists(folder: Path) -> dict[str, list[str]]:
    """Return the names in the lists of the validation and the test split, sorted."""
    names: dict[str, list[str]] = {}
    for part, file in LISTS.items():
        names[part] = sorted(set((folder / file).read_text(encoding="utf-8", errors="replace").split()))
        if not names[part]:
            raise DataError(f"{folder / file}: there must be names of sound files, found none.")
        for name in names[part]:
            if not (folder / name).is_file():
                raise DataError(f"{folder / file}: every line must name a file that is there, got {name}.")
        FILES.check_count(f"names in {file}", len(names[part]))
    if both := sorted(set(names["valid"]) & set(names["test"])):
        raise DataError(f"{folder / LISTS['test']}: no file may be in both lists, but {both[0]} is.")
    return names


def _list_items(folder: Path) -> dict[str, list[Item]]:
    """Return the items of each split: every word, and for training every whole second of noise."""
    listed = _read_lists(folder)
    words = sorted(path.relative_to(folder).as_posix() for path in folder.glob("[!_.]*/*.wav"))
    FILES.check_count("words", len(words))
    held_out = {name for names in listed.values() for name in names}
    names = {"train": [name for name in words if name not in held_out], **listed}
    if not names["train"]:
        raise DataError(f"{folder}: there must be sound files that are in neither list, found none.")
    items = {part: [(folder / name, 0) for name in parts] for part, parts in names.items()}
    for path in sorted((folder / NOISE).glob("*.wav")):
        items["train"] += [(path, k * RATE) for k in range(len(read_sound(path, RATE)) // RATE)]
    return items


def _read_rows(items: list[Item]) -> Iterator[np.ndarray]:
    for path, start in items:
        yield features(read_sound(path, RATE)[start : start + RATE])


def _class_of(path: Path) -> int:
    word = path.parent.name
    return 1 if word == NOISE else WORDS.index(word) + 2 if word in WORDS else 0


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("google12", variant)
    folder = FILES.locate("google12")
    splits = {}
    for part, items in _list_items(folder).items():
        key = f"google12-1-{part}-{list_digest(folder, [path for path, _ in items])}"
        inputs = map_rows(key, len(items), _read_rows(items))
        splits[part] = Sequences(torch.from_numpy(inputs), torch.tensor([_class_of(path) for path, _ in items]))
    return Data(train=splits["train"], valid=splits["valid"], test=splits["test"])


TASK = TaskSpec(
    name="google12",
    title="Google12, spoken words",
    family="speech",
    summary="Real speech: ten commands, silence, or another word, from the mel spectrum of one second.",
    inputs=BANDS,
    outputs=2 + len(WORDS),
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=100,
            epochs=60,
            drops=(50,),
            numbers={"input_dropout": 0.03},
            source="LEM, Tables 5 and 8 and the authors' code (dropout)",
            paper="lem",
        ),
        "tau_gru": changes(
            drops=(),
            source="τ-GRU, Tables 6 and 9 and text (dropout of 0.03); the batch is LEM's",
            paper="taugru",
            unstated=("batch",),
        ),
    },
    source="Warden 2018, arXiv:1804.03209; split by its own lists; files in neither list are for training",
    licence=FILES.licence,
    length="126",
    lag="a word of up to a second, 126 frames",
    protocols=(
        note(
            "only the training split has silence, as in LEM's code, so the test split has 11 classes",
            "lem",
            minor=True,
        ),
        note(
            "LEM's code takes the first second of the six files of noise; here every whole second is one sequence",
            "lem",
        ),
        note("τ-GRU does not say whether its test split has silence; here it has none", "taugru"),
        note("most words are of the class unknown, and none is left out", minor=True),
    ),
    files=FILES,
    baselines={"majority": Majority(2 + len(WORDS))},
)
