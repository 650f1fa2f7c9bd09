"""The Triton backend's distance from float64, for every model with every option, and calls of its functions.

``python tests/support/triton_cases.py quick`` (or ``full``) prints the distances in Triton's interpreter if
TRITON_INTERPRET is 1, and otherwise compiles every launch for a GPU. It is a separate program because Triton reads that
variable when it is imported.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest.mock import patch

import every_model
import torch
from every_model import CASES, build, distances
from kernel_cases import inputs
from torch import Tensor
from toy_steps import COUNT, Recipe, toy, weights

from longwave.models import kernels
from longwave.models.kernels import using
from longwave.models.kernels.cells import Cell, find, planned
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import leaves

NAMES = ("dx", "dV", "db", "dW", "dP", "dU", "dstate", "dpast")
FORMS = (
    "lem",
    "gru",
    "lipschitz_rnn, scheme rk2",
    "tau_gru",
    "tau_gru, form delayed weighting",
    "indrnn",
    "unicornn",
    "linoss",
)
"""Cases that the schedules treat differently: blocks, vectors, kept rows, delays, no matrices, hand-written."""

SCHEDULES = ("row", "graph", "chunks")
LAGS = ([5, 0], [3, 2])
"""Lags of two members: one of them reads the newest state, or both read states some steps ago."""


@contextmanager
def scheduled(schedule: str) -> Iterator[None]:
    """Select one of Triton's schedules inside the block; "chunks" is the row schedule without short lags."""
    from longwave.models.kernels.triton import delayed, graph, run

    name, short = ("row", 0) if schedule == "chunks" else (schedule, delayed.SHORT)
    with (
        patch.object(run, "supports", lambda cell, hidden: (name, "A test asks for it.")),
        patch.object(delayed, "SHORT", short),
        patch.object(graph, "WINDOW", 2 if os.environ.get("TRITON_INTERPRET") == "1" else graph.WINDOW),
        using("triton"),
    ):
        yield


def far(
    case: str, schedule: str, d: int, steps: int, batch: int = 2, draws: int = 0, device: str = "cpu"
) -> dict[str, tuple[float, float]]:
    """Return ``distances`` of a case by a schedule; fail if the layer runs by another path."""
    with scheduled(schedule):
        route = build(case, d).to(device).why()
        assert route.path == "triton", str(route)
        return distances(case, d, steps, batch, draws=draws, device=device)


@dataclass
class Call:
    """The arguments that a layer passes to the backend, float32."""

    cell: Cell
    tensors: dict[str, Tensor]
    lags: list[int]

    def front(self) -> tuple[Any, ...]:
        """Return the arguments of ``run.forward`` except the last."""
        return (self.cell, *self.tensors.values(), self.lags)

    def adjoints(self) -> tuple[Tensor, Tensor]:
        """Return adjoints of the outputs and of the last states."""
        (M, T, B), state = self.tensors["x"].shape[:3], self.tensors["state"]
        draw = torch.Generator().manual_seed(3)
        shapes = (M, T, B, self.cell.outputs * state.shape[-1]), state.shape
        out, last = (torch.randn(shape, generator=draw).to(state.device) for shape in shapes)
        return out, last

    def to(self, device: str) -> Call:
        """Return the same on a device."""
        return replace(self, tensors={name: t.to(device) for name, t in self.tensors.items()})


class Caught(Exception):
    """Carries the arguments of an intercepted call."""


def schedules(case: str) -> tuple[str, ...]:
    """Return the schedules that can run a case: some cases have only one, and chunks need a delay."""
    layer = build(case, 2)
    if case == "unicornn" or layer.cell_on("triton").outputs > 1:
        return SCHEDULES[:1]
    return SCHEDULES if "past" in layer.state_shapes() else SCHEDULES[:2]


def call(case: str, d: int, steps: int, batch: int = 2) -> Call:
    """Return the arguments that a case's layer, or the first of several, passes to the backend."""

    def caught(cell: str, path: str, *arguments: Any) -> None:
        *tensors, lags, _ = arguments
        copies = {name: t.detach().clone() for name, t in zip(("x", *"VbWPU", "state", "past"), tensors, strict=True)}
        raise Caught(Call(find(cell), copies, lags))

    layer = build(case, d)
    with patch("longwave.models.kernels.dispatch.scan", caught), scheduled("row"), any_device():
        try:
            layer(*inputs(layer, steps, batch))
        except Caught as caught_call:
            made: Call = caught_call.args[0]
            return made
    raise AssertionError(f"{case} does not run by Triton's loop.")


@contextmanager
def any_device() -> Iterator[None]:
    """Allow Triton's loops for tensors that are not on a GPU."""
    from longwave.models.kernels.triton import run

    with patch.object(run, "INTERPRETED", True):
        yield


