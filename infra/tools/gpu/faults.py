"""Known faults on GPUs, each tried here: ``gpu`` runs them and reports their results.

A check raises AssertionError with the error. All buffers are filled with NaN first, so that elements not written by a
kernel show. Checks that start processes are in ``gpu.processes``.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import every_model
import torch
from every_model import build, distances, too_far
from kernel_cases import inputs, outcome
from torch import Tensor
from triton_cases import FORMS, SCHEDULES, far

from gpu import processes
from gpu.processes import CUDA, MATRICES
from longwave.models.kernels import using
from longwave.models.kernels.triton import graph, row

RUNS = 50
"""Runs that must agree bit for bit."""


def sizes_at_the_edges_of_blocks(form: str) -> dict[str, Any]:
    """Return the worst error at sizes around those of blocks, waves of programs and windows of steps."""
    wide = itertools.product((1, 15, 16, 17, 60, 127, 128, 129, 256), (5,), (1, 63, 64, 65), (3,))
    many = itertools.product((60, 128), (1, 131, 132, 133), (65,), (1, 3))
    worst, size = 0.0, ""
    for d, B, T, M in (*wide, *many):
        with patch.object(every_model, "TAU", [5, 0, 70]):
            errors = distances(form, d, T, B, device=CUDA, members=M)
        key = f"d={d} B={B} T={T} M={M}"
        worst, size = max((worst, size), (worst_error(errors, key), key))
    return {"worst": worst, "at": size}


def lags_at_the_ends(form: str) -> dict[str, Any]:
    """Return the worst error by each schedule with lags of 0, 1, some, and all but the last step."""
    worst = 0.0
    for schedule, lags in itertools.product(SCHEDULES, ([0, 1], [33, 199], [199, 0])):
        with patch.object(every_model, "TAU", lags):
            errors = far(form, schedule, 60, 200, device=CUDA)
        worst = max(worst, worst_error(errors, f"{schedule}, lags {lags}"))
    return {"worst": worst}


def runs_that_agree(form: str) -> dict[str, Any]:
    """Return how many runs agreed bit for bit, at a width of each schedule."""
    for d in (32, 128, 256):
        layer, arguments = _on_gpu(form, d, 100, 130)
        first = outcome(layer, *arguments)
        for _ in range(RUNS - 1):
            _assert_equal(outcome(layer, *arguments), first, f"d={d}: runs differ")
    return {"runs": RUNS}


def other_warps(form: str) -> dict[str, Any]:
    """Return the worst error of the row schedule with twice as many warps per program."""
    worst = 0.0
    with patch.object(row, "WARPS", {16: 2, 32: 2, 64: 8, 128: 8}):
        for d in (16, 32, 60):
            errors = far(form, "row", d, 100, device=CUDA)
            worst = max(worst, worst_error(errors, f"d={d}"))
    return {"worst": worst}


def graphs_that_others_evict() -> dict[str, Any]:
    """Return how many replays gave the same bits after eviction by other shapes, and in other threads and streams.

    pytorch#193402: dropping one graph may free the workspace of the products of all others.
    """
    shapes = [(200, batch) for batch in (3, 5, 7, 9, 11)]
    layers = [_on_gpu("lem", 256, *shape) for shape in shapes]
    first = [outcome(layer, *arguments) for layer, arguments in layers]
    for _ in range(3):
        for (layer, arguments), before in zip(layers, first, strict=True):
            for _ in range(2):
                _assert_equal(outcome(layer, *arguments), before, "a replayed graph gives other bits")
    layer, arguments = layers[0]

    def elsewhere(stream: torch.cuda.Stream | None, outcomes: list[Any]) -> None:
        with torch.cuda.stream(stream):
            outcomes.append(outcome(layer, *arguments))
            torch.cuda.current_stream().synchronize()

    graph._loop.cache_clear()
    outcomes: list[Any] = []
    run_together([threading.Thread(target=elsewhere, args=(None, outcomes))])
    for _ in range(3):
        _assert_equal(
            outcome(layer, *arguments), first[0], "a graph that a thread captured, now over, gives other bits"
        )
    streams = [torch.cuda.Stream() for _ in range(2)]
    for stream in streams * 3:
        elsewhere(stream, outcomes)
    run_together([threading.Thread(target=elsewhere, args=(stream, outcomes)) for stream in streams * 2])
    assert len(outcomes) == 11, f"{11 - len(outcomes)} of four threads failed"
    for one in outcomes:
        _assert_equal(one, first[0], "another thread or stream gives other bits")
    return {"replays": 33 + len(outcomes)}


def run_together(threads: list[threading.Thread]) -> None:
    """Start all threads and wait for their ends."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def autograd_around_loops(form: str) -> dict[str, Any]:
    """Return the features of autograd and torch.compile that were tried with a layer."""
    for d in (60, 256):
        layer, (x, state) = _on_gpu(form, d, 100, 4)
        plain = layer(x, state)[0].detach()
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                assert torch.equal(layer(x, state)[0], plain), f"d={d}: {mode.__name__} gives other outputs"
        weights = [p for p in layer.parameters() if p.requires_grad]

        def loss(run: Any = layer) -> Tensor:
            return run(x, state)[0].square().mean()  # noqa: B023

        once = torch.autograd.grad(loss(), weights)
        twice = torch.autograd.grad(loss() + loss(), weights)
        assert all(torch.allclose(b, 2 * a, rtol=1e-5, atol=1e-6) for a, b in zip(once, twice, strict=True)), "twice"
        layer.zero_grad()
        for _ in range(3):
            loss().backward()
        assert all(torch.allclose(p.grad, 3 * a, rtol=1e-5, atol=1e-6) for p, a in zip(weights, once, strict=True))
        slopes = torch.autograd.grad(loss(torch.compile(layer)), weights)
        assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(once, slopes, strict=True)), "compiled"
        above = build(form, d, p=plain.shape[-1]).to(CUDA)
        stacked = [above, layer]

        def stack() -> list[Tensor]:
            ends = [p for one in stacked for p in one.parameters() if p.requires_grad]  # noqa: B023
            return list(torch.autograd.grad(above(layer(x, state)[0])[0].square().mean(), ends))  # noqa: B023

        ours = stack()
        with using("reference"):
            truth = stack()
        far_off = max(((a - b).norm() / b.norm().clamp_min(1e-6)).item() for a, b in zip(ours, truth, strict=True))
        assert far_off < 1e-3, f"d={d}: two layers of one shape are off by {far_off:.1e}"
        try:
            torch.autograd.grad(sum(g.sum() for g in torch.autograd.grad(loss(), weights, create_graph=True)), weights)
        except RuntimeError as error:
            message = str(error).splitlines()[0]
        else:
            raise AssertionError("A second derivative raises no error.")
    return {"second derivative": message}


