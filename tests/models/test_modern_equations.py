"""The recurrent models of 2023 to 2026 against their papers' equations, written anew in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from equations import Array, Outcome, W, a_layer, assert_equation_holds, iterate
from hypothesis import given, settings
from scipy.special import expit

from longwave.models.base.param import OptionValue
from longwave.platform.registry import get_model


def positive(v: Array) -> Array:
    """The authors' candidate of minGRU and minLSTM, which is above 0."""
    return np.array([a + 0.5 if a >= 0 else expit(a) for a in v])


def mingru(x: Array, start: list[Array], w: W) -> Outcome:
    """Feng et al. 2024, §3.1."""
    g = positive if w.candidate == "positive" else np.asarray

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        z = expit(w.Wz @ x_n + w.bz)
        return ((1 - z) * h + z * g(w.Wh @ x_n + w.bh),)

    return iterate(step, x, *start)


def minlstm(x: Array, start: list[Array], w: W) -> Outcome:
    """Feng et al. 2024, §3.2."""
    g = positive if w.candidate == "positive" else np.asarray

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        f, i = expit(w.Wf @ x_n + w.bf), expit(w.Wi @ x_n + w.bi)
        return (f / (f + i) * h + i / (f + i) * g(w.Wh @ x_n + w.bh),)

    return iterate(step, x, *start)


def paragru(x: Array, start: list[Array], w: W) -> Outcome:
    """Danieli et al. 2025, with the diagonals as matrices."""
    az, ar, ah = (np.diag(w[f"a{k}"]) for k in "zrh")

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        z, r = expit(az @ h + w.Bz @ x_n + w.bz), expit(ar @ h + w.Br @ x_n + w.br)
        return ((1 - z) * h + z * np.tanh(ah @ (r * h) + w.Bh @ x_n + w.bh),)

    return iterate(step, x, *start)


def paralstm(x: Array, start: list[Array], w: W) -> Outcome:
    """Danieli et al. 2025: coupled gates, and peepholes into the cell before and after the step."""
    af, az, ao, cf, co = (np.diag(w[k]) for k in ("af", "az", "ao", "cf", "co"))

    def step(x_n: Array, h: Array, c: Array) -> tuple[Array, ...]:
        f = expit(af @ h + cf @ c + w.Bf @ x_n + w.bf)
        c = f * c + (1 - f) * np.tanh(az @ h + w.Bz @ x_n + w.bz)
        return expit(ao @ h + co @ c + w.Bo @ x_n + w.bo) * np.tanh(c), c

    return iterate(step, x, *start)


def horn(x: Array, start: list[Array], w: W) -> Outcome:
    """Effenberger et al. 2025: the force acts on the velocity, then the velocity on the position."""
    d = len(w.b)
    omega = w.omega * w.get("omega_factor", np.ones(d))
    gamma = w.gamma * w.get("gamma_factor", np.ones(d))

    def step(x_n: Array, position: Array, y: Array) -> tuple[Array, ...]:
        force = np.tanh(w.V @ x_n + w.b + (w.W @ y + w.c) / np.sqrt(d))
        y = y + w.dt * (w.alpha * force - 2 * gamma * y - omega**2 * position)
        return position + w.dt * y, y

    return iterate(step, x, *start)


def al_rnn(x: Array, start: list[Array], w: W) -> Outcome:
    """Brenner et al. 2024, eq. 2: the last P units are rectified."""
    first = max(len(w.h) - w.rectified, 0)

    def step(x_n: Array, z: Array) -> tuple[Array, ...]:
        phi = np.concatenate([z[:first], np.maximum(z[first:], 0.0)])
        return (np.diag(w.A) @ z + w.W @ phi + w.h + w.C @ x_n,)

    return iterate(step, x, *start)


def lrcssm(x: Array, start: list[Array], w: W) -> Outcome:
    """Farsang et al. 2025, as slope and elastance."""

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        inputs, own = expit(w.sigma_x * (x_n - w.mu_x)), expit(w.sigma * (h - w.mu))
        decay = -expit(w.g_leak + w.Wf @ inputs + w.wf * own)
        source = w.v_leak * np.tanh(w.g_leak + w.Wg @ inputs + w.wg * own)
        elastance = expit(w.k * h + w.b)
        if w.elastance == "symmetric":
            elastance = expit(w.k * h + w.b + w.shift) - expit(w.k * h + w.b - w.shift)
        return (h + w.dt * elastance * (decay * h + source),)

    return iterate(step, x, *start)


def slstm(x: Array, start: list[Array], w: W) -> Outcome:
    """Beck et al. 2024, eqs. 8-17: the heads' recurrent weights as one matrix with zeros between them."""
    d = len(w.b) // 4
    matrices, numbers = np.zeros((4, d, d)), [iter(row) for row in w.R]
    for head in np.array_split(np.arange(d), w.heads):
        for matrix, row in zip(matrices, numbers, strict=True):
            for j in head:
                for k in head:
                    matrix[j, k] = next(row)
    inputs, biases = w.W.reshape(4, d, -1), w.b.reshape(4, d)

    def step(x_n: Array, h: Array, c: Array, n: Array, m: Array) -> tuple[Array, ...]:
        z, i, f, o = (inputs[k] @ x_n + matrices[k] @ h + biases[k] for k in range(4))
        new = np.maximum(m + np.log(expit(f)), i)
        i, f = np.exp(i - new), np.exp(m + np.log(expit(f)) - new)
        c, n = f * c + i * np.tanh(z), f * n + i
        return expit(o) * c / n, c, n, new

    return iterate(step, x, *start)


def bmru(x: Array, start: list[Array], w: W) -> Outcome:
    """De Geeter et al. 2026: a unit is set where its candidate exceeds the threshold."""

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        candidate, beta = w.Wx @ x_n + w.bx, np.abs(w.Wbeta @ x_n + w.bbeta)
        return (np.where(np.abs(candidate) > beta, w.alpha * np.sign(candidate), h),)

    return iterate(step, x, *start)


def rg_lru(x: Array, start: list[Array], w: W) -> Outcome:
    """De et al. 2024, eqs. 1-4."""

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        r, i = expit(w.Wr @ x_n + w.br), expit(w.Wi @ x_n + w.bi)
        log_a = -8 * r * np.log1p(np.exp(w.Lambda))
        return (np.exp(log_a) * h + np.sqrt(-np.expm1(2 * log_a)) * i * (w.Wx @ x_n + w.bx),)

    return iterate(step, x, *start)


BY_HAND: dict[str, Callable[[Array, list[Array], W], Outcome]] = {
    f.__name__: f for f in (mingru, minlstm, paragru, paralstm, horn, al_rnn, lrcssm, slstm, bmru, rg_lru)
}
CASES = [
    pytest.param(name, dict(zip(options, chosen, strict=True)), id="-".join([name, *map(str, chosen)]))
    for name, options in ((name, get_model(name).layer.OPTIONS) for name in BY_HAND)
    for chosen in product(*options.values())
]
quickly = settings(max_examples=8)


@pytest.mark.parametrize("name, options", CASES)
@quickly
@given(sizes=a_layer)
def test_a_modern_model_follows_its_papers_equation(
    name: str, options: dict[str, OptionValue], sizes: dict[str, Any]
) -> None:
    assert_equation_holds(BY_HAND[name], name, options, sizes)
