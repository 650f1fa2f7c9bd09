"""Oscillators without damping: they are symplectic, reversible, keep their energy, and compute sine transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import (
    FLOAT64,
    OPEN,
    Weights,
    build,
    end,
    fill,
    jacobian,
    measured_order,
    noise,
    outputs,
    path,
    random_weights,
)
from scipy.special import expit
from torch import Tensor

from longwave.models.base.recurrence import Recurrence
from longwave.models.multilayer_oscillator import MultilayerOscillator
from longwave.models.neural_oscillator import NeuralOscillator
from longwave.models.unicornn import UnICORNN

S: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {"tanh": np.tanh, "sin": np.sin}
seeds = st.integers(0, 9999)
steps = st.floats(0.01, 1.0)
schemes = pytest.mark.parametrize("scheme", ["imex", "symplectic"])
activations = pytest.mark.parametrize("activation", ["tanh", "sin"])


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@settings(max_examples=20)
@given(d=st.integers(1, 5), seed=seeds, dt=steps, alpha=st.floats(0, 30))
def test_one_step_of_unicornn_is_a_symplectic_map_of_each_neuron(d: int, seed: int, dt: float, alpha: float) -> None:
    layer = build(UnICORNN, d, layers=1, dt=dt, alpha=alpha)
    w, x, (y, z) = random_weights(layer, seed), noise(1, seed)[0], draw(seed, 2, d)
    s = dt * expit(w["c1"])
    k = w["w1"] / np.cosh(w["w1"] * y + w["V1"] @ x.numpy() + w["b1"]) ** 2 + alpha
    blocks = jacobian(layer, x, y, z).reshape(2, d, 2, d)
    neurons = np.einsum("aibi->iab", blocks).copy()
    np.testing.assert_allclose(np.linalg.det(neurons), 1, rtol=1e-11)
    expected = np.stack([np.stack([1 - s**2 * k, s], -1), np.stack([-s * k, np.ones(d)], -1)], 1)
    np.testing.assert_allclose(neurons, expected, rtol=1e-11, atol=1e-13)
    np.einsum("aibi->iab", blocks)[:] = 0
    assert not blocks.any(), "A neuron sees another's past."


@schemes
@activations
@settings(max_examples=10)
@given(seed=seeds, dt=steps)
def test_one_step_of_a_neural_oscillator_keeps_volume_and_one_of_a_layer_the_symplectic_form(
    scheme: str, activation: str, seed: int, dt: float
) -> None:
    d, (y, z) = 3, draw(seed, 2, 3)
    form = np.block([[np.zeros((d, d)), np.eye(d)], [-np.eye(d), np.zeros((d, d))]])
    for kind, more in [(NeuralOscillator, {}), (MultilayerOscillator, {"layers": 1})]:
        layer = build(kind, d, dt=dt, scheme=scheme, activation=activation, **more)
        random_weights(layer, seed)
        step = jacobian(layer, noise(1, seed)[0], y, z)
        assert np.linalg.det(step) == pytest.approx(1, rel=1e-10)
        if kind is MultilayerOscillator:
            np.testing.assert_allclose(step.T @ form @ step, form, atol=1e-11)


@pytest.mark.parametrize("dtype, tolerance", [(FLOAT64, 1e-12), (torch.float32, 1e-4)])
@pytest.mark.parametrize("length, dt, alpha", [(784, 0.482, 12.53), (784, 0.19, 30.65), (17_984, 0.0343, 0.0)])
def test_unicornns_inverse_step_restores_the_start_at_published_settings(
    length: int, dt: float, alpha: float, dtype: torch.dtype, tolerance: float
) -> None:
    layer = build(UnICORNN, 8, layers=1, dt=dt, alpha=alpha).to(dtype)
    layer.reset_parameters([torch.Generator().manual_seed(1)])
    w = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    x = noise(length, 1).to(dtype)
    with torch.no_grad():
        _, last = layer(x.unsqueeze(1))
        step = (layer.get_buffer("dt") * torch.sigmoid(layer.get_parameter("c1"))).numpy()
    y, z = (s[0].numpy() for s in last)
    assert max(abs(y).max(), abs(z).max()) > 0.1
    for u in (x.numpy() @ w["V1"].T + w["b1"])[::-1]:  # eq. 3.7
        y = y - step * z
        z = z + step * (np.tanh(w["w1"] * y + u) + layer.get_buffer("alpha").numpy() * y)
    assert max(abs(y).max(), abs(z).max()) < tolerance


@activations
@settings(max_examples=10)
@given(seed=seeds, dt=st.floats(0.01, 0.3))
def test_the_stoermer_verlet_scheme_runs_back_when_the_velocity_is_turned(
    activation: str, seed: int, dt: float
) -> None:
    layer = build(NeuralOscillator, 3, dt=dt, scheme="symplectic", activation=activation)
    (y, z), x = draw(seed, 2, 3), noise(30, seed)
    random_weights(layer, seed, scale=0.5)
    there = path(layer, x, y, z)[-1]
    back = path(layer, x.flip(0), there[0], -there[1])[-1]
    np.testing.assert_allclose(back, [y, -z], atol=1e-7)  # chaos may amplify rounding, 1e-16, by e^(30 · 0.3 · 2)


@settings(max_examples=10)
@given(seed=seeds, dt=steps, alpha=st.floats(0, 5))
def test_unicornns_gradients_follow_the_thesis_backward_recursion(seed: int, dt: float, alpha: float) -> None:
    length, layer = 12, build(UnICORNN, 1, layers=1, dt=dt, alpha=alpha)
    w, x = random_weights(layer, seed), noise(length, seed).requires_grad_()
    y_all, _ = layer(x.unsqueeze(1))
    names = ("w1", "c1")
    actual = torch.autograd.grad(0.5 * (y_all**2).sum(), [x, *(layer.get_parameter(k) for k in names)])
    states = path(layer, x.detach(), [0.0], [0.0])[:, :, 0]
    y, z = np.concatenate([[[0.0, 0.0]], states]).T
    weight, c, u = w["w1"][0], w["c1"][0], (x.detach().numpy() @ w["V1"].T + w["b1"])[:, 0]
    s, by_y, by_z, by_w, by_c, by_x = dt * expit(c), y[length], 0.0, 0.0, 0.0, np.zeros(length)
    for n in range(length, 0, -1):
        a, before = weight * y[n - 1] + u[n - 1], by_y
        by_z = by_z + s * by_y
        by_c += s * expit(-c) * (before * z[n] - by_z * (np.tanh(a) + alpha * y[n - 1])) / s
        by_y = by_y - s * by_z * (weight / np.cosh(a) ** 2 + alpha) + (y[n - 1] if n > 1 else 0.0)
        by_w -= s * by_z / np.cosh(a) ** 2 * y[n - 1]
        by_x[n - 1] = -s * by_z / np.cosh(a) ** 2 * w["V1"][0, 0]
    expected = [by_x, by_w, by_c * s]
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one.numpy().ravel(), other, rtol=1e-9, atol=1e-12)


def potential(name: str, w: Weights, layer: int, alpha: float = 0.0) -> Callable[[Tensor, Tensor], Tensor]:
    """Return H − |z|²/2 of one layer as a function of y and of V yˡ⁻¹ + b, eqs. 3.4 and 4.5."""
    weight = torch.from_numpy(w[f"w{layer}"])
    if name == "unicornn":
        return lambda y, u: (alpha / 2 * y**2 + torch.log(torch.cosh(weight * y + u)) / weight).sum(-1)
    if name == "tanh":
        return lambda y, u: -(torch.log(torch.cosh(weight * y + u)) / weight).sum(-1)
    return lambda y, u: (torch.cos(weight * y + u) / weight).sum(-1)


def oscillators(name: str, dt: float, layers: int, alpha: float = 0.0, scheme: str = "imex") -> Recurrence:
    """Return UnICORNN or a multi-layer oscillator, 3 neurons a layer."""
    if name == "unicornn":
        return build(UnICORNN, 3, layers=layers, dt=dt, alpha=alpha)
    return build(MultilayerOscillator, 3, layers=layers, dt=dt, scheme=scheme, activation=name)


@pytest.mark.parametrize("name", ["unicornn", "tanh", "sin"])
@settings(max_examples=10)
@given(seed=seeds, dt=steps, alpha=st.floats(0, 30))
def test_each_layers_force_is_minus_the_derivative_of_its_hamiltonian(
    name: str, seed: int, dt: float, alpha: float
) -> None:
    layer, x, state = oscillators(name, dt, 2, alpha), noise(1, seed), draw(seed, 4, 3)
    w = random_weights(layer, seed)
    after, below = path(layer, x, *state)[0], x[0].numpy()
    for k in (1, 2):
        y, z = state[2 * k - 2 : 2 * k]
        step = dt * expit(w[f"c{k}"]) if name == "unicornn" else dt
        position = torch.from_numpy(y).requires_grad_()
        drive = torch.from_numpy(w[f"V{k}"] @ below + w[f"b{k}"])
        (slope,) = torch.autograd.grad(potential(name, w, k, alpha)(position, drive), position)
        np.testing.assert_allclose((after[2 * k - 1] - z) / step, -slope.numpy(), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose((after[2 * k - 2] - y) / step, after[2 * k - 1], rtol=1e-8, atol=1e-9)
        below = after[2 * k - 2]


CALM = {"b1": np.array([0.3, -0.2, 0.5]), "V1": np.array([[0.4], [-0.3], [0.2]]), "c1": np.full(3, OPEN)}


@pytest.mark.integration
@pytest.mark.parametrize("name, scheme", [("unicornn", "imex"), *product(["tanh", "sin"], ["imex", "symplectic"])])
def test_the_energy_under_constant_input_stays_bounded_with_an_error_of_the_schemes_order(
    name: str, scheme: str
) -> None:
    alpha, worst, (y, z) = 0.5, [], np.array([[0.8, -0.4, 0.1], [0.2, 0.5, -0.3]])
    pull = np.array([1.2, 0.7, 2.0]) * (1 if name == "unicornn" else -1)  # towards a point of rest
    for dt in (0.1, 0.05):
        layer = oscillators(name, dt, 1, alpha, scheme)
        w = fill(layer, {**CALM, "w1": pull})
        drive = torch.from_numpy(w["V1"] @ [0.6] + w["b1"])
        states = torch.from_numpy(
            np.stack([[y, z], *path(layer, torch.full((round(100 / dt), 1), 0.6).double(), y, z)])
        )
        energy = potential(name, w, 1, alpha)(states[:, 0], drive) + 0.5 * (states[:, 1] ** 2).sum(1)
        error = (energy - energy[0]).abs().numpy()
        early, late = np.array_split(error, 2)
        assert late.max() <= 1.1 * early.max()
        worst.append(error.max())
    assert worst[0] / worst[1] == pytest.approx(2 if scheme == "imex" else 4, rel=0.1)
    assert worst[1] < 0.1


def test_the_explicit_euler_method_would_gain_energy_where_unicornn_keeps_it() -> None:
    y, z, dt = np.array([0.8]), np.array([0.2]), 0.1
    layer = build(UnICORNN, 1, layers=1, dt=dt, alpha=0.5)
    fill(layer, {"w1": np.array([1.2]), "c1": np.array([OPEN])})
    largest = np.abs(path(layer, torch.zeros(1000, 1, dtype=FLOAT64), y, z)).max()
    for _ in range(1000):
        y, z = y + dt * z, z - dt * (np.tanh(1.2 * y) + 0.5 * y)
    assert largest < 2 < 20 < abs(y[0])


@pytest.mark.integration
@settings(max_examples=20)
@given(seed=seeds, dt=st.floats(0.01, 0.99), alpha=st.floats(0.01, 8), scale=st.floats(0.1, 30), resonant=st.booleans())
def test_unicornns_states_grow_no_faster_than_its_papers_recursion(
    seed: int, dt: float, alpha: float, scale: float, resonant: bool
) -> None:
    layer, n = build(UnICORNN, 2, layers=2, dt=dt, alpha=alpha), np.arange(1, 101)
    w, x = random_weights(layer, seed, scale), noise(100, seed, scale)
    if resonant:
        fill(layer, {**w, "V1": np.full((2, 1), 100.0), "w1": np.zeros(2), "c1": np.full(2, OPEN)})
        x = torch.from_numpy(-np.sign(np.cos(alpha**0.5 * dt * n)))[:, None]
    beta = max(1 + 2 * alpha, 4 * alpha**2)
    bound = (2 * dt + 4 * alpha * dt**4) * np.expm1(n * np.log1p(beta * dt)) / (beta * dt)
    states = path(layer, x, *np.zeros((4, 2)))
    for y, z in (states[:, :2].swapaxes(0, 1), states[:, 2:].swapaxes(0, 1)):
        assert (alpha * y**2 + z**2 <= bound[:, None] * (1 + 1e-12)).all()


def test_unicornns_printed_bound_breaks_under_a_saturated_force_at_resonance() -> None:
    alpha, dt = 0.1, 0.05
    layer, t = build(UnICORNN, 1, layers=1, dt=dt, alpha=alpha), dt * np.arange(1, 401)
    fill(layer, {"V1": np.full((1, 1), 100.0), "c1": np.full(1, OPEN)})
    y, z = path(layer, torch.from_numpy(-np.sign(np.cos(alpha**0.5 * t)))[:, None], [0.0], [0.0])[:, :, 0].T
    assert (alpha * y**2 + z**2 > 2 * (1 + 2 * (1 + 2 * alpha) * t)).any()


def general_slope(w: Weights, state: np.ndarray, x: float, activation: str) -> np.ndarray:
    y, z = state
    return np.stack([z, S[activation](w["W"] @ y + w["V"] @ [x] + w["b"])])


def multilayer_slope(w: Weights, state: np.ndarray, x: float, activation: str) -> np.ndarray:
    rows: list[np.ndarray] = []
    below = np.array([x])
    for k in range(1, len(state) // 2 + 1):
        y, z = state[2 * k - 2 : 2 * k]
        rows += [z, S[activation](w[f"w{k}"] * y + w[f"V{k}"] @ below + w[f"b{k}"])]
        below = y
    return np.stack(rows)


def unicornn_slope(w: Weights, state: np.ndarray, x: float, activation: str) -> np.ndarray:
    rows = multilayer_slope(w, state, x, activation)
    for k in range(1, len(state) // 2 + 1):
        rate = expit(w[f"c{k}"])
        rows[2 * k - 2], rows[2 * k - 1] = rate * state[2 * k - 1], -rate * (rows[2 * k - 1] + 2.0 * state[2 * k - 2])
    return rows


FLOWS: list[tuple[type[Recurrence], dict[str, Any], Callable[..., np.ndarray], int, int]] = [
    (UnICORNN, {"alpha": 2.0, "layers": 1}, unicornn_slope, 1, 1),
    (UnICORNN, {"alpha": 2.0, "layers": 2}, unicornn_slope, 2, 1),
    (NeuralOscillator, {"scheme": "imex"}, general_slope, 1, 1),
    (NeuralOscillator, {"scheme": "symplectic"}, general_slope, 1, 2),
    (MultilayerOscillator, {"scheme": "imex", "layers": 3}, multilayer_slope, 3, 1),
    (MultilayerOscillator, {"scheme": "symplectic", "layers": 1}, multilayer_slope, 1, 2),
    # a layer above the first is driven by yˡ⁻¹[n] throughout the step, which is right to order 1 only
    (MultilayerOscillator, {"scheme": "symplectic", "layers": 3}, multilayer_slope, 3, 1),
]


every_flow = [(*flow, a) for flow in FLOWS for a in ("tanh", "sin") if (flow[0], a) != (UnICORNN, "sin")]


@pytest.mark.parametrize("kind, chosen, slope, layers, order, activation", every_flow)
@settings(max_examples=4)
@given(seed=seeds)
def test_oscillators_converge_to_their_differential_equation_at_the_order_of_their_scheme(
    kind: type[Recurrence],
    chosen: dict[str, Any],
    slope: Callable[..., np.ndarray],
    layers: int,
    order: int,
    activation: str,
    seed: int,
) -> None:
    chosen = chosen if kind is UnICORNN else {**chosen, "activation": activation}
    state, x = 0.5 * draw(seed, 2 * layers, 3), 0.6
    w = random_weights(build(kind, 3, dt=1.0, **chosen), seed, scale=0.8)

    def flat_slope(_: float, flat: np.ndarray) -> np.ndarray:
        return slope(w, flat.reshape(state.shape), x, activation).ravel()

    solution = scipy.integrate.solve_ivp(flat_slope, (0, 2), state.ravel(), "DOP853", rtol=1e-12, atol=1e-12)

    def solve(n: int) -> np.ndarray:
        layer = build(kind, 3, dt=2 / n, **chosen)
        fill(layer, w)
        return end(layer, n, *state, x=x)

    assert abs(measured_order(solve, solution.y[:, -1].reshape(state.shape)) - order) < 0.2


@activations
@settings(max_examples=4)
@given(seed=seeds)
def test_the_layered_oscillator_tends_to_the_general_one_with_its_block_matrix(activation: str, seed: int) -> None:
    layers, d = 3, 2
    w = random_weights(build(MultilayerOscillator, d, layers=layers, dt=1.0), seed, scale=0.8)
    block, below = np.zeros((6, 6)), np.zeros((6, 1))  # eq. 4.3, the last layer first
    for k in (1, 2, 3):
        at = slice(d * (layers - k), d * (layers - k + 1))
        block[at, at] = np.diag(w[f"w{k}"])
        if k == 1:
            below[at] = w["V1"]
        else:
            block[at, d * (layers - k + 1) : d * (layers - k + 2)] = w[f"V{k}"]
    whole = {"W": block, "V": below, "b": np.concatenate([w["b3"], w["b2"], w["b1"]])}
    apart = []
    for n in (200, 400):
        layered = build(MultilayerOscillator, d, layers=layers, dt=2 / n, activation=activation)
        general = build(NeuralOscillator, 6, dt=2 / n, activation=activation)
        fill(layered, w)
        fill(general, whole)
        stacked = end(layered, n, *np.zeros((6, d)), x=0.6)
        both = np.concatenate([stacked[4::-2].ravel(), stacked[5::-2].ravel()])
        apart.append(np.abs(end(general, n, np.zeros(6), np.zeros(6), x=0.6).ravel() - both).max())
    assert apart[0] < 0.05
    assert apart[0] / apart[1] == pytest.approx(2, rel=0.1)  # in the limit equal: each layer sees yˡ⁻¹[n], not [n−1]


OMEGA, TIME = 1.7, 5.0


def signal(t: np.ndarray) -> np.ndarray:
    return np.asarray(np.cos(1.3 * t) + 0.5 * np.sin(0.4 * t))


def sine_transform() -> float:
    return float(scipy.integrate.quad(lambda t: signal(TIME - t) * np.sin(OMEGA * t), 0, TIME, epsabs=1e-12)[0])


def small_oscillator(s: float, n: int, scheme: str, activation: str) -> float:
    """Return y(T) of y'' = s(−ω² y + s u), at rest at the start, in n steps."""
    layer = build(NeuralOscillator, 1, dt=TIME / n, scheme=scheme, activation=activation)
    fill(layer, {"W": np.array([[-(OMEGA**2)]]), "V": np.array([[s]])})
    middle = (np.arange(n) + 0.5) * TIME / n
    return float(outputs(layer, torch.from_numpy(signal(middle))[:, None])[-1, 0])


@activations
@pytest.mark.parametrize("scheme, order", [("imex", 1), ("symplectic", 2)])
def test_a_linear_oscillator_computes_the_sine_transform_over_omega(scheme: str, activation: str, order: int) -> None:
    s, truth = 1e-6, np.array(sine_transform() / OMEGA)
    actual = measured_order(lambda n: np.array(small_oscillator(s, n, scheme, activation) / s), truth)
    assert abs(actual - order) < 0.1


@activations
def test_a_nonlinear_oscillator_approximates_the_sine_transform_with_omega_over_s_and_not_with_one_over_s(
    activation: str,
) -> None:
    truth = sine_transform()
    ends = {s: small_oscillator(s, 4000, "symplectic", activation) / s for s in (0.1, 0.03)}
    errors = [abs(OMEGA * y - truth) for y in ends.values()]
    assert errors[1] < 0.01 * abs(truth)
    assert np.log(errors[0] / errors[1]) / np.log(0.1 / 0.03) == pytest.approx(2, abs=0.2)
    assert abs(ends[0.03] - truth) > 0.3 * abs(truth)


@settings(max_examples=10)
@given(seed=seeds, omega=st.floats(0.3, 4), bound=st.floats(0.1, 5), resonant=st.booleans())
def test_a_driven_linear_oscillator_keeps_to_the_bounds_of_the_lemmas_proof(
    seed: int, omega: float, bound: float, resonant: bool
) -> None:
    dt, n, s = 0.02, 600, 1e-7
    t = dt * np.arange(1, n + 1)
    u = bound * np.sign(np.sin(omega * t + 0.1) if resonant else draw(seed, n))
    layer = build(NeuralOscillator, 1, dt=dt, scheme="symplectic")
    fill(layer, {"W": np.array([[-(omega**2)]]), "V": np.array([[s]])})
    y = outputs(layer, torch.from_numpy(u)[:, None])[:, 0] / s
    slack = 1 + (omega * dt) ** 2  # the scheme's own error
    assert (np.abs(y) <= bound * t / omega * slack).all()
    assert (np.abs(u - omega**2 * y) <= bound * (omega * t + 1) * slack).all()
    assert not resonant or omega * t[-1] < 9 or np.abs(y).max() > 0.5 * bound * t[-1] / omega
