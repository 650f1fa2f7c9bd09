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


def gated_deltanet(x: Array, start: list[Array], w: W) -> Outcome:
    """Yang et al. 2025, a head at a time; keys are half as wide as values."""
    width, d = len(w.scale), len(w.V)
    most = 2.0 if w.eigenvalues == "-1-1" else 1.0
    half = start[0].shape[1]

    def step(x_n: Array, S: Array) -> tuple[Array, tuple[Array, ...]]:
        after, rows = [], []
        parts = zip(heads_of(w.Q, half), heads_of(w.K, half), heads_of(w.V, width), strict=True)
        for head, (Q, K, V) in enumerate(parts):
            alpha = np.exp(-np.exp(w.A_log[head]) * np.log1p(np.exp(w.A[head] @ x_n + w.dt_bias[head])))
            beta = most * expit(w.B[head] @ x_n)
            after.append(delta_step(S[head], unit(silu(K @ x_n)), silu(V @ x_n), beta, alpha))
            rows.append(rms_normed(after[-1].T @ unit(silu(Q @ x_n)) / np.sqrt(half)) * w.scale)
        return np.concatenate(rows)[:d] * silu(w.G @ x_n), (np.stack(after),)

    return scan(step, x, start)


def deltaproduct(x: Array, start: list[Array], w: W) -> Outcome:
    """Siems et al. 2025: the rules of all products one after another, a head at a time."""
    width, n = len(w.scale), w.products
    keys, values, rates = (np.split(m, n) for m in (w.K, w.V, w.B))
    d, most = len(values[0]), 2.0 if w.eigenvalues == "-1-1" else 1.0

    def step(x_n: Array, S: Array) -> tuple[Array, tuple[Array, ...]]:
        after, rows = [], []
        for head, Q in enumerate(heads_of(w.Q, width)):
            now = S[head]
            if "A_log" in w:
                rate = np.log1p(np.exp(w.A[head] @ x_n + w.dt_bias[head]))
                now = np.exp(-np.exp(w.A_log[head]) * rate) * now
            for K, V, B in zip(keys, values, rates, strict=True):
                k, v = unit(silu(heads_of(K, width)[head] @ x_n)), silu(heads_of(V, width)[head] @ x_n)
                now = delta_step(now, k, v, most * expit(B[head] @ x_n))
            after.append(now)
            rows.append(rms_normed(now.T @ unit(silu(Q @ x_n)) / np.sqrt(width)) * w.scale)
        return np.concatenate(rows)[:d], (np.stack(after),)

    return scan(step, x, start)


def mamba2(x: Array, start: list[Array], w: W) -> Outcome:
    """Dao and Gu 2024, a head at a time."""
    d, heads = len(w.scale), len(w.D)
    width = -(-d // heads)

    def step(u: Array, S: Array) -> tuple[Array, tuple[Array, ...]]:
        B, C, after, rows = silu(w.B @ u), silu(w.C @ u), S.copy(), []
        for head in range(heads):
            own = slice(head * width, (head + 1) * width)
            inner, dt = silu(w.X[own] @ u), np.log1p(np.exp(w.dt[head] @ u + w.dt_bias[head]))
            after[0, :, own] = np.exp(-dt * np.exp(w.A_log[head])) * S[0, :, own] + dt * np.outer(B, inner)
            rows.append(after[0, :, own].T @ C + w.D[head] * inner)
        return rms_normed(np.concatenate(rows) * silu(w.Z @ u)) * w.scale, (after,)

    return scan(step, x, start)


def s4d(x: Array, start: list[Array], w: W) -> Outcome:
    """Gu et al. 2022 in complex numbers; the state here is that of the paper over its input's factor."""
    A, C = -np.exp(w.A_re) + 1j * w.A_im, w.C_re + 1j * w.C_im
    decay = np.exp(A * np.exp(w.log_dt)[:, None])
    factor = (decay - 1) / A

    def step(x_n: Array, re: Array, im: Array) -> tuple[Array, tuple[Array, ...]]:
        u = w.X @ x_n + w.b
        state = decay * factor * (re[0] + 1j * im[0]).T + factor * u[:, None]
        own = (state / factor).T[None]
        return 2 * (C * state).sum(1).real + w.D * u, (own.real, own.imag)

    return scan(step, x, start)


def mlstm(x: Array, start: list[Array], w: W) -> Outcome:
    """Beck et al. 2024, eqs. 19-27 with the stabiliser of eqs. 15-17, a head at a time."""
    heads, width, _ = start[0].shape
    d = len(w.Wv)

    def step(x_n: Array, C: Array, n: Array, m: Array) -> tuple[Array, tuple[Array, ...]]:
        C, n, m, rows = C.copy(), n.copy(), m.copy(), []
        for head, (Q, K, V) in enumerate(zip(*(heads_of(a, width) for a in (w.Wq, w.Wk, w.Wv)), strict=True)):
            q, k, v = Q @ x_n, K @ x_n / np.sqrt(width), V @ x_n
            i, f = w.Wi[head] @ x_n + w.bi[head], np.log(expit(w.Wf[head] @ x_n + w.bf[head]))
            new = max(m[head] + f, i)
            C[head] = np.exp(m[head] + f - new) * C[head] + np.exp(i - new) * np.outer(k, v)
            n[head] = np.exp(m[head] + f - new) * n[head] + np.exp(i - new) * k
            m[head] = new
            rows.append(C[head].T @ q / (max(abs(n[head] @ q), np.exp(-new)) + 1e-6))
        return expit(w.Wo @ x_n + w.bo) * np.concatenate(rows)[:d], (C, n, m)

    return scan(step, x, start)


def rwkv7(x: Array, start: list[Array], w: W) -> Outcome:
    """Peng et al. 2025 with the code's decay, a head at a time, as a product with the step's matrix."""
    heads, width, _ = start[0].shape
    d = len(w.V)
    k_k, k_a, r_k = (heads_of(m, width) for m in (w.k_k, w.k_a, w.r_k))

    def step(x_n: Array, S: Array) -> tuple[Array, tuple[Array, ...]]:
        decays = np.exp(-np.exp(-0.5) * expit(w.w0 + w.w2 @ np.tanh(w.w1 @ x_n)))
        rates, after, norms, bonuses = expit(w.a0 + w.a2 @ (w.a1 @ x_n)), [], [], []
        for head in range(heads):
            R, K, V, decay, a = (heads_of(m, width)[head] for m in (w.R, w.K, w.V, decays, rates))
            r, k, v = R @ x_n, K @ x_n, V @ x_n
            kappa = k * k_k[head] / np.linalg.norm(k * k_k[head])
            k = k * (1 + (a - 1) * k_a[head])
            after.append((np.diag(decay) - np.outer(a * kappa, kappa)) @ S[head] + np.outer(k, v))
            out = after[-1].T @ r
            norms.append((out - out.mean()) / np.sqrt(out.var() + width * 1e-5))
            bonuses.append((r * k * r_k[head]).sum() * v)
        row = np.concatenate(norms)[:d] * w.scale + w.shift + np.concatenate(bonuses)[:d]
        return (w.g2 @ expit(w.g1 @ x_n)) * row, (np.stack(after),)

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


BY_HAND: dict[str, Callable[[Array, list[Array], W], Outcome]] = {
    f.__name__: f for f in (deltanet, gated_deltanet, deltaproduct, mamba, mamba2, s4d, mlstm, rwkv7)
}
BY_HAND["gated_deltaproduct"] = deltaproduct
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
