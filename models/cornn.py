"""coRNN: a network of coupled, damped, driven oscillators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn, relu, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec

TABLE = "coRNN, Appendix B, Table 7"
DT = Param("dt", "Δt", 0.01, 0.1, True, "steps", "Time step of the discretised oscillators.", TABLE)
TRAINED_DT = replace(DT, most=0.99)
"""Δt = σ(·) is below 1; the limit leaves room for rounding."""
GAMMA = Param("gamma", "γ", 0.1, 10.0, True, "1", "Squared natural frequency.", TABLE, zero=True)
EPSILON = Param("epsilon", "ε", 0.1, 10.0, True, "1", "Damping of the velocity.", TABLE, zero=True)


@dataclass(frozen=True)
class CoRNNWeights:
    """The weights, and Δt, γ, ε, learned or fixed."""

    V: Tensor
    W: Tensor
    Wz: Tensor
    b: Tensor
    dt: Tensor
    gamma: Tensor
    epsilon: Tensor


class CoRNN(Recurrence[CoRNNWeights]):
    """Coupled oscillatory RNN, (T, B, p) to (T, B, d).

    Source: Rusch and Mishra 2021 (arXiv:2010.00951), eq. 3. With ``damping="explicit"``, as in all its experiments::

        z[n] = z[n-1] + Δt (tanh(W y[n-1] + 𝒲 z[n-1] + V x[n] + b) − γ y[n-1] − ε z[n-1])
        y[n] = y[n-1] + Δt z[n]

    With ``damping="implicit"`` ε z[n] replaces ε z[n-1], so z[n] is the explicit sum without its damping term, divided
    by 1 + Δt ε. The read-out sees y. 𝒲 is ``Wz`` here. With ``trainable=True`` Δt, γ, ε are initial values of three
    trained parameters (Appendix B): Δt = σ(·), γ and ε = ReLU(·), so that a γ or ε of 0 stays 0.
    Trainable parameters: 2d² + dp + d, and 3 with ``trainable``.

    Weights start as U(−k, k), k = 1/√(p + 2d): one affine map over x, z and y, as in the authors' code for the
    adding, MNIST and activity tasks. On two tasks that code has separate maps, each with its own k: noise-padded
    CIFAR, 1/√p for V and b, 1/√d for W and 𝒲; IMDB, 1/√p for V and b, 1/√(2d) for W and 𝒲. Here the first
    initialisation is used there too, so that no model depends on its task; its k is smaller than each of these.

    Args:
        dt: Δt > 0, in input steps; at most 0.99 with ``trainable``.
        gamma, epsilon: γ ≥ 0 and ε ≥ 0, dimensionless. Stable, and |y|² + |z|²/γ ≤ d n Δt/γ, for ε > 1/2 and
            Δt < (2ε − 1)/(γ + ε²) (explicit) or Δt < (2ε − 1)/γ (implicit).
        damping: ``"explicit"`` or ``"implicit"``.
        trainable: Whether Δt, γ, ε are trained.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = CoRNNWeights
    STATE = ("y", "z")
    PARAMS = (DT, GAMMA, EPSILON)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "damping": ("explicit", "implicit"),
        "trainable": (False, True),
    }
    damping: str
    trainable: bool

    @classmethod
    def relevant(cls, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return Δt, γ and ε; a trained Δt = σ(·) has an upper limit."""
        return (TRAINED_DT if options["trainable"] else DT, GAMMA, EPSILON)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W and Wz (d, d), b (d,); if trainable, the learned shifts of Δt, γ and ε, (1,)."""
        p, d = self.input_size, self.hidden_size
        learned: dict[str, tuple[int, ...]] = dict.fromkeys(("dt_shift", "gamma_shift", "epsilon_shift"), (1,))
        return {"V": (d, p), "W": (d, d), "Wz": (d, d), "b": (d,), **(learned if self.trainable else {})}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` with U(−k, k), k = 1/√(p + 2d); the shifts with 0."""
        if name.endswith("_shift"):
            weight.zero_()
            return
        bound = (self.input_size + 2 * self.hidden_size) ** -0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> CoRNNWeights:
        """Return the weights, with the learned Δt, γ, ε if they are trained."""
        if not self.trainable:
            return super().weights(tensors)
        dt = sigmoid(torch.logit(tensors["dt"]) + tensors["dt_shift"])
        gamma, epsilon = (relu(tensors[name] + tensors[f"{name}_shift"]) for name in ("gamma", "epsilon"))
        return super().weights({**tensors, "dt": dt, "gamma": gamma, "epsilon": epsilon})

    def drive(self, x: Tensor, w: CoRNNWeights) -> tuple[Tensor, ...]:
        """Return V x + b."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: CoRNNWeights) -> State:
        """Return (y[n], z[n]), eq. 3."""
        y, z = state
        force = tanh(affine(w.W, y, affine(w.Wz, z, u[0]))) - w.gamma * y
        if self.damping == "implicit":
            z = (z + w.dt * force) / (1 + w.dt * w.epsilon)
        else:
            z = z + w.dt * (force - w.epsilon * z)
        return y + w.dt * z, z


_STIFF = {"gamma": (1.0, 100.0), "epsilon": (1.0, 100.0)}

MODEL = ModelSpec(
    name="cornn",
    title="coRNN",
    family="oscillator",
    source="Rusch and Mishra, ICLR 2021, arXiv:2010.00951, eq. 3",
    layer=CoRNN,
    lr=learning_rate(1e-4, 1e-1, TABLE),
    count=lambda p, d, q, trainable=False, **_: 2 * d * d + d * p + d + (d + 1) * q + 3 * trainable,
    ranges={"adding": _STIFF, "ncifar": _STIFF},
    best=(
        Best("adding N=5000", 128, {"lr": 0.02, "dt": 0.016, "gamma": 94.5, "epsilon": 9.5}),
        Best("smnist", 128, {"lr": 0.0035, "dt": 0.053, "gamma": 1.7, "epsilon": 4}),
        Best("smnist", 256, {"lr": 0.0021, "dt": 0.042, "gamma": 2.7, "epsilon": 4.7}),
        Best("psmnist", 128, {"lr": 0.0037, "dt": 0.083, "epsilon": 4.1}, "γ is not legible in the source"),
        Best("psmnist", 256, {"lr": 0.0054, "dt": 0.076, "gamma": 0.4, "epsilon": 8.0}),
        Best("ncifar", 128, {"lr": 0.0075, "dt": 0.034, "gamma": 1.3, "epsilon": 12.7}),
        Best("har2", 64, {"lr": 0.017, "dt": 0.1, "gamma": 0.2, "epsilon": 6.4}),
        Best("imdb", 128, {"lr": 0.0006, "dt": 0.054, "gamma": 4.9, "epsilon": 4.8}),
    ),
    best_source="coRNN, Appendix B, Table 8",
    printed=dict.fromkeys(("tiny", "64 units", "128 units", "256 units"), {}),
)
