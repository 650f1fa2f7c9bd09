"""The fused loop of every model with matrix states, with each of its choices, against float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from cases import Options, every_case
from kernel_cases import on_cpu
from torch import Tensor

from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.kernels import using
from longwave.models.lem import LEM

CASES = [case for case in every_case() if issubclass(case.values[0].layer, MatrixRecurrence)]
SIZES = Sizes(inputs=3, hidden=21, outputs=2, length=120)


def build(spec: ModelSpec, options: Options) -> Any:
    """Two members, drawn from seed 0."""
    torch.manual_seed(0)
    return spec.build(SIZES, 2, **options)


def outcome(layer: Any, x: Tensor) -> list[Tensor]:
    """Outputs, last states, and the gradients of a weighted sum of both by the input and all weights."""
    x = x.to(layer.dtype).requires_grad_()
    output, last = layer(x)
    tensors = [output, *last]
    draws = torch.Generator().manual_seed(1)
    total = torch.stack([(t * torch.randn(t.shape, generator=draws).to(t)).sum() for t in tensors]).sum()
    return [*tensors, *torch.autograd.grad(total, [x, *layer.parameters()])]


def furthest(ours: Sequence[Tensor], truth: Sequence[Tensor]) -> float:
    return max(((a.double() - b).norm() / b.norm()).item() for a, b in zip(ours, truth, strict=True))


@pytest.mark.parametrize("spec, options", CASES)
def test_the_fused_loop_of_a_model_is_as_near_to_float64_as_the_plain_one(spec: ModelSpec, options: Options) -> None:
    layer, exact = build(spec, options), build(spec, options).double()
    exact.load_state_dict({name: t.double() for name, t in layer.state_dict().items()})
    on_cpu(LEM(1, 4))
    assert layer.why().path == "cpu"
    x = torch.randn(2, 120, 3, 3)
    truth = outcome(exact, x)
    with using("reference"):
        plain = outcome(layer, x)
    assert furthest(outcome(layer, x), truth) <= max(1e-5, 2 * furthest(plain, truth))
