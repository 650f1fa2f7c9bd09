"""State-space models against dense complex matrices in float64, their starts, their eigenvalues and printed sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.special import expit
from scipy.stats import kstest

from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Sizes
from longwave.models.d_linoss import DLinOSS
from longwave.models.linoss import LinOSS
from longwave.models.lru import LRU
from longwave.models.s5 import S5, frequencies
from longwave.platform.registry import get_model

Array = np.ndarray
Matrices = tuple[Array, Array]
"""The transition of a state (n, n) and what an input adds to it (n, p), complex."""
KINDS = {"lru": {}, "s5": {"blocks": 2}, "linoss": {}, "linoss imex": {"scheme": "imex"}, "d_linoss": {}}


def lru(w: dict[str, Array]) -> Matrices:
    """Orvieto et al., eqs. 4 to 7."""
    return np.diag(np.exp(-np.exp(w["nu"]) + 1j * np.exp(w["theta"]))), np.exp(w["gamma"])[:, None] * w["B"]


def s5(w: dict[str, Array]) -> Matrices:
    """Zero-order hold of each state from the exponential of its system with a constant input; twice the input."""
    n = len(w["L_re"])
    states, inputs = np.zeros(n, complex), np.zeros(n, complex)
    for k in range(n):
        system = np.array([[min(w["L_re"][k], -1e-4) + 1j * w["L_im"][k], 1], [0, 0]])
        held = expm(system * np.exp(w["log_dt"][k]))
        states[k], inputs[k] = held[0]
    return np.diag(states), 2 * inputs[:, None] * w["B"]


def oscillators(w: dict[str, Array], implicit: bool, damped: bool = False) -> Matrices:
    """Positions, then velocities: the linear equations of one step, solved."""
    d, dt = len(w["s"]), np.diag(expit(w["s"]))
    stiff, damp, one, none = np.diag(np.maximum(w["A"], 0)), np.zeros((d, d)), np.eye(d), np.zeros((d, d))
    if damped:
        damp = np.diag(np.maximum(w["G"], 0))
        roots = np.sqrt(np.diag(one + dt @ damp))
        step = np.maximum(np.diag(dt) ** 2, 1e-6)  # the authors' least
        stiff = np.diag(np.clip(w["A"], (roots - 1) ** 2 / step, (roots + 1) ** 2 / step))
    # z' + dt G z' + (dt A x' if implicit) = z + dt B u - (dt A x if not);  x' - dt z' = x
    left = np.block([[one, -dt], [dt @ stiff if implicit else none, one + dt @ damp]])
    right = np.block([[one, none], [none if implicit else -dt @ stiff, one]])
    forced = np.concatenate([np.zeros_like(w["B"]), dt @ w["B"]])
    return np.linalg.solve(left, right), np.linalg.solve(left, forced)


DENSE: dict[str, Callable[[dict[str, Array]], Matrices]] = {
    "lru": lru,
    "s5": s5,
    "linoss": lambda w: oscillators(w, implicit=True),
    "linoss imex": lambda w: oscillators(w, implicit=False),
    "d_linoss": lambda w: oscillators(w, implicit=False, damped=True),
}


def build(kind: str, p: int, d: int) -> Recurrence[Any]:
    """A layer in float64, drawn from seed 0."""
    torch.manual_seed(0)
    layer: Any = get_model(kind.split()[0]).build(Sizes(p, d, 1, 9), **KINDS[kind])
    return layer.double()


def numbers(layer: Recurrence[Any]) -> dict[str, Array]:
    """The layer's weights, B as complex numbers."""
    w = {name: weight.detach().numpy() for name, weight in layer.named_parameters()}
    return {**w, "B": w["B_re"] + 1j * w["B_im"]}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(p=st.integers(1, 3), half=st.integers(1, 3), seed=st.integers(0, 99), scale=st.floats(0.0, 1.0))
