"""RG-LRU: the real-gated linear recurrent unit of Griffin, a leaky integrator whose rate is gated by the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn, sigmoid, tanh
from torch.nn.functional import softplus

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup

SHARPNESS = 8.0
"""c, the exponent of a at an open gate."""
LEAST, MOST = 0.9, 0.999
"""Range of the initial a."""
SMALLEST = 1e-37
"""Smallest 1 − α² whose root has a gradient: that of a gate that rounds to 0 would be 0/0."""


@dataclass(frozen=True)
class RGLRUWeights:
    """Maps of the gates r and i and of the input, with biases, and Λ."""

    Wr: Tensor
    br: Tensor
    Wi: Tensor
    bi: Tensor
    Wx: Tensor
    bx: Tensor
    Lambda: Tensor


class RGLRU(Recurrence[RGLRUWeights]):
    """Real-gated linear recurrent unit, (T, B, p) to (T, B, d).

    Source: De et al. 2024, Griffin (arXiv:2402.19427), eqs. 1-4, and the authors' code (recurrentgemma)::

        r, i = σ(Wr x[n] + br), σ(Wi x[n] + bi)
        log α = −8 r softplus(Λ)                    h[n] = α h[n-1] + √(1 − α²) (i (Wx x[n] + bx))

    1 − α² is 2t/(1 + t) with t = tanh(8 r softplus(Λ)), which stays accurate where α is near 1. As a bare cell has p
    inputs, Wx and bx replace the linear map before it, and the gates are full matrices on x, not block-diagonal on its
    d features. The code's first step has 1 in place of the root; here it is like all others, and the root's derivative
    is not clipped, but 0 where the gate r rounds to 0. Matrices start as N(0, 1/p), biases as 0, Λ so that
    a = exp(−softplus(Λ)) has a² of U(0.9², 0.999²): at an open gate α = a⁸. Λ and the biases have no weight decay. The
    read-out sees h. Trainable parameters: 3 (dp + d) + d.

    No published result of it is available here: Griffin's are of networks that alternate it with attention.

    Args: see ``Recurrence``.
    """

    WEIGHTS = RGLRUWeights
    STATE = ("h",)
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"rates": WeightGroup(("Lambda", "br", "bi", "bx"), decay=False)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Wr, Wi and Wx (d, p), br, bi and bx (d,), Λ (d,)."""
        p, d = self.input_size, self.hidden_size
        maps = {kind + k: shape for k in "rix" for kind, shape in (("W", (d, p)), ("b", (d,)))}
        return {**maps, "Lambda": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        if name == "Lambda":
            nn.init.uniform_(weight, LEAST**2, MOST**2, generator=generator)
            weight.log_().mul_(-0.5).expm1_().log_()  # softplus⁻¹ of −log a
        else:
            nn.init.normal_(weight, 0.0, self.input_size**-0.5 if name[0] == "W" else 0.0, generator=generator)

    def drive(self, x: Tensor, w: RGLRUWeights) -> tuple[Tensor, ...]:
        """Return the logits of r and i, and the input."""
        return affine(w.Wr, x, w.br), affine(w.Wi, x, w.bi), affine(w.Wx, x, w.bx)

    def step(self, u: tuple[Tensor, ...], state: State, w: RGLRUWeights) -> State:
        """Return (h[n],)."""
        r, i, x = u
        rate = SHARPNESS * softplus(w.Lambda) * sigmoid(r)
        t = tanh(rate)
        return ((-rate).exp() * state[0] + (2 * t / (1 + t)).clamp_min(SMALLEST).sqrt() * (sigmoid(i) * x),)


MODEL = ModelSpec(
    name="rg_lru",
    title="RG-LRU",
    family="gated scan",
    source="De et al. 2024, Griffin, arXiv:2402.19427, eqs. 1-4, and the authors' code",
    layer=RGLRU,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 3 * (d * p + d) + d + (d + 1) * q,
)
