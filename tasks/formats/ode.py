"""Dynamical systems: fourth-order solvers for many paths at once, and paths as forecasting data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences

if TYPE_CHECKING:
    from scipy.integrate import RK45

States = NDArray[np.float64]
"""States of many paths at one time, of any shape, or at many times, with an extra leading axis."""
Slope = Callable[[States], States]
"""x' of the states x."""
DelayedSlope = Callable[[States, States], States]
"""x'(t) of the delayed states x(t − d) and the states x(t), in this order."""


def solve(slope: Slope, start: States, step: float, steps: int, substeps: int = 1) -> States:
    """Return the states at the times 0, step, ..., steps·step, (steps + 1, *start.shape), float64.

    The classical Runge-Kutta method, ``substeps`` of its steps between two of these times.

    Args:
        slope: The equation, x' = slope(x).
        start: States at time 0, of any shape.
        step: Time between two states returned.
        steps: States returned after the first.
        substeps: Runge-Kutta steps per returned step.
    """
    path = np.empty((steps + 1, *start.shape))
    path[0] = x = start
    for n in range(steps):
        for _ in range(substeps):
            x = _advance(x, slope(x), slope, slope, step / substeps)
        path[n + 1] = x
    return path


def solve_delayed(slope: DelayedSlope, start: States, delay: float | States, step: float, steps: int) -> States:
    """Return the states at the times 0, step, ..., steps·step of a delay equation, (steps + 1, *start.shape), float64.

    The classical Runge-Kutta method. In the middle of a step the delayed state is taken from the cubic Hermite
    interpolant of the stored states and derivatives, which preserves the fourth order: the path is smooth between the
    times 0, delay, 2·delay, ..., which are all ends of steps.

    Args:
        slope: The equation, x'(t) = slope(x(t − delay), x(t)).
        start: States at time 0 and at all times before, of any shape.
        delay: A multiple of ``step``, at least one; or one for each path, along the first axis.
        step: Duration of a step.
        steps: Number of steps.

    Raises:
        ValueError: The delay is not a multiple of the step.
    """
    lags = np.rint(np.asarray(delay) / step).astype(np.int64)
    if (lags < 1).any() or (np.abs(lags * step - delay) > 1e-9 * np.abs(delay)).any():
        raise ValueError(f"The delay must be a multiple of the step {step}, got {delay}.")
    path, slopes = np.empty((steps + 1, *start.shape)), np.empty((steps, *start.shape))
    path[0], each = start, np.arange(len(start)) if lags.ndim else ...
    for n in range(steps):
        first, last = (np.maximum(n - lags, 0), each), (np.maximum(n + 1 - lags, 0), each)
        slopes[n] = slope(path[first], path[n])
        middle = (path[first] + path[last]) / 2 + step / 8 * (slopes[first] - slopes[last])
        path[n + 1] = _advance(path[n], slopes[n], partial(slope, middle), partial(slope, path[last]), step)
    return path


def dormand_prince(
    slope: Callable[[float, Any], Sequence[float]], start: Sequence[float], times: States, rtol: float, atol: float
) -> States:
    """Return the state at ``times``, (d, len(times)), float64, by scipy's RK45, bit-identical on any processor.

    Args:
        slope: The equation, x' = slope(t, x), for x as an array of Python's floats.
        start: State at the first of the times, (d,).
        times: Increasing times at which to return it.
        rtol, atol: Error tolerances of a step.
    """
    from scipy.integrate import solve_ivp

    ends = (times[0], times[-1])
    return np.asarray(solve_ivp(slope, ends, start, _make_portable(), times, rtol=rtol, atol=atol).y, dtype=np.float64)


@cache
def _make_portable() -> type[RK45]:
    """Return RK45 with sums in Python's floats.

    BLAS, which scipy uses, rounds them differently on each kind of processor. With adaptive steps, as here, a
    difference in the last bit of one sum grows to 0.1 within a few hundred steps, and the data differ.
    """
    from scipy.integrate import RK45

    class Portable(RK45):
        A, B, E, P = (table.astype(object) for table in (RK45.A, RK45.B, RK45.E, RK45.P))

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.h_abs = round(self.h_abs, 9)  # comes from a norm computed by BLAS

    return Portable


def _advance(x: States, first: States, middle: Slope, last: Slope, step: float) -> States:
    """Return the states after one Runge-Kutta step, from the slopes at its start and the equation at later stages."""
    second = middle(x + step / 2 * first)
    third = middle(x + step / 2 * second)
    return x + step / 6 * (first + 2 * (second + third) + last(x + step * third))


def split_path(path: States, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Return a path (T, N, p) as float32 sequences (n, T, p) of each split, taken in the order of ``sizes``."""
    sequences = np.ascontiguousarray(path.swapaxes(0, 1), dtype=np.float32)
    ends = np.cumsum(list(sizes.values()))
    return dict(zip(sizes, np.split(sequences, ends[:-1]), strict=True))


def forecast_data(paths: Mapping[str, np.ndarray], horizon: int) -> Data[Sequences]:
    """Return data whose target, at each of the first T − horizon steps, is the state ``horizon`` steps later.

    Args:
        paths: Sequences of states (n, T, p) of the splits train, valid and test.
        horizon: Steps ahead.
    """

    def split(name: str) -> Sequences:
        states = torch.from_numpy(paths[name])
        return Sequences(states[:, :-horizon].contiguous(), states[:, horizon:].contiguous())

    return Data(train=split("train"), valid=split("valid"), test=split("test"))