def test_a_state_space_model_is_its_dense_complex_system(kind: str, p: int, half: int, seed: int, scale: float) -> None:
    layer, rng, d = build(kind, p, 2 * half), np.random.default_rng(seed), 2 * half
    with torch.no_grad():
        for weight in layer.parameters():
            weight.add_(scale * torch.from_numpy(rng.standard_normal(tuple(weight.shape))))
    transition, forced = DENSE[kind](numbers(layer))
    x = rng.standard_normal((7, p))
    start = [rng.standard_normal(d) for _ in layer.STATE]
    parts = [start[k] + 1j * start[k + 1] for k in range(0, len(start), 2)]
    state, rows = np.concatenate(parts), []
    for x_n in x:
        state = transition @ state + forced @ x_n
        rows.append(np.concatenate([state[:d].real, state[:d].imag]))
    outputs, last = layer(torch.from_numpy(x)[:, None], tuple(torch.from_numpy(s)[None] for s in start))
    size = max(1.0, np.abs(rows).max())
    np.testing.assert_allclose(outputs[:, 0].detach().numpy(), rows, rtol=1e-9, atol=1e-11 * size)
    ends = [
        part for k in range(len(parts)) for part in (state[k * d : (k + 1) * d].real, state[k * d : (k + 1) * d].imag)
    ]
    for actual, expected in zip(last, ends, strict=True):
        np.testing.assert_allclose(actual[0].detach().numpy(), expected, rtol=1e-9, atol=1e-11 * size)


@pytest.mark.parametrize("s", [-6.0, -8.0])
def test_a_damped_oscillator_of_tiny_steps_is_its_dense_system(s: float) -> None:
    layer = build("d_linoss", 2, 4)
    with torch.no_grad():
        layer.get_parameter("s").fill_(s)
        layer.get_parameter("A").fill_(1e9)
    of_real_parts = step_matrix(layer).reshape(4, 4, 4, 4)[::2, :, ::2].reshape(8, 8)
    np.testing.assert_allclose(of_real_parts, DENSE["d_linoss"](numbers(layer))[0], rtol=1e-9)


def step_matrix(layer: Recurrence[Any]) -> Array:
    """The real matrix by which one step of the layer, without input, multiplies its state."""
    shape, nothing = (len(layer.STATE), 1, layer.hidden_size), torch.zeros(1, 1, layer.input_size, dtype=torch.float64)

    def take_step(flat: torch.Tensor) -> torch.Tensor:
        return torch.cat(layer(nothing, tuple(flat.view(shape)))[1], -1).flatten()

    return torch.autograd.functional.jacobian(take_step, torch.zeros(math.prod(shape), dtype=torch.float64)).numpy()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=st.integers(0, 999), scale=st.floats(0.0, 3.0))
def test_no_eigenvalue_is_outside_the_unit_circle_wherever_training_leads(kind: str, seed: int, scale: float) -> None:
    layer, rng = build(kind, 2, 4), np.random.default_rng(seed)
    with torch.no_grad():
        for name, weight in layer.named_parameters():
            if kind != "linoss imex" or name != "A":  # explicit positions are stable while Δ² A < 4, where A starts
                weight.add_(scale * torch.from_numpy(rng.standard_normal(tuple(weight.shape))))
    size = np.abs(np.linalg.eigvals(step_matrix(layer)))
    assert size.max() <= 1 + 1e-6
    if kind == "linoss imex":
        np.testing.assert_allclose(size, 1, rtol=1e-6)


def test_implicit_oscillators_forget_by_the_square_root_of_s_and_damped_ones_by_their_damping() -> None:
    for kind in ("linoss", "d_linoss"):
        w = numbers(layer := build(kind, 2, 5))
        dt = expit(w["s"])
        rate = 1 / (1 + (dt**2 * np.maximum(w["A"], 0) if kind == "linoss" else dt * np.maximum(w["G"], 0)))
        found = np.sort(np.abs(np.linalg.eigvals(step_matrix(layer))) ** 2)
        np.testing.assert_allclose(found, np.sort(np.repeat(rate, 4)), rtol=1e-9)


