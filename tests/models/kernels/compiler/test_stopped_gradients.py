"""Where a step stops gradients, the fused loop stops them too; a gradient of one's own is refused by name and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from kernel_cases import assert_close, inputs, on_cpu, outcome
from listed import wrong
from torch import Tensor, sigmoid, tanh
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.recurrence import Recurrence
from longwave.models.kernels import using
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.compiler.trace import Recurrent
from longwave.models.lem import LEM

Step = Callable[[tuple[Tensor, ...], Tensor, Tensor, Tensor, Any], tuple[Tensor, ...]]
"""Of the parts of the drive, two states, the delayed output and the weights."""


@dataclass(frozen=True)
class CellWeights:
    """V of the drive, a matrix, a vector and a number."""

    V: Tensor
    W: Tensor
    a: Tensor
    c: Tensor


def weights(members: int = 2, d: int = 3) -> CellWeights:
    """Return weights of so many members."""
    draw = torch.Generator().manual_seed(0)
    shapes = (d, 2), (d, d), (1, d), (1, 1)
    return CellWeights(*(torch.randn(members, *s, generator=draw, dtype=torch.float64) for s in shapes))


def made(step: Step, drive: Callable[[Tensor, Any], Tensor] = lambda x, w: affine(w.V, x)) -> Recurrent:
    """Return a layer of two states."""
    return Recurrent(lambda x, w: (drive(x, w),), lambda u, s, late, w: step(u, *s, late, w), 2, 3, 2)


def straight(s: Tensor) -> Tensor:
    """Return the sign of ``s``, with the gradient of ``s``."""
    return s + (torch.sign(s) - s).detach()


def block(u: tuple[Tensor, ...], y: Tensor, z: Tensor, late: Tensor, w: CellWeights) -> tuple[Tensor, ...]:
    """Compute a gate without gradients, from a product to a norm."""
    with torch.no_grad():
        gate = sigmoid(F.layer_norm(affine(w.W, y, u[0]), (3,), eps=0.1) * w.a)
    return tanh(u[0] + gate * y), gate * z + y


def transposed(u: tuple[Tensor, ...], y: Tensor, z: Tensor, late: Tensor, w: CellWeights) -> tuple[Tensor, ...]:
    """Multiply by a matrix that was transposed without gradients, and by another that was not."""
    with torch.no_grad():
        turned = w.W.mT
    return tanh(torch.bmm(y, turned) + u[0]), torch.bmm(z, w.W.mT)


def mixed(u: tuple[Tensor, ...], y: Tensor, z: Tensor, late: Tensor, w: CellWeights) -> tuple[Tensor, ...]:
    """Compute the same with and without gradients, and with them again inside."""
    with torch.set_grad_enabled(False):
        a = tanh(w.c * y)
        with torch.enable_grad():
            b = sigmoid(a + z)
    return a + tanh(w.c * y) + u[0], b * y.detach().exp()


def seen(u: tuple[Tensor, ...], y: Tensor, z: Tensor, late: Tensor, w: CellWeights) -> tuple[Tensor, ...]:
    """Look at a state in another shape without gradients, and in two halves."""
    with torch.no_grad():
        view, (left, right) = y.view(y.shape), torch.cat([y, z], -1).chunk(2, -1)
    return tanh(u[0] + view * z) + y, left * right * y


def inferred(u: tuple[Tensor, ...], y: Tensor, z: Tensor, late: Tensor, w: CellWeights) -> tuple[Tensor, ...]:
    """Compute something in inference mode."""
    with torch.inference_mode():
        sign = torch.sign(y) + z
    return tanh(u[0] + y) + sign, z


STOPPED: dict[str, Step] = {
    "a straight-through sign": lambda u, y, z, late, w: (straight(affine(w.W, y, u[0])), straight(z) * w.a),
    "a straight-through threshold": lambda u, y, z, late, w: (
        (y > 0.2).to(y.dtype).detach() - sigmoid(y).detach() + sigmoid(y) + u[0],
        z,
    ),
    "a product of a detached state": lambda u, y, z, late, w: (tanh(affine(w.W, y.detach(), u[0])), z + y),
    "products of a state and of the same detached": lambda u, y, z, late, w: (
        tanh(affine(w.W, y, u[0])),
        affine(w.W, y.detach()) * affine(w.W, z),
    ),
    "a detached product": lambda u, y, z, late, w: (tanh(affine(w.W, y).detach() + u[0] * y), z),
    "a detached drive": lambda u, y, z, late, w: (tanh(u[0].detach() * y + u[0]), z),
    "a detached delayed output": lambda u, y, z, late, w: (tanh(u[0] + late.detach() * z), late * y),
    "a product of a detached delayed output": lambda u, y, z, late, w: (tanh(affine(w.W, late.detach(), u[0])), z),
    "a detached state as the next": lambda u, y, z, late, w: (tanh(u[0] + y), tanh(z + y).detach()),
    "a state itself, detached": lambda u, y, z, late, w: (tanh(u[0] + y * z), y.detach()),
    "data": lambda u, y, z, late, w: (tanh(u[0] + y.data * z), z),
    "a detached matrix": lambda u, y, z, late, w: (tanh(affine(w.W.detach(), y, u[0])), affine(w.W, z)),
    "a detached vector and number": lambda u, y, z, late, w: (
        tanh(w.a.detach() * y + u[0]) * torch.exp(w.c).detach(),
        z * w.a * torch.exp(w.c),
    ),
    "a detached mean": lambda u, y, z, late, w: (tanh(u[0] + y - y.mean(-1, keepdim=True).detach()), z),
    "a detached half of two rows": lambda u, y, z, late, w: (
        tanh(u[0] + torch.mul(*torch.cat([y.detach(), z], -1).chunk(2, -1))),
        torch.cat([y, z], -1).detach()[..., 3:] * z,
    ),
    "a block": block,
    "a transpose": transposed,
    "modes in modes": mixed,
    "views": seen,
    "inference mode": inferred,
}


@pytest.mark.parametrize("case", STOPPED)
def test_a_stopped_gradient_is_stopped_as_in_autograd(case: str) -> None:
    assert wrong(made(STOPPED[case]), weights()) < 1e-13


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_mode_in_which_a_layer_is_first_called_is_not_the_steps(mode: Callable[[], Any]) -> None:
    layer = made(lambda u, y, z, late, w: (tanh(affine(torch.exp(w.W), y, u[0])), y * z))
    with mode():
        actual = Loop(layer, weights())
    assert actual.name == Loop(layer, weights()).name
    assert wrong(layer, weights()) < 1e-13


class Sign(torch.autograd.Function):
    """The sign, with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.sign()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


