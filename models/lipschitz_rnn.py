"""Lipschitz RNN: a linear part and a Lipschitz nonlinearity, with matrices whose spectrum is bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec

TEXT = "Lipschitz RNN, Appendix C"
EPSILON = Param("epsilon", "ε", 0.001, 1.0, True, "steps", "Step of the solver.", TEXT)
BETA = Param("beta", "β", 0.65, 0.8, False, "1", "Share of the skew-symmetric part of A.", TEXT, zero=True, most=1.0)
GAMMA = Param("gamma", "γ", 0.001, 1.0, True, "1/step", "Shift of A's spectrum to the left.", TEXT, zero=True)
BETA_W = replace(BETA, name="beta_w", symbol="β_W", meaning="β of W.", default="beta", searched=False)
GAMMA_W = replace(GAMMA, name="gamma_w", symbol="γ_W", meaning="γ of W.", default="gamma", searched=False)
ALPHA = Param(
    "alpha",
    "α",
    0.0,
    1.6,
    False,
    "1",
    "Weight of the linear part, eq. 12.",
    "Lipschitz RNN, Fig. 3",
    zero=True,
    default=1.0,
    searched=False,
)
SIGMA = Param(
    "sigma",
    "σd",
    0.1,
    12.0,
    True,
    "1",
    "Initial standard deviation of the entries of M, times d.",
    TEXT,
    default=0.1,
    searched=False,
)


@dataclass(frozen=True)
class LipschitzWeights:
    """α A and W, (M, d, d), U, b, ε."""

    A: Tensor
    W: Tensor
    U: Tensor
    b: Tensor
    epsilon: Tensor


class LipschitzRNN(Recurrence[LipschitzWeights]):
    """Lipschitz recurrent unit, (T, B, p) to (T, B, d).

    Source: Erichson et al. 2021 (arXiv:2006.12070), eqs. 1, 2, 9, 10, and 12 for α::

        S(M; β, γ) = (1 − β)(M + Mᵀ) + β (M − Mᵀ) − γ I        A = S(M_A; β, γ)    W = S(M_W; β_W, γ_W)
        f(h, x) = α A h + tanh(W h + U x + b)
        h[n] = h[n-1] + ε f(h[n-1], x[n])                                          (Euler)
        h[n] = h[n-1] + ε f(h[n-1] + ε/2 f(h[n-1], x[n]), x[n])                    (RK2, the midpoint rule)

    The entries of M_A and M_W start as N(0, (σd/d)²), U and b as U(−1/√p, 1/√p). σ is a standard deviation, as in
    the authors' code; the paper calls it the variance. The read-out sees h. Trainable parameters: 2d² + dp + d.

    Args:
        epsilon: ε > 0, in input steps.
        beta, gamma: 0 ≤ β ≤ 1 and γ ≥ 0 of A. Re λ(A) lies in 2 (1 − β) [λmin, λmax] − γ, with the extreme
            eigenvalues of (M + Mᵀ)/2. The paper omits the 2.
        beta_w, gamma_w: The same for W; by default those of A.
        alpha: α ≥ 0; with α = 0 the unit is a neural-ODE RNN.
        sigma: σd > 0, scale of the initialisation.
        scheme: ``"euler"`` or ``"rk2"``.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = LipschitzWeights
    STATE = ("h",)
    PARAMS = (EPSILON, BETA, GAMMA, BETA_W, GAMMA_W, ALPHA, SIGMA)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"scheme": ("euler", "rk2")}
    scheme: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return MA and MW (d, d), U (d, p), b (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"MA": (d, d), "MW": (d, d), "U": (d, p), "b": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: normal for M, as torch.nn.Linear for U and b."""
        draw_small(name in ("MA", "MW"), weight, hyper["sigma"] / self.hidden_size, self.input_size, generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> LipschitzWeights:
        """Return the weights, α A and W among them."""
        A = tensors["alpha"] * structured(tensors["MA"], tensors["beta"], tensors["gamma"])
        return super().weights(
            {**tensors, "A": A, "W": structured(tensors["MW"], tensors["beta_w"], tensors["gamma_w"])}
        )

    def drive(self, x: Tensor, w: LipschitzWeights) -> tuple[Tensor, ...]:
        """Return U x + b."""
        return (affine(w.U, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: LipschitzWeights) -> State:
        """Return (h[n],), eq. 9 or 10."""
        (h,) = state
        k = h if self.scheme == "euler" else h + w.epsilon / 2 * slope(h, u[0], w)
        return (h + w.epsilon * slope(k, u[0], w),)


def structured(m: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
    """Return S(M; β, γ), (M, d, d), eq. 2."""
    symmetric, skewed = (1 - beta) * (m + m.mT), beta * (m - m.mT)
    return symmetric + skewed - gamma * torch.eye(m.shape[-1], dtype=m.dtype, device=m.device)


def slope(h: Tensor, u: Tensor, w: LipschitzWeights) -> Tensor:
    """Return f(h, x), with u = U x + b."""
    return affine(w.A, h, tanh(affine(w.W, h, u)))


def draw_small(recurrent: bool, weight: Tensor, std: float, inputs: int, generator: Generator | None) -> None:
    """Fill a hidden-to-hidden weight with N(0, std²), any other as torch.nn.Linear(inputs, d) does."""
    if recurrent:
        nn.init.normal_(weight, 0.0, std, generator=generator)
    else:
        nn.init.uniform_(weight, -(inputs**-0.5), inputs**-0.5, generator=generator)


_MNIST = {"beta": 0.75, "gamma": 0.001, "epsilon": 0.03, "sigma": 0.1}
_LANGUAGE = {"beta": 0.8, "gamma_w": 0.001}

MODEL = ModelSpec(
    name="lipschitz_rnn",
    title="Lipschitz RNN",
    family="ODE",
    source="Erichson et al., ICLR 2021, arXiv:2006.12070, eqs. 1, 2, 9, 10, 12",
    layer=LipschitzRNN,
    lr=learning_rate(0.001, 0.005, TEXT),
    count=lambda p, d, q, **_: 2 * d * d + d * p + d + (d + 1) * q,
    ranges=dict.fromkeys(("scifar", "ncifar", "ptb_word"), {"lr": (0.1, 0.1)}),
    best=(
        Best("smnist", 64, {"lr": 0.003, **_MNIST}),
        Best("smnist", 128, {"lr": 0.003, **_MNIST}),
        Best("psmnist", 64, {"lr": 0.0035, **_MNIST}, "σ is printed as 0.1/128"),
        Best("psmnist", 128, {"lr": 0.0035, **_MNIST}),
        Best("scifar", 256, {"lr": 0.1, "beta": 0.65, "gamma": 0.001, "epsilon": 0.01, "sigma": 6}, "lr of SGD"),
        Best("ncifar", 256, {"lr": 0.1, "beta": 0.75, "gamma": 0.001, "epsilon": 0.01, "sigma": 6}, "lr of SGD"),
        Best("timit", 256, {"lr": 0.001, **_LANGUAGE, "gamma": 0.8, "epsilon": 0.9, "sigma": 12}),
        Best(
            "ptb_char",
            750,
            {"lr": 0.005, **_LANGUAGE, "gamma": 0.5, "epsilon": 0.1, "sigma": 12},
            "σ is printed as 12/256",
        ),
        Best(
            "ptb_word",
            160,
            {"lr": 0.1, **_LANGUAGE, "gamma": 0.9, "epsilon": 0.01, "sigma": 10},
            "lr of SGD; σ is printed as 10/256",
        ),
    ),
    best_source="Lipschitz RNN, Appendix C, Table 8",
    printed={"euler": {"scheme": "euler"}, "rk2": {"scheme": "rk2"}},
)
