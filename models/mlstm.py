"""mLSTM: the LSTM of xLSTM with a matrix memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn, sigmoid
from torch.nn.functional import softplus

from longwave.models.base.algebra import affine
from longwave.models.base.heads import by_head, head_sizes, outer, read
from longwave.models.base.layer import State
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.models.kernels.matrix.form import Form

FORGET = (3.0, 6.0)
"""Biases of the forget gates, of the first and of the last head."""
STD = 0.1
"""Initial standard deviation of the input gates' biases."""
EPSILON = 1e-6
"""Constant added to the normaliser."""


@dataclass(frozen=True)
class MLSTMWeights:
    """Wq and Wk (M, Hw, p), Wv and Wo (M, d, p), Wi and Wf (M, H, p), biases (M, 1, ·), for H heads of width w."""

    Wq: Tensor
    Wk: Tensor
    Wv: Tensor
    Wo: Tensor
    Wi: Tensor
    Wf: Tensor
    bo: Tensor
    bi: Tensor
    bf: Tensor


class MLSTM(MatrixRecurrence[MLSTMWeights]):
    """LSTM with matrix memories and exponential gates, (T, B, p) to (T, B, d).

    Source: Beck et al. 2024 (arXiv:2405.04517), eqs. 19-27, and the authors' code (NX-AI/xlstm); with a matrix C, a
    vector n and a scalar m for each of H heads, which are w = ⌈d/heads⌉ wide::

        q, k, v = Wq x, Wk x/√w, Wv x      i, f, o = Wi x + bi, log σ(Wf x + bf), σ(Wo x + bo)
        m[n] = max(m[n-1] + f, i)          i' = exp(i − m[n])       f' = exp(m[n-1] + f − m[n])
        C[n] = f' C[n-1] + i' k vᵀ         n[n] = f' n[n-1] + i' k
        h[n] = o C[n]ᵀ q / (max(|n[n]ᵀ q|, exp(−m[n])) + 10⁻⁶)

    The stabiliser m affects h only through the 10⁻⁶. If ``heads`` does not divide d, the last head has fewer columns.
    Wq, Wk, Wv and Wo start as N(0, 2/(5p)), Wi, Wf and bo as 0, bi as N(0, 0.1²), bf evenly from 3 in the first head to
    6 in the last. Biases have no weight decay. The read-out sees h; convolution, group norm and skip are not part of
    the cell.
    Trainable parameters: 2pHw + 2pd + 2pH + d + 2H.

    Args: ``heads``, 4, 1, 2 or 8 at most; for the others see ``Recurrence``.
    """

    WEIGHTS = MLSTMWeights
    STATE = ("C", "n", "m")
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"heads": (4, 1, 2, 8)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"biases": WeightGroup(("bo", "bi", "bf"), decay=False)}
    heads: int

    def form(self) -> Form:
        """Return H matrices (w, w), and the axes of C, n and m, and of q, k, v, i and f."""
        heads, width = head_sizes(self.hidden_size, self.heads)
        drives = {"q": "i", "k": "i", "v": "j", "i": "", "f": ""}
        return Form(heads, width, width, {"C": "ij", "n": "i", "m": ""}, drives)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Wq and Wk (Hw, p), Wv and Wo (d, p), Wi and Wf (H, p), bo (d,), bi and bf (H,)."""
        p, d, (heads, width) = self.input_size, self.hidden_size, head_sizes(self.hidden_size, self.heads)
        maps = {"Wq": (heads * width, p), "Wk": (heads * width, p), "Wv": (d, p), "Wo": (d, p), "Wi": (heads, p)}
        return {**maps, "Wf": (heads, p), "bo": (d,), "bi": (heads,), "bf": (heads,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        if name == "bf":
            weight.copy_(torch.linspace(*FORGET, len(weight)))
        elif name in ("Wi", "Wf", "bo"):
            weight.zero_()
        else:
            std = STD if name == "bi" else (2 / (5 * self.input_size)) ** 0.5
            nn.init.normal_(weight, 0.0, std, generator=generator)

    def drive(self, x: Tensor, w: MLSTMWeights) -> tuple[Tensor, ...]:
        """Return q, k, v, i and log σ of the forget gate."""
        heads = w.Wi.shape[1]
        q, k, v = (by_head(affine(m, x), heads) for m in (w.Wq, w.Wk, w.Wv))
        return q, k * k.shape[-1] ** -0.5, v, affine(w.Wi, x, w.bi), -softplus(-affine(w.Wf, x, w.bf))

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return h[n] without its gate o, and C[n], n[n] and m[n]."""
        (q, k, v, i, f), (C, n, m) = u, state
        f = m + f
        m = f.maximum(i)
        k, keep = (i - m).exp().unsqueeze(-1) * k, (f - m).exp().unsqueeze(-1)
        C, n = keep.unsqueeze(-1) * C + outer(k, v), keep * n + k
        size = (n * q).sum(-1).abs().maximum((-m).exp()) + EPSILON
        return read(C, q) / size.unsqueeze(-1), (C, n, m)

    def finish(self, outputs: Tensor, x: Tensor, w: MLSTMWeights) -> Tensor:
        """Return h."""
        return outputs.flatten(-2)[..., : self.hidden_size] * sigmoid(affine(w.Wo, x, w.bo))


def count(p: int, d: int, q: int, heads: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and the read-out."""
    heads, width = head_sizes(d, heads)
    return p * (2 * heads * width + 2 * d + 2 * heads) + d + 2 * heads + (d + 1) * q


MODEL = ModelSpec(
    name="mlstm",
    title="mLSTM",
    family="gated",
    source="Beck et al., NeurIPS 2024, arXiv:2405.04517, eqs. 19-27, and the authors' code",
    layer=MLSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
