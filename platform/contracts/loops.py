"""The rule of fused loops: they compute what the plain loop does."""

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
"""Relative difference of a fused loop, in float32, from the plain one."""


def check_fused(case: Case) -> None:
    """Check outputs, states and all gradients of the fused loop against the plain one, where it is fused."""
    chosen: dict[str, Any] = {**case.points(2, case.params)}
    layer = case.layer(2, Sizes(2, 16, 3, 20), **chosen).to(torch.float32)
    if (route := layer.why()).path == "reference":
        raise NotMeant(f"its loop is not fused: {route.reason}")
    ours = _run_loop(case, layer)
    with using("reference"):
        plain = _run_loop(case, layer)
    for name, tensor in ours.items():
        require(are_close(tensor.double(), plain[name].double(), FUSED), f"the fused loop gives a different {name}")


def _run_loop(case: Case, layer: SequenceLayer[Any]) -> dict[str, Tensor]:
    """Return outputs, last state, and the gradients of input, start state, weights and numbers, all float32."""
    whole = {p.name for p in case.params if p.whole}
    given = {"input": draw_normal(2, 20, 6, 2).float()}
    given |= {f"state {k}": tensor.float() for k, tensor in enumerate(start_of(layer, 6))}
    count = len(given)
    given |= {name: tensor for name, tensor in layer.state_dict().items() if name not in whole}
    x, *rest = free = [tensor.detach().clone().requires_grad_() for tensor in given.values()]
    own = dict(zip([*given][count:], rest[count - 1 :], strict=True))
    seeds = [Generator().manual_seed(k) for k in range(2)]
    output, state = functional_call(layer, own, (x, tuple(rest[: count - 1]), seeds))
    tensors = {"output": output} | {f"last state {k}": tensor for k, tensor in enumerate(state)}
    total = torch.stack([(t * draw_normal(*t.shape, seed=k)).sum() for k, t in enumerate(tensors.values())]).sum()
    slopes = torch.autograd.grad(total, free, materialize_grads=True, allow_unused=True)
    return tensors | {f"gradient of {name}": slope for name, slope in zip(given, slopes, strict=True)}