@pytest.mark.parametrize(
    "kind, more, low, high, most",
    [
        ("lru", {}, 0.9, 0.999, 2 * np.pi),
        ("lru", {"ring": "0.5-0.9", "phase": "pi/10"}, 0.5, 0.9, np.pi / 10),
        ("d_linoss", {}, 0.9, 1.0, np.pi),
    ],
)
def test_eigenvalues_start_uniform_on_their_ring(
    kind: str, more: dict[str, str], low: float, high: float, most: float
) -> None:
    torch.manual_seed(1)
    layer: Any = get_model(kind).build(Sizes(1, 400, 1, 9), **more)
    values = np.linalg.eigvals(DENSE[kind](numbers(layer.double()))[0])
    values = values if kind == "lru" else values[values.imag > 0]
    assert len(values) == 400
    square, angle = np.abs(values) ** 2, np.angle(values) % (2 * np.pi)
    assert kstest((square - low**2) / (high**2 - low**2), "uniform").pvalue > 0.01
    assert kstest(angle / most, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    "kind, rate", [("lru", 0.5), ("s5", 0.25), ("linoss", 1.0), ("linoss imex", 1.0), ("d_linoss", 1.0)]
)
def test_what_decides_eigenvalues_never_decays_and_has_the_learning_rate_of_its_group(kind: str, rate: float) -> None:
    layer = build(kind, 2, 4)
    w, transition = numbers(layer), DENSE[kind](numbers(layer))[0]
    moved = {name: DENSE[kind]({**w, name: weight + 0.01})[0] for name, weight in w.items()}
    decisive = {name for name, other in moved.items() if not np.array_equal(other, transition)}
    rates = {name: group.rate for group in layer.groups().values() if not group.decay for name in group.weights}
    assert decisive and {rates.get(name) for name in decisive} == {rate}


def test_lru_starts_finite_even_where_a_uniform_draw_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.nn.init, "uniform_", lambda weight, low, high, generator: weight.fill_(low))
    layer: Any = get_model("lru").build(Sizes(2, 4, 1, 9), ring="0-1")
    layer(torch.ones(3, 1, 2))[0].sum().backward()
    assert layer.nu.isfinite().all() and layer.nu.grad.isfinite().all()


def test_lrus_input_is_scaled_so_that_its_states_start_with_the_variance_of_their_drive() -> None:
    w = numbers(build("lru", 3, 50))
    np.testing.assert_allclose(np.exp(2 * w["gamma"]), 1 - np.exp(-2 * np.exp(w["nu"])), rtol=1e-6)
    np.testing.assert_allclose(w["B"].real.std(), 6**-0.5, rtol=0.2)


