"""A layer of one's own: it is fused without a word, and what cannot be fused is named with its line."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from every_model import build
from kernel_cases import assert_close, inputs, on_cpu, outcome
from listed import wrong
from more_files import with_models
from torch import Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.recurrence import Recurrence
from longwave.models.kernels import using
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.padding import rests
from longwave.models.lem import LEM

MODEL = '''"""A gated cell with a norm inside, in a file of its own."""

from dataclasses import dataclass

import torch
from torch import Tensor

from longwave.models.base.algebra import affine
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class NormedWeights:
    """The weights."""

    V: Tensor
    W: Tensor
    g: Tensor


class Normed(Recurrence[NormedWeights]):
    """h[n] = 0.9 h[n-1] + softplus(exp(−g) N(W h[n-1] + V x[n])), N of mean 0 and variance 1, then scaled and moved."""

    WEIGHTS = NormedWeights
    STATE = ("h",)

    def shapes(self):
        return {"V": (self.hidden_size, self.input_size), "W": (self.hidden_size,) * 2, "g": (self.hidden_size,)}

    def drive(self, x, w):
        return (affine(w.V, x),)

    def step(self, u, state, w):
        a = affine(w.W, state[0], u[0])
        a = torch.nn.functional.layer_norm(a, a.shape[-1:], torch.exp(w.g).mean((0, 1)), w.g[0, 0], 1e-3)
        return (0.9 * state[0] + torch.nn.functional.softplus(a / torch.exp(w.g)),)


MODEL = ModelSpec(
    name="normed", title="Normed", family="toy", source="this test", layer=Normed, lr=learning_rate(1e-3, 1e-1),
    count=lambda p, d, q, **_: d * p + d * d + d + (d + 1) * q,
)
'''


@pytest.mark.integration
def test_a_model_file_outside_the_package_is_fused_without_a_word_of_its_own(tmp_path: Path) -> None:
    on_cpu(LEM(1, 4))
    (tmp_path / "normed.py").write_text(MODEL, encoding="utf-8")
    program = (
        "import every_model\n"
        "print(every_model.build('normed', 7).why())\n"
        "print(every_model.too_far(every_model.distances('normed', 7, 20)))\n"
    )
    way, wrong = with_models(tmp_path, program).splitlines()[-2:]
    assert way.startswith("cpu: the fused Normed loop") and wrong == "{}"


@dataclass(frozen=True)
class OddWeights:
    """V and W, and a number that is no tensor."""

    V: Tensor
    W: Tensor
    scale: float = 1.0


class Odd(Recurrence[OddWeights]):
    """h[n] = what the test wants."""

    WEIGHTS = OddWeights
    STATE = ("h",)

    def __init__(
        self,
        inner: Callable[[Tensor], Tensor],
        driven: Callable[[Tensor], Tensor] = lambda x: x,
        made: Callable[[OddWeights], OddWeights] = lambda w: w,
    ) -> None:
        self.inner, self.driven, self.made = inner, driven, made
        super().__init__(2, 4)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V and W."""
        return {"V": (4, 2), "W": (4, 4)}

    def weights(self, given: Mapping[str, Tensor]) -> OddWeights:
        """Return what the test makes of V and W."""
        return self.made(super().weights(given))

    def drive(self, x: Tensor, w: OddWeights) -> tuple[Tensor, ...]:
        """Return the drive."""
        return (self.driven(affine(w.V, x)),)

    def step(self, u: tuple[Tensor, ...], state: State, w: OddWeights) -> State:
        """Return the next state."""
        return (tanh(w.scale * affine(w.W, self.inner(state[0]), u[0])),)


@pytest.mark.parametrize(
    ("inner", "named"),
    [
        (lambda h: h.cumsum(-1), "cumsum"),
        (lambda h: h + torch.randn(4), "randn, which changes a tensor or draws random numbers,"),
        (lambda h: h.clone().add_(1.0), "add_, which changes a tensor or draws random numbers,"),
        (lambda h: h * float(h.detach().sum()), "a tensor's numbers (__float__)"),
        (lambda h: h * (1.0 if h[0, 0, 0].item() > 0 else 2.0), "a tensor's numbers (item)"),
        (lambda h: torch.softmax(h, -1), "_softmax"),
        (lambda h: h[..., :2].repeat(1, 1, 2), "slice"),
        (lambda h: h.roll(1, -1), "roll"),
        (lambda h: h**9, "pow"),
        (lambda h: h**2.5, "pow"),
    ],
)
def test_what_cannot_be_fused_is_named_with_its_line(inner: Callable[[Tensor], Tensor], named: str) -> None:
    layer = Odd(inner)
    way = layer.why()
    assert way.path == "reference"
    assert str(way).startswith(f"reference: the step of Odd uses {named} at test_own_layers.py:")
    assert way.reason.endswith(", which the compiler does not support")
    assert layer(torch.ones(3, 2, 2))[0].shape == (3, 2, 4)


