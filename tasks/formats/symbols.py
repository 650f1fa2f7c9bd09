"""Shared code of tasks over symbols: seeds, draws, and sequences of many lengths with one target at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY
from longwave.tasks.base.metric import Further, Metric
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import check_variant
from longwave.tasks.base.variants import with_fresh

PAD = 0
"""Padding symbol after the end of a shorter sequence."""
VALID_SEED, TEST_SEED, FRESH_SEED = 2**31 + 1, 2**31 + 2, 2**31 + 3
"""Seeds above all those of training, which are below 2^31, and within the 2^32 that torch distinguishes."""
SHORT, LONG = (3, 40), (40, 256)
"""Shortest and longest sequence in training, and in validation and test, of tasks on length generalisation."""
VALID, TEST = 1024, 8192
"""Sequences of the validation and of the test split, of tasks on length generalisation."""

LENGTHS = (39, 64, 96, 128, 160, 192, 224, 256)
"""Bounds of the groups of lengths that are scored separately, upper ones included."""

Language = Callable[[int, int, int, int], Sequences]
"""From shortest, longest, seed and n: n sequences with lengths uniform between the two, both included."""


def seeded_generator(seed: int) -> torch.Generator:
    """Return a new generator."""
    return torch.Generator().manual_seed(seed)


def ask_last(symbols: Tensor, answers: Tensor, lengths: Tensor) -> Sequences:
    """Return sequences cut off at ``lengths``, with the target at their last symbol only.

    Args:
        symbols: (n, T), from 1 to 127.
        answers: Class after each step, (n, T) int64.
        lengths: (n,), from 1 to T.
    """
    step, last = torch.arange(symbols.shape[1]), lengths.unsqueeze(1) - 1
    inputs = torch.where(step <= last, symbols, PAD).to(torch.int8)
    return Sequences(inputs, torch.where(step == last, answers, NO_TARGET))


def draw_distinct(n: int, k: int, weights: Tensor, g: torch.Generator) -> Tensor:
    """Return n rows of k distinct numbers below len(weights), (n, k), drawn without replacement by weight.

    The k largest log-weights with Gumbel noise are such a draw (Yellott 1977).
    """
    noise = -torch.rand(n, len(weights), dtype=torch.float64, generator=g).log()
    return (weights.double().log() - noise.log()).topk(k).indices


def length_generalisation(task: str, variant: str, language: Language) -> Data[Sequences]:
    """Return a stream of short sequences, and long ones for validation and test.

    Raises:
        ValueError: The task has no such variant: it has a plain one and one with fresh test data.
    """
    check_variant(task, variant, with_fresh())
    return Data(
        valid=language(*LONG, VALID_SEED, VALID),
        test=language(*LONG, FRESH_SEED if variant else TEST_SEED, TEST),
        stream=partial(language, *SHORT),
    )


def up_to(metric: Metric, shorter: int, longest: int) -> Further:
    """Return a metric restricted to sequences of more than ``shorter`` and at most ``longest`` steps."""

    def sums(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        steps = torch.arange(1, len(targets) + 1, device=targets.device).unsqueeze(1)
        return metric.sums(outputs, torch.where((steps > shorter) & (steps <= longest), targets, NO_TARGET))

    definition = f"{metric.definition}; only for sequences of {shorter + 1} to {longest} steps"
    return Further(replace(metric, definition=definition, sums=sums), "length", float(longest))


BY_LENGTH = tuple(up_to(ACCURACY, *ends) for ends in pairwise(LENGTHS))
"""Accuracy of each group of lengths."""
