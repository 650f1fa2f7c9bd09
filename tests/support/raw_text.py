"""Small texts in the raw forms that the tasks read: Mikolov's Penn Treebank, the film reviews of aclImdb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

WORDS = "the a film <unk> it 's mr. N of and is in n't was cohort said plot $ s&l N\\/N j.p. year time man".split()
PRAISE, BLAME = ["wonderful", "great"], ["awful", "boring"]


def lines(seed: int, n: int) -> list[list[str]]:
    """Return n lines of 4 to 19 words; the first ones contain every word."""
    random = np.random.RandomState(seed)
    first = [WORDS[k : k + 8] for k in range(0, len(WORDS), 8)]
    return first + [random.choice(WORDS, random.randint(4, 20)).tolist() for _ in range(n - len(first))]


def write_ptb(
    root: Path, inside: str = "simple-examples/data", texts: Mapping[str, Sequence[Sequence[str]]] | None = None
) -> None:
    """Write train, valid and test in the format of Mikolov's files: each line starts and ends with a space."""
    folder = root / inside
    folder.mkdir(parents=True, exist_ok=True)
    for split, text in (texts or {"train": lines(1, 600), "valid": lines(2, 120), "test": lines(3, 120)}).items():
        (folder / f"ptb.{split}.txt").write_text("".join(f" {' '.join(line)} \n" for line in text), encoding="utf-8")


def write_imdb(root: Path, inside: str = "aclImdb", each: int = 30) -> None:
    """Write ``each`` reviews of each kind into folders as in aclImdb; positive and negative ones differ in words."""
    random = np.random.RandomState(4)
    for half in ("train", "test"):
        for kind, verdicts, stars in (("neg", BLAME, [1, 2, 3, 4]), ("pos", PRAISE, [7, 8, 9, 10])):
            folder = root / inside / half / kind
            folder.mkdir(parents=True, exist_ok=True)
            for k in range(each):
                words = random.choice([*"I the film was so plot and It really didn't Émile".split(), *verdicts], 12 + k)
                text = f"{' '.join(words)}.<br /><br />{verdicts[k % 2].title()}! {int(stars[k % 4])}/10"
                (folder / f"{k}_{stars[k % 4]}.txt").write_text(text, encoding="utf-8")


def write_glove(path: Path, vectors: Mapping[str, Sequence[float]]) -> None:
    """Write vectors in the format of GloVe's files: a word and its numbers, separated by spaces."""
    rows = [f"{word} {' '.join(f'{number:.5f}' for number in vector)}\n" for word, vector in vectors.items()]
    path.write_text("".join(rows), encoding="utf-8")
