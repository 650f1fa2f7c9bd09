"""What no fused loop can do is refused with its reason; tracing leaves no mark, and the plain loop is right."""

from __future__ import annotations

import contextvars
import functools
import itertools
import math
import os
import random
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gain_layers import Gain, layer_of
from kernel_cases import inputs, outcome
from torch import Tensor, nn

from longwave.models.base.algebra import affine
from longwave.models.kernels import using

CALLS = 0
LOG: list[int] = []
TENSOR = torch.tensor(0.5)
DOUBLE = TENSOR.double()
ARRAY = np.array([0.5])
VARIABLE = contextvars.ContextVar("by", default=0.5)


def counted(h: Tensor) -> Tensor:
    global CALLS
    CALLS += 1
    return h / CALLS


def remembered(h: Tensor, seen: list[int] = []) -> Tensor:  # noqa: B006
    seen.append(1)
    return h / len(seen)


def counter() -> Callable[[Tensor], Tensor]:
    calls = 0

    def inner(h: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return h / calls

    return inner


def branched(h: Tensor, first: Any, other: Any) -> Tensor:
    return 2.0 * h if first == other else h


def read(h: Tensor) -> Tensor:
    with open(os.devnull) as file:
        return h if file.read() else -h


def imported(h: Tensor) -> Tensor:
    import gain_settings

    return gain_settings.SCALE * h


@functools.lru_cache
def cached() -> float:
    return 0.5


class Counting(Gain):
    total = 0

    def gain(self, h: Tensor) -> Tensor:
        self.calls: int = getattr(self, "calls", 0) + 1
        return h / self.calls


class CountingOnTheClass(Gain):
    total = 0

    def gain(self, h: Tensor) -> Tensor:
        type(self).total += 1
        return h / self.total


class Lazy(Gain):
    """Makes what it needs at its first step."""

    how = "buffer"

    def gain(self, h: Tensor) -> Tensor:
        if not hasattr(self, "made"):
            made = torch.full((4,), 0.5)
            if self.how == "buffer":
                self.register_buffer("made", made)
            else:
                self.made = nn.Parameter(made) if self.how == "parameter" else made
        return self.made * h


class LazyInTheDrive(Lazy):
    def drive(self, x: Tensor, w: Any) -> tuple[Tensor, ...]:
        return (affine(w.V, self.gain(x.new_zeros(4)).sum() + x),)


class ByLength(Gain):
    def drive(self, x: Tensor, w: Any) -> tuple[Tensor, ...]:
        return (affine(w.V / x.shape[1], x),)


class ByBatch(Gain):
    def drive(self, x: Tensor, w: Any) -> tuple[Tensor, ...]:
        return (affine(w.V, x) if x.shape[2] > 2 else affine(-w.V, x),)


class Hidden:
    pass


def hidden() -> type[Hidden]:
    class Found(Hidden):
        def of(self, h: Tensor) -> Tensor:
            return SCALE * h

    return Found


FOUND, SCALE = hidden(), 0.5
LENGTH = r"uses the length of a batch or of its sequences as a number at test_refusals.py:\d+, which"
LENGTHS = r"uses the length of a batch or of its sequences as a number, which"
DEPENDS = r", which depends on the length of a batch or of its sequences, at test_refusals.py:\d+, which"
AT = r"at test_refusals.py:\d+, which the compiler does not support$"
CHANGES = "{}, which a fused loop would not do$"
READS = r"reads {}, which cannot be compared from call to call$"
REFUSED: dict[str, tuple[Callable[[], Gain], str]] = {
    "the batch as a factor": (lambda: layer_of(lambda s, h: h.shape[1] * h / 3), LENGTH),
    "the batch as a divisor": (lambda: layer_of(lambda s, h: h / h.size(1)), LENGTH),
    "the batch's root": (lambda: layer_of(lambda s, h: h / math.sqrt(h.shape[1])), LENGTH),
    "the batch's logarithm": (lambda: layer_of(lambda s, h: h / math.log(h.shape[1])), LENGTHS),
    "the batch by len": (lambda: layer_of(lambda s, h: len(h.transpose(0, 1)) * h), LENGTH),
    "numbers of the state": (lambda: layer_of(lambda s, h: h * h.numel() / 12), LENGTH),
    "a tensor of the batch": (lambda: layer_of(lambda s, h: h * torch.full((1,), h.shape[1])), f"uses full{DEPENDS}"),
    "as many ones as the batch": (
        lambda: layer_of(lambda s, h: h * torch.ones(h.shape[1]).mean()),
        f"uses ones{DEPENDS}",
    ),
    "a loop over the batch": (
        lambda: layer_of(lambda s, h: functools.reduce(lambda a, _: 0.9 * a, range(h.shape[1]), h)),
        "is too long to be compiled$",
    ),
    "one batch alone": (lambda: layer_of(lambda s, h: branched(h, h.shape[1], 3)), LENGTH),
    "a table by the batch": (lambda: layer_of(lambda s, h: {3: 2.0}.get(h.shape[1], 1.0) * h), LENGTH),
    "the length in the drive": (ByLength, LENGTH),
    "large batches in the drive": (ByBatch, LENGTH),
    "a counter": (Counting, "changes " + CHANGES.format("self.calls")),
    "a counter on the class": (CountingOnTheClass, "changes " + CHANGES.format("CountingOnTheClass.total")),
    "a counter in a global": (lambda: layer_of(lambda s, h: counted(h)), "changes " + CHANGES.format("CALLS")),
    "a counter in a cell": (
        lambda: layer_of(lambda s, h: s.by(h), by=counter()),
        "changes " + CHANGES.format("calls"),
    ),
    "a list on the layer": (
        lambda: layer_of(lambda s, h: s.log.append(1) or h / len(s.log), log=[]),
        "changes " + CHANGES.format("self.log"),
    ),
    "a list in a dictionary": (
        lambda: layer_of(lambda s, h: s.log["a"].append(1) or h / len(s.log["a"]), log={"a": []}),
        "changes " + CHANGES.format(r"self.log\['a'\]"),
    ),
    "a list in a global": (
        lambda: layer_of(lambda s, h: LOG.append(1) or h / len(LOG)),
        "changes " + CHANGES.format("LOG"),
    ),
    "a list that is a default": (lambda: layer_of(lambda s, h: remembered(h)), "changes " + CHANGES.format(".+")),
    "a state that it keeps": (
        lambda: layer_of(lambda s, h: setattr(s, "last", h) or h, last=None),
        "changes " + CHANGES.format("self.last"),
    ),
    "a buffer made lazily": (Lazy, "changes " + CHANGES.format("self.made")),
    "a parameter made lazily": (
        lambda: type("Own", (Lazy,), {"how": "parameter"})(),
        "changes " + CHANGES.format("self.made"),
    ),
    "a tensor made lazily": (
        lambda: type("Own", (Lazy,), {"how": "tensor"})(),
        "changes " + CHANGES.format("self.made"),
    ),
    "a buffer made lazily in the drive": (LazyInTheDrive, "changes " + CHANGES.format("self.made")),
    "a tensor of the module": (
        lambda: layer_of(lambda s, h: TENSOR * h),
        rf"uses mul of a tensor that is neither state, drive nor weight {AT}",
    ),
    "a tensor of the module in another precision": (
        lambda: layer_of(lambda s, h: DOUBLE.to(h.dtype) * h),
        rf"uses _to_copy of a tensor that is neither state, drive nor weight {AT}",
    ),
    "a tensor made on a tensor's device": (
        lambda: layer_of(lambda s, h: torch.tensor([0.5], device=h.device) * h),
        rf"uses lift_fresh of numbers on another tensor's device {AT}",
    ),
    "a tensor made of the length of a batch": (
        lambda: layer_of(lambda s, h: torch.tensor([[[h.shape[1]]]]).to(h.dtype) * h),
        f"uses lift_fresh{DEPENDS}",
    ),
    "a tensor in a list": (
        lambda: layer_of(lambda s, h: s.by[0] * h, by=[torch.tensor(0.5)]),
        rf"uses mul of a tensor that is neither state, drive nor weight {AT}",
    ),
    "a weight that is not asked for": (
        lambda: layer_of(lambda s, h: s.W[0, 0] * h),
        rf"uses \w+ of a tensor that is neither state, drive nor weight {AT}",
    ),
    "a tensor's number": (
        lambda: layer_of(lambda s, h: TENSOR.item() * h),
        rf"uses a tensor's numbers \(item\) {AT}",
    ),
    "a tensor's list": (
        lambda: layer_of(lambda s, h: s.W.tolist()[0][0] * h),
        rf"uses a tensor's numbers \(tolist\) {AT}",
    ),
    "a tensor's array": (
        lambda: layer_of(lambda s, h: float(s.V.detach().numpy()[0, 0]) * h),
        rf"uses a tensor's numbers \(numpy\) {AT}",
    ),
    "a condition on the state": (
        lambda: layer_of(lambda s, h: h if h.sum() > 0 else -h),
        rf"uses a condition on a tensor's numbers {AT}",
    ),
    "whether there is a gradient": (
        lambda: layer_of(lambda s, h: 0.5 * h if h.requires_grad else h),
        rf"uses a tensor's requires_grad {AT}",
    ),
    "the device": (
        lambda: layer_of(lambda s, h: 0.5 * h if h.device.type == "cpu" else h),
        rf"uses a condition on a tensor's device {AT}",
    ),
    "an array": (lambda: layer_of(lambda s, h: float(ARRAY[0]) * h), READS.format(r"ARRAY \(ndarray\)")),
    "an iterator": (
        lambda: layer_of(lambda s, h: h / next(s.by), by=itertools.count(1)),
        READS.format(r"self.by \(count\)"),
    ),
    "a generator": (
        lambda: layer_of(lambda s, h: h / next(s.by), by=(k for k in range(1, 99))),
        READS.format(r"self.by \(generator\)"),
    ),
    "a context variable": (
        lambda: layer_of(lambda s, h: VARIABLE.get() * h),
        READS.format(r"VARIABLE \(ContextVar\)"),
    ),
    "random numbers": (lambda: layer_of(lambda s, h: random.random() * h), READS.format(r"random \(module\)")),
    "a source of random numbers": (
        lambda: layer_of(lambda s, h: s.by.random() * h, by=random.Random(0)),
        READS.format(r"self.by \(Random\)"),
    ),
    "numpy's random numbers": (
        lambda: layer_of(lambda s, h: float(np.random.rand()) * h),
        READS.format(r"np.random \(module\)"),
    ),
    "the time": (lambda: layer_of(lambda s, h: h if time.time() > 0 else -h), READS.format(r"time \(module\)")),
    "the environment": (
        lambda: layer_of(lambda s, h: h if "PATH" in os.environ else -h),
        READS.format(r"os \(module\)"),
    ),
    "what torch is set to": (
        lambda: layer_of(lambda s, h: h if torch.is_grad_enabled() else -h),
        READS.format(r"torch.is_grad_enabled \(builtin_function_or_method\)"),
    ),
    "what Python prints": (
        lambda: layer_of(lambda s, h: print(end="") or h),
        READS.format(r"print \(builtin_function_or_method\)"),
    ),
    "a file": (
        lambda: layer_of(lambda s, h: read(h)),
        READS.format(r"open \(builtin_function_or_method\)"),
    ),
    "a function that remembers": (
        lambda: layer_of(lambda s, h: cached() * h),
        READS.format(r"cached \(_lru_cache_wrapper\)"),
    ),
    "an import": (lambda: layer_of(lambda s, h: imported(h)), "imports gain_settings while it runs$"),
    "a function that no name leads to": (
        lambda: layer_of(lambda s, h: Hidden.__subclasses__()[0]().of(h)),
        r"calls of \(test_refusals.py:\d+\), to which no name that it reads leads$",
    ),
    "too many values": (
        lambda: layer_of(lambda s, h: s.by[999][0] * h, by=[[0.5] for _ in range(5001)]),
        "reads more than 10000 values besides its arguments$",
    ),
    "a mistake": (lambda: layer_of(lambda s, h: h if [][1:] else s.nothing), "raises AttributeError"),
}
"""A layer, and what ``why`` says of it, by name."""


def begin(make: Callable[[], Gain]) -> Gain:
    """Return the layer as it is at first, and all that it may change or draw."""
    global CALLS
    CALLS = 0
    LOG.clear()
    remembered.__defaults__[0].clear()
    CountingOnTheClass.total = 0
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)
    return make()


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_loop_cannot_do_is_refused_with_its_reason(name: str) -> None:
    make, reason = REFUSED[name]
    way = begin(make).why()
    assert way.path == "reference"
    assert re.match(rf"the step of \w+ {reason}", way.reason), way.reason


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "a mistake"])
def test_what_was_refused_is_as_if_nobody_had_tried_to_compile_it(name: str) -> None:
    make, _ = REFUSED[name]
    with using("reference"):
        layer = begin(make)
        x, state = inputs(layer, 5, 3)
        truth = [outcome(layer, x, state) for _ in range(2)]
    layer = begin(make)
    actual = []
    for _ in range(2):
        assert layer.why().path == "reference"
        actual.append(outcome(layer, x, state))
    for ours, plain in zip(actual, truth, strict=True):
        assert ours.keys() == plain.keys()
        assert [name for name in plain if not torch.equal(ours[name], plain[name])] == []
