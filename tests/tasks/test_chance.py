"""Chance levels, all recomputed from the data by counting."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from tiers import mark_long

from longwave.platform.registry import all_tasks, get_task
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.sequences import Sequences

VARIANTS = {
    "adding": ["N=50", "N=500"],
    "copy_memory": ["L=100", "L=200", "L=500", "L=1000"],
    "enso": ["h=1", "h=25"],
    "induction": ["T=256", "T=1024"],
    "lorenz96": ["F=8", "F=0.9"],
    "mackey_glass": ["h=1", "h=25"],
    "mqar": ["T=64,kv=4", "T=128,kv=8"],
    "mqar_small": ["T=64,kv=8", "T=128,kv=16"],
    "selective_copy": ["T=256"],
}
"""Of generated tasks that have some; all others have the empty one."""
CASES = [(name, v) for name, t in all_tasks().items() if t.files is None for v in VARIANTS.get(name, [t.variant])]


def by_frequency(split: Sequences) -> float:
    """Return the cross-entropy of one who knows how often each class is asked at each step, counted one by one."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for row in split.targets.tolist():
        for step, target in enumerate(row):
            counts[step][target] += 1
    nats = sum(-n * math.log(n / c.total()) for c in counts.values() for n in c.values())
    return nats / sum(c.total() for c in counts.values())


def commonest(train: Sequences, test: Sequences) -> float:
    """Return how often, in %, what is asked of the test split is the class that training asks most, counted."""
    counts = Counter(t for t in train.targets.flatten().tolist() if t != NO_TARGET)
    best = min(counts, key=lambda t: (-counts[t], t))  # of several as common the first, as torch's argmax
    scored = [t for t in test.targets.flatten().tolist() if t != NO_TARGET]
    return 100 * sum(t == best for t in scored) / len(scored)


def around_the_mean(train: Sequences, test: Sequences, metric: str) -> float:
    """Return the error of the training mean of each output."""
    wanted = test.targets.double().numpy()
    squares = (wanted - train.targets.flatten(0, -2).double().numpy().mean(0)) ** 2
    if metric == "nrmse":
        return float(np.sqrt(squares.sum() / (wanted**2).sum()))
    return float(np.sqrt(squares.mean()) if metric in ("l2_error", "free_rmse") else squares.mean())


@pytest.mark.parametrize("name, variant", mark_long({"-".join(case): case for case in CASES}, "listops-"))
def test_the_chance_of_every_generated_task_is_what_counting_gives(name: str, variant: str) -> None:
    task = get_task(name)
    data = task.load(variant)
    blind = {k: task.baselines[k] for k in ("majority", "mean") if k in task.baselines}
    scores = {k: task.metric.score(p(data).unsqueeze(0), data.test.targets).item() for k, p in blind.items()}
    chance, train, test = task.chance_at(variant, scores), data.training(2000), data.test
    assert chance is not None
    if task.metric.name == "cross_entropy":
        assert chance == pytest.approx(by_frequency(test), rel=0.01)  # counted on 1000 sequences, which it overfits
    elif task.metric.name == "accuracy":
        scored = int((test.targets != NO_TARGET).sum())
        noise = 4.5 * math.sqrt(max(chance, 0.05) * (100 - chance) / scored)
        wanted = commonest(train, test)
        assert chance == pytest.approx(wanted, abs=1e-9 if task.chance is None else noise)
    else:
        law = task.chance is not None
        assert chance == pytest.approx(around_the_mean(train, test, task.metric.name), rel=0.1 if law else 1e-6)


def test_copy_memory_and_listops_say_what_the_audit_counted() -> None:
    task = get_task("copy_memory")
    assert task.chance_at("L=1000") == pytest.approx(0.0204, abs=5e-5)
    assert task.chance_at("L=100") == pytest.approx(0.1733, abs=5e-5)
    assert get_task("listops").chance_at("") is None
    assert get_task("listops").chance_at("", {"majority": 15.85, "other": 3.0}) == 15.85
