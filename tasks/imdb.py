"""IMDB: classify the sentiment of a film review read word by word."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, binary_cross_entropy
from longwave.tasks.base.raw import DataError, fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.text import GLOVE, IMDB, number_texts, read_glove, read_reviews, read_text, tokenise
from longwave.tasks.trivial.constant import Majority

LONGEST = 1000
"""Tokens of a review that are read; the rest is cut off."""
WORDS, FEATURES = 25_000, 100
"""Most frequent words kept, and the size of their embedding."""
UNKNOWN, PADDING, RESERVED = 0, 1, 2
"""Tokens that are not words, and their number."""
TRAIN_PERCENT = 70
"""Percentage of the training half that trains; the rest validates."""


def shuffle_reviews(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of n reviews train and which validate: two pieces of one fixed shuffle."""
    shuffle, cut = np.random.RandomState(1234).permutation(n), n * TRAIN_PERCENT // 100
    return shuffle[:cut], shuffle[cut:]


def _parse(train: list[Path], test: list[Path], vectors: Path | None) -> dict[str, np.ndarray]:
    """Return all reviews as one row of tokens, int16, their lengths, and the initial embedding if there is one.

    Raises:
        DataError: A review is empty or not UTF-8, or GloVe's file is broken.
    """
    learnt = shuffle_reviews(len(train))[0].tolist()
    rows, words = number_texts((tokenise(read_text(path))[:LONGEST] for path in train + test), learnt)
    for path, row in zip(train + test, rows, strict=True):
        if not len(row):
            raise DataError(f"{path}: a review must have at least one word, got none.")
    tokens = np.concatenate(rows)
    in_vocabulary = (tokens >= 0) & (tokens < WORDS)
    arrays = {
        "tokens": np.where(in_vocabulary, tokens + RESERVED, UNKNOWN).astype(np.int16),
        "lengths": np.array([len(row) for row in rows]),
    }
    if vectors:
        numbers = {word: k for k, word in enumerate(words[:WORDS], RESERVED)}
        arrays["embedding"] = read_glove(vectors, numbers, (WORDS + RESERVED, FEATURES))
        arrays["embedding"][[UNKNOWN, PADDING]] = 0
    return arrays


def _split(rows: np.ndarray, lengths: np.ndarray, labels: np.ndarray, padded: bool) -> Sequences:
    """Return reviews to classify at their last token, or if ``padded`` at the last step."""
    targets = np.full(rows.shape, NO_TARGET)
    targets[np.arange(len(rows)), LONGEST - 1 if padded else lengths - 1] = labels
    return Sequences(torch.from_numpy(rows), torch.from_numpy(targets))


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("imdb", variant, ("", "padded"))
    folder = IMDB.locate("imdb")
    sides = [read_reviews(folder / part) for part in IMDB.needs]
    for side in sides:
        IMDB.check_count("reviews in each folder", len(side))
    labels = np.repeat([0, 1, 0, 1], [len(side) for side in sides])
    train, test = sides[0] + sides[1], sides[2] + sides[3]
    vectors = IMDB.folder / GLOVE if (IMDB.folder / GLOVE).is_file() else None
    marks = [fingerprint(side) for side in sides]
    if len(set(marks)) < len(marks):
        raise DataError(f"{folder}: its four folders must hold different reviews, got a copy.")
    key = "-".join([*marks, *([fingerprint([vectors])] if vectors else [])])
    arrays = cached(f"imdb-1-{key}", lambda: _parse(train, test, vectors))
    lengths = arrays["lengths"]
    rows = np.full((len(lengths), LONGEST), PADDING, np.int16)
    rows[np.arange(LONGEST) < lengths[:, None]] = arrays["tokens"]
    learn, check = shuffle_reviews(len(train))
    pieces = (learn, check, np.arange(len(train), len(rows)))
    splits = [_split(rows[k], lengths[k], labels[k], variant == "padded") for k in pieces]
    start = torch.from_numpy(arrays["embedding"]) if vectors else None
    return Data(train=splits[0], valid=splits[1], test=splits[2], embedding=start)


TASK = TaskSpec(
    name="imdb",
    title="IMDB reviews",
    family="text",
    summary="Language and memory: positive or negative, after a whole film review read word by word.",
    inputs=FEATURES,
    outputs=1,
    tokens=WORDS + RESERVED,
    targets="at every step",
    loss=binary_cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(hidden=128, batch=64, epochs=100, source="coRNN, Tables 4 and 7 and code", paper="cornn"),
        "unicornn": changes(
            batch=32, epochs=50, source="UnICORNN, in the thesis Tables 3.5 and 3.8 (two layers)", paper="thesis"
        ),
        "tau_gru": changes(
            epochs=30,
            numbers={"input_dropout": 0.04},
            source="τ-GRU, Table 9 and Appendix; batch not printed, as coRNN; of what it drops out 4 % is not printed",
            paper="taugru",
            unstated=("batch",),
        ),
    },
    variants="empty: asked at a review's last token; padded: asked after the padding, as the released code does",
    source="Maas et al. 2011, aclImdb v1",
    licence=IMDB.licence,
    length="up to 1000 tokens, some 270 on average",
    lag="a whole review",
    protocols=(
        note(
            "the released code reads the state after the padding, this task after the last token (variant"
            " padded: as code)",
            "cornn",
            "thesis",
            minor=True,
        ),
        note("the papers cut no review and pad to the longest of a batch, this task cuts and pads to 1000 tokens"),
        note("the papers' tokens are spaCy's, with capitals; this task's follow a simple rule, in lower case"),
        note(
            "coRNN and UnICORNN validate on a random 7500 of the training half, this task on a fixed 7500",
            "cornn",
            "thesis",
            minor=True,
        ),
        note("τ-GRU validates on 3750 of the training half, this task on 7500", "taugru"),
        note("the papers' embedding starts from GloVe, this task's from N(0, 1) unless glove.6B.100d.txt is there"),
        note("UnICORNN also drops out 65 % of the embedding by whole words, which a recipe cannot express", "thesis"),
    ),
    files=IMDB,
    baselines={"majority": Majority(1)},
)
