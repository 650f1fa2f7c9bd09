"""Penn Treebank, words: predict the next word of newspaper text."""

from __future__ import annotations

from functools import cache, partial

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import PERPLEXITY, cross_entropy
from longwave.tasks.base.sequences import Text
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.text import PTB, penn_treebank, unigram_logits

WORDS = 10_000
"""Different words, <unk> and the end of a line included."""
SEGMENTS = {"T=70": 70, "T=300": 300}
"""Steps of truncated backpropagation by variant."""


def mark_end(words: list[str]) -> list[str]:
    """Return a line's words and the end-of-line token."""
    return [*words, "<eos>"]


@cache
def _load(variant: str) -> Data[Text]:
    check_variant("ptb_word", variant, SEGMENTS)
    return penn_treebank("ptb_word", mark_end, WORDS, SEGMENTS[variant])


TASK = TaskSpec(
    name="ptb_word",
    title="Penn Treebank, words",
    family="text",
    summary="Language: predict the next word of newspaper text, the state carried on from segment to segment.",
    inputs=256,
    outputs=WORDS,
    tokens=WORDS,
    targets="at every step",
    loss=cross_entropy,
    metric=PERPLEXITY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=256,
            batch=64,
            epochs=962,
            clip=4.0,
            numbers={
                "input_dropout": 0.42476247624762475,
                "output_dropout": 0.45676567656765676,
                "weight_decay": 0.0003314731473147315,
            },
            source="LEM, §5, Table 8 and code: 1000 turns of 200 steps, some 962 passes over the training text",
            paper="lem",
        ),
        "lipschitz_rnn": changes(
            hidden=160,
            epochs=500,
            clip=None,
            optimiser="rmsprop",
            numbers={"input_dropout": None, "output_dropout": None, "weight_decay": None, "rms_decay": 0.9},
            source="Lipschitz RNN, Table 8 and Appendix C; batch not printed, as LEM",
            paper="lipschitz",
            unstated=("batch",),
        ),
    },
    variant="T=70",
    variants="T=70 (LEM) or T=300 (Lipschitz RNN), steps of truncated backpropagation",
    source="Marcus et al. 1993, prepared by Mikolov et al. 2010; 930k, 74k and 82k words",
    licence=PTB.licence,
    length="one text of 929,589 words, cut into segments of T",
    lag="some ten words, seldom more than a sentence; gradients reach back T steps",
    protocols=(
        note(
            "the first word of each text is input only; a text is scored in 10 segments of equal length",
            minor=True,
        ),
        note(
            "LEM's code also ties read-out and embedding, drops out 20 % of the state, averages weights and scores with"
            " a softmax temperature",
            "lem",
        ),
    ),
    files=PTB,
    baselines={"unigram": partial(unigram_logits, tokens=WORDS)},
)