def results(made: Call, use_out: bool = True, use_last: bool = True, **how: Any) -> dict[str, Tensor]:
    """Return outputs, last states and all gradients of a call."""
    from longwave.models.kernels.triton import run

    storage = how.pop("storage", torch.float32)
    out, last, *saved = run.forward(*made.front(), True, schedule=how.get("schedule"), storage=storage)
    grads = run.backward(*_backward(made, out, saved, use_out, use_last), True, **how)
    return {"Y": out, "last": last} | dict(zip(NAMES, grads, strict=True))


def _backward(made: Call, out: Tensor, saved: list[Tensor], use_out: bool = True, use_last: bool = True) -> Any:
    g_out, g_last = made.adjoints()
    t = made.tensors
    states = (t["state"], t["past"], made.lags, *saved)
    adjoints = (g_out if use_out else None, g_last if use_last else None)
    return (made.cell, *adjoints, t["x"], t["V"], t["W"], t["P"], t["U"], out, *states)


def manners(made: Call, schedule: str) -> None:
    """Check the contract: nothing is written into inputs, no results share memory, and backward can run twice."""
    from longwave.models.kernels.triton import run

    before = {name: t.clone() for name, t in made.tensors.items()}
    out, last, *saved = run.forward(*made.front(), True, schedule=schedule)
    gradients = _backward(made, out, saved)
    grads, again = (run.backward(*gradients, need, schedule=schedule) for need in (True, False))
    (M, T, B), d = out.shape[:3], last.shape[-1]
    assert [tuple(k.shape) for k in saved] == list(run.kept_shapes(made.cell, M, T, B, d, before["past"].shape[1]))
    light = run.forward(*made.front(), False, schedule=schedule)
    assert torch.equal(light[0], out) and torch.equal(light[1], last)
    assert light[2].numel() == light[3].numel() == 0
    assert again[0].numel() == 0 and all(map(torch.equal, again[1:], grads[1:]))
    tensors = [k for k in (*made.tensors.values(), out, last, *saved, *grads) if k.numel()]
    assert len({k.untyped_storage().data_ptr() for k in tensors}) == len(tensors)
    assert all(torch.equal(t, before[name]) for name, t in made.tensors.items())


def spread(case: str, **how: Any) -> list[str]:
    """Return the tensors of the first member that NaN in the second one's weights and input changed."""
    made = call(case, 5, 2, 1)
    clean = results(made, **how)
    for key in ("x", "W", "V", "state", "past"):
        made.tensors[key][(slice(None), 1) if key == "state" else 1] = float("nan")
    broken, axis = results(made, **how), {"last": 1, "dstate": 1}
    assert broken["Y"][1].isnan().all()
    return [
        k for k in clean if not torch.equal(clean[k].select(axis.get(k, 0), 0), broken[k].select(axis.get(k, 0), 0))
    ]


def halved(case: str, schedule: str, device: str = "cpu") -> tuple[float, float]:
    """Return the effect of storing in bfloat16: on the outputs, given drives rounded alike, and the worst gradient."""
    from longwave.models.kernels.triton import halved, hoisted, run

    made, drives = call(case, 5, 3, 1).to(device), hoisted.drives
    whole, half = (results(made, schedule=schedule, storage=storage) for storage in (torch.float32, torch.bfloat16))
    with patch.object(hoisted, "drives", lambda *of: drives(*of[:4]).bfloat16().float()):
        rounded = results(made, schedule=schedule)
    saved = run.forward(*made.front(), True, schedule=schedule, storage=torch.bfloat16)[2:]
    assert tuple(k.dtype for k in saved) == halved.kept_types(made.cell)
    assert all(t.dtype == torch.float32 for t in half.values())
    far = {k: ((half[k] - whole[k]).norm() / whole[k].norm().clamp_min(1e-3)).item() for k in NAMES}
    return ((half["Y"] - rounded["Y"]).norm() / rounded["Y"].norm()).item(), max(far.values())


def linear(case: str, schedule: str) -> float:
    """Return the distance of the gradients for both adjoints from the sum of those for each of them."""
    made = call(case, 5, 2, 1)
    both, one, other = (
        results(made, *used, schedule=schedule) for used in ((True, True), (True, False), (False, True))
    )
    return max(((one[k] + other[k] - both[k]).norm() / both[k].norm().clamp_min(1e-3)).item() for k in NAMES)


def toys() -> list[Recipe]:
    """Return steps that use every supported operation, seven each; none reads delayed outputs."""
    lines = [(op, (5 * op) % 4, (3 * op + 1) % 4) for op in range(COUNT)]
    return [lines[k::10] for k in range(10)]


