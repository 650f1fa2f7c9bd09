"""State tracking: every label recomputed by hand, the laws of the draws, and the groups behind the words."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from itertools import pairwise, permutations, product

import numpy as np
import pytest
import scipy.stats
import torch

from longwave.platform.records.identity import derive_seed
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec, check_variant
from longwave.tasks.formats.groups import alternating, product_table, symmetric
from longwave.tasks.formats.symbols import TEST_SEED, VALID_SEED, ask_last, draw_distinct, seeded_generator

LANGUAGES = {"parity": 2, "even_pairs": 2, "cycle_navigation": 5, "modular_arithmetic": 5}
"""Classes of each task that asks once, at the last symbol."""
WORDS = {"word_s5": 120, "word_a5": 60}
languages = pytest.mark.parametrize("name", LANGUAGES)
words = pytest.mark.parametrize("name", WORDS)
all_of_them = pytest.mark.parametrize("name", [*LANGUAGES, *WORDS])
all_that_are_drawn = pytest.mark.parametrize(
    "name", [*LANGUAGES, *WORDS, "mqar", "mqar_small", "copy_memory", "selective_copy", "induction", "listops"]
)


def get_task(name: str) -> TaskSpec:
    task: TaskSpec = importlib.import_module(f"longwave.tasks.{name}").TASK
    assert task.name == name
    return task


def load(name: str) -> Data:
    return get_task(name).load("")


def stream(name: str, seed: int, n: int) -> Sequences:
    data = load(name)
    assert data.stream is not None
    return data.stream(seed, n)


def spoken(split: Sequences) -> list[list[int]]:
    """Return each sequence without what follows its end, after checking that nothing but padding does."""
    letters = []
    for row in split.inputs.tolist():
        word = [symbol for symbol in row if symbol]
        assert row == word + [0] * (len(row) - len(word))
        letters.append(word)
    return letters


def labels_of(split: Sequences) -> list[int]:
    """Return the one class that each sequence asks, after checking that it is asked at its last symbol."""
    labels = []
    for word, targets in zip(spoken(split), split.targets.tolist(), strict=True):
        classes = {t: c for t, c in enumerate(targets) if c != NO_TARGET}
        assert list(classes) == [len(word) - 1]
        labels.append(classes[len(word) - 1])
    return labels


def by_hand(name: str, word: list[int]) -> int:
    if name == "parity":
        return word.count(2) % 2
    if name == "even_pairs":
        return sum({1, 2} == set(pair) for pair in zip(word, word[1:], strict=False)) % 2
    if name == "cycle_navigation":
        return (word.count(2) - word.count(3)) % 5
    assert word[-1] == 4
    signs = {1: "+", 2: "-", 3: "*"} | {5 + d: str(d) for d in range(5)}
    return int(eval("".join(signs[symbol] for symbol in word[:-1]))) % 5


@languages
@pytest.mark.parametrize("which", ["train", "valid", "test"])
def test_every_label_is_what_a_human_would_say(name: str, which: str) -> None:
    split = stream(name, 3, 500) if which == "train" else getattr(load(name), which)
    split = Sequences(split.inputs[:500], split.targets[:500])
    assert labels_of(split) == [by_hand(name, word) for word in spoken(split)]


@languages
def test_training_is_short_and_held_out_is_long_with_all_lengths_equally_likely(name: str) -> None:
    data, even = load(name), name == "modular_arithmetic"
    assert (data.valid.inputs.shape, data.test.inputs.shape) == ((1024, 256), (8192, 256))
    for split, first, last in [(stream(name, 1, 8000), 3 + even, 40), (data.test, 40, 256)]:
        lengths = Counter((split.inputs != 0).sum(1).tolist())
        wanted = range(first, last + 1, 1 + even)
        assert set(lengths) == set(wanted) and split.inputs.shape[1] == last
        assert scipy.stats.chisquare([lengths[k] for k in wanted]).pvalue > 1e-3


@languages
def test_fresh_test_data_are_other_sequences_and_all_else_stays(name: str) -> None:
    plain, fresh = load(name), get_task(name).load("test=2")
    assert torch.equal(fresh.valid.inputs, plain.valid.inputs) and fresh.test.inputs.shape == plain.test.inputs.shape
    assert fresh.stream is not None and torch.equal(fresh.stream(7, 9).inputs, stream(name, 7, 9).inputs)
    first, second = ({tuple(word) for word in spoken(data.test)} for data in (plain, fresh))
    assert len(first & second) < 5 and plain.version != fresh.version
    some = Sequences(fresh.test.inputs[:500], fresh.test.targets[:500])
    assert labels_of(some) == [by_hand(name, word) for word in spoken(some)]


@languages
def test_accuracy_by_length_is_that_of_the_sequences_of_these_lengths(name: str) -> None:
    task, test = get_task(name), load(name).test
    test = Sequences(test.inputs[:1000], test.targets[:1000])
    outputs = torch.randn(1000, 256, task.outputs, generator=seeded_generator(0))
    asked = (test.targets != NO_TARGET).int().argmax(1)
    hits = outputs[torch.arange(1000), asked].argmax(-1) == test.targets[torch.arange(1000), asked]
    for group, (first, last) in zip(task.further, pairwise((39, 64, 96, 128, 160, 192, 224, 256)), strict=True):
        mine = (asked + 1 > first) & (asked + 1 <= last)
        assert (group.x_name, group.x) == ("length", last)
        assert group.score(outputs, test) == pytest.approx(100 * hits[mine].double().mean().item(), abs=1e-9)


@languages
def test_all_symbols_are_equally_likely(name: str) -> None:
    counts = torch.bincount(load(name).test.inputs.long().flatten()).numpy()
    if name == "modular_arithmetic":
        assert counts[4] == 8192
        assert scipy.stats.chisquare(counts[1:4]).pvalue > 1e-3
        counts = counts[4:]
    assert scipy.stats.chisquare(counts[1:]).pvalue > 1e-3


@pytest.mark.parametrize(
    "name, measured",
    [("parity", 0.509), ("even_pairs", 0.503), ("cycle_navigation", 0.208), ("modular_arithmetic", 0.201)],
)
def test_no_class_is_much_more_frequent_than_another(name: str, measured: float) -> None:
    classes, task = LANGUAGES[name], get_task(name)
    counts = np.bincount(labels_of(load(name).test))
    assert len(counts) == classes and scipy.stats.chisquare(counts).pvalue > 1e-3
    assert counts.max() / 8192 == pytest.approx(measured, abs=0.02)
    assert task.trivial(load(name))["majority"] == pytest.approx(task.chance, abs=4 * 50 / math.sqrt(8192))


@languages
def test_an_automaton_solves_the_language_and_a_wrong_one_does_not(name: str) -> None:
    task, test = get_task(name), load(name).test
    test = Sequences(test.inputs[:1000], test.targets[:1000])
    right = torch.tensor([by_hand(name, word) for word in spoken(test)])
    one_hot = torch.nn.functional.one_hot(torch.stack([right, 1 - right.clamp(max=1)]), task.outputs).float()
    every_step = one_hot.unsqueeze(2).expand(-1, -1, 256, -1)
    best, wrong = task.metric.score(every_step, test.targets).tolist()
    assert best == 100.0 and wrong < 70.0
    assert task.loss(100 * every_step[:1], test.targets).item() == pytest.approx(0.0, abs=1e-6)


def test_modular_arithmetic_multiplies_before_it_adds() -> None:
    from_the_left = []
    for word in spoken(load("modular_arithmetic").test)[:500]:
        value = word[0] - 5
        for operator, number in zip(word[1:-1:2], word[2::2], strict=True):
            d = number - 5
            value = {1: value + d, 2: value - d, 3: value * d}[operator] % 5
        from_the_left.append(value)
    right = labels_of(load("modular_arithmetic").test)[:500]
    assert 0.1 < np.mean([a == b for a, b in zip(from_the_left, right, strict=True)]) < 0.9


@all_that_are_drawn
def test_no_sequence_is_both_validated_and_tested_or_occurs_twice(name: str) -> None:
    task = importlib.import_module(f"longwave.tasks.{name}").TASK
    data = task.load(task.variant)
    rows = [row.tobytes() for split in (data.valid, data.test) for row in split.inputs.numpy()]
    assert len(set(rows)) == len(rows)


@all_that_are_drawn
def test_a_stream_repeats_for_its_seed_and_differs_for_another(name: str) -> None:
    torch.default_generator.manual_seed(0)
    task = importlib.import_module(f"longwave.tasks.{name}").TASK
    draw = task.load(task.variant).stream
    one, same, other = draw(1, 50), draw(1, 50), draw(2, 50)
    assert torch.equal(one.inputs, same.inputs) and torch.equal(one.targets, same.targets)
    assert not torch.equal(one.inputs, other.inputs)
    assert one.take(torch.tensor([3, 4])).inputs.dtype == torch.int64


def test_no_training_step_can_draw_what_is_validated_or_tested() -> None:
    first = [torch.rand(4, generator=seeded_generator(seed)).tolist() for seed in (VALID_SEED, TEST_SEED)]
    assert first[0] != first[1]
    for seed in (VALID_SEED, TEST_SEED):
        assert max(derive_seed(k, "stream") for k in range(20_000)) < 2**31 <= seed < 2**32
        assert (
            torch.rand(4, generator=seeded_generator(seed + 2**32)).tolist() in first
        )  # torch takes a seed modulo 2^32
        assert torch.rand(4, generator=seeded_generator(seed - 2**31)).tolist() not in first


def test_a_sequence_is_cut_off_and_asked_at_its_last_symbol() -> None:
    symbols = torch.arange(1, 9).view(2, 4)
    split = ask_last(symbols, symbols + 10, torch.tensor([4, 1]))
    assert split.inputs.tolist() == [[1, 2, 3, 4], [5, 0, 0, 0]]
    assert split.targets.tolist() == [[-100, -100, -100, 14], [15, -100, -100, -100]]


def test_a_variant_that_does_not_exist_is_refused_and_one_that_does_is_not() -> None:
    check_variant("parity", "")
    check_variant("some", "a", ["a", "b"])
    with pytest.raises(ValueError, match=r"^parity has one variant, the empty one, got 'T=3'\.$"):
        check_variant("parity", "T=3")
    with pytest.raises(ValueError, match=r"^some takes a variant a or b, got ''\.$"):
        check_variant("some", "", ["a", "b"])


def test_distinct_numbers_are_drawn_one_after_the_other_by_weight() -> None:
    weights = np.array([1.0, 2.0, 3.0, 6.0])
    pairs = Counter(map(tuple, draw_distinct(20_000, 2, torch.from_numpy(weights), seeded_generator(5)).tolist()))
    wanted = {
        (i, j): weights[i] / 12 * weights[j] / (12 - weights[i]) for i, j in product(range(4), repeat=2) if i != j
    }
    assert set(pairs) == set(wanted)
    assert scipy.stats.chisquare([pairs[k] for k in wanted], [20_000 * p for p in wanted.values()]).pvalue > 1e-3


def matrices(name: str) -> list[np.ndarray]:
    """Return the group's elements as matrices that move unit vectors, in the order that the task numbers them."""
    permuted = [np.eye(5, dtype=int)[:, list(p)] for p in sorted(permutations(range(5)))]
    return permuted if name == "word_s5" else [m for m in permuted if np.linalg.det(m) > 0]


