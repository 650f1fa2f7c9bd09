"""TIMIT: predict the next frame of the log-spectrum of speech."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.raw import DataError, Source
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.audio import list_digest, map_rows, read_sound, spectrum
from longwave.tasks.trivial.constant import Mean, Persistence

RATE, SIZE, HOP = 16000, 256, 128
"""Sampling rate of the files, in Hz; length and hop of frames at 8 kHz, in samples."""
BINS = SIZE // 2 + 1
CORE = """
    MDAB0 MWBT0 FELC0 MTAS1 MWEW0 FPAS0 MJMP0 MLNT0 FPKT0 MLLL0 MTLS0 FJLM0
    MBPM0 MKLT0 FNLP0 MCMJ0 MJDH0 FMGD0 MGRT0 MNJM0 FDHC0 MJLN0 MPAM0 FMLD0
""".split()
"""The 24 speakers of the core test set, 192 utterances: here, as in the papers' code, the validation split."""
DEVELOPMENT = """
    FAKS0 FDAC1 FJEM0 MGWT0 MJAR0 MMDB1 MMDM2 MPDF0 FCMH0 FKMS0 MBDG0 MBWM0 MCSH0 FADG0 FDMS0 FEDW0 MGJF0 MGLB0 MRTK0
    MTAA0 MTDT0 MTHC0 MWJG0 FNMR0 FREW0 FSEM0 MBNS0 MMJR0 MDLS0 MDLF0 MDVC0 MERS0 FMAH0 FDRW0 MRCS0 MRJM4 FCAL1 MMWH0
    FJSJ0 MAJC0 MJSW0 MREB0 FGJD0 FJMG0 MROA0 MTEB0 MJFC0 MRJR0 FMML0 MRWS1
""".split()
"""The 50 speakers of the usual development set, 400 utterances: here, as in the papers' code, the test split."""
FILES = Source(
    name="timit",
    title="TIMIT (LDC93S1)",
    licence="licensed by the Linguistic Data Consortium; not to be redistributed",
    needs=("TRAIN/", "TEST/"),
    counts={"sentences of train": 3696, "sentences of valid": 192, "sentences of test": 400},
    by_hand="Buy LDC93S1 and give the folder that holds TRAIN and TEST.",
)


def _list_utterances(folder: Path) -> dict[str, list[Path]]:
    """Return the files of each split, sorted: the sentences SI and SX; all speakers read the two sentences SA."""
    by_part: dict[str, dict[str, list[Path]]] = {}
    for part in ("TRAIN", "TEST"):
        for path in sorted((folder / part).glob("*/*/*")):
            if re.fullmatch(r"S[IX]\d+\.WAV", path.name, re.IGNORECASE):
                by_part.setdefault(part, {}).setdefault(path.parent.name.upper(), []).append(path)
    test = by_part.get("TEST", {})
    if absent := [speaker for speaker in CORE + DEVELOPMENT if speaker not in test]:
        raise DataError(f"{folder / 'TEST'}: there must be sentences SI or SX of the speaker {absent[0]}, found none.")
    if "TRAIN" not in by_part:
        raise DataError(f"{folder / 'TRAIN'}: there must be sentences SI or SX, found none.")
    by_split = {
        "train": by_part["TRAIN"],
        "valid": {s: test[s] for s in CORE},
        "test": {s: test[s] for s in DEVELOPMENT},
    }
    sentences = {part: sorted(p for paths in speakers.values() for p in paths) for part, speakers in by_split.items()}
    for part, paths in sentences.items():
        FILES.check_count(f"sentences of {part}", len(paths))
    return sentences


def log_spectrum(x: np.ndarray) -> np.ndarray:
    """Return 10 log10(10⁻⁵ + |STFT|²) of a sound at 16 kHz, (F, 129) float32, in dB.

    As in the papers' code: resampled to 8 kHz, zero-padded to whole hops and by a frame at each end, then
    frames of 256 samples, 128 apart. The code resamples in Matlab, this in scipy.
    """
    from scipy.signal import resample_poly

    slow = resample_poly(x.astype(np.float64), 1, 2)
    filled = np.pad(slow, (SIZE, SIZE + -len(slow) % HOP))
    return (10 * np.log10(1e-5 + spectrum(filled, SIZE, HOP) ** 2)).astype(np.float32)


