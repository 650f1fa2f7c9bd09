"""sLSTM: the scalar LSTM of xLSTM, with exponential gates, a normaliser and recurrent weights within heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn, sigmoid, tanh, where
from torch.nn.functional import softplus

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup


@dataclass(frozen=True)
class SLSTMWeights:
    """W (4d, p), R (4d, d) and b (4d,), rows in the order z, i, f, o; R is 0 between heads."""

    W: Tensor
    R: Tensor
    b: Tensor


class SLSTM(Recurrence[SLSTMWeights]):
    """Scalar LSTM with exponential gates, (T, B, p) to (T, B, d).

    Source: Beck et al. 2024 (arXiv:2405.04517), eqs. 8-17, and the authors' code (NX-AI/xlstm)::

        z, i, f, o = W x[n] + R h[n-1] + b
        m[n] = max(m[n-1] + log σ(f), i)          i' = exp(i − m[n])       f' = exp(m[n-1] + log σ(f) − m[n])
        c[n] = f' c[n-1] + i' tanh(z)             n[n] = f' n[n-1] + i'    h[n] = σ(o) c[n] / n[n]

    with m[n] = i where n[n-1] = 0, as in the first step. The stabiliser m does not affect h. A unit's recurrent weights
    reach only units of its own head; the first heads have one unit more if ``heads`` does not divide d. W starts as
    N(0, 2/(5p)), R as 0, and b as 0 except for f, where unit j of a head of w has 5 − 12 (j/(w − 1))^0.3. R and b have
    no weight decay. The read-out sees h; convolution and group norm are not part of the cell. The fused loop multiplies
    by the whole matrix, zeros between heads included. Trainable parameters: 4 (dp + d²/heads + d), where ``heads``
    divides d.

    Args: ``heads``, 1, 2 or 4; for the others see ``Recurrence``.
    """

    WEIGHTS = SLSTMWeights
    STATE = ("h", "c", "n", "m")
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"heads": (1, 2, 4)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"recurrent": WeightGroup(("R", "b"), decay=False)}
    heads: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return W (4d, p), R (4, the pairs of units of one head), b (4d,)."""
        p, d = self.input_size, self.hidden_size
        return {"W": (4 * d, p), "R": (4, sum(w * w for w in widths(d, self.heads))), "b": (4 * d,)}

    def weights(self, tensors: Mapping[str, Tensor]) -> SLSTMWeights:
        """Return the weights, R as a block-diagonal matrix with a block per head."""
        R, d = tensors["R"], self.hidden_size
        blocks = torch.block_diag(*(torch.ones(w, w) for w in widths(d, self.heads)))
        rows, columns = (k.to(R.device) for k in blocks.nonzero(as_tuple=True))
        full = R.new_zeros(len(R) * 4, d, d)
        full = full.index_put((torch.arange(len(full), device=R.device)[:, None], rows, columns), R.flatten(0, 1))
        return super().weights({**tensors, "R": full.view(-1, 4 * d, d)})

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as the authors' code does in its first block."""
        weight.zero_()
        if name == "W":
            nn.init.normal_(weight, 0.0, (2 / (5 * self.input_size)) ** 0.5, generator=generator)
        elif name == "b":
            spread = [5 - 12 * torch.linspace(0, 1, w) ** 0.3 for w in widths(self.hidden_size, self.heads)]
            weight.chunk(4)[2].copy_(torch.cat(spread))

    def drive(self, x: Tensor, w: SLSTMWeights) -> tuple[Tensor, ...]:
        """Return W x + b."""
        return (affine(w.W, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: SLSTMWeights) -> State:
        """Return (h[n], c[n], n[n], m[n])."""
        h, c, n, m = state
        z, i, f, o = affine(w.R, h, u[0]).chunk(4, -1)
        f = m - softplus(-f)
        m = where(n == 0.0, i, f.maximum(i))
        i, f = (i - m).exp(), (f - m).clamp_max(0.0).exp()
        c, n = f * c + i * tanh(z), f * n + i
        return sigmoid(o) * c / n, c, n, m


def widths(d: int, heads: int) -> list[int]:
    """Return the number of units of each head of d, as equal as possible."""
    return [len(units) for units in torch.arange(d).tensor_split(heads)]


def count(p: int, d: int, q: int, heads: int = 1, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and the read-out."""
    return 4 * (d * p + sum(w * w for w in widths(d, heads)) + d) + (d + 1) * q


MODEL = ModelSpec(
    name="slstm",
    title="sLSTM",
    family="gated",
    source="Beck et al., NeurIPS 2024, arXiv:2405.04517, eqs. 8-17, and the authors' code",
    layer=SLSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
