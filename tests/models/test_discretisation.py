"""Cells as numerical methods: order of convergence, what they conserve, and the spectra of their steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import (
    FLOAT64,
    Weights,
    build,
    cornn,
    end,
    fill,
    jacobian,
    measured_order,
    noise,
    path,
    random_weights,
)
from scipy.special import expit

from longwave.models.antisymmetric_rnn import AntisymmetricRNN
from longwave.models.base.recurrence import Recurrence
from longwave.models.exprnn import ExpRNN
from longwave.models.gated_antisymmetric_rnn import GatedAntisymmetricRNN
from longwave.models.incremental_rnn import IncrementalRNN
from longwave.models.indrnn import IndRNN
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.neural_ode_rnn import NeuralODERNN

damped = pytest.mark.parametrize("damping", ["explicit", "implicit"])


@damped
@pytest.mark.parametrize("gamma, epsilon", [(4.0, 0.5), (1.0, 2.0), (1.0, 3.0), (9.0, 0.0)])
def test_cornn_without_force_converges_at_order_one_to_the_damped_oscillator(
    damping: str, gamma: float, epsilon: float
) -> None:
    y, z = np.array([1.0, -0.5, 0.0]), np.array([0.0, 0.3, 1.0])
    truth = scipy.linalg.expm(np.array([[0.0, 1.0], [-gamma, -epsilon]]) * 1.5) @ np.stack([y, z])

    def solve(n: int) -> np.ndarray:
        layer = cornn(3, 1.5 / n, gamma, epsilon, damping)
        fill(layer)
        return end(layer, n, y, z)

    assert abs(measured_order(solve, truth) - 1) < 0.1


@damped
def test_cornn_under_force_converges_at_order_one_to_its_differential_equation(damping: str) -> None:
    gamma, epsilon, y, z = 2.0, 0.7, [0.3, -0.2, 0.8], [0.0, 0.5, -0.1]
    w = random_weights(cornn(3, 1.0, gamma, epsilon), seed=1, scale=0.8)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        y, z = np.split(state, 2)
        force = np.tanh(w["W"] @ y + w["Wz"] @ z + w["V"] @ [0.6] + w["b"])
        return np.concatenate([z, force - gamma * y - epsilon * z])

    truth = scipy.integrate.solve_ivp(slope, (0, 2), [*y, *z], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]

    def solve(n: int) -> np.ndarray:
        layer = cornn(3, 2 / n, gamma, epsilon, damping)
        fill(layer, w)
        return end(layer, n, y, z, x=0.6)

    assert abs(measured_order(solve, truth.reshape(2, 3)) - 1) < 0.1


@pytest.mark.integration
@settings(max_examples=30)
@given(dt=st.floats(0.01, 0.5), gamma=st.floats(0.1, 10), y=st.floats(-2, 2), z=st.floats(-2, 2))
def test_undamped_cornn_conserves_the_energy_of_the_symplectic_euler_method(
    dt: float, gamma: float, y: float, z: float
) -> None:
    layer = cornn(1, dt, gamma, 0.0)
    fill(layer)

    def conserved(y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.asarray(gamma * y**2 + z**2 - gamma * dt * y * z)

    states = path(layer, torch.zeros(300, 1, dtype=FLOAT64), [y], [z])
    start = conserved(np.array(y), np.array(z))
    np.testing.assert_allclose(conserved(states[:, 0], states[:, 1]), start, rtol=1e-10, atol=1e-12)


@pytest.mark.integration
def test_undamped_cornn_has_an_energy_error_that_stays_bounded_and_halves_with_the_step() -> None:
    gamma, time = 2.0, 200.0
    worst = []
    for dt in (0.1, 0.05, 0.025):
        layer = cornn(1, dt, gamma, 0.0)
        fill(layer)
        states = path(layer, torch.zeros(round(time / dt), 1, dtype=FLOAT64), [1.0], [0.0])
        error = np.abs((gamma * states[:, 0] ** 2 + states[:, 1] ** 2) / gamma - 1)
        early, late = np.array_split(error, 2)
        assert late.max() <= 1.01 * early.max()
        worst.append(error.max())
    assert worst[0] / worst[1] == pytest.approx(2, rel=0.1)
    assert worst[1] / worst[2] == pytest.approx(2, rel=0.1)


@settings(max_examples=20)
@given(dt=st.floats(0.01, 1.5), epsilon=st.floats(0, 10), z=st.floats(-2, 2))
def test_free_cornn_loses_its_velocity_at_the_rate_of_its_damping_form(dt: float, epsilon: float, z: float) -> None:
    for damping, factor in {"explicit": 1 - dt * epsilon, "implicit": 1 / (1 + dt * epsilon)}.items():
        layer = cornn(1, dt, 0.0, epsilon, damping)
        fill(layer)
        y_end, z_end = end(layer, 6, [0.5], [z])[:, 0]
        velocities = z * factor ** np.arange(1, 7)
        np.testing.assert_allclose([y_end, z_end], [0.5 + dt * velocities.sum(), velocities[-1]], rtol=1e-8, atol=1e-10)


def test_the_two_dampings_agree_without_damping_and_differ_with_it() -> None:
    for epsilon, same in [(0.0, True), (1.0, False)]:
        ends = []
        for damping in ("explicit", "implicit"):
            layer = cornn(2, 0.1, 1.0, epsilon, damping)
            random_weights(layer, seed=2, scale=1.0)
            ends.append(end(layer, 20, [0.1, 0.2], [0.3, 0.4], x=1.0))
        assert np.allclose(*ends, rtol=1e-13, atol=0) == same


def test_lem_without_coupling_converges_at_order_one_to_exponential_relaxation() -> None:
    y, z, t = np.array([0.9, -0.4]), np.array([-0.7, 0.2]), 3.0
    w = {"b1": np.array([0.3, -0.8]), "b2": np.array([1.0, 0.1]), "bz": np.array([1.2, -0.5]), "by": np.array([0.4, 2])}
    truth = np.stack(
        [
            np.tanh(w["by"]) + (y - np.tanh(w["by"])) * np.exp(-expit(w["b2"]) * t),
            np.tanh(w["bz"]) + (z - np.tanh(w["bz"])) * np.exp(-expit(w["b1"]) * t),
        ]
    )

    def solve(n: int) -> np.ndarray:
        layer = build(LEM, 2, dt=t / n)
        fill(layer, w)
        return end(layer, n, y, z)

    assert abs(measured_order(solve, truth) - 1) < 0.1
    layer = build(LEM, 2, dt=1.0)
    fill(layer, w)
    step = np.stack([y + expit(w["b2"]) * (np.tanh(w["by"]) - y), z + expit(w["b1"]) * (np.tanh(w["bz"]) - z)])
    np.testing.assert_allclose(end(layer, 1, y, z), step, rtol=1e-14)


def test_lem_under_drive_converges_at_order_one_to_its_differential_equation() -> None:
    y, z = [0.3, -0.2, 0.8], [0.0, 0.5, -0.1]
    w = random_weights(build(LEM, 3), seed=3, scale=0.8)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        y, z = np.split(state, 2)

        def drive(gate: str, by: np.ndarray) -> np.ndarray:
            return np.asarray(w["W" + gate] @ by + w["V" + gate] @ [0.6] + w["b" + gate] + w["c" + gate])

        y_slope = expit(drive("2", y)) * (np.tanh(drive("y", z)) - y)
        return np.concatenate([y_slope, expit(drive("1", y)) * (np.tanh(drive("z", y)) - z)])

    truth = scipy.integrate.solve_ivp(slope, (0, 2), [*y, *z], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]

    def solve(n: int) -> np.ndarray:
        layer = build(LEM, 3, dt=2 / n)
        fill(layer, w)
        return end(layer, n, y, z, x=0.6)

    assert abs(measured_order(solve, truth.reshape(2, 3)) - 1) < 0.1


def symmetric_skew(m: np.ndarray, beta: float, gamma: float) -> np.ndarray:
    return np.asarray((1 - beta) * (m + m.T) + beta * (m - m.T) - gamma * np.eye(len(m)))


def skew(numbers: np.ndarray, d: int) -> np.ndarray:
    full = np.zeros((d, d))
    full[np.triu_indices(d, 1)] = numbers
    return full - full.T


def lipschitz_slope(w: Weights, h: np.ndarray, x: float) -> np.ndarray:
    a, recurrent = symmetric_skew(w["MA"], 0.7, 0.2), symmetric_skew(w["MW"], 0.6, 0.1)
    return np.asarray(0.9 * a @ h + np.tanh(recurrent @ h + w["U"] @ [x] + w["b"]))


def neural_ode_slope(w: Weights, h: np.ndarray, x: float) -> np.ndarray:
    return np.asarray(np.tanh(w["W"] @ h + w["U"] @ [x] + w["b"]))


def antisymmetric_slope(w: Weights, h: np.ndarray, x: float) -> np.ndarray:
    return np.asarray(np.tanh((skew(w["M"], len(h)) - 0.3 * np.eye(len(h))) @ h + w["U"] @ [x] + w["b"]))


def gated_antisymmetric_slope(w: Weights, h: np.ndarray, x: float) -> np.ndarray:
    a = (skew(w["M"], len(h)) - 0.3 * np.eye(len(h))) @ h
    return np.asarray(expit(a + w["Ug"] @ [x] + w["bg"]) * np.tanh(a + w["U"] @ [x] + w["b"]))


LIPSCHITZ = {"beta": 0.7, "gamma": 0.2, "beta_w": 0.6, "gamma_w": 0.1, "alpha": 0.9}
FLOWS = {
    "lipschitz_rnn euler": (LipschitzRNN, LIPSCHITZ, lipschitz_slope, 1),
    "lipschitz_rnn rk2": (LipschitzRNN, {**LIPSCHITZ, "scheme": "rk2"}, lipschitz_slope, 2),
    "neural_ode_rnn": (NeuralODERNN, {}, neural_ode_slope, 1),
    "antisymmetric_rnn": (AntisymmetricRNN, {"gamma": 0.3}, antisymmetric_slope, 1),
    "gated_antisymmetric_rnn": (GatedAntisymmetricRNN, {"gamma": 0.3}, gated_antisymmetric_slope, 1),
}


@pytest.mark.parametrize("kind, chosen, slope, order", FLOWS.values(), ids=FLOWS)
@settings(max_examples=5)
@given(seed=st.integers(0, 999))
def test_a_residual_unit_converges_to_its_differential_equation_at_the_order_of_its_scheme(
    kind: type[Recurrence], chosen: dict[str, float], slope: Callable[..., np.ndarray], order: int, seed: int
) -> None:
    h, x = np.array([0.3, -0.6, 0.8]), 0.6
    w = random_weights(build(kind, 3, epsilon=1.0, **chosen), seed, scale=0.6)
    truth = scipy.integrate.solve_ivp(lambda _, h: slope(w, h, x), (0, 2), h, "DOP853", rtol=1e-12, atol=1e-12)

    def solve(n: int) -> np.ndarray:
        layer = build(kind, 3, epsilon=2 / n, **chosen)
        fill(layer, w)
        return end(layer, n, h, x=x)[0]

    assert abs(measured_order(solve, truth.y[:, -1]) - order) < 0.15


@settings(max_examples=20)
@given(d=st.integers(1, 6), seed=st.integers(0, 9999), gamma=st.floats(0, 2), gate=st.floats(-3, 3))
def test_antisymmetric_units_have_a_spectrum_with_the_real_part_minus_gamma(
    d: int, seed: int, gamma: float, gate: float
) -> None:
    m, rest, zero = np.random.default_rng(seed).standard_normal(d * (d - 1) // 2), np.zeros(d), torch.zeros(1).double()
    for kind, weights, share in [
        (AntisymmetricRNN, {"M": m}, 1.0),
        (GatedAntisymmetricRNN, {"M": m, "bg": np.full(d, gate)}, expit(gate)),
    ]:
        layer = build(kind, d, epsilon=0.5, gamma=gamma)
        fill(layer, weights)
        spectrum = np.linalg.eigvals(jacobian(layer, zero, rest) - np.eye(d)) / 0.5
        np.testing.assert_allclose(spectrum.real, -gamma * share, atol=1e-12)
        assert abs(spectrum.imag).max() > 0 or d == 1


@settings(max_examples=20)
@given(d=st.integers(2, 6), seed=st.integers(0, 9999))
def test_without_diffusion_the_antisymmetric_units_spectrum_is_imaginary_at_every_state(d: int, seed: int) -> None:
    layer = build(AntisymmetricRNN, d, epsilon=1.0, gamma=0.0)
    random_weights(layer, seed)
    there = jacobian(layer, noise(1, seed)[0], np.random.default_rng(seed).uniform(-1, 1, d))
    np.testing.assert_allclose(np.linalg.eigvals(there - np.eye(d)).real, 0, atol=1e-10)


@settings(max_examples=20)
@given(d=st.integers(1, 8), seed=st.integers(0, 9999), scale=st.floats(0.1, 10))
def test_exprnns_matrix_is_an_exact_rotation_and_keeps_every_norm(d: int, seed: int, scale: float) -> None:
    layer, h = build(ExpRNN, d), np.random.default_rng(seed).standard_normal(d)
    w = random_weights(layer, seed, scale)
    fill(layer, {"M": w["M"]})
    rotation = jacobian(layer, torch.zeros(1, dtype=FLOAT64), h)
    np.testing.assert_allclose(rotation, scipy.linalg.expm(skew(w["M"], d)), atol=1e-11)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(d), atol=1e-12)
    states = path(layer, torch.zeros(40, 1, dtype=FLOAT64), h)
    np.testing.assert_allclose(np.linalg.norm(states[:, 0], axis=1), np.linalg.norm(h), rtol=1e-11)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 9999),
    alpha=st.floats(0.2, 2),
    contraction=st.floats(0.05, 0.5),
    steps=st.sampled_from([1, 2, 5, 10]),
)
def test_the_incremental_rnn_approaches_a_derivative_of_minus_one_at_its_equilibrium(
    seed: int, alpha: float, contraction: float, steps: int
) -> None:
    d, layer = 4, build(IncrementalRNN, 4, alpha=alpha, euler_steps=steps)
    w = random_weights(layer, seed)
    matrix = w["W"] * contraction * alpha / np.linalg.norm(w["W"], 2)
    w = fill(layer, {**w, "W": matrix, "eta": np.full(steps, 1 / alpha)})  # each step contracts by |W|/α
    x, h = noise(1, seed), np.random.default_rng(seed).standard_normal(d)
    away = np.linalg.norm(jacobian(layer, x[0], h) + np.eye(d), 2)
    assert away <= contraction**steps * (1 + 1e-12)
    total = path(layer, x, h)[0, 0] + h
    left = np.tanh(w["W"] @ total + w["V"] @ x[0].numpy() + w["b"]) - alpha * total
    first = np.tanh(w["W"] @ h + w["V"] @ x[0].numpy() + w["b"]) - alpha * h
    assert np.linalg.norm(left) <= contraction**steps * np.linalg.norm(first) + 1e-12


@settings(max_examples=10)
@given(seed=st.integers(0, 9999), longest=st.integers(1, 50))
def test_indrnns_neurons_at_most_double_over_the_longest_memory(seed: int, longest: int) -> None:
    layer, h = build(IndRNN, 4, layers=1, t_max=longest), np.random.default_rng(seed).uniform(0.1, 1, 4)
    fill(layer, {"w1": np.array([0.0, 0.9, 1.5, 100.0])})
    layer.constrain()
    growth = end(layer, longest, h)[0] / h
    assert (growth <= 2 * (1 + 1e-12)).all()
    assert growth[3] == pytest.approx(2)