class Reversed(torch.autograd.Function):
    """The same numbers, with the opposite gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return -g


class Within(torch.autograd.Function):
    """Torch's own tanh, with another gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        with torch.enable_grad():
            return tanh(x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return 2 * g


def hooked(x: Tensor) -> Tensor:
    """Return twice ``x``, with a gradient that is doubled once more."""
    twice = 2 * x
    twice.register_hook(lambda g: 2 * g)
    return twice


def hook(x: Tensor) -> Tensor:
    """Return ``x``, whose gradient is doubled."""
    x.register_hook(lambda g: 2 * g)
    return x


REFUSED: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "a function": (Sign.apply, r"torch.autograd.Function \(Sign\)"),
    "a function that gives its argument": (Reversed.apply, r"torch.autograd.Function \(Reversed\)"),
    "a function whose forward has gradients": (Within.apply, r"torch.autograd.Function \(Within\)"),
    "a hook": (hooked, "mul, on whose gradient there is a hook,"),
    "a hook on a state": (hook, "mul, on whose gradient there is a hook,"),
    "a checkpoint": (
        lambda y: checkpoint(tanh, y, use_reentrant=False),
        "tanh under torch.utils.checkpoint, or other hooks on tensors saved for the backward pass,",
    ),
    "a checkpoint of the old kind": (
        lambda y: checkpoint(tanh, y, use_reentrant=True),
        r"torch.autograd.Function \(CheckpointFunction\)",
    ),
    "a change in place": (lambda y: tanh(y).add_(1.0), "add_, which changes a tensor or draws random numbers,"),
    "a change of the state": (lambda y: y.mul_(0.5), "mul_, which changes a tensor or draws random numbers,"),
    "dropout": (F.dropout, "bernoulli_, which changes a tensor or draws random numbers,"),
    "noise": (lambda y: y + torch.rand_like(y), "rand_like, which changes a tensor or draws random numbers,"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_a_gradient_of_its_own_or_is_random_is_refused(case: str) -> None:
    change, reason = REFUSED[case]
    with pytest.raises(Unsupported, match=rf"^{reason} at test_stopped_gradients.py:\d+$"):
        Loop(made(lambda u, y, z, late, w: (tanh(u[0] + 1.0 * change(y)), z)), weights())


def test_gradients_that_a_step_leaves_off_are_refused() -> None:
    def step(u: tuple[Tensor, ...], y: Tensor, z: Tensor, late: Tensor, w: CellWeights) -> tuple[Tensor, ...]:
        gate = sigmoid(y)
        torch.set_grad_enabled(False)
        return tanh(u[0] + gate), z

    with pytest.raises(Unsupported, match=r"^torch.set_grad_enabled\(False\) without a with block$"):
        Loop(made(step), weights())
    assert torch.is_grad_enabled()


def without_gradient(x: Tensor, w: CellWeights) -> Tensor:
    """Return V x, made without gradients."""
    with torch.no_grad():
        return affine(w.V, x)


@pytest.mark.parametrize(
    ("drive", "name"),
    [
        (lambda x, w: affine(w.V, x).detach(), "detach"),
        (lambda x, w: affine(w.V, x.detach()), "detach"),
        (without_gradient, "view"),
        (lambda x, w: affine(w.V, hook(x)), "view, on whose gradient there is a hook,"),
    ],
)
def test_a_drive_that_stops_gradients_is_refused(drive: Callable[[Tensor, Any], Tensor], name: str) -> None:
    reason = name if "hook" in name else f"{name} in the drive, where no gradient may be stopped,"
    with pytest.raises(Unsupported, match=rf"^{reason} at "):
        Loop(made(lambda u, y, z, late, w: (tanh(u[0] + y), z), drive), weights())


@dataclass(frozen=True)
class SpikingWeights:
    """V and W."""

    V: Tensor
    W: Tensor


class Straight(Recurrence[SpikingWeights]):
    """h[n] = sign(W h[n-1] + V x[n]), whose gradient is that of its argument."""

    WEIGHTS = SpikingWeights
    STATE = ("h",)
    change = staticmethod(lambda w: w)
    rounded = staticmethod(straight)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V and W."""
        return {"V": (self.hidden_size, self.input_size), "W": (self.hidden_size,) * 2}

    def weights(self, given: Any) -> SpikingWeights:
        """Return V and W, as a subclass changes them."""
        return type(self).change(super().weights(given))

    def drive(self, x: Tensor, w: SpikingWeights) -> tuple[Tensor, ...]:
        """Return V x."""
        return (affine(w.V, x),)

    def step(self, u: tuple[Tensor, ...], state: State, w: SpikingWeights) -> State:
        """Return the next state."""
        return (type(self).rounded(affine(w.W, state[0], u[0])),)


class Frozen(Straight):
    """A layer whose matrix is used with and without its gradient."""

    change = staticmethod(lambda w: replace(w, W=0.5 * w.W + 0.3 * w.W.detach()))


class Signs(Straight):
    """A layer whose matrix is made of signs."""

    change = staticmethod(lambda w: replace(w, W=Sign.apply(w.W)))


@pytest.mark.parametrize("kind", [Straight, Frozen, Signs])
def test_a_straight_through_cell_is_fused_and_its_gradients_are_those_of_the_plain_loop(kind: type[Straight]) -> None:
    on_cpu(LEM(1, 4))
    torch.default_generator.manual_seed(0)
    layer = kind(3, 6, members=2)
    assert str(layer.why()).startswith(f"cpu: the fused {kind.__name__} loop")
    x, state = inputs(layer, 9, 4)
    with using("reference"):
        truth = outcome(layer, x, state)
    actual = outcome(layer, x, state)
    assert all(truth[name].norm() > 1e-3 for name in ("dx", "dh", "dV", "dW"))
    assert_close(actual, truth)


class Own(Straight):
    """A layer whose sign is a function with a gradient of its own."""

    rounded = Sign.apply


def test_a_function_of_ones_own_takes_the_plain_loop_and_why_names_it() -> None:
    layer = Own(3, 6)
    named = r"torch.autograd.Function \(Sign\) at test_stopped_gradients.py:\d+"
    assert layer.why().path == "reference"
    assert re.fullmatch(rf"the step of Own uses {named}, which the compiler does not support", layer.why().reason)
