"""Time contenders against each other in turns, so that a change in the machine's load affects all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

MOST_TURNS = 50
"""Turns after which no more are added."""


class Contender(NamedTuple):
    """A computation to time.

    Attributes:
        once: Runs forward and backward once and returns the seconds of each.
        steps: Steps per call; times are reported per step.
    """

    once: Callable[[], tuple[float, float]]
    steps: int


def network_contender(run: nn.Module, x: Tensor) -> Contender:
    """Return a contender: a network's outputs of x ([M,] T, B, p), and their gradients for its parameters, not for
    x."""
    weights = [p for p in run.parameters() if p.requires_grad]

    def once() -> tuple[float, float]:
        start = read_clock(x.device)
        y = run(x)
        y = y[0] if isinstance(y, tuple) else y
        forward_seconds = read_clock(x.device) - start
        adjoint = torch.rand_like(y)
        start = read_clock(x.device)
        torch.autograd.grad(y, weights, adjoint)
        return forward_seconds, read_clock(x.device) - start

    return Contender(once, x.shape[-3])


def pair_contender(
    forward: Callable[[], object], backward: Callable[[], object], steps: int, device: torch.device
) -> Contender:
    """Return a contender that calls two functions as its forward and backward pass."""

    def once() -> tuple[float, float]:
        start = read_clock(device)
        forward()
        middle = read_clock(device)
        backward()
        return middle - start, read_clock(device) - middle

    return Contender(once, steps)


def fastest_turns(contenders: Mapping[str, Contender], repeats: int, seconds: float) -> dict[str, tuple[float, float]]:
    """Return the µs per step of each contender, forward and backward, in its fastest turn. After a warm-up there are
    ``repeats`` turns, and more until ``seconds`` have passed or there are ``MOST_TURNS``.
    """
    best = dict.fromkeys(contenders, (float("inf"), float("inf")))
    start = time.perf_counter()
    for turn in range(max(MOST_TURNS, repeats) + 1):
        for name, (once, steps) in contenders.items():
            forward, backward = once()
            best[name] = min(best[name][0], 1e6 * forward / steps), min(best[name][1], 1e6 * backward / steps)
        if turn == 0:
            start = time.perf_counter()
        elif turn >= repeats and time.perf_counter() - start > seconds:
            break
    return best


def read_clock(device: torch.device) -> float:
    """Return CPU seconds if torch uses one thread, else wall seconds; waits for pending work of a GPU."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif torch.get_num_threads() == 1:
        return time.process_time()  # other programs' load does not count
    return time.perf_counter()
