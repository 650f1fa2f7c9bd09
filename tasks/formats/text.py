"""Texts: reading, tokenisation, vocabularies, and predictors that only count."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError, Remote, Source, check_ended, fingerprint, open_bytes
from longwave.tasks.base.sequences import Sequences, Text
from longwave.tasks.trivial.constant import count_logs

RATINGS = {"neg": range(1, 5), "pos": range(7, 11)}
"""Ratings of the reviews in each folder of aclImdb, class 0 before class 1; 5 and 6 are neutral and absent."""
GLOVE = "glove.6B.100d.txt"
"""Optional file next to the reviews; a line is a word and its 100 numbers."""
TOKEN = re.compile(r"\w+?(?=n't)|n't|'(?:s|m|re|ve|ll|d)\b|\w+|[^\w\s]")


@dataclass(frozen=True)
class Unpacked(Source):
    """A data set whose files are in a folder of its archive, or directly in the folder where a user put them.

    Attributes:
        inside: That folder.
    """

    inside: str = ""

    def missing(self, folder: Path | None = None) -> list[str]:
        """Return the needed files that are in neither folder."""
        folder = folder or self.folder
        return super().missing(folder) and super().missing(folder / self.inside)

    @property
    def root(self) -> Path:
        """The folder with the files themselves."""
        return self.folder / self.inside if super().missing() else self.folder


PTB = Unpacked(
    name="ptb",
    title="the Penn Treebank in Mikolov's form",
    licence="Linguistic Data Consortium's, for members and licensees; Mikolov's copy is passed on for research",
    needs=("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"),
    remotes=(
        Remote(
            "https://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz",
            "ptb.tar.gz",
            "30177ea32e27c525793142b6bf2c8e2d",
            unpack=True,
        ),
    ),
    by_hand="By hand: put ptb.train.txt, ptb.valid.txt and ptb.test.txt of Mikolov's simple-examples into one folder.",
    inside="simple-examples/data",
    counts={"lines in ptb.train.txt": 42_068, "lines in ptb.valid.txt": 3370, "lines in ptb.test.txt": 3761},
)
IMDB = Unpacked(
    name="imdb",
    title="the Large Movie Review Dataset",
    licence="no licence is stated; for research, citing Maas et al. 2011",
    needs=("train/neg/", "train/pos/", "test/neg/", "test/pos/"),
    remotes=(
        Remote(
            "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            "aclImdb_v1.tar.gz",
            "7c2ac02c03563afcf9b574c7e56c153a",
            unpack=True,
        ),
    ),
    by_hand=f"Optional: put {GLOVE} into the same folder, and the word embedding starts from it.",
    inside="aclImdb",
    counts={"reviews in each folder": 12_500},
)


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        DataError: It is not UTF-8, or not a file.
    """
    try:
        with TextIOWrapper(open_bytes(path), encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a text must be UTF-8, but its byte {error.start} is not.") from None


def tokenise(text: str) -> list[str]:
    """Return the tokens of an English text, similar to GloVe's: "It isn't." gives it, is, n't and a full stop.

    Everything is lower-cased and HTML line breaks are removed. A token is a run of letters and digits, one of the
    endings n't, 's, 'm, 're, 've, 'll and 'd, or any other character that is not a space.
    """
    return TOKEN.findall(text.lower().replace("<br />", " "))


def number_texts(texts: Iterable[Iterable[str]], learnt: Sequence[int]) -> tuple[list[np.ndarray], list[str]]:
    """Return each text as token numbers, int32, and the vocabulary.

    The vocabulary has the tokens of the texts ``learnt``, the most frequent first, ties in alphabetical order; other
    tokens are −1.
    """
    first: dict[str, int] = {}
    rows = [np.array([first.setdefault(token, len(first)) for token in text], np.int32) for text in texts]
    counts = np.bincount(np.concatenate([rows[k] for k in learnt]), minlength=len(first))
    names = list(first)
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda k: (-counts[k], names[k]))
    rank = np.full(len(names), -1, np.int32)
    rank[order] = np.arange(len(order))
    return [rank[row] for row in rows], [names[k] for k in order]


def penn_treebank(task: str, units: Callable[[list[str]], Iterable[str]], limit: int, segment: int) -> Data[Text]:
    """Return the corpus as three texts, each one sequence of tokens with the next token as target at every step.

    Args:
        task: Its name, for messages.
        units: The tokens of a line, given its words. Lines follow one another; blank ones do not count.
        limit: Largest vocabulary allowed, that of the training text.
        segment: Steps of truncated backpropagation.

    Raises:
        DataError: A file is missing, empty or not UTF-8; the vocabulary is larger; or a later text has a token that the
            training text lacks, and there is no <unk> to replace it.
    """
    folder = PTB.locate(task)
    paths = [folder / name for name in PTB.needs]
    key = "-".join(fingerprint([path]) for path in paths)
    texts = cached(f"{task}-2-{key}", lambda: _read_corpus(task, paths, units, limit))
    rows = [torch.from_numpy(texts[path.stem]).unsqueeze(0) for path in paths]
    splits = [Text(row[:, :-1].contiguous(), row[:, 1:].long(), segment=segment) for row in rows]
    return Data(train=splits[0], valid=splits[1], test=splits[2])