def toy_distance(recipe: Recipe, schedule: str, d: int = 5) -> float:
    """Return the worst distance of a toy step's outputs, last states and gradients from its loop in float64."""
    double = weights(d)
    single = type(double)(*(getattr(double, f.name).float() for f in fields(double)))
    draw = torch.Generator().manual_seed(2)
    x, *state = (torch.randn(2, *shape, generator=draw) for shape in ((3, 1, 2), (1, d), (1, d)))
    of, outcomes = toy(recipe, d), list[list[Tensor]]()
    for w, dtype in ((single, torch.float32), (double, torch.float64)):
        sources = [t.detach().to(dtype).requires_grad_() for t in (x, *state)]
        ends = [t.requires_grad_() for t in (*leaves(w)[0], *sources)]
        if dtype == torch.float32:
            loop = Loop(of, w)
            name = planned(loop.lean_name, loop.lean).name
            with scheduled(schedule):
                outputs, last = kernels.advance(
                    "triton", name, loop.operands(leaves(w)[0]), sources[0], tuple(sources[1:])
                )
        else:
            u, now, rows = of.drive(sources[0], w), tuple(sources[1:]), []
            for n in range(x.shape[1]):
                now = tuple(of.step(tuple(part[:, n] for part in u), now, now[0], w))
                rows.append(now[0])
            outputs, last = torch.stack(rows, 1), now
        loss = outputs.mean() + sum((s * s).mean() for s in last)
        outcomes.append([outputs, *last, *torch.autograd.grad(loss, ends, allow_unused=True, materialize_grads=True)])
    return max(((a.double() - b).norm() / b.norm().clamp_min(0.1)).item() for a, b in zip(*outcomes, strict=True))


def distant(full: bool) -> dict[str, Any]:
    """Return ``far`` of every case by every schedule at several sizes; or of the forms, with one lag a schedule."""
    sizes = ((16, 3, 1), (5, 7, 2), (1, 1, 1)) if full else ((5, 3, 2),)
    errors: dict[str, Any] = {"indrnn; row; 40": far("indrnn", "row", 40, 3)}  # two programs a row
    for case, (d, steps, batch) in itertools.product(CASES if full else FORMS, sizes):
        delayed = "past" in build(case, 2).state_shapes()
        for k, schedule in enumerate(schedules(case)):
            for lags in (LAGS if full else LAGS[k % 2 :][:1]) if delayed else [()]:
                with patch.object(every_model, "TAU", list(lags)):
                    key = "; ".join(map(str, (case, schedule, d, *lags)))
                    errors[key] = far(case, schedule, d, steps + 3 * delayed, batch, draws=3 * full)
    return errors


def behaved(full: bool) -> dict[str, Any]:
    """Return the effects of NaN and of absent adjoints on the forms, by every schedule or by one of them."""
    measured: dict[str, Any] = {}
    for k, case in enumerate(FORMS):
        ways = tuple(schedule for schedule in schedules(case) if schedule != "chunks")
        for schedule in ways if full else ways[k % len(ways) :][:1]:
            if full or k % 3 == 0:
                measured[f"{case}; {schedule}; spread"] = spread(case, schedule=schedule)
                measured[f"{case}; {schedule}; halved"] = halved(case, schedule)
                measured[f"{case}; {schedule}; linear"] = linear(case, schedule)
            manners(call(case, 5, 2, 1), schedule)
    for k, recipe in enumerate(toys()):
        for schedule in SCHEDULES[:2] if full else SCHEDULES[k % 2 :][:1]:
            measured[f"toy {k}; {schedule}"] = toy_distance(recipe, schedule)
    return measured | {"unicornn; reversible": reversible()}


def interpreted(full: bool) -> dict[str, Any]:
    """Return the measurements of every case."""
    torch.set_deterministic_debug_mode("warn")  # also fills new tensors with NaN
    return distant(full) | behaved(full)


def reversible() -> float:
    """Return the distance of UnICORNN's two backward passes from each other."""
    made = call("unicornn", 5, 7)
    one, other = (results(made, reversible=recompute) for recompute in (False, True))
    return max(((one[k] - other[k]).norm() / one[k].norm().clamp_min(1e-3)).item() for k in NAMES)


class NoGPU:
    """A driver for a GPU that does not exist: Triton compiles for it, and nothing is launched."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget  # type: ignore[import-untyped]

        return GPUTarget("cuda", self.capability, 32)


@contextmanager
def compile_only(capability: int = 90) -> Iterator[list[Any]]:
    """Compile every launch inside the block without running it, for a GPU of this capability; yield the kernels."""
    from triton.runtime import driver  # type: ignore[import-untyped]
    from triton.runtime.jit import JITFunction  # type: ignore[import-untyped]

    launch, kernels = JITFunction.run, list[Any]()

    def compiled_launch(self: Any, *arguments: Any, warmup: bool, **options: Any) -> Any:
        kernels.append(launch(self, *arguments, warmup=True, **options))

    driver.set_active(NoGPU(capability))
    with patch.object(JITFunction, "run", compiled_launch):
        yield kernels


def compiled(full: bool) -> dict[str, float]:
    """Run the host code of all cases with launches only compiled; return the launches per schedule of each."""
    counts = {}
    for case in CASES if full else FORMS:
        with compile_only() as kernels:
            made = call(case, 16, 2)
            for schedule in schedules(case):
                with scheduled(schedule):
                    results(made)
        counts[case] = len(kernels) / len(schedules(case))
    return counts


if __name__ == "__main__":
    interpreter = os.environ.get("TRITON_INTERPRET") == "1"
    print(json.dumps((interpreted if interpreter else compiled)(sys.argv[1:] == ["full"])))