def numbers_beyond_32_bits() -> dict[str, Any]:
    """Return the sizes of tensors with more than 2³¹ elements whose parts equal separate runs."""
    sizes: dict[str, Any] = {}
    for form, d, batch, steps, each in (
        ("lem", 128, 2048, 8300, 36),
        ("lem", 256, 1024, 8300, 36),
        ("mingru", 128, 2048, 8300, 40),
    ):
        if each * steps * batch * d > torch.cuda.mem_get_info()[0]:
            sizes[f"{form}, d={d}"] = "not enough memory"
            continue
        layer, with_backward = build(form, d, members=None).to(CUDA), form == "mingru"
        x = torch.randn(steps, batch, 3, device=CUDA, requires_grad=with_backward)
        with torch.set_grad_enabled(with_backward):
            whole = layer(x)[0]
            assert whole.numel() > 2**31
            slopes = torch.autograd.grad(whole.sum(), x)[0] if with_backward else None
            for a in (0, batch - 8):
                part = x[:, a : a + 8].detach().clone().requires_grad_(with_backward)
                alone = layer(part)[0]
                pairs = [(whole[:, a : a + 8], alone)]
                if slopes is not None:
                    pairs.append((slopes[:, a : a + 8], torch.autograd.grad(alone.sum(), part)[0]))
                errors = [((one - other).norm() / other.norm()).item() for one, other in pairs]
                assert max(errors) < 1e-4, f"{form}, d={d}: sequences {a} to {a + 8} differ by {errors}"
        sizes[f"{form}, d={d}"] = list(whole.shape)
        del whole, slopes, alone, pairs
        torch.cuda.empty_cache()
    return sizes


def widest_layers() -> dict[str, Any]:
    """Return for loops over matrix states, and for rows far above the schedules' width, which ran or were refused."""
    routes = {}
    for case, d in (("lem", 1024), ("indrnn", 4096), ("lru", 2048), *((case, 512) for case in MATRICES)):
        layer, arguments = _on_gpu(case, d, 20, 2)
        routes[f"{case}, d={d}"] = str(layer.why())
        assert all(t.isfinite().all() for t in outcome(layer, *arguments).values()), f"{case}, d={d}: not finite"
    return routes


def list_checks() -> Mapping[str, tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]]:
    """Return every check by name, with its arguments, the slowest first."""
    checks: dict[str, tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = {}
    for tool in processes.SANITIZERS:
        checks[f"sanitizer, {tool}"] = (processes.run_sanitizer, (tool,))
    checks["numbers beyond 32 bits"] = (numbers_beyond_32_bits, ())
    checks["one cold cache"] = (processes.compile_into_one_cold_cache, ())
    for form in FORMS:
        checks[f"sizes at the edges of blocks, {form}"] = (sizes_at_the_edges_of_blocks, (form,))
        checks[f"runs that agree, {form}"] = (runs_that_agree, (form,))
        checks[f"autograd, {form}"] = (autograd_around_loops, (form,))
        if "tau" in form:
            checks[f"lags, {form}"] = (lags_at_the_ends, (form,))
        if form != "unicornn":
            checks[f"other warps, {form}"] = (other_warps, (form,))
    for case in MATRICES:
        checks[f"runs that agree, {case}"] = (runs_that_agree, (case,))
    checks["graphs that others evict"] = (graphs_that_others_evict, ())
    checks["widest layers"] = (widest_layers, ())
    for path in filter(None, os.environ.get("OTHER_PTXAS", "").split(":")):
        checks[f"ptxas at {Path(path).parent}"] = (processes.compile_by_another_ptxas, (path,))
    return checks


@contextmanager
def poisoned() -> Iterator[None]:
    """Fill new tensors with NaN inside the block."""
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


def worst_error(errors: Mapping[str, tuple[float, float]], case: str) -> float:
    """Return the largest of some distances from float64; fail if one is too large."""
    assert not too_far(errors), f"{case}: {too_far(errors)}"
    return max(ours for ours, _ in errors.values())


def _on_gpu(case: str, d: int, steps: int, batch: int) -> tuple[Any, tuple[Tensor, tuple[Tensor, ...]]]:
    """Return a layer, its input and its initial state on the GPU."""
    layer = build(case, d).to(CUDA)
    x, state = inputs(layer, steps, batch)
    return layer, (x.to(CUDA), tuple(s.to(CUDA) for s in state))


def _assert_equal(one: Mapping[str, Tensor], other: Mapping[str, Tensor], case: str) -> None:
    unequal = [name for name in other if not torch.equal(one[name], other[name])]
    assert not unequal, f"{case}: {', '.join(unequal)}"