def _read_rows(paths: list[Path]) -> Iterator[np.ndarray]:
    """Yield (F, 129) for each file, NaN past its end; F is the number of frames of the longest."""
    sounds = [log_spectrum(read_sound(path, RATE)) for path in paths]
    longest = max(map(len, sounds))
    for levels in sounds:
        yield np.pad(levels, ((0, longest - len(levels)), (0, 0)), constant_values=np.nan)


def _split(levels: torch.Tensor, variant: str) -> Sequences:
    """Return frames (N, F, 129) as inputs and targets one step apart."""
    now, after = levels[:, :-1], levels[:, 1:]
    if variant == "previous":
        return Sequences(after.nan_to_num(), now.masked_fill(after.isnan(), torch.nan))
    return Sequences(now.nan_to_num(), after)


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("timit", variant, ("", "normalised", "previous"))
    folder = FILES.locate("timit")
    levels = {}
    for part, paths in _list_utterances(folder).items():
        key = f"timit-1-{part}-{list_digest(folder, paths)}"
        levels[part] = torch.from_numpy(map_rows(key, len(paths), _read_rows(paths)))
    if variant == "normalised":
        training = levels["train"].flatten(0, 1)
        training = training[~training[:, 0].isnan()]
        shift, scale = training.mean(0), training.std(0)
        if (training.amin(0) == training.amax(0)).any():
            raise DataError(f"{folder}: every bin must vary over the training split to be normalised.")
        levels = {part: (values - shift) / scale for part, values in levels.items()}
    train, valid, test = (_split(levels[part], variant) for part in ("train", "valid", "test"))
    return Data(train=train, valid=valid, test=test)


TASK = TaskSpec(
    name="timit",
    title="TIMIT, next frame",
    family="speech",
    summary="Real speech: predict the next frame of the log-spectrum, 16 ms ahead.",
    inputs=BINS,
    outputs=BINS,
    targets="at every step",
    loss=mean_squared_error,
    metric=MSE,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=256,
            batch=128,
            epochs=1200,
            clip=1.0,
            source="Lipschitz RNN, Tables 2 and 8 and text; batch as in expRNN's code, clipping ours",
            paper="lipschitz",
            unstated=("clip",),
        ),
        "lstm": changes(hidden=158, source="units of Lipschitz RNN, Table 2; the rest as for all others"),
        "exprnn": changes(hidden=425, source="units of Lipschitz RNN, Table 2; the rest as for all others"),
    },
    variants="empty: in dB; normalised: each bin of mean 0 and variance 1 over the training split; "
    "previous: given a frame, recall the one before it, which is what expRNN's data preparation produces",
    source="Garofolo 1993; features and splits as in the code of Wisdom et al. 2016, arXiv:1611.00035",
    licence=FILES.licence,
    length="varies: a sentence of 1 to 8 s has some 60 to 500 frames, a split is padded to its longest",
    lag="not known: a sound lasts some 5 frames of 16 ms, a word some 20",
    horizon=1,
    protocols=(
        note(
            "the papers speak of normalised magnitudes, but their code leaves them in dB, as errors above 1 imply",
            minor=True,
        ),
        note(
            "expRNN's preparation, which Lipschitz RNN used, exchanges inputs and targets: see the variant previous",
            "lipschitz",
            minor=True,
        ),
        note("the papers train on 3690 sentences, this task on all 3696 of the 462 speakers", minor=True),
        note(
            "the papers' 192 sentences for validation are the core test set, their 400 for testing the development set",
            minor=True,
        ),
    ),
    files=FILES,
    baselines={"mean": Mean(), "persistence": Persistence()},
)
