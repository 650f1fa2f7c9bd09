"""Permutation groups with numbered elements, and words: sequences of elements and their running products."""

from __future__ import annotations

from functools import partial
from itertools import combinations, permutations

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED, seeded_generator

SHORT, LONG = 32, 500
"""Steps in training, and in validation and test."""
HELD_OUT = 1000
"""Sequences of the validation and of the test split."""


def symmetric(points: int) -> list[tuple[int, ...]]:
    """Return all permutations of the points 0, 1, ...; element 0 is the identity."""
    return list(permutations(range(points)))


def alternating(points: int) -> list[tuple[int, ...]]:
    """Return the even permutations of the points 0, 1, ...; element 0 is the identity."""
    return [p for p in symmetric(points) if sum(a > b for a, b in combinations(p, 2)) % 2 == 0]


def product_table(elements: list[tuple[int, ...]]) -> Tensor:
    """Return the number of a ∘ b, b applied first, at [a, b], (G, G) int64."""
    number = {p: k for k, p in enumerate(elements)}
    return torch.tensor([[number[tuple(a[i] for i in b)] for b in elements] for a in elements])


def words(table: Tensor, length: int, seed: int, n: int) -> Sequences:
    """Return n words of uniform elements x, (n, T); the class at step t is x_t ∘ ... ∘ x_1."""
    letters = torch.randint(len(table), (n, length), generator=seeded_generator(seed))
    products = [letters[:, 0]]
    for letter in letters.unbind(1)[1:]:
        products.append(table[letter, products[-1]])
    return Sequences(letters.to(torch.int8), torch.stack(products, 1))


def word_problem(elements: list[tuple[int, ...]]) -> Data[Sequences]:
    """Return a stream of short words, and long ones for validation and test."""
    make = partial(words, product_table(elements))
    return Data(
        valid=make(LONG, VALID_SEED, HELD_OUT), test=make(LONG, TEST_SEED, HELD_OUT), stream=partial(make, SHORT)
    )
