"""Operands gathered by index, for a GPU, equal those that torch assembles weight by weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
import torch
from every_model import CASES, build
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from longwave.models.kernels import dispatch
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.triton import gathered

CPU = torch.device("cpu")


def loops_of(case: str, members: int | None) -> list[tuple[Loop, list[Tensor]]]:
    """Return the compiled loops of a model, and copies of its stored weights."""
    layer, loops = build(case, 11, members=members), []
    for k, width in enumerate(layer.loops()):
        try:
            loop, weights = layer.loop_of(k, width)
        except Unsupported:
            continue
        loops.append((loop, [w.detach().clone().requires_grad_() for w in weights]))
    return loops


def weight_gradients(operands: Sequence[Tensor], weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the weights' gradients of a sum of the operands' entries with random factors."""
    draw = torch.Generator().manual_seed(5)
    total = sum((t * torch.randn(t.shape, generator=draw)).sum() for t in operands)
    return torch.autograd.grad(total, weights, materialize_grads=True)  # type: ignore[arg-type]


def assert_same(ours: Sequence[Tensor], loop: Loop, weights: Sequence[Tensor]) -> None:
    """Assert that operands, and the gradients through them, equal those of ``loop.operands``."""
    truth = dispatch.join_operands(loop.operands(weights), loop.M, loop.d)
    assert all(torch.equal(a, b) for a, b in zip(ours, truth, strict=True))
    for a, b in zip(weight_gradients(ours, weights), weight_gradients(truth, weights), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("case", CASES)
def test_operands_and_gradients_are_those_assembled_weight_by_weight(case: str, members: int | None) -> None:
    for loop, weights in loops_of(case, members):
        ours = gathered.gather_operands(loop, weights)
        assert ours is not None
        assert_same(ours, loop, weights)


@pytest.mark.parametrize(("limit", "value"), [("MAX_ENTRIES", 100), ("MAX_TERMS", 1)])
def test_operands_of_too_many_entries_or_terms_are_assembled_weight_by_weight(limit: str, value: int) -> None:
    """LEM's bias is a sum of two weights."""
    [(loop, weights)], seen = loops_of("lem", None), list[Sequence[Tensor]]()
    with patch.object(gathered, limit, value):
        assert not gathered.GatherTable(loop, CPU).usable

        def record_operands(
            path: str, cell: str, operands: Sequence[Tensor], *_: Any
        ) -> tuple[Tensor, tuple[Tensor, ...]]:
            seen.append(operands)
            return operands[0], ()

        gathered.table_of.cache_clear()
        with patch.object(dispatch, "_advance", record_operands):
            dispatch.advance_from("triton", "", loop, weights, [], torch.zeros(1, 3, 2, 3), ())
    gathered.table_of.cache_clear()
    assert_same(seen[0], loop, weights)


def test_weights_become_operands_in_three_launches() -> None:
    """One to join the weights, one to gather, one to add the terms."""

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), options: Any = None) -> Any:
            calls[function.overloadpacket.__name__] += 1
            return function(*arguments, **(options or {}))

    [(loop, weights)], calls = loops_of("lem", None), Counter[str]()
    gathered.gather_operands(loop, weights)
    with Counted():
        gathered.gather_operands(loop, weights)
    assert {name: calls[name] for name in calls if name not in ("empty", "view", "detach", "split_with_sizes")} == {
        "cat": 1,
        "index_select": 1,
        "sum": 1,
    }


def test_a_first_call_in_inference_mode_leaves_later_ones_differentiable() -> None:
    [(loop, weights)] = loops_of("cornn", None)
    gathered.table_of.cache_clear()
    with torch.inference_mode():
        gathered.gather_operands(loop, weights)
    operands = gathered.gather_operands(loop, weights)
    assert operands is not None
    [slope] = torch.autograd.grad(operands[2].square().sum(), [weights[1]], create_graph=True)
    assert torch.autograd.grad(slope.sum(), weights[1])[0].norm() > 0