@pytest.mark.parametrize("n", [2, 8, 32])
def test_s5s_frequencies_are_those_of_the_normal_part_of_hippo(n: int) -> None:
    root = np.sqrt(2 * np.arange(n) + 1)
    hippo = -np.array([[root[i] * root[j] if i > j else i + 1 if i == j else 0 for j in range(n)] for i in range(n)])
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(hippo).real), -np.arange(n, 0, -1), rtol=1e-3)
    values = np.linalg.eigvals(hippo + np.outer(root, root) / 2)
    np.testing.assert_allclose(values.real, -0.5, rtol=1e-6)
    np.testing.assert_allclose(np.sort(values.imag)[: n // 2], frequencies(n), rtol=1e-8)


def test_s5_starts_from_equal_blocks() -> None:
    layer = S5(2, 8, blocks=4).double()
    assert torch.equal(layer.L_im, layer.L_im[:2].repeat(4)) and (layer.L_re == -0.5).all()
    assert (layer.log_dt >= np.log(0.001)).all() and (layer.log_dt <= np.log(0.1)).all()
    assert torch.equal(S5(2, 7, blocks=4).double().L_im, layer.L_im[:7])


@pytest.mark.parametrize("kind", [LRU, S5, LinOSS, DLinOSS])
def test_a_real_read_out_of_both_parts_is_the_real_part_of_a_complex_one(kind: type[Recurrence[Any]]) -> None:
    torch.manual_seed(0)
    layer, C = kind(2, 4), torch.randn(3, 4, dtype=torch.complex64)
    outputs, _ = layer(torch.randn(5, 2, 2))
    assert outputs.shape == (5, 2, 8) and layer.output_size == 8
    complex_states = torch.complex(outputs[..., :4], outputs[..., 4:])
    real = torch.cat([C.real, -C.imag], -1)
    torch.testing.assert_close(outputs @ real.T, (complex_states @ C.T).real, rtol=1e-5, atol=1e-6)


SETS = {"eigenworms": (6, 5), "scp1": (6, 2), "scp2": (7, 2), "ethanol": (3, 4), "heartbeat": (61, 2), "motor": (64, 2)}
"""Channels and classes."""
PRINTED = {
    ("lru", ""): [
        (101_129, 64, 64, 4, False), (25_892, 64, 16, 2, False), (26_020, 64, 16, 2, True),
        (76_522, 64, 16, 6, True), (338_820, 128, 256, 2, True), (107_544, 16, 256, 6, False),
    ],
    ("s5", ""): [
        (22_007, 64, 8, 2, True), (226_328, 128, 8, 6, False), (5_652, 16, 32, 2, True),
        (76_214, 128, 8, 2, True), (158_310, 128, 8, 4, False), (17_496, 16, 32, 6, False),
    ],
    ("linoss", "imex"): [
        (26_119, 64, 16, 2, True), (447_944, 64, 256, 6, False), (448_072, 64, 256, 6, True),
        (70_088, 16, 256, 4, False), (29_444, 64, 16, 2, True), (106_024, 16, 256, 6, True),
    ],
    ("linoss", "im"): [
        (134_279, 128, 64, 2, True), (991_240, 128, 256, 6, True), (399_112, 128, 64, 6, False),
        (6_728, 16, 16, 4, False), (10_936, 16, 16, 6, True), (91_844, 128, 16, 2, False),
    ],
}  # fmt: skip
"""Rusch and Rus 2025, parameter counts by data set: printed count, width H, states, blocks, whether time is an input.

Their table of settings says of LinOSS-IMEX on EigenWorms that time is none; the count fits with it alone."""


@pytest.mark.parametrize(
    "name, scheme, of, printed",
    [(*key, of, row) for key, rows in PRINTED.items() for of, row in zip(SETS, rows, strict=True)],
)
def test_a_printed_parameter_count_follows_from_the_block(
    name: str, scheme: str, of: str, printed: tuple[int, int, int, int, bool]
) -> None:
    count, width, states, depth, time = printed
    (channels, classes), options = SETS[of], {"block": "pre", "depth": depth, "norm": "running", "glu": "full"}
    options |= {"scheme": scheme} if scheme else {}
    trained = get_model(name).parameters(channels + time, states, classes, width, options)
    averages = depth * (2 * width + 1)  # the printed counts hold the running averages of the norms too
    assert trained + averages == count


SELECTIVE = {
    "mamba": [
        (27_381, 16, 64, 6, True, 1, 2), (184_194, 128, 16, 2, False, 1, 4), (356_290, 64, 64, 6, True, 2, 2),
        (1_032_772, 64, 256, 4, True, 4, 4), (1_034_242, 64, 256, 4, False, 4, 2), (228_226, 128, 64, 2, False, 1, 3),
    ],
    "s6": [
        (15_045, 16, 64, 4, False, 1, 0), (24_898, 64, 16, 2, False, 1, 0), (26_018, 16, 256, 2, False, 1, 0),
        (5_780, 16, 16, 4, True, 1, 0), (6_674, 16, 16, 4, True, 1, 0), (52_802, 16, 256, 4, True, 1, 0),
    ],
}  # fmt: skip
"""The same table's Mamba and S6: printed count, width H, states, blocks, time, E / H and steps of the convolution.

The stored setting of S6 on MotorImagery says that time is none; the count fits with it alone."""


@pytest.mark.parametrize(
    "name, of, printed",
    [(name, of, row) for name, rows in SELECTIVE.items() for of, row in zip(SETS, rows, strict=True)],
)
def test_a_printed_count_of_mamba_or_s6_follows_from_mamba_in_the_block_and_the_maps_that_differ(
    name: str, of: str, printed: tuple[int, int, int, int, bool, int, int]
) -> None:
    count, width, states, depth, time, expand, conv = printed
    (channels, classes), inner = SETS[of], expand * width
    options = {"block": "pre", "depth": depth, "glu": "full", "conv": conv, "states": states}
    ours = get_model("mamba").parameters(channels + time, inner, classes, width, options)
    # Here the block has the vector D and convolves H features; there Mamba convolves E, and S6 has no X, Z and C.
    more = (conv + 1) * (inner - width) if name == "mamba" else -3 * width * width
    assert ours + depth * (more - width) == count
