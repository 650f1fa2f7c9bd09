"""The rule for fused loops: they compute the same as the plain loop."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor
from torch.func import functional_call

from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import Sizes
from longwave.models.kernels import using
from longwave.platform.contracts.rule import NotMeant, require
from longwave.platform.contracts.small import Case, are_close, draw_normal, start_of

FUSED = 1e-4
"""Largest relative difference of a fused loop, in float32, from the plain one."""


def check_fused(case: Case) -> None:
    """Check outputs, states and all gradients of the fused loop, if there is one, against the plain loop."""
    chosen: dict[str, Any] = {**case.points(2, case.params)}
    layer = case.layer(2, Sizes(2, 16, 3, 20), **chosen).to(torch.float32)
    if (route := layer.why()).path == "reference":
        raise NotMeant(f"its loop is not fused: {route.reason}")
    fused = _run_loop(case, layer)
    with using("reference"):
        plain = _run_loop(case, layer)
    for name, tensor in fused.items():
        require(are_close(tensor.double(), plain[name].double(), FUSED), f"the fused loop gives a different {name}")


def _run_loop(case: Case, layer: SequenceLayer[Any]) -> dict[str, Tensor]:
    """Return outputs, last state, and the gradients of input, start state, weights and numbers, all float32."""
    integers = {p.name for p in case.params if p.whole}
    arguments = {"input": draw_normal(2, 20, 6, 2).float()}
    arguments |= {f"state {k}": tensor.float() for k, tensor in enumerate(start_of(layer, 6))}
    count = len(arguments)
    arguments |= {name: tensor for name, tensor in layer.state_dict().items() if name not in integers}
    x, *others = leaves = [tensor.detach().clone().requires_grad_() for tensor in arguments.values()]
    parameters = dict(zip([*arguments][count:], others[count - 1 :], strict=True))
    seeds = [Generator().manual_seed(k) for k in range(2)]
    output, state = functional_call(layer, parameters, (x, tuple(others[: count - 1]), seeds))
    tensors = {"output": output} | {f"last state {k}": tensor for k, tensor in enumerate(state)}
    total = torch.stack([(t * draw_normal(*t.shape, seed=k)).sum() for k, t in enumerate(tensors.values())]).sum()
    slopes = torch.autograd.grad(total, leaves, materialize_grads=True, allow_unused=True)
    return tensors | {f"gradient of {name}": slope for name, slope in zip(arguments, slopes, strict=True)}