def _read_corpus(
    task: str, paths: Sequence[Path], units: Callable[[list[str]], Iterable[str]], limit: int
) -> dict[str, np.ndarray]:
    """Return the tokens of each text by file name, int16."""
    rows, vocabulary = number_texts((_read_units(path, units) for path in paths), [0])
    if len(vocabulary) > limit:
        raise DataError(f"{paths[0]}: {task} takes at most {limit} different tokens, got {len(vocabulary)}.")
    unknown = vocabulary.index("<unk>") if "<unk>" in vocabulary else -1
    rows = [np.where(row < 0, unknown, row).astype(np.int16) for row in rows]
    for path, row in zip(paths, rows, strict=True):
        if row.min() < 0:
            raise DataError(f"{path}: has a token that {paths[0].name} lacks, and there is no <unk> to replace it.")
    return {path.stem: row for path, row in zip(paths, rows, strict=True)}


def _read_units(path: Path, units: Callable[[list[str]], Iterable[str]]) -> list[str]:
    lines = [line for line in read_text(path).split("\n") if line.strip()]
    tokens = [token for line in lines for token in units(line.split())]
    if len(tokens) < 2:
        raise DataError(f"{path}: a text must have at least 2 tokens, got {len(tokens)}.")
    check_ended(path)
    PTB.check_count(f"lines in {path.name}", len(lines))
    return tokens


def read_reviews(folder: Path) -> list[Path]:
    """Return the reviews NUMBER_RATING.txt of a folder ``neg`` or ``pos``, in the order of their numbers.

    Raises:
        DataError: There is none; a name has another form, a number occurs twice, or a rating belongs to the other
            folder.
    """
    paths: dict[int, Path] = {}
    for path in sorted(folder.glob("*.txt")):
        match = re.fullmatch(r"([0-9]+)_([0-9]+)\.txt", path.name)
        if not match:
            raise DataError(f"{path}: a review must be called NUMBER_RATING.txt.")
        number, rating, allowed = int(match[1]), int(match[2]), RATINGS[folder.name]
        if rating not in allowed:
            span = f"{allowed[0]} to {allowed[-1]}"
            raise DataError(f"{path}: a rating in {folder.name} must be {span}, got {rating}.")
        if number in paths:
            raise DataError(f"{path}: review {number} must occur once, got {paths[number].name} too.")
        paths[number] = path
    if not paths:
        raise DataError(f"{folder}: must hold reviews NUMBER_RATING.txt, got none.")
    return [paths[number] for number in sorted(paths)]


def read_glove(path: Path, rows: Mapping[str, int], shape: tuple[int, int]) -> np.ndarray:
    """Return an initial embedding, ``shape`` (V, p) float32: GloVe's vectors, and N(0, 1) in all other rows.

    Args:
        path: GloVe's file; a line is a word and its p numbers.
        rows: Row of each word.
        shape: V and p.

    Raises:
        DataError: A line does not have p numbers, a word's are not finite, or no word is found.
    """
    row_of = {word.encode(): row for word, row in rows.items()}
    vectors = np.random.RandomState(1234).standard_normal(shape).astype(np.float32)
    filled = False
    with path.open("rb") as file:
        for k, line in enumerate(file, 1):
            word, *numbers = line.split(b" ")
            try:
                vector = [float(number) for number in numbers] if word in row_of else []
            except ValueError:
                vector = [math.nan]
            if len(numbers) != shape[1] or not all(map(math.isfinite, vector)):
                raise DataError(f"{path}: line {k} must be a word and {shape[1]} finite numbers, got {line[:40]!r}.")
            if vector:
                vectors[row_of[word]], filled = vector, True
    if not filled:
        raise DataError(f"{path}: must hold words of the reviews, got none.")
    return vectors


def unigram_logits(data: Data[Sequences], tokens: int) -> Tensor:
    """Return log-frequencies of tokens in the training text, with add-one smoothing, as logits at every step."""
    return count_logs(data.training(1).targets, tokens).expand(*data.test.targets.shape, tokens)


def bigram_logits(data: Data[Sequences], tokens: int) -> Tensor:
    """Return log-frequencies of the token after the present one in the training text, with add-one smoothing."""
    train = data.training(1)
    pairs = train.inputs.long() * tokens + train.targets
    counts = torch.bincount(pairs.flatten(), minlength=tokens**2).view(tokens, tokens) + 1
    return counts.double().log()[data.test.inputs.long()]
