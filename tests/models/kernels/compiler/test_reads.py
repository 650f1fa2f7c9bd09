"""What a step reads besides its arguments, changed after the first call: never a stale loop."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import gain_settings
import numpy as np
import pytest
import torch
from gain_layers import Gain, GainWeights, assert_right, layer_of
from kernel_cases import inputs, on_cpu
from torch import Tensor, nn

from longwave.models.base.algebra import affine
from longwave.models.kernels import using
from longwave.models.kernels.compiler.kinds import Same, is_named_only

SCALE = 0.5
TABLE: dict[str, Any] = {"inner": {"scales": [0.5]}}
SCALE_OF = operator.attrgetter("sca" + "le")


def scaled(h: Tensor, by: float = 0.5) -> Tensor:
    return by * h


def defaulted(h: Tensor, by: Any = SimpleNamespace(scale=0.5), *, more: dict[str, float] = {"by": 1.0}) -> Tensor:  # noqa: B006, B008
    return by.scale * more["by"] * h


def other(h: Tensor) -> Tensor:
    return 0.7 * h


other.scale = 0.5  # type: ignore[attr-defined]


def by_global(h: Tensor) -> Tensor:
    return SCALE * h


def wrapped(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    @functools.wraps(function)
    def inner(h: Tensor) -> Tensor:
        return function(h)

    return inner


def closed(by: float) -> tuple[Callable[[Tensor], Tensor], Callable[[float], None]]:
    """Return a function of a cell, and what changes the cell."""

    def inner(h: Tensor) -> Tensor:
        return by * h

    def change(new: float) -> None:
        nonlocal by
        by = new

    return inner, change


@dataclass
class Settings:
    scale: float = 0.5
    scales: list[float] = field(default_factory=lambda: [1.0, 0.5])
    inner: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(scale=0.5))
    SHARE: ClassVar[float] = 0.5

    @property
    def rate(self) -> float:
        return self.scale


class Slotted:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 0.5


class Pair(NamedTuple):
    scale: float
    more: list[float]


class Leaky(nn.LeakyReLU):
    def forward(self, h: Tensor) -> Tensor:
        return super().forward(h)


class Halved(nn.Module):
    def forward(self, h: Tensor) -> Tensor:
        return 0.5 * h


class Kind(Enum):
    HALF = 0.5
    WHOLE = 1.0


class Parent(Gain):
    RATE = 0.5
    RATES = (0.5, 1.0)

    @property
    def rate(self) -> float:
        return self.RATE

    @staticmethod
    def half(h: Tensor) -> Tensor:
        return 0.5 * h

    @classmethod
    def rated(cls, h: Tensor) -> Tensor:
        return cls.RATE * h


class ByClass(Parent):
    def gain(self, h: Tensor) -> Tensor:
        return self.RATE * h


class ByComputedName(Parent):
    def gain(self, h: Tensor) -> Tensor:
        return getattr(self, "RA" + "TE"[:2]) * h


class ByProperty(Parent):
    def gain(self, h: Tensor) -> Tensor:
        return self.rate * h


class ByStatic(Parent):
    def gain(self, h: Tensor) -> Tensor:
        return self.half(h)


class ByClassMethod(Parent):
    def gain(self, h: Tensor) -> Tensor:
        return self.rated(h)


class ByType(Parent):
    def gain(self, h: Tensor) -> Tensor:
        return type(self).RATES[0] * h


class ByWeights(Gain):
    by = 0.5

    def weights(self, given: Mapping[str, Tensor]) -> GainWeights:
        actual = super().weights(given)
        return dataclasses.replace(actual, W=self.by * actual.W)


class ByDrive(Gain):
    by = 0.5

    def drive(self, x: Tensor, w: GainWeights) -> tuple[Tensor, ...]:
        return (affine(self.by * w.V, x),)


Change = Callable[[Any, pytest.MonkeyPatch], object]
HERE = __name__
CLOSED, CHANGE_CELL = closed(0.5)
SETTINGS = Settings()


def set_at(at: Any, key: Any, value: Any) -> Any:
    at[key] = value


CHANGES: dict[str, tuple[Callable[[], Gain], Change]] = {
    "a number": (lambda: layer_of(lambda s, h: s.by * h, by=0.5), lambda s, m: setattr(s, "by", 0.7)),
    "a list": (lambda: layer_of(lambda s, h: s.by[0] * h, by=[0.5]), lambda s, m: set_at(s.by, 0, 0.7)),
    "a list that grows": (lambda: layer_of(lambda s, h: max(s.by) * h, by=[0.5]), lambda s, m: s.by.append(0.7)),
    "a deque": (lambda: layer_of(lambda s, h: s.by[0] * h, by=deque([0.5])), lambda s, m: s.by.appendleft(0.7)),
    "a set": (lambda: layer_of(lambda s, h: max(s.by) * h, by={0.5}), lambda s, m: s.by.add(0.7)),
    "a dictionary": (lambda: layer_of(lambda s, h: s.by["a"] * h, by={"a": 0.5}), lambda s, m: s.by.update(a=0.7)),
    "the order of a dictionary": (
        lambda: layer_of(lambda s, h: next(iter(s.by)) * h, by=OrderedDict({0.5: 1, 0.7: 2})),
        lambda s, m: s.by.move_to_end(0.5),
    ),
    "a list in a dictionary in a tuple": (
        lambda: layer_of(lambda s, h: s.by[0]["a"][0] * h, by=({"a": [0.5]},)),
        lambda s, m: set_at(s.by[0]["a"], 0, 0.7),
    ),
    "a field of a dataclass": (
        lambda: layer_of(lambda s, h: s.by.scale * h, by=Settings()),
        lambda s, m: setattr(s.by, "scale", 0.7),
    ),
    "a list of a dataclass": (
        lambda: layer_of(lambda s, h: s.by.scales[1] * h, by=Settings()),
        lambda s, m: set_at(s.by.scales, 1, 0.7),
    ),
    "an object in a dataclass": (
        lambda: layer_of(lambda s, h: s.by.inner.scale * h, by=Settings()),
        lambda s, m: setattr(s.by.inner, "scale", 0.7),
    ),
    "what a property of a dataclass reads": (
        lambda: layer_of(lambda s, h: s.by.rate * h, by=Settings()),
        lambda s, m: setattr(s.by, "scale", 0.7),
    ),
    "a dataclass's class": (
        lambda: layer_of(lambda s, h: s.by.SHARE * h, by=Settings()),
        lambda s, m: m.setattr(Settings, "SHARE", 0.7),
    ),
    "a slot": (
        lambda: layer_of(lambda s, h: s.by.scale * h, by=Slotted()),
        lambda s, m: setattr(s.by, "scale", 0.7),
    ),
    "a list in a named tuple": (
        lambda: layer_of(lambda s, h: s.by.more[0] * h, by=Pair(1.0, [0.5])),
        lambda s, m: set_at(s.by.more, 0, 0.7),
    ),
    "a member of an enumeration": (
        lambda: layer_of(lambda s, h: s.by.value * h, by=Kind.HALF),
        lambda s, m: setattr(s, "by", Kind.WHOLE),
    ),
    "a module's number": (
        lambda: layer_of(lambda s, h: s.act(h), act=nn.LeakyReLU(0.5)),
        lambda s, m: setattr(s.act, "negative_slope", 0.2),
    ),
    "a number of a module of one's own": (
        lambda: layer_of(lambda s, h: s.act(h), act=Leaky(0.5)),
        lambda s, m: setattr(s.act, "negative_slope", 0.2),
    ),
    "a module's hook": (
        lambda: layer_of(lambda s, h: s.act(h), act=Halved()),
        lambda s, m: s.act.register_forward_hook(lambda module, given, h: 0.7 * given[0]),
    ),
    "a module for another": (
        lambda: layer_of(lambda s, h: s.act(h), act=Halved()),
        lambda s, m: setattr(s, "act", nn.LeakyReLU(0.2)),
    ),
    "a global": (lambda: layer_of(lambda s, h: SCALE * h), lambda s, m: m.setitem(globals(), "SCALE", 0.7)),
    "a nested global": (
        lambda: layer_of(lambda s, h: TABLE["inner"]["scales"][0] * h),
        lambda s, m: m.setitem(TABLE["inner"], "scales", [0.7]),
    ),
    "a global object": (
        lambda: layer_of(lambda s, h: SETTINGS.scale * h),
        lambda s, m: m.setattr(SETTINGS, "scale", 0.7),
    ),
    "a number of a Python module": (
        lambda: layer_of(lambda s, h: gain_settings.SCALE * h),
        lambda s, m: m.setattr(gain_settings, "SCALE", 0.7),
    ),
    "a global that hides Python's own": (
        lambda: layer_of(lambda s, h: abs(-0.5) * h),
        lambda s, m: m.setitem(globals(), "abs", lambda x: 0.2 - x),
    ),
    "a cell": (lambda: layer_of(lambda s, h: CLOSED(h)), lambda s, m: CHANGE_CELL(0.7)),
    "a function": (lambda: layer_of(lambda s, h: scaled(h)), lambda s, m: m.setitem(globals(), "scaled", other)),
    "a function's code": (
        lambda: layer_of(lambda s, h: scaled(h)),
        lambda s, m: m.setattr(scaled, "__code__", (lambda h, by: (by + 0.2) * h).__code__),
    ),
    "an attribute of a function": (
        lambda: layer_of(lambda s, h: other.scale * h),
        lambda s, m: m.setattr(other, "scale", 0.7),
    ),
    "a default": (lambda: layer_of(lambda s, h: scaled(h)), lambda s, m: m.setattr(scaled, "__defaults__", (0.7,))),
    "an object that is a default": (
        lambda: layer_of(lambda s, h: defaulted(h)),
        lambda s, m: m.setattr(defaulted.__defaults__[0], "scale", 0.7),
    ),
    "a default of a keyword": (
        lambda: layer_of(lambda s, h: defaulted(h)),
        lambda s, m: m.setitem(defaulted.__kwdefaults__["more"], "by", 1.4),
    ),
    "what a function reads": (
        lambda: layer_of(lambda s, h: by_global(h)),
        lambda s, m: m.setitem(globals(), "SCALE", 0.7),
    ),
    "what a wrapped function reads": (
        lambda: layer_of(lambda s, h: s.by(h), by=wrapped(by_global)),
        lambda s, m: m.setitem(globals(), "SCALE", 0.7),
    ),
    "what a function in a list reads": (
        lambda: layer_of(lambda s, h: s.by[0](h), by=[by_global]),
        lambda s, m: m.setitem(globals(), "SCALE", 0.7),
    ),
    "what a partial function was given": (
        lambda: layer_of(lambda s, h: s.by(h), by=functools.partial(defaulted, by=Settings())),
        lambda s, m: setattr(s.by.keywords["by"], "scale", 0.7),
    ),
    "a function of torch": (
        lambda: layer_of(lambda s, h: torch.mul(h, 0.5)),
        lambda s, m: m.setattr(torch, "mul", lambda h, by: 0.7 * h),
    ),
    "an attribute of an object by a getter": (
        lambda: layer_of(lambda s, h: SCALE_OF(s) * h, scale=0.5),
        lambda s, m: setattr(s, "scale", 0.7),
    ),
    "what a copy has": (
        lambda: layer_of(lambda s, h: dataclasses.replace(SETTINGS, scales=[]).scale * h),
        lambda s, m: m.setattr(SETTINGS, "scale", 0.7),
    ),
    "a number that numpy takes": (
        lambda: layer_of(lambda s, h: float(np.abs(s.by)) * h, by=-0.5),
        lambda s, m: setattr(s, "by", -0.7),
    ),
    "an attribute of a computed name": (
        lambda: layer_of(lambda s, h: getattr(s, "b" + "y"[:1]) * h, by=0.5),
        lambda s, m: setattr(s, "by", 0.7),
    ),
    "an item of all attributes": (
        lambda: layer_of(lambda s, h: vars(s)["b" + "y"[:1]] * h, by=0.5),
        lambda s, m: setattr(s, "by", 0.7),
    ),
    "a class attribute": (ByClass, lambda s, m: m.setattr(Parent, "RATE", 0.7)),
    "a class attribute of a computed name": (ByComputedName, lambda s, m: m.setattr(Parent, "RATE", 0.7)),
    "a class attribute in a subclass": (ByClass, lambda s, m: m.setattr(ByClass, "RATE", 0.7, raising=False)),
    "a class attribute in the layer itself": (ByClass, lambda s, m: setattr(s, "RATE", 0.7)),
    "what a property reads": (ByProperty, lambda s, m: m.setattr(Parent, "RATE", 0.7)),
    "a property": (ByProperty, lambda s, m: m.setattr(Parent, "rate", property(lambda self: 0.7))),
    "a static method": (ByStatic, lambda s, m: m.setattr(Parent, "half", staticmethod(other))),
    "what a class method reads": (ByClassMethod, lambda s, m: m.setattr(Parent, "RATE", 0.7)),
    "what the type has": (ByType, lambda s, m: m.setattr(Parent, "RATES", (0.7, 1.0))),
    "a method": (ByClass, lambda s, m: m.setattr(ByClass, "gain", lambda self, h: 0.7 * h)),
    "a method of one layer": (ByClass, lambda s, m: setattr(s, "gain", other)),
    "what the weights are made by": (ByWeights, lambda s, m: setattr(s, "by", 0.7)),
    "what the drive is made by": (ByDrive, lambda s, m: setattr(s, "by", 0.7)),
    "the step": (
        ByClass,
        lambda s, m: m.setattr(ByClass, "step", lambda self, u, state, w: Gain.step(self, u, (-state[0],), w)),
    ),
    "the drive": (ByClass, lambda s, m: m.setattr(ByClass, "drive", lambda self, x, w: (affine(2.0 * w.V, x),))),
    "the mode": (lambda: layer_of(lambda s, h: (0.5 if s.training else 0.7) * h), lambda s, m: s.eval()),
    "the mode of a part": (
        lambda: layer_of(lambda s, h: (0.5 if s.part.training else 0.7) * h, part=nn.Tanh()),
        lambda s, m: s.part.eval(),
    ),
}
"""A layer, and a change of what its step reads, by its name."""


def test_what_stands_for_an_object_equals_what_stands_for_the_same_alone() -> None:
    one, equal = [0.5], [0.5]
    assert (Same(one), 1) == (Same(one), 1)
    assert (Same(one), 1) != (Same(equal), 1) and Same(one) != one


def test_of_a_layer_what_its_code_names_is_compared_and_of_torchs_own_everything() -> None:
    assert is_named_only(layer_of(lambda s, h: h)) and is_named_only(nn.Module())
    assert not is_named_only(nn.Tanh()) and not is_named_only(type("Own", (nn.GRU,), {})(2, 3))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_what_a_step_reads_makes_another_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, change = CHANGES[name]
    torch.default_generator.manual_seed(0)
    layer = make()
    before = assert_right(layer, "cpu")
    change(layer, monkeypatch)
    after = assert_right(layer, "cpu")
    assert not torch.allclose(before, after)


@pytest.mark.parametrize(
    ("gain", "path"),
    [
        (lambda s, h: (0.5 if torch.zeros(1).dtype == torch.float32 else 0.7) * h, "cpu"),
        (lambda s, h: (h + torch.full((4,), 1e8) - torch.full((4,), 1e8)).to(h.dtype), "reference"),
    ],
)
def test_another_default_type_of_torch_makes_another_loop(gain: Callable[[Any, Tensor], Tensor], path: str) -> None:
    layer = layer_of(gain)
    on_cpu(layer)
    x, _ = inputs(layer, 5, 3)
    before = layer(x)[0]
    torch.set_default_dtype(torch.float64)
    try:
        assert layer.why().path == path
        after = layer(x)[0]
        assert after.dtype == torch.float32
        with using("reference"):
            assert torch.allclose(after, layer(x)[0], atol=1e-6)
    finally:
        torch.set_default_dtype(torch.float32)
    assert not torch.allclose(before, after)
    assert torch.equal(before, layer(x)[0])
