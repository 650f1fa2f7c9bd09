"""Each operation that the compiler accepts, with each argument and at each edge, is torch's, and so is its gradient."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from math import inf, nan
from typing import Any

import pytest
import torch
from listed import both
from operations import ACCEPTED, REFUSED, Call, OperationWeights
from torch import Tensor

from longwave.models.base.algebra import affine
from longwave.models.kernels.compiler import lowering
from longwave.models.kernels.compiler.listing import listing
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.lowering import EXTRA, FORMULAS
from longwave.models.kernels.compiler.recorder import Unsupported, on_meta, record, unnumbered
from longwave.models.kernels.compiler.rows import OF_ROWS
from longwave.models.kernels.compiler.trace import Recurrent

D = 3
EDGES = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 6.0, 10.0, 20.0, 20.5, 1e-3)
"""Where operations have kinks, thresholds, bounds or poles; two and three rows meet at all pairs and triples."""
FEW = (nan, inf, -inf, 0.0, 1.0, -1.0, 0.5)
"""Those of three rows."""
NAMES = ("value", "drive", "state", "dinput", "dx", "dy", "dz", "dlate", "dV", "dA", "dv", "dc")
KINDS = [pytest.param(name, k, id=f"{name}-{k}") for name, calls in ACCEPTED.items() for k in range(len(calls))]
UNSETTLED = {"relu", "hardtanh", "elu"}
"""Whose gradient at NaN is that of either side: torch's own depends on the size of the tensor."""
SUMS = {"mean", "sum", "native_layer_norm", "bmm", "baddbmm", "expand"}
"""Operations that add units up: one edge makes all units of a row infinite or NaN, in another order than torch's."""


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Let Python's numbers make float64 of truths, as rows are here."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def weights() -> OperationWeights:
    """Return weights of one member."""
    draw = torch.Generator().manual_seed(0)
    V, A = torch.randn(1, D, 2, generator=draw), torch.randn(1, D, D, generator=draw)
    return OperationWeights(V, A, torch.tensor([[[-0.5, 0.25, 0.5]]]), torch.tensor([[[0.5]]]))


def rows_of(call: Call) -> int:
    """Return how many rows a call takes."""
    return sum(p.default is p.empty for p in inspect.signature(call).parameters.values()) - 1


def step_of(call: Call) -> Recurrent:
    """Return a step whose first state is what ``call`` makes of its states."""

    def step(u: tuple[Tensor, ...], state: tuple[Tensor, ...], late: Tensor, w: OperationWeights) -> tuple[Tensor, ...]:
        return call(*state[: rows_of(call)], w), u[0], 1.0 * state[1]

    return Recurrent(lambda x, w: (affine(w.V, x),), step, 3, D, 2)


def points(call: Call, sums: bool) -> list[Tensor]:
    """Return three rows (1, B, d) with all edges that they can have beside each other."""
    rows = rows_of(call)
    edges = [e for e in (FEW if rows == 3 else EDGES) if not sums or abs(e) < inf]
    met = list(itertools.product(edges, repeat=rows))
    met += met[: -len(met) % D]
    grid = torch.tensor(met).view(1, -1, D, rows).unbind(-1)
    draw = torch.Generator().manual_seed(1)
    return [*grid, *(torch.randn(grid[0].shape, generator=draw) for _ in range(3 - rows))]


@pytest.mark.parametrize(("name", "k"), KINDS)
def test_an_operation_and_its_gradients_are_torchs_at_every_edge(name: str, k: int) -> None:
    call = ACCEPTED[name][k]
    before = points(call, name in SUMS)
    x, late = torch.zeros(1, 1, before[0].shape[1], 2), torch.zeros_like(before[0])
    draw = torch.Generator().manual_seed(2)
    pull = [torch.randn(late.shape, generator=draw) for _ in before]
    ours, truth = both(step_of(call), weights(), x, before, late, pull)
    infinite = torch.stack([s.isinf() for s in before]).any(0)
    for what, actual, exact in zip(NAMES, ours, truth, strict=True):
        same = torch.isclose(actual, exact, rtol=1e-11, atol=1e-13, equal_nan=True)
        if name in UNSETTLED and what == "dx":
            same |= before[0].isnan()
        if name == "lerp" and k < 2 and what == "value":  # torch begins from what is nearer, and either may be ∞ − ∞
            same |= infinite & (actual.isnan() | exact.isnan())
        if not same.all():
            at = (~same).nonzero()[0]
            index = tuple(at.tolist())
            states = [s[index].item() for s in before] if what in ("value", "dx", "dy", "dz") else index
            pytest.fail(f"{what} of {name} {k} at {states}: {actual[index].item()}, not {exact[index].item()}")


