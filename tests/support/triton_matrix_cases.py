"""Triton's loops over matrix states: their distance from float64, and calls that they compile to.

``python tests/support/triton_matrix_cases.py quick`` (or ``full``) prints the distances in Triton's interpreter if
TRITON_INTERPRET is 1, and else compiles every launch for two GPUs; see ``triton_cases``.
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
"""Numbers a thread that make one tile of most steps, and several."""
GPUS = (80, 90)
"""Compute capabilities that launches are compiled for."""


@contextmanager
def cut(thread: int) -> Iterator[None]:
    """Let a thread hold so few numbers that there are several tiles inside the block, and cut steps into √T chunks."""
    from longwave.models.kernels.triton import run_matrix

    with patch.object(run_matrix, "THREAD", thread), patch.object(sizes, "SHORTEST", 1):
        yield


def advanced(made: MatrixPlan, tensors: Any) -> list[Tensor]:
    """Return outputs and last states by Triton's loop."""
    from longwave.models.kernels.triton import run_matrix

    output, last = run_matrix.advance(made, *tensors)
    return [output, *last]


def far(name: str, thread: int, T: int = 7, read: slice = READ["all"]) -> tuple[float, float]:
    """Return how far results and gradients of a step are from those of its loop in float64."""
    step, form = STEPS[name]
    made, tensors = plan(step, form), draw_tensors(form, T, B=1, M=2)
    truth, slopes = with_gradients(lambda t: run_plain(step, t), tensors, torch.float64, read)
    with cut(thread):
        ours, ours_slopes = with_gradients(lambda t: advanced(made, t), tensors, torch.float32, read)
    return error(ours, truth), error(ours_slopes, slopes)


def far_model(case: str, d: int, steps: int, batch: int, device: str = "cpu") -> dict[str, tuple[float, float]]:
    """Return ``distances`` of a model; fail where its layer takes another way."""
    with using("triton"):
        way = build(case, d).to(device).why()
        assert way.path == "triton", str(way)
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
    """Return what a sequence in pieces, a second way back, or the inputs after all of it have other bits in."""
    step, form = STEPS[name]
    made, tensors = plan(step, form), [[t.float() for t in part] for part in draw_tensors(form, T=5, B=1, M=2)]
    drives, states, constants = tensors
    before = [t.clone() for part in tensors for t in part]
    with cut(CUT):
        whole, *last = advanced(made, tensors)
        first, *between = advanced(made, [[t[:, :2] for t in drives], states, constants])
        second, *end = advanced(made, [[t[:, 2:] for t in drives], between, constants])
        leaves = [[t.clone().requires_grad_() for t in part] for part in tensors]
        wanted, loss = [t for part in leaves for t in part], sum(t.sum() for t in advanced(made, leaves))
        once, again = (torch.autograd.grad(loss, wanted, retain_graph=True) for _ in range(2))
    pairs = {
        "pieces": zip([whole, *last], [torch.cat([first, second], 1), *end], strict=True),
        "gradients": zip(once, again, strict=True),
        "inputs": zip(before, (t for part in tensors for t in part), strict=True),
    }
    return [what for what, both in pairs.items() if not all(torch.equal(a, b) for a, b in both)]


def interpreted(full: bool) -> dict[str, Any]:
    """Return what was found of every step, in one tile and in several; in ``full`` also of every model."""
    torch.set_deterministic_debug_mode("warn")  # also fills new tensors with NaN
    found: dict[str, Any] = {}
    for name in STEPS:
        found[f"{name}; one tile"] = far(name, WHOLE)
        found[f"{name}; tiles"] = far(name, CUT, T=5)
        for read in ("outputs", "states") if full or name == "all kinds" else ():
            found[f"{name}; {read}"] = far(name, CUT, T=4, read=READ[read])
    for name in STEPS if full else ("all kinds", "selective"):
        found[f"{name}; spread"] = spread(name)
        found[f"{name}; unequal"] = unequal(name)
    for case in MATRIX_CASES if full else ("gated_deltanet",):
        with cut(CUT):
            found[f"{case}; model"] = far_model(case, 5, 4, batch=1)
    return found


def compiled(full: bool) -> dict[str, int]:
    """Run the host's code of all steps with every launch only compiled; return how many launches of each there were."""
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
