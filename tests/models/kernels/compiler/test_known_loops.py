"""When a loop is compiled anew: where what its code reads changed, in whatever order, and nowhere else."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from gain_layers import Gain, GainWeights, assert_right, layer_of
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import wrong
from torch import Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.delay import TAU, Delayed
from longwave.models.kernels.compiler.listing import listing

NUMBERS = (0.5, 0.7)
SHARED: dict[str, list[float]] = {"by": [0.5, 0.5]}


@dataclass
class Settings:
    by: float = 0.5
    more: dict[str, float] = field(default_factory=lambda: {"by": 0.5})


class Mutable(Gain):
    """A gain from one of many places."""

    def __init__(self) -> None:
        super().__init__(which=0, number=0.5, listed=[0.5, 0.5], table={"by": [0.5]}, settings=Settings())

    def gain(self, h: Tensor) -> Tensor:
        numbers = (
            self.number,
            self.listed[-1],
            self.table["by"][0],
            self.settings.by,
            self.settings.more["by"],
            SHARED["by"][1],
        )
        return numbers[self.which] * h


MUTATIONS: tuple[Callable[[Mutable, float], object], ...] = (
    lambda s, x: setattr(s, "which", NUMBERS.index(x)),
    lambda s, x: setattr(s, "which", NUMBERS.index(x) + 2),
    lambda s, x: setattr(s, "which", NUMBERS.index(x) + 4),
    lambda s, x: setattr(s, "number", x),
    lambda s, x: s.listed.append(x),
    lambda s, x: s.listed.reverse(),
    lambda s, x: setattr(s, "listed", [x]),
    lambda s, x: s.table.update(by=[x]),
    lambda s, x: s.table["by"].insert(0, x),
    lambda s, x: setattr(s.settings, "by", x),
    lambda s, x: s.settings.more.update(by=x),
    lambda s, x: setattr(s, "settings", Settings(x)),
    lambda s, x: SHARED["by"].append(x),
    lambda s, x: SHARED["by"].reverse(),
    lambda s, x: s.W.data.mul_(x),
)


@settings(max_examples=12)
@given(st.lists(st.lists(st.tuples(st.sampled_from(MUTATIONS), st.sampled_from(NUMBERS)), max_size=4), max_size=6))
def test_whatever_changes_between_calls_the_loop_is_that_of_the_reference(rounds: list[list[Any]]) -> None:
    SHARED["by"] = [0.5, 0.5]
    torch.default_generator.manual_seed(0)
    layer = Mutable()
    for mutations in rounds:
        for mutate, number in mutations:
            mutate(layer, number)
        assert_right(layer, "cpu")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Gain]:
    """Return the layers for which something was compiled from now on."""
    actual, compiles = list[Gain](), Gain._compiled

    def counted(self: Gain, *rest: Any) -> Any:
        actual.append(self)
        return compiles(self, *rest)

    monkeypatch.setattr(Gain, "_compiled", counted)
    return actual


def test_layers_that_are_alike_share_a_loop(compiled: list[Gain]) -> None:
    one = layer_of(lambda s, h: s.by[0] * h, by=[0.5])
    two = type(one)(by=[0.5])
    assert one.loop_of(0, 2)[0] is two.loop_of(0, 2)[0]
    assert compiled == [one]
    two.by[0] = 0.7
    assert one.loop_of(0, 2)[0] is not two.loop_of(0, 2)[0]
    assert compiled == [one, two]


def test_what_the_step_does_not_read_may_change(compiled: list[Gain]) -> None:
    layer = layer_of(lambda s, h: s.by * h, by=0.5)
    before = layer.loop_of(0, 2)[0]
    layer.note, layer.log = "new", [1]
    layer.log.append(2)
    layer.register_forward_hook(lambda *_: None)
    assert layer.loop_of(0, 2)[0] is before and compiled == [layer]


def test_what_changes_back_finds_its_loop_again(compiled: list[Gain]) -> None:
    layer = layer_of(lambda s, h: s.by[0] * h, by=[0.5])
    before = layer.loop_of(0, 2)[0]
    layer.by[0] = 0.7
    between = layer.loop_of(0, 2)[0]
    layer.by = [0.5]
    assert layer.loop_of(0, 2)[0] is before is not between
    layer.by[0] = 0.7
    assert layer.loop_of(0, 2)[0] is between and compiled == [layer, layer]


def test_each_mode_has_its_loop(compiled: list[Gain]) -> None:
    layer = layer_of(lambda s, h: (0.5 if s.training else 0.7) * h)
    loops = [layer.train(mode).loop_of(0, 2)[0] for mode in (True, False, True, False)]
    assert loops[0] is loops[2] and loops[1] is loops[3] and loops[0] is not loops[1]
    assert compiled == [layer, layer]


def test_what_is_refused_for_what_it_changes_is_tried_once(compiled: list[Gain]) -> None:
    layer = layer_of(lambda s, h: s.log.append(1) or h, log=[])
    for _ in range(3):
        assert layer.why().path == "reference"
        layer(torch.ones(3, 2, 2))
    assert compiled == [layer] and len(layer.log) == 9


def clamped(self: Gain, given: Mapping[str, Tensor]) -> GainWeights:
    actual = Gain.weights(self, given)
    return replace(actual, W=actual.W.clone().clamp_(-0.3, 0.3))


def test_a_step_whose_weights_no_trace_can_follow_is_known_by_what_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer = layer_of(lambda s, h: s.by[0] * h, by=[0.5])
    monkeypatch.setattr(type(layer), "weights", clamped)
    before = assert_right(layer, "cpu")
    layer.by[0] = 0.7
    assert not torch.allclose(before, assert_right(layer, "cpu"))


class LooksBack(Delayed[GainWeights]):
    """h[n+1] = tanh(W g h[n−τ] + V x[n])."""

    WEIGHTS = GainWeights
    PARAMS = (TAU,)
    by = 0.5

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V and W."""
        return {"V": (4, 2), "W": (4, 4)}

    def drive(self, x: Tensor, w: GainWeights) -> tuple[Tensor, ...]:
        """Return the drive."""
        return (affine(w.V, x),)

    def next(self, u: tuple[Tensor, ...], h: Tensor, delayed: Tensor, w: GainWeights) -> Tensor:
        """Return the next state."""
        return tanh(self.by * affine(w.W, delayed, u[0]))