def calls_of(call: Call) -> list[Any]:
    """Return what torch runs for a call, on a few numbers."""
    state = [unnumbered((1, 2 * D, D), torch.float64) for _ in range(rows_of(call))]
    w = on_meta(weights())
    return record(lambda: call(*state, w))[1]


def test_each_operation_that_is_accepted_has_cases_that_call_it() -> None:
    assert set(ACCEPTED) == set(FORMULAS) | set(OF_ROWS)
    for name, calls in ACCEPTED.items():
        for call in calls:
            assert name in {one.name for one in calls_of(call)}, name


OTHERS = {"bmm.dtype", "baddbmm.dtype"}
"""Overloads for GPUs alone, which give another dtype than the layer's."""


def given(calls: list[Any]) -> dict[str, set[str]]:
    """Return the arguments that calls are given, by overload."""
    actual: dict[str, set[str]] = {}
    for one in calls:
        names = [a.name for a in one.op._schema.arguments]
        own = actual.setdefault(one.op._name, set())
        own |= set(names[: len(one.args)]) | set(one.kwargs)
    return actual


def test_each_form_and_each_argument_of_an_accepted_operation_has_a_case() -> None:
    every = [c for calls in ACCEPTED.values() for c in calls] + [c for c, _ in REFUSED.values()]
    seen = given([one for call in every for one in calls_of(call)])
    missing = []
    for name in ACCEPTED:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            op = getattr(packet, overload)
            arguments = [a.name for a in op._schema.arguments]
            if str(op._schema.arguments[0].type) not in ("Tensor", "List[Tensor]") or op._schema.is_mutable:
                continue
            if not torch._C._dispatch_has_kernel(op._name):  # TorchScript's, of numbers or lists
                continue
            if f"{name}.{overload}" in OTHERS or op.has_kernel_for_dispatch_key("CompositeImplicitAutograd"):
                continue  # torch takes the latter apart, and their parts are what is recorded
            lacking = set(arguments) - seen.get(op._name, set()) - EXTRA - {"non_blocking", "implicit"}
            missing += [f"{op._name}({argument})" for argument in lacking]
    assert not missing


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_named_with_its_line(case: str) -> None:
    call, reason = REFUSED[case]
    with pytest.raises(Unsupported, match=rf"^{reason}[^(]*(\(.*\))? at operations.py:\d+$"):
        Loop(step_of(call), weights())


def test_a_clamp_lets_its_gradient_pass_on_its_bounds_where_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "STRICT", False)  # as torch did until 2.14
    rows = torch.tensor([-0.5, 0.5, 0.6, -0.6, 0.0, nan]).view(1, 2, D)
    pull = [torch.ones_like(rows)] * 3
    step = step_of(lambda x, w: x.clamp(-0.5, 0.5))
    ours, _ = both(step, weights(), torch.zeros(1, 1, 2, 2), [rows.clone() for _ in pull], torch.zeros_like(rows), pull)
    assert ours[NAMES.index("dx")].flatten().tolist() == [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    with pytest.raises(Unsupported, match=r"^clamp by tensors at"):
        Loop(step_of(lambda x, w: x.clamp(min=w.c)), weights())


def test_infinite_numbers_are_printed_as_python_reads_them() -> None:
    text = listing(Loop(step_of(lambda x, w: x.masked_fill(x > 0, -inf)), weights()).plan)
    assert "float('-inf')" in text
