"""Models with matrix states against their papers' equations, written anew in NumPy a head and a channel at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from equations import Array, Outcome, W, a_layer, assert_equation_holds
from hypothesis import given, settings
from scipy.special import expit

from longwave.models.base.param import OptionValue
from longwave.platform.registry import get_model


def silu(v: Array) -> Array:
    return np.asarray(v * expit(v))


def unit(v: Array) -> Array:
    return np.asarray(v / np.sqrt(v @ v + 1e-6))


def rms_normed(v: Array) -> Array:
    return np.asarray(v / np.sqrt(np.mean(v**2) + 1e-5))


def heads_of(weight: Array, width: int) -> list[Array]:
    """The rows of each head, the last filled up with zeros."""
    parts = [weight[k : k + width] for k in range(0, len(weight), width)]
    return [np.concatenate([part, np.zeros((width - len(part), *part.shape[1:]))]) for part in parts]


def scan(step: Callable[..., tuple[Array, tuple[Array, ...]]], x: Array, start: list[Array]) -> Outcome:
    state, rows = tuple(start), []
    for x_n in x:
        row, state = step(x_n, *state)
        rows.append(row)
    return np.stack(rows), list(state)


def delta_step(S: Array, k: Array, v: Array, beta: float, alpha: float = 1.0) -> Array:
    """Yang et al. 2024, eq. 5, and with α Yang et al. 2025, eq. 10, as a product with the step's matrix."""
    return np.asarray((np.eye(len(k)) - beta * np.outer(k, k)) @ (alpha * S) + beta * np.outer(k, v))


def deltanet(x: Array, start: list[Array], w: W) -> Outcome:
    """Yang et al. 2024, a head at a time."""
    width, d = len(w.scale), len(w.V)
    most = 2.0 if w.eigenvalues == "-1-1" else 1.0

    def step(x_n: Array, S: Array) -> tuple[Array, tuple[Array, ...]]:
        after, rows = [], []
        for head, (Q, K, V) in enumerate(zip(*(heads_of(m, width) for m in (w.Q, w.K, w.V)), strict=True)):
            q, k = unit(silu(Q @ x_n)) / np.sqrt(width), unit(silu(K @ x_n))
            after.append(delta_step(S[head], k, silu(V @ x_n), most * expit(w.B[head] @ x_n)))
            rows.append(rms_normed(after[-1].T @ q) * w.scale)
        return np.concatenate(rows)[:d], (np.stack(after),)

    return scan(step, x, start)


def mamba(x: Array, start: list[Array], w: W) -> Outcome:
    """Gu and Dao 2023, a channel at a time."""
    d, n = w.A_log.shape
    r = w.dt.shape[1]

    def step(u: Array, h: Array) -> tuple[Array, tuple[Array, ...]]:
        inner, after, row = silu(w.X @ u), h.copy(), np.zeros(d)
        low, B, C = np.split(w.W @ inner, [r, r + n])
        for c in range(d):
            dt = np.log1p(np.exp(w.dt[c] @ low + w.dt_bias[c]))
            decay = np.exp(-dt * np.exp(w.A_log[c]))
            decay = 2 * decay - 1 if w.eigenvalues == "-1-1" else decay
            after[0, :, c] = decay * h[0, :, c] + dt * B * inner[c]
            row[c] = (after[0, :, c] @ C + w.D[c] * inner[c]) * silu(w.Z[c] @ u)
        return row, (after,)

    return scan(step, x, start)


BY_HAND: dict[str, Callable[[Array, list[Array], W], Outcome]] = {f.__name__: f for f in (deltanet, mamba)}
CASES = [
    pytest.param(name, dict(zip(options, chosen, strict=True)), id="-".join([name, *map(str, chosen)]))
    for name, options in ((name, get_model(name).layer.OPTIONS) for name in BY_HAND)
    for chosen in product(*(choices[:3] for choices in options.values()))
]


@pytest.mark.parametrize("name, options", CASES)
@settings(max_examples=8)
@given(sizes=a_layer)
def test_a_model_with_a_matrix_state_follows_its_papers_equation(
    name: str, options: dict[str, OptionValue], sizes: dict[str, Any]
) -> None:
    assert_equation_holds(BY_HAND[name], name, options, sizes)
