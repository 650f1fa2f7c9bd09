"""Triton's loops over matrix states: their distance from float64, and their compilation.

``python tests/support/triton_matrix_cases.py quick`` (or ``full``) prints the distances in Triton's interpreter if
TRITON_INTERPRET is 1, and otherwise compiles every launch for two GPUs; see ``triton_cases``.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from every_model import MATRIX_CASES, build, distances
from matrix_steps import STEPS, draw_tensors, error, run_plain, with_gradients
from torch import Tensor
from triton_cases import compile_only

from longwave.models.kernels import using
from longwave.models.kernels.matrix import sizes
from longwave.models.kernels.matrix.plan import MatrixPlan, plan

READ = {"all": slice(None), "outputs": slice(0, 1), "states": slice(1, None)}
"""Results that have adjoints."""
WHOLE, CUT = 32, 1
"""Numbers per thread with which most steps have one tile, and with which they have several."""
GPUS = (80, 90)
"""Compute capabilities that launches are compiled for."""


@contextmanager
def cut(thread: int) -> Iterator[None]:
    """Set the numbers per thread inside the block, which decides on the number of tiles, and use √T chunks of steps."""
    from longwave.models.kernels.triton import run_matrix

    with patch.object(run_matrix, "THREAD", thread), patch.object(sizes, "SHORTEST", 1):
        yield


def advanced(made: MatrixPlan, tensors: Any) -> list[Tensor]:
    """Return outputs and last states by Triton's loop."""
    from longwave.models.kernels.triton import run_matrix

    output, last = run_matrix.advance(made, *tensors)
    return [output, *last]


def far(name: str, thread: int, T: int = 7, read: slice = READ["all"]) -> tuple[float, float]:
    """Return the distance of results and gradients of a step from those of its loop in float64."""
    step, form = STEPS[name]
    made, tensors = plan(step, form), draw_tensors(form, T, B=1, M=2)
    truth, slopes = with_gradients(lambda t: run_plain(step, t), tensors, torch.float64, read)
    with cut(thread):
        ours, ours_slopes = with_gradients(lambda t: advanced(made, t), tensors, torch.float32, read)
    return error(ours, truth), error(ours_slopes, slopes)


def far_model(case: str, d: int, steps: int, batch: int, device: str = "cpu") -> dict[str, tuple[float, float]]:
    """Return ``distances`` of a model; fail if its layer runs by another path."""
    with using("triton"):
        route = build(case, d).to(device).why()
        assert route.path == "triton", str(route)
        return distances(case, d, steps, batch, device=device)


def spread(name: str) -> list[int]:
    """Return the results and gradients of the first member that NaN in the second one's tensors changed."""
    step, form = STEPS[name]
    made, tensors = plan(step, form), draw_tensors(form, T=3, B=1, M=2)
    results = []
    for value in (0.0, float("nan")):
        with cut(CUT):
            for t in itertools.chain(*tensors):
                t[1] += value
            results.append([*itertools.chain(*with_gradients(lambda t: advanced(made, t), tensors, torch.float32))])
    assert results[1][0][1].isnan().all()
    return [k for k, (clean, broken) in enumerate(zip(*results, strict=True)) if not torch.equal(clean[0], broken[0])]


def unequal(name: str) -> list[str]:
    """Return the names of results that differ in any bit: in pieces, by a second backward pass, inputs."""
    step, form = STEPS[name]
    made, tensors = plan(step, form), [[t.float() for t in part] for part in draw_tensors(form, T=5, B=1, M=2)]
    drives, states, constants = tensors
    before = [t.clone() for part in tensors for t in part]
    with cut(CUT):
        whole, *last = advanced(made, tensors)
        first, *between = advanced(made, [[t[:, :2] for t in drives], states, constants])
        second, *end = advanced(made, [[t[:, 2:] for t in drives], between, constants])
        leaves = [[t.clone().requires_grad_() for t in part] for part in tensors]
        sources, loss = [t for part in leaves for t in part], sum(t.sum() for t in advanced(made, leaves))
        once, again = (torch.autograd.grad(loss, sources, retain_graph=True) for _ in range(2))
    pairs = {
        "pieces": zip([whole, *last], [torch.cat([first, second], 1), *end], strict=True),
        "gradients": zip(once, again, strict=True),
        "inputs": zip(before, (t for part in tensors for t in part), strict=True),
    }
    return [label for label, both in pairs.items() if not all(torch.equal(a, b) for a, b in both)]


def interpreted(full: bool) -> dict[str, Any]:
    """Return the measurements of every step, in one tile and in several; with ``full`` also of every model."""
    torch.set_deterministic_debug_mode("warn")  # also fills new tensors with NaN
    measured: dict[str, Any] = {}
    for name in STEPS:
        measured[f"{name}; one tile"] = far(name, WHOLE)
        measured[f"{name}; tiles"] = far(name, CUT, T=5)
        for read in ("outputs", "states") if full or name == "all kinds" else ():
            measured[f"{name}; {read}"] = far(name, CUT, T=4, read=READ[read])
    for name in STEPS if full else ("all kinds", "selective"):
        measured[f"{name}; spread"] = spread(name)
        measured[f"{name}; unequal"] = unequal(name)
    for case in MATRIX_CASES if full else ("gated_deltanet",):
        with cut(CUT):
            measured[f"{case}; model"] = far_model(case, 5, 4, batch=1)
    return measured


def compiled(full: bool) -> dict[str, int]:
    """Run the host code of all steps with launches only compiled; return the number of launches of each."""
    counts: dict[str, int] = {}
    for name, capability in itertools.product(STEPS if full else ("delta rule", "all kinds"), GPUS):
        step, form = STEPS[name]
        with compile_only(capability) as launches:
            for thread in (WHOLE, CUT):
                with cut(thread):
                    with_gradients(lambda t: advanced(plan(step, form), t), draw_tensors(form, 3, 1, 2), torch.float32)  # noqa: B023
        counts[f"{name}; sm_{capability}"] = len(launches)
    return counts


if __name__ == "__main__":
    interpreter = os.environ.get("TRITON_INTERPRET") == "1"
    print(json.dumps((interpreted if interpreter else compiled)(sys.argv[1:] == ["full"])))