def test_what_a_delayed_step_reads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = LooksBack(2, 4, tau=2)
    before = layer.loop_of(0, 2)[0]
    monkeypatch.setattr(LooksBack, "by", 0.7)
    after = layer.loop_of(0, 2)[0]
    assert "0.5" in listing(before.plan) and "0.7" in listing(after.plan)


@pytest.mark.parametrize("by", [0.5, torch.tensor(0.5)])
def test_a_layer_that_is_gone_is_not_kept(by: Any) -> None:
    layer = layer_of(lambda s, h: s.by * h, by=by)
    layer(torch.ones(3, 2, 2))
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "gain",
    [
        lambda s, h: h.view(h.shape),
        lambda s, h: h.reshape(h.size(0), -1, s.hidden_size),
        lambda s, h: h.expand(*h.shape[:-1], 4),
        lambda s, h: h.view(h.shape[0] * h.shape[1], 4).view(h.shape) if h.ndim == 2 else h.clone(),
        lambda s, h: torch.nn.functional.layer_norm(h, h.shape[-1:]),
        lambda s, h: h * torch.arange(h.shape[-1], device=h.device),
        lambda s, h: h if h.shape == torch.relu(h).shape else -h,
        lambda s, h: h / h.shape[-1] ** 0.5,
        lambda s, h: h * len(h),
    ],
)
def test_shapes_that_are_used_as_shapes_do_not_hinder_a_loop(gain: Callable[[Any, Tensor], Tensor]) -> None:
    layer = layer_of(gain)
    given = {name: t.double() for name, t in layer.lifted_tensors().items()}
    assert wrong(layer.recurrent(2), layer.weights(given)) < 1e-12


class Broadcast(Gain):
    """Multiplies by a weight that torch repeats for each step."""

    def drive(self, x: Tensor, w: GainWeights) -> tuple[Tensor, ...]:
        """Return the drive."""
        return (x @ w.V.mT.unsqueeze(1),)


@pytest.mark.parametrize("members", [None, 2])
def test_a_drive_may_repeat_its_weight_for_each_step(members: int | None) -> None:
    torch.default_generator.manual_seed(0)
    assert_right(Broadcast(members=members), "cpu")


@pytest.mark.parametrize(
    "gain",
    [
        lambda s, h: h * torch.tensor([1.0, -0.5, 0.25, 2.0]),
        lambda s, h: h * torch.tensor([1, 2, 0, 3]).to(h.dtype) + torch.tensor(0.5),
    ],
)
def test_a_tensor_that_a_step_makes_of_numbers_is_part_of_its_loop(gain: Callable[[Any, Tensor], Tensor]) -> None:
    assert_right(layer_of(gain), "cpu")


@pytest.mark.parametrize(
    "gain",
    [
        lambda s, h: torch.sign(1.0 / torch.where(h > 9.0, 1.0, -0.0)),
        lambda s, h: torch.sign(1.0 / (torch.tensor([-0.0, 0.0, -0.0, 0.0]) * torch.exp(h.detach()))),
    ],
)
def test_a_zero_keeps_its_sign_in_a_loop(gain: Callable[[Any, Tensor], Tensor]) -> None:
    assert_right(layer_of(gain), "cpu")