@words
def test_a_words_label_is_the_product_of_its_matrices_so_far(name: str) -> None:
    group = matrices(name)
    assert len(group) == WORDS[name]
    number = {m.tobytes(): k for k, m in enumerate(group)}
    test = load(name).test
    for split, rows in [(stream(name, 4, 20), 20), (test, 3)]:
        for letters, labels in zip(split.inputs[:rows].tolist(), split.targets[:rows].tolist(), strict=True):
            so_far = group[0]
            for letter, label in zip(letters, labels, strict=True):
                so_far = group[letter] @ so_far
                assert number[so_far.tobytes()] == label


@words
def test_the_table_is_a_group_of_the_known_orders(name: str) -> None:
    n = WORDS[name]
    table = product_table(symmetric(5) if name == "word_s5" else alternating(5)).numpy()
    everything = np.arange(n)
    assert (table[0] == everything).all() and (table[:, 0] == everything).all()
    assert (np.sort(table, 0) == everything[:, None]).all() and (np.sort(table, 1) == everything).all()
    assert (table[table] == table[everything[:, None, None], table[None]]).all()  # (ab)c = a(bc)
    assert not (table == table.T).all()
    orders = []
    for g in everything:
        power, order = g, 1
        while power:
            power, order = table[g, power], order + 1
        orders.append(order)
    known = {"word_s5": {1: 1, 2: 25, 3: 20, 4: 30, 5: 24, 6: 20}, "word_a5": {1: 1, 2: 15, 3: 20, 5: 24}}
    assert Counter(orders) == known[name]


