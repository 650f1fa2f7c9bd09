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


BY_HAND: dict[str, Callable[[Array, list[Array], W], Outcome]] = {f.__name__: f for f in (mingru, minlstm)}
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
