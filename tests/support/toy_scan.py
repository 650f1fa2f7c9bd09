"""A linear scan with complex states, as in linear state-space models: no recurrence, no step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from longwave.models.base.algebra import affine, complex_of
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import learning_rate
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import Complex, WeightGroup


@dataclass(frozen=True)
class ScanWeights:
    """λ, (M, 1, d), B and C, all complex, and D."""

    pole: Tensor
    B: Tensor
    C: Tensor
    D: Tensor


class LinearScan(SequenceLayer[ScanWeights]):
    """Linear scan: h[n] = λ h[n-1] + B x[n],  y[n] = Re(C h[n]) + D x[n],  λ = exp(−exp(ν) + i θ)."""

    WEIGHTS = ScanWeights
    GROUPS = {"poles": WeightGroup(("nu", "theta"), rate=0.5, decay=False)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        p, d = self.input_size, self.hidden_size
        return {"nu": (d,), "theta": (d,), "B": Complex((d, p)), "C": Complex((d, d)), "D": (d, p)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        if name == "nu":
            nn.init.uniform_(weight, 0.9, 0.999, generator=generator).log_().neg_().log_()
        elif name == "theta":
            nn.init.uniform_(weight, 0.0, 0.3, generator=generator)
        else:
            super().draw(name, weight, hyper, generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> ScanWeights:
        pole = torch.exp(torch.complex(-tensors["nu"].exp(), tensors["theta"]))
        return ScanWeights(pole, tensors["B"], tensors["C"], tensors["D"])

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size, 2)}

    def scan(self, x: Tensor, state: State, w: ScanWeights, generators: Generators) -> tuple[Tensor, State]:
        h, pole, step = affine(w.B, x.to(w.B.dtype)), w.pole.unsqueeze(1), 1
        h = torch.cat([h[:, :1] + pole * complex_of(state[0]).unsqueeze(1), h[:, 1:]], 1)
        while step < h.shape[1]:  # after k rounds h[n] has the last 2^k inputs in it
            h, pole, step = torch.cat([h[:, :step], h[:, step:] + pole * h[:, :-step]], 1), pole * pole, 2 * step
        return affine(w.C, h).real + affine(w.D, x), (torch.view_as_real(h[:, -1]),)


MODEL = ModelSpec(
    name="toy_scan",
    title="Linear scan",
    family="toy",
    source="this test",
    layer=LinearScan,
    lr=learning_rate(1e-3, 1e-2),
    count=lambda p, d, q, **_: 2 * d + 3 * d * p + 2 * d * d + (d + 1) * q,
)
