"""Recall, copying and ListOps: the form of every sequence, every label found again by hand, the laws of the draws."""

from __future__ import annotations

import hashlib
import importlib
import math
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
import scipy.stats
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from longwave.tasks import listops, mqar, selective_copy
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec

MQAR = {"T=64,kv=4": (64, 4), "T=128,kv=8": (128, 8), "T=256,kv=16": (256, 16), "T=512,kv=64": (512, 64)}
MQAR_SMALL = {"T=64,kv=8": (64, 8), "T=128,kv=16": (128, 16)}
DEFAULTS = {
    "mqar": "T=64,kv=4",
    "mqar_small": "T=64,kv=8",
    "copy_memory": "L=100",
    "selective_copy": "T=256",
    "induction": "T=1024",
    "listops": "",
}
all_of_them = pytest.mark.parametrize("name", DEFAULTS)


def get_task(name: str) -> TaskSpec:
    task: TaskSpec = importlib.import_module(f"longwave.tasks.{name}").TASK
    assert (task.name, task.variant) == (name, DEFAULTS[name])
    return task


def load(name: str, variant: str | None = None) -> Data:
    return get_task(name).load(DEFAULTS[name] if variant is None else variant)


def stream(name: str, seed: int, n: int, variant: str | None = None) -> Sequences:
    data = load(name, variant)
    assert data.stream is not None
    return data.stream(seed, n)


def accuracy(name: str, answers: Tensor, targets: Tensor) -> float:
    """Return the task's metric of answers, classes of the shape of the targets."""
    outputs = one_hot(answers, get_task(name).outputs).float()
    return get_task(name).metric.score(outputs.unsqueeze(0), targets).item()


