"""Penn Treebank, characters: predict the next character of newspaper text."""

from __future__ import annotations

from functools import cache, partial

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import BITS, cross_entropy
from longwave.tasks.base.sequences import Text
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.text import PTB, bigram_logits, penn_treebank, unigram_logits

SYMBOLS = 50
"""Different characters, the end of a line included."""
SEGMENTS = {"T=150": 150, "T=300": 300}
"""Steps of truncated backpropagation by variant."""


def split_characters(words: list[str]) -> str:
    """Return a line's characters: its words with one space between, and the end of the line."""
    return " ".join(words) + "\n"


@cache
def _load(variant: str) -> Data[Text]:
    check_variant("ptb_char", variant, SEGMENTS)
    return penn_treebank("ptb_char", split_characters, SYMBOLS, SEGMENTS[variant])


TASK = TaskSpec(
    name="ptb_char",
    title="Penn Treebank, characters",
    family="text",
    summary="Language: predict the next character of newspaper text, the state carried on from segment to segment.",
    inputs=200,
    outputs=SYMBOLS,
    tokens=SYMBOLS,
    targets="at every step",
    loss=cross_entropy,
    metric=BITS,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=1024,
            batch=128,
            epochs=766,
            clip=1.0,
            numbers={
                "input_dropout": 0.047444744474447444,
                "output_dropout": 0.19081908190819083,
                "weight_decay": 0.00026324632463246324,
            },
            source="LEM, §5, Table 8 and code: 1000 turns of 200 steps, some 766 passes over the training text",
            paper="lem",
        ),
        "lipschitz_rnn": changes(
            hidden=750,
            epochs=200,
            clip=None,
            numbers={"input_dropout": None, "output_dropout": None, "weight_decay": None},
            source="Lipschitz RNN, Table 8 and Appendix C; batch not printed, as LEM",
            paper="lipschitz",
            unstated=("batch",),
        ),
    },
    variant="T=150",
    variants="T=150 (LEM, Lipschitz RNN) or T=300 (Lipschitz RNN), steps of truncated backpropagation",
    source="Marcus et al. 1993, prepared by Mikolov et al. 2010; 5017K, 393K and 442K characters",
    licence=PTB.licence,
    length="one text of 5 million characters, cut into segments of T",
    lag="a few words, seldom more than a sentence; gradients reach back T steps",
    protocols=(
        note(
            "a character is a letter, digit or sign of a word, the one space between two words, or the end of a line",
            minor=True,
        ),
        note(
            "the first character of each text is input only; a text is scored in 10 segments of equal length",
            minor=True,
        ),
        note(
            "LEM's code also drops out 19 % of the state, averages weights and scores with a softmax temperature", "lem"
        ),
    ),
    files=PTB,
    baselines={"unigram": partial(unigram_logits, tokens=SYMBOLS), "bigram": partial(bigram_logits, tokens=SYMBOLS)},
)