@words
def test_words_are_short_in_training_and_long_when_tested_and_letters_are_uniform(name: str) -> None:
    data = load(name)
    assert data.valid.inputs.shape == data.test.inputs.shape == data.test.targets.shape == (1000, 500)
    assert stream(name, 0, 7).inputs.shape == (7, 32)
    for tensor in (data.test.inputs.long(), data.test.targets):
        counts = torch.bincount(tensor.flatten()).numpy()
        assert len(counts) == WORDS[name] and scipy.stats.chisquare(counts).pvalue > 1e-3


@words
def test_a_table_of_steps_seen_in_training_multiplies_the_long_words_without_error(name: str) -> None:
    seen = stream(name, 9, 10_000)
    n = WORDS[name]
    table = torch.full((n, n), -1)
    table[seen.targets[:, :-1], seen.inputs[:, 1:].long()] = seen.targets[:, 1:]
    assert (table >= 0).all()
    task, test = get_task(name), load(name).test
    test = Sequences(test.inputs[:100], test.targets[:100])
    state, states = test.inputs[:, 0].long(), [test.inputs[:, 0].long()]
    for letter in test.inputs.long().unbind(1)[1:]:
        state = table[state, letter]
        states.append(state)
    outputs = torch.nn.functional.one_hot(torch.stack(states, 1), n).float()
    assert task.metric.score(outputs.unsqueeze(0), test.targets).item() == 100.0
    guess = torch.nn.functional.one_hot(test.inputs.long(), n).float()
    assert task.metric.score(guess.unsqueeze(0), test.targets).item() == pytest.approx(task.chance, abs=1.0)