@pytest.mark.parametrize(
    "name, variant, message",
    [
        ("mqar", "T=64", r"^mqar takes a variant T=64,kv=4 or T=128,kv=8 or .*, got 'T=64'\.$"),
        ("mqar_small", "T=64,kv=4", r"^mqar_small takes a variant T=64,kv=8 or T=128,kv=16, got 'T=64,kv=4'\.$"),
        ("copy_memory", "", r"^copy_memory takes a variant L=100 or L=200 or L=500 or L=1000, got ''\.$"),
        ("selective_copy", "T=255", r"^selective_copy takes a variant T=256 or T=4096, got 'T=255'\.$"),
        ("induction", "L=100", r"^induction takes a variant T=256 or T=1024 or T=4096, got 'L=100'\.$"),
        ("listops", "easy", r"^listops has one variant, the empty one, got 'easy'\.$"),
    ],
)
def test_a_variant_that_does_not_exist_is_refused(name: str, variant: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_task(name).load(variant)


@pytest.mark.parametrize(
    "name, variant, values, held_out",
    [
        *(("mqar", variant, 4096, 2**15 // length) for variant, (length, _) in MQAR.items()),
        *(("mqar_small", variant, 32, 1024) for variant in MQAR_SMALL),
    ],
)
def test_mqar_shows_pairs_and_asks_each_key_once_for_its_value(
    name: str, variant: str, values: int, held_out: int
) -> None:
    length, pairs = (MQAR | MQAR_SMALL)[variant]
    data = load(name, variant)
    assert data.test.inputs.shape == data.valid.inputs.shape == (held_out, length)
    for split in (stream(name, 3, 20, variant), data.test):
        for tokens, targets in zip(split.inputs.tolist(), split.targets.tolist(), strict=True):
            keys, answers = tokens[: 2 * pairs : 2], tokens[1 : 2 * pairs : 2]
            assert len(set(keys)) == len(set(answers)) == pairs
            assert min(keys) >= 1 and max(keys) < values <= min(answers) and max(answers) < 2 * values
            queries = [t for t, target in enumerate(targets) if target != NO_TARGET]
            assert min(queries) >= 2 * pairs and all(t % 2 == 0 for t in queries)
            assert sorted(tokens[t] for t in queries) == sorted(keys)
            shown = dict(zip(keys, answers, strict=True))
            assert [targets[t] for t in queries] == [shown[tokens[t]] for t in queries]


def test_mqar_and_selective_copy_have_the_lags_that_they_state() -> None:
    lags = set()
    made = mqar.sequences(12, 2, 0, 300, values=8)
    for row, targets in zip(made.inputs.tolist(), made.targets.tolist(), strict=True):
        lags |= {step - row.index(value) for step, value in enumerate(targets) if value != NO_TARGET}
    assert (min(lags), max(lags)) == (1, 12 - 3)
    assert get_task("mqar").lag == "1 to T − 3 steps; most queries soon after the pairs"
    lags = set()
    for row in selective_copy.sequences(18, 0, 300).inputs.tolist():
        places = [step for step in range(18) if row[step]]
        lags |= {18 + k - place for k, place in enumerate(places)}
    assert (min(lags), max(lags)) == (16, 18)
    assert get_task("selective_copy").lag == "16 to T steps"


def test_between_the_queries_of_the_small_mqar_all_tokens_are_zero() -> None:
    split = stream("mqar_small", 8, 1000)
    pairs = MQAR_SMALL["T=64,kv=8"][1]
    assert not split.inputs[:, 2 * pairs :][split.targets[:, 2 * pairs :] == NO_TARGET].any()
    assert set(split.inputs[:, : 2 * pairs].flatten().tolist()) == set(range(1, 64))


@pytest.mark.integration
def test_mqar_queries_lie_as_often_at_each_place_as_numpys_weighted_choice_puts_them() -> None:
    space, n = 28, 3000
    power_law = np.arange(1, space + 1) ** (0.01 - 1)
    rng = np.random.RandomState(7)
    drawn = [rng.choice(space, 4, replace=False, p=power_law / power_law.sum()) for _ in range(n)]
    expected = np.bincount(np.concatenate(drawn), minlength=space)
    queried = stream("mqar", 5, n).targets != NO_TARGET
    counts = queried[:, 8::2].sum(0).numpy()
    share = (expected + counts) / (2 * n)
    spread = np.sqrt(2 * n * share * (1 - share))
    assert np.abs((counts - expected) / spread).max() < 4
    assert expected[0] / expected[-1] > 5  # so the law is far from uniform
    assert not queried[:, 1::2].any()


def test_mqars_keys_values_and_other_tokens_are_uniform() -> None:
    split = stream("mqar", 8, 1000)
    free = split.inputs[:, 8:][split.targets[:, 8:] == NO_TARGET]
    for tokens, low, high in [
        (split.inputs[:, 0:8:2], 1, 4096),
        (split.inputs[:, 1:8:2], 4096, 8192),
        (free, 0, 8192),
    ]:
        uniform = (tokens.double().flatten().numpy() + 0.5 - low) / (high - low)
        assert scipy.stats.kstest(uniform, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "name, variant, share, values",
    [("mqar", "T=64,kv=4", 25.0, 4096), ("mqar", "T=256,kv=16", 6.25, 4096), ("mqar_small", "T=64,kv=8", 12.5, 32)],
)
def test_mqar_gives_one_in_kv_to_the_last_value_shown_and_everything_to_a_dictionary(
    name: str, variant: str, share: float, values: int
) -> None:
    test, pairs = load(name, variant).test, (MQAR | MQAR_SMALL)[variant][1]
    few = Sequences(test.inputs[:8], test.targets[:8])
    outputs = get_task(name).baselines["last value shown"](Data(valid=few, test=few, train=few))
    assert get_task(name).metric.score(outputs.unsqueeze(0), few.targets).item() == share
    answers = torch.zeros_like(few.targets)
    for row, tokens in enumerate(few.inputs.tolist()):
        shown = dict(zip(tokens[: 2 * pairs : 2], tokens[1 : 2 * pairs : 2], strict=True))
        answers[row] = torch.tensor([shown.get(token, 0) for token in tokens])
    assert accuracy(name, answers, few.targets) == 100.0
    assert get_task(name).chance == pytest.approx(100 / values)


@pytest.mark.parametrize("delay", [100, 200, 500, 1000])
def test_copy_memory_asks_for_the_first_ten_symbols_at_the_last_ten_steps(delay: int) -> None:
    data = load("copy_memory", f"L={delay}")
    for split, n in [(stream("copy_memory", 3, 30, f"L={delay}"), 30), (data.valid, 1000), (data.test, 1000)]:
        for tokens, targets in zip(split.inputs.tolist(), split.targets.tolist(), strict=True):
            assert len(tokens) == len(targets) == delay + 20
            assert tokens[10:] == [0] * delay + [9] * 10
            assert targets == [0] * (delay + 10) + tokens[:10]
        assert len(split.inputs) == n
    counts = torch.bincount(data.test.inputs[:, :10].long().flatten()).numpy()
    assert counts[0] == 0 and len(counts) == 9 and scipy.stats.chisquare(counts[1:]).pvalue > 1e-3


@pytest.mark.parametrize("delay, published", [(100, 0.1733), (1000, 0.0204)])
def test_copy_memory_costs_one_without_memory_what_the_formula_says(delay: int, published: float) -> None:
    data, task = load("copy_memory", f"L={delay}"), get_task("copy_memory")
    formula = 10 * math.log(8) / (delay + 20)
    assert task.trivial(data)["memoryless"] == pytest.approx(formula, rel=1e-6)  # float32 logits
    assert formula == pytest.approx(published, abs=5e-5)
    assert task.chance_at(f"L={delay}") == pytest.approx(formula, rel=1e-12)


def test_copy_memory_has_no_loss_with_perfect_memory() -> None:
    test = load("copy_memory").test
    answers = torch.cat((torch.zeros(1000, 110, dtype=torch.int64), test.inputs[:, :10].long()), 1)
    perfect = 100 * one_hot(answers, 9).float()
    score = get_task("copy_memory").metric.score(perfect.unsqueeze(0), test.targets).item()
    assert score == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("length", [256, 4096])
def test_selective_copy_asks_at_its_markers_for_what_was_not_blank(length: int) -> None:
    data = load("selective_copy", f"T={length}")
    for split, n in [(stream("selective_copy", 3, 30, f"T={length}"), 30), (data.test, 1000)]:
        assert split.inputs.shape == (n, length + 16)
        assert (split.inputs[:, length:] == 15).all() and (split.targets[:, :length] == NO_TARGET).all()
        shown = split.inputs[:, :length].numpy()
        assert ((shown != 0).sum(1) == 16).all() and shown.max() == 14
        wanted = np.stack([row[row != 0] - 1 for row in shown])  # in the order of their places
        answers = torch.from_numpy(wanted).long()
        assert torch.equal(split.targets[:, length:], answers)
        everywhere = torch.cat((torch.zeros(n, length, dtype=torch.int64), answers), 1)
        assert accuracy("selective_copy", everywhere[:50], split.targets[:50]) == 100.0


def test_selective_copys_places_and_symbols_are_uniform() -> None:
    split = load("selective_copy").test
    assert scipy.stats.chisquare((split.inputs[:, :256] != 0).sum(0).numpy()).pvalue > 1e-3
    counts = np.bincount(split.targets[:, 256:].flatten().numpy())
    assert len(counts) == 14 and scipy.stats.chisquare(counts).pvalue > 1e-3
    task = get_task("selective_copy")
    assert task.chance == pytest.approx(100 / 14)
    assert task.trivial(load("selective_copy"))["majority"] == pytest.approx(100 / 14, abs=4 * 26 / math.sqrt(16_000))


@pytest.mark.parametrize("length", [256, 1024, 4096])
def test_induction_asks_for_the_token_after_the_special_one(length: int) -> None:
    data = load("induction", f"T={length}")
    for split, shape in [
        (stream("induction", 3, 50, f"T={length}"), (50, 256)),
        (data.valid, (1000, length)),
        (data.test, (1000, length)),
    ]:
        assert split.inputs.shape == shape
        answers = []
        for tokens in split.inputs.tolist():
            assert tokens.count(15) == 2 and tokens[-1] == 15 and set(tokens) <= set(range(16))
            answers.append(tokens[tokens.index(15) + 1])
        assert split.targets.tolist() == answers and max(answers) < 15
        assert accuracy("induction", torch.tensor(answers), split.targets) == 100.0


def test_inductions_places_and_answers_are_uniform() -> None:
    split = stream("induction", 6, 20_000)
    counts = (split.inputs[:, :-1] == 15).sum(0).numpy()
    assert counts[-1] == 0  # the first special token is never the last but one
    assert scipy.stats.chisquare(counts[:-1]).pvalue > 1e-3
    assert scipy.stats.chisquare(np.bincount(split.targets.numpy(), minlength=15)).pvalue > 1e-3
    assert get_task("induction").chance == pytest.approx(100 / 15)


def evaluate(symbols: list[int]) -> tuple[int, int, list[int]]:
    """Return the value, the depth and the numbers of arguments of an expression, by a stack."""
    rules: dict[int, Callable[[list[int]], float]] = {
        11: min,
        12: max,
        13: lambda v: int(statistics.median(v)),
        14: lambda v: math.fsum(v) % 10,
    }
    stack: list[list[int]] = [[]]
    operators: list[int] = []
    deepest, arities = 0, []
    for symbol in symbols:
        if symbol <= 10:
            stack[-1].append(symbol - 1)
            deepest = max(deepest, len(stack))
        elif symbol < 15:
            operators.append(symbol)
            stack.append([])
        else:
            arguments = stack.pop()
            arities.append(len(arguments))
            stack[-1].append(int(rules[operators.pop()](arguments)))
    assert not operators and len(stack) == 1 and len(stack[0]) == 1
    return stack[0][0], deepest, arities


@pytest.mark.parametrize("which", ["train", "valid", "test"])
def test_listops_labels_are_the_values_of_its_expressions(which: str) -> None:
    split = stream("listops", 3, 32) if which == "train" else getattr(load("listops"), which)
    assert which == "train" or split.inputs.shape == (2000, 1999)
    arities: Counter[int] = Counter()
    for symbols, targets in zip(split.inputs[:300].tolist(), split.targets[:300].tolist(), strict=True):
        length = 1999 - symbols[::-1].count(0)
        assert 500 < length < 2000 and 0 not in symbols[:length]
        value, depth, counts = evaluate(symbols[:length])
        assert {t: c for t, c in enumerate(targets) if c != NO_TARGET} == {length - 1: value}
        assert depth <= 10
        arities.update(counts)
    assert set(arities) == set(range(2, 11))


def test_listops_expressions_follow_long_range_arenas_law() -> None:
    draw = Random(5).random
    lengths, operators, arities = [], Counter[int](), Counter[int]()
    for _ in range(4000):
        symbols: list[int] = []
        value = listops.draw_expression(draw, symbols)
        assert evaluate(symbols)[0] == value
        lengths.append(len(symbols))
        if len(symbols) > 1:
            operators[symbols[0]] += 1
    for _ in range(4000):
        symbols = []
        listops.draw_expression(draw, symbols, depth=9)  # an operator here has digits alone
        if len(symbols) > 1:
            arities[len(symbols) - 2] += 1
    assert scipy.stats.binomtest(lengths.count(1), 4000, 0.75).pvalue > 1e-3
    assert scipy.stats.binomtest(sum(operators.values()), 4000, 0.25).pvalue > 1e-3
    assert set(operators) == {11, 12, 13, 14} and scipy.stats.chisquare(list(operators.values())).pvalue > 1e-3
    assert set(arities) == set(range(2, 11)) and scipy.stats.chisquare(list(arities.values())).pvalue > 1e-3
    share = sum(500 < length < 2000 for length in lengths) / 4000
    assert share == pytest.approx(400 / 5040, abs=4 * math.sqrt(0.08 * 0.92 * (1 / 4000 + 1 / 5040)))


def lengths_of_long_range_arena(n: int) -> list[int]:
    """Return the lengths of n expressions as its generator, lra_benchmarks/data/listops.py, draws and counts them."""
    random = Random(11)

    def length(depth: int) -> int:
        if depth >= 10 or random.random() > 0.25:
            return 1
        return 2 + sum([length(depth + 1) for _ in range(random.randint(2, 10))])

    lengths: list[int] = []
    while len(lengths) < n:
        lengths += [k for k in [length(1)] if 500 < k < 2000]
    return lengths


def test_listops_is_as_long_and_as_uneven_as_long_range_arenas_generator_makes_it() -> None:
    theirs = lengths_of_long_range_arena(700)
    for split in (load("listops").valid, load("listops").test):
        lengths = (split.inputs != 0).sum(1).numpy()
        assert scipy.stats.ks_2samp(lengths, theirs).pvalue > 1e-3
        counts = torch.bincount(split.targets[split.targets != NO_TARGET], minlength=10)
        assert (counts > 0).all() and counts.max().item() / 2000 == pytest.approx(0.165, abs=0.035)


def test_listops_is_the_same_on_every_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = listops.draw_expressions(1, 3)
    pinned = "b34b84acb14b"  # Python and numpy promise these numbers on all platforms
    assert hashlib.sha256(first["symbols"].tobytes() + first["values"].tobytes()).hexdigest()[:12] == pinned
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path))
    monkeypatch.setattr(listops, "HELD_OUT", 20)
    fresh, stored = (listops._load.__wrapped__("") for _ in range(2))
    assert len(list(tmp_path.glob("listops-1-*.npz"))) == len(list(tmp_path.iterdir())) == 2
    assert fresh.version == stored.version
    assert torch.equal(fresh.test.inputs, load("listops").test.inputs[:20])
    assert torch.equal(fresh.test.targets, load("listops").test.targets[:20])