@pytest.mark.parametrize("exponent", [8, 2, 1, -1, -8, 0.5])
def test_a_power_that_products_or_a_root_give_is_fused(exponent: float) -> None:
    layer = Odd(lambda h: (2.0 + tanh(h)) ** exponent)
    given = {name: t.detach().double() for name, t in layer.lifted_tensors().items()}
    assert wrong(layer.recurrent(2), layer.loop_weights(given, 0)) < 1e-12


@pytest.mark.parametrize("case", ["lem", "gru", "antisymmetric_rnn"])
def test_weights_and_sums_of_them_are_copied_and_torch_computes_none(case: str) -> None:
    layer = build(case, 6)
    given = {name: t.detach() for name, t in layer.lifted_tensors().items()}
    assert not Loop(layer.recurrent(layer.loops()[0]), layer.loop_weights(given, 0)).copies.computed


def test_so_is_a_view_of_a_sum() -> None:
    layer = Odd(lambda h: h, made=lambda w: replace(w, V=(w.V + w.V).view(w.V.shape)))
    assert not layer.loop_of(0, 2)[0].copies.computed


@pytest.mark.parametrize(
    ("inner", "stay"),
    [
        (lambda h: torch.where(h > 0, h, -h), True),
        (lambda h: torch.where(h > 0, h, 1.0), False),
        (lambda h: torch.where(h > 0, 1.0, h), False),
    ],
)
def test_zeros_in_the_padding_stay_unless_a_choice_makes_them_a_number(
    inner: Callable[[Tensor], Tensor], stay: bool
) -> None:
    layer = Odd(inner)
    given = {name: t.detach() for name, t in layer.lifted_tensors().items()}
    assert rests(Loop(layer.recurrent(2), layer.loop_weights(given, 0)).plan) is stay


def test_a_drive_that_is_not_affine_is_named() -> None:
    reason = Odd(lambda h: h, driven=torch.tanh).why().reason
    assert reason.startswith("the step of Odd uses tanh in the drive, which must be V x + b, at test_own_layers.py:")


@pytest.mark.parametrize(
    "made",
    [
        lambda w: replace(w, W=w.W.clone().clamp_(-0.2, 0.2)),
        lambda w: replace(w, W=w.W / w.W.abs().max().item()),
        lambda w: replace(w, scale=w.W.abs().max().item()),
    ],
)
def test_weights_that_no_trace_can_follow_are_computed_at_each_call(made: Callable[[OddWeights], OddWeights]) -> None:
    on_cpu(LEM(1, 4))
    torch.default_generator.manual_seed(0)
    layer = Odd(lambda h: h, made=made)
    assert layer.why().path == "cpu"
    x, state = inputs(layer, 5, 3)
    for _ in range(2):
        with using("reference"):
            truth = outcome(layer, x, state)
        assert_close(outcome(layer, x, state), truth)
        layer.W.data *= 2


def test_whole_numbers_that_a_step_makes_are_read_as_such() -> None:
    on_cpu(LEM(1, 4))
    torch.default_generator.manual_seed(0)
    layer = Odd(lambda h: h * torch.arange(4))
    assert layer.why().path == "cpu"
    x, state = inputs(layer, 5, 3)
    with using("reference"):
        truth = outcome(layer, x, state)
    assert_close(outcome(layer, x, state), truth)


def test_another_step_of_the_same_class_is_another_loop() -> None:
    on_cpu(LEM(1, 4))
    torch.default_generator.manual_seed(random.Random(0).randrange(99))
    one, two = Odd(lambda h: h), Odd(lambda h: -h)
    two.load_state_dict(one.state_dict())
    x = torch.randn(4, 3, 2)
    assert not torch.allclose(one(x)[0], two(x)[0])
    assert torch.equal(one(x)[0][0], two(x)[0][0])
