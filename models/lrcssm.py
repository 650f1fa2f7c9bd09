"""LrcSSM: liquid-resistance liquid-capacitance neurons with a diagonal recurrence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec

DT = Param("dt", "Δt", 0.1, 1.0, False, "steps", "Time step.", searched=False, default=1.0, most=1.0)


@dataclass(frozen=True)
class LrcWeights:
    """Maps of the input synapses, the neuron's self-synapse, leak, elastance, and Δt."""

    Wf: Tensor
    Wg: Tensor
    mu: Tensor
    sigma: Tensor
    wf: Tensor
    wg: Tensor
    g_leak: Tensor
    v_leak: Tensor
    k: Tensor
    b: Tensor
    dt: Tensor
    shift: Tensor | None = None


class LrcSSM(Recurrence[LrcWeights]):
    """Liquid-resistance liquid-capacitance network with a diagonal Jacobian, (T, B, p) to (T, B, d).

    Source: Farsang et al. 2025 (arXiv:2505.21717), in the form of the authors' code, real and diagonal::

        s = σ(σx (x[n] − μx))                   the inputs' synapses        r = σ(σ (h[n-1] − μ))     the neuron's own
        f = g_leak + Wf s + wf r                g = g_leak + Wg s + wg r
        h[n] = h[n-1] + Δt ε(h[n-1]) (−σ(f) h[n-1] + v_leak tanh(g))

    with the elastance ε(h) = σ(k h + b), or, symmetric, σ(k h + b + shift) − σ(k h + b − shift). All weights except Wf
    and Wg (d, p) are vectors, and all start as U(−1/√d, 1/√d). The read-out sees h. Trainable parameters: 2dp + 2p +
    8d, with a symmetric elastance 2dp + 2p + 9d.

    Args:
        elastance: ``"asymmetric"`` or ``"symmetric"``.
        dt: 0 < Δt ≤ 1, in input steps.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = LrcWeights
    STATE = ("h",)
    PARAMS = (DT,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"elastance": ("asymmetric", "symmetric")}
    elastance: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Wf and Wg (d, p), the vectors of the inputs (p,), and those of the neurons (d,)."""
        p, d = self.input_size, self.hidden_size
        of_neuron = ["mu", "sigma", "wf", "wg", "g_leak", "v_leak", "k", "b"]
        of_neuron += ["shift"] if self.elastance == "symmetric" else []
        return {"mu_x": (p,), "sigma_x": (p,), "Wf": (d, p), "Wg": (d, p), **dict.fromkeys(of_neuron, (d,))}

    def run(self, x: Tensor, state: State, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state of the loop over s, the synapses' activity."""
        tensors = self.lifted_tensors()
        mu, sigma = tensors["mu_x"].unsqueeze(1), tensors["sigma_x"].unsqueeze(1)
        return self.through(sigmoid(sigma * (x - mu)), state, generators)

    def drive(self, x: Tensor, w: LrcWeights) -> tuple[Tensor, ...]:
        """Return f and g without the self-synapse, with s in place of x."""
        return affine(w.Wf, x, w.g_leak), affine(w.Wg, x, w.g_leak)

    def step(self, u: tuple[Tensor, ...], state: State, w: LrcWeights) -> State:
        """Return (h[n],)."""
        (f, g), (h,) = u, state
        r = sigmoid(w.sigma * (h - w.mu))
        at = w.k * h + w.b
        elastance = sigmoid(at) if w.shift is None else sigmoid(at + w.shift) - sigmoid(at - w.shift)
        return (h + w.dt * elastance * (w.v_leak * tanh(g + w.wg * r) - sigmoid(f + w.wf * r) * h),)


MODEL = ModelSpec(
    name="lrcssm",
    title="LrcSSM",
    family="state space",
    source="Farsang et al., NeurIPS 2025, arXiv:2505.21717, and the authors' code",
    layer=LrcSSM,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, elastance="asymmetric", **_: (
        2 * d * p + 2 * p + (9 if elastance == "symmetric" else 8) * d + (d + 1) * q
    ),
)
