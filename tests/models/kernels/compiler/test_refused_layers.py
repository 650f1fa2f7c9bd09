"""Layers whose drive or states are not what a loop has: each is refused with what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.compiler.trace import Recurrent

D = 3


@dataclass(frozen=True)
class LayerWeights:
    """V of the drive and of another one, a matrix and a vector."""

    V: Tensor
    C: Tensor
    W: Tensor
    a: Tensor


def weights() -> LayerWeights:
    """Return weights of two members, for inputs as wide as the state."""
    return LayerWeights(*(torch.zeros(2, *shape) for shape in ((D, D), (2 * D, D), (D, D), (1, D))))


def compiled(drive: Callable[[Tensor, Any], Tensor], step: Callable[..., Sequence[Tensor]], states: int = 1) -> Loop:
    """Return the loop of a drive of one part and of a step of that part, the states and the weights."""
    of = Recurrent(lambda x, w: (drive(x, w),), lambda u, s, late, w: step(u[0], *s, w), states, D, D)
    return Loop(of, weights())


def plain(x: Tensor, w: LayerWeights) -> Tensor:
    """Return V x."""
    return affine(w.V, x)


DRIVES: dict[str, tuple[Callable[[Tensor, Any], Tensor], str]] = {
    "its input beside the product": (lambda x, w: affine(w.V, x, x.flatten(1, 2)), "baddbmm in the drive"),
    "a product with factors": (
        lambda x, w: torch.baddbmm(w.a, x.flatten(1, 2), w.V, alpha=2.0).view(x.shape),
        "baddbmm in the drive",
    ),
    "a sum": (lambda x, w: affine(w.V, x) + w.a[:, None], "add in the drive"),
    "a product of a product": (lambda x, w: affine(w.V, affine(w.V, x)), "bmm in the drive"),
    "its input itself": (lambda x, w: x, "a drive that is not V x \\+ b of d units, or of several times d"),
    "one unit": (lambda x, w: affine(w.V[:, :1], x), "a drive that is not V x \\+ b of d units"),
    "other axes": (lambda x, w: affine(w.V, x.flatten(1, 2)), "a drive that is not V x \\+ b of d units"),
}


@pytest.mark.parametrize("case", DRIVES)
def test_a_drive_that_is_not_affine_is_refused(case: str) -> None:
    drive, reason = DRIVES[case]
    with pytest.raises(Unsupported, match=f"^{reason}"):
        compiled(drive, lambda u, y, w: (tanh(y + u),))


STEPS: dict[str, tuple[Callable[..., Sequence[Tensor]], int, str]] = {
    "one number a sequence": (lambda u, y, w: ((y + u).mean(-1, keepdim=True),), 1, r"a state of shape \(2, \d+, 1\)"),
    "truths": (lambda u, y, w: (y > u,), 1, r"a state of shape \(2, \d+, 3\) and bool"),
    "a weight": (lambda u, y, z, w: (tanh(u + y + z), w.a), 2, r"a state of shape \(2, 1, 3\) and float32"),
    "two in one": (lambda u, y, z, w: (torch.cat([y, u + z], -1),), 2, r"a state of shape \(2, \d+, 6\)"),
    "one too few": (lambda u, y, z, w: (tanh(u + y + z),), 2, "a step that does not return its 2 states"),
    "none of the drive": (lambda u, y, w: (tanh(y),), 1, "no part of the drive"),
    "a matrix that is made of the state": (
        lambda u, y, w: (torch.bmm(u, y[:, :D].clone()) + y,),
        1,
        "slice at",
    ),
    "a matrix of other sizes": (
        lambda u, y, w: (torch.bmm(y, w.W[..., :1]) + u,),
        1,
        r"bmm with a matrix of shape \(2, 3, 1\)",
    ),
    "a weight without a member": (
        lambda u, y, w: (tanh(u + y * w.a[0]),),
        1,
        r"mul of rows \(M, B, 3\) and a weight of shape \(1, 3\)",
    ),
}


@pytest.mark.parametrize("case", STEPS)
def test_a_step_whose_states_are_not_those_of_a_loop_is_refused(case: str) -> None:
    step, states, reason = STEPS[case]
    with pytest.raises(Unsupported, match=f"^{reason}"):
        compiled(plain, step, states)


@pytest.mark.parametrize(
    "outputs, reason",
    [(2, r"delayed outputs of 2 states$"), (3, r"3 states as outputs, of which it has 2$")],
)
def test_outputs_that_a_loop_does_not_put_out_are_refused(outputs: int, reason: str) -> None:
    def step(u: tuple[Tensor, ...], s: tuple[Tensor, ...], late: Tensor, w: LayerWeights) -> tuple[Tensor, ...]:
        return tanh(u[0] + s[1] + affine(w.W, late)), s[0]

    def of(outputs: int) -> Recurrent:
        return Recurrent(lambda x, w: (plain(x, w),), step, 2, D, D, outputs=outputs)

    assert Loop(of(1), weights()).plan.delayed
    with pytest.raises(Unsupported, match=f"^{reason}"):
        Loop(of(outputs), weights())
