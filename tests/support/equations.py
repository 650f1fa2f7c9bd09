"""Models against oracles: an equation implemented independently in NumPy for one sequence, and the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from longwave.models.base.param import OptionValue, Param
from longwave.models.base.spec import Sizes
from longwave.platform.registry import get_model

FLOAT64 = torch.float64
Array = np.ndarray
Outcome = tuple[Array, list[Array]]
"""The output at every step, and the tensors of the last state."""
LONGEST = 9
"""T_max of all layers here."""
Oracle = Callable[..., Outcome]
"""Returns the outcome for an input (T, p), the tensors of the initial state, and weights and hyper-parameters."""


class W(dict[str, Any]):
    """Weights, hyper-parameters and options of one layer, by name."""

    __getattr__ = dict.__getitem__


def iterate(step: Callable[..., tuple[Array, ...]], x: Array, *state: Array) -> Outcome:
    rows = []
    for x_n in x:
        state = step(x_n, *state)
        rows.append(state[0])
    return np.stack(rows), list(state)


def draw_values(params: tuple[Param, ...], rng: np.random.Generator) -> dict[str, float]:
    """Return a value for each parameter; a delay is sometimes longer than the sequence, and sometimes 0."""
    return {p.name: int(rng.integers(0, 10)) if p.whole else float(rng.uniform(p.low, p.high)) for p in params}


def assert_equation_holds(
    oracle: Oracle,
    name: str,
    options: Mapping[str, OptionValue],
    sizes: dict[str, Any],
    required: bool = False,
    filled: Callable[[Mapping[str, float]], Mapping[str, float]] = dict,
) -> None:
    """Compare a whole batch from a random initial state with sequences computed one by one.

    Args:
        oracle: The equation.
        name, options: The model.
        sizes: One of ``a_layer``.
        required: Whether only the required hyper-parameters are given.
        filled: Adds the values of those that are not given.
    """
    spec, rng = get_model(name), np.random.default_rng(sizes["seed"])
    params = spec.layer.relevant(options)
    hyper = draw_values(tuple(p for p in params if not required or p.default is None), rng)
    exact = {key: torch.tensor(value, dtype=FLOAT64) for key, value in hyper.items()}
    layer = spec.build(Sizes(sizes["p"], sizes["d"], 1, LONGEST), **exact, **options).to(FLOAT64).eval()
    weights = {key: sizes["scale"] * rng.standard_normal(shape) for key, shape in layer.shapes().items()}
    if "eta" in weights:
        weights["eta"] /= options["euler_steps"]  # larger steps would be chaotic, and rounding grow with them
    loaded = layer.load_state_dict({key: torch.from_numpy(value) for key, value in weights.items()}, strict=False)
    assert not loaded.unexpected_keys
    x = rng.standard_normal((7, 3, sizes["p"]))
    start = [rng.standard_normal((3, *shape)) for shape in layer.state_shapes().values()]
    for key, tensor in zip(layer.state_shapes(), start, strict=True):
        if key == "n":
            np.abs(tensor, out=tensor)  # sLSTM's normaliser, by which it divides, is a sum of exponentials
    output, state = layer(torch.from_numpy(x), tuple(map(torch.from_numpy, start)))
    w = W(**weights, **filled(hyper), **options)
    for b in range(3):
        rows, ends = oracle(x[:, b], [s[b] for s in start], w)
        for actual, expected in zip((output[:, b], *(s[b] for s in state)), (rows, *ends), strict=True):
            atol = 1e-12 * max(1.0, np.abs(expected).max(initial=0.0))
            np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-11, atol=atol)


a_layer = st.fixed_dictionaries(
    {"p": st.integers(1, 4), "d": st.integers(1, 5), "seed": st.integers(0, 999), "scale": st.floats(0.05, 1.5)}
)
"""Sizes of a layer, and the seed and the scale of its weights."""
