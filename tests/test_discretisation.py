"""Cells as numerical methods: order of convergence, conserved quantities, and the bounds that the papers prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from torch import Tensor

from longwave.models.cornn import CoRNN
from longwave.models.lem import LEM
from longwave.models.recurrence import Recurrence

FLOAT64 = torch.float64
STEPS = (64, 128, 256, 512)
damped = pytest.mark.parametrize("damping", ["explicit", "implicit"])


def exact(value: float) -> Tensor:
    return torch.tensor(value, dtype=FLOAT64)


def cornn(d: int, dt: float, gamma: float, epsilon: float, damping: str = "explicit") -> CoRNN:
    return CoRNN(1, d, dt=exact(dt), gamma=exact(gamma), epsilon=exact(epsilon), damping=damping).to(FLOAT64)


def fill(layer: Recurrence, weights: dict[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """Set the named weights, and all others to zero; return all of them."""
    for name, parameter in layer.named_parameters():
        values = (weights or {}).get(name, np.zeros(tuple(parameter.shape)))
        parameter.data = torch.from_numpy(values).reshape(parameter.shape)
    return {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}


def random_weights(layer: Recurrence, seed: int, scale: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return fill(layer, {name: scale * rng.standard_normal(tuple(p.shape)) for name, p in layer.named_parameters()})


@torch.no_grad()
def path(layer: Recurrence, x: Tensor, y: Sequence[float], z: Sequence[float]) -> np.ndarray:
    """Return (y, z) after each step of one sequence x, (T, p), from the start state (y, z): (T, 2, d)."""
    state = tuple(torch.from_numpy(np.array([s], dtype=np.float64)) for s in (y, z))
    rows = []
    for x_n in x:
        _, state = layer(x_n.view(1, 1, -1), state)
        rows.append(np.stack([s[0].numpy() for s in state]))
    return np.stack(rows)


@torch.no_grad()
def end(layer: Recurrence, steps: int, y: Sequence[float], z: Sequence[float], x: float = 0.0) -> np.ndarray:
    """Return (y, z) after ``steps`` steps of the constant input x in one call: (2, d)."""
    state = tuple(torch.from_numpy(np.array([s], dtype=np.float64)) for s in (y, z))
    _, state = layer(torch.full((steps, 1, 1), x, dtype=FLOAT64), state)
    return np.stack([s[0].numpy() for s in state])


def measured_order(solve: Callable[[int], np.ndarray], truth: np.ndarray) -> float:
    """Return the slope of log(error) against log(Δt) between the coarsest and the finest of ``STEPS``."""
    errors = [np.abs(solve(n) - truth).max() for n in STEPS]
    return float(np.log(errors[0] / errors[-1]) / np.log(STEPS[-1] / STEPS[0]))


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


@settings(deadline=None, max_examples=30)
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


@settings(deadline=None, max_examples=20)
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
        layer = LEM(1, 2, dt=exact(t / n)).to(FLOAT64)
        fill(layer, w)
        return end(layer, n, y, z)

    assert abs(measured_order(solve, truth) - 1) < 0.1
    layer = LEM(1, 2, dt=exact(1.0)).to(FLOAT64)
    fill(layer, w)
    step = np.stack([y + expit(w["b2"]) * (np.tanh(w["by"]) - y), z + expit(w["b1"]) * (np.tanh(w["bz"]) - z)])
    np.testing.assert_allclose(end(layer, 1, y, z), step, rtol=1e-14)


def test_lem_under_drive_converges_at_order_one_to_its_differential_equation() -> None:
    y, z = [0.3, -0.2, 0.8], [0.0, 0.5, -0.1]
    w = random_weights(LEM(1, 3).to(FLOAT64), seed=3, scale=0.8)

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        y, z = np.split(state, 2)

        def drive(gate: str, by: np.ndarray) -> np.ndarray:
            return np.asarray(w["W" + gate] @ by + w["V" + gate] @ [0.6] + w["b" + gate] + w["c" + gate])

        y_slope = expit(drive("2", y)) * (np.tanh(drive("y", z)) - y)
        return np.concatenate([y_slope, expit(drive("1", y)) * (np.tanh(drive("z", y)) - z)])

    truth = scipy.integrate.solve_ivp(slope, (0, 2), [*y, *z], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]

    def solve(n: int) -> np.ndarray:
        layer = LEM(1, 3, dt=exact(2 / n)).to(FLOAT64)
        fill(layer, w)
        return end(layer, n, y, z, x=0.6)

    assert abs(measured_order(solve, truth.reshape(2, 3)) - 1) < 0.1


def stable_step(gamma: float, epsilon: float, damping: str) -> float:
    """Return the largest Δt of the proof, coRNN eq. 49 (explicit) and eq. 52 (implicit)."""
    return (2 * epsilon - 1) / (gamma + epsilon**2 if damping == "explicit" else gamma)


sizes = {"d": st.integers(1, 6), "seed": st.integers(0, 999), "scale": st.floats(0.01, 30)}


@damped
@settings(deadline=None, max_examples=50)
@given(
    **sizes, gamma=st.floats(0.05, 100), epsilon=st.floats(0.51, 100), part=st.floats(0.01, 0.999), driven=st.booleans()
)
def test_cornns_states_grow_no_faster_than_its_paper_proves(
    damping: str, d: int, seed: int, scale: float, gamma: float, epsilon: float, part: float, driven: bool
) -> None:
    dt = part * stable_step(gamma, epsilon, damping)
    layer = cornn(d, dt, gamma, epsilon, damping)
    w = random_weights(layer, seed, scale)
    if driven:  # a force along the velocity feeds in the most energy
        fill(layer, {**w, "Wz": 100 * np.eye(d)})
    x = scale * torch.randn(80, 1, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))
    states = path(layer, x, [0.0] * d, [0.0] * d)
    energy = (states[:, 0] ** 2 + states[:, 1] ** 2 / gamma).sum(1)
    assert (energy <= d * np.arange(1, 81) * dt / gamma * (1 + 1e-12)).all()


@settings(deadline=None, max_examples=20)
@given(d=st.integers(1, 6), seed=st.integers(0, 999), scale=st.floats(0.01, 30), dt=st.floats(0.01, 1.0))
def test_implicit_cornn_with_unit_parameters_grows_no_faster_than_its_paper_proves(
    d: int, seed: int, scale: float, dt: float
) -> None:
    layer = cornn(d, dt, 1.0, 1.0, "implicit")
    random_weights(layer, seed, scale)
    x = scale * torch.randn(80, 1, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))
    energy = (path(layer, x, [0.0] * d, [0.0] * d) ** 2).sum((1, 2))
    assert (energy <= d * np.arange(1, 81) * dt * (1 + 1e-12)).all()


@settings(deadline=None, max_examples=50)
@given(**sizes, dt=st.floats(0.01, 1.0), saturated=st.booleans())
def test_lems_states_stay_within_the_bound_that_its_paper_proves(
    d: int, seed: int, scale: float, dt: float, saturated: bool
) -> None:
    layer = LEM(1, d, dt=exact(dt)).to(FLOAT64)
    w = random_weights(layer, seed, scale)
    if saturated:  # open gates and candidates at ±1 come closest to the bound
        fill(layer, {**w, "b1": np.full(d, 50.0), "b2": np.full(d, 50.0), "bz": np.full(d, 50.0)})
    x = scale * torch.randn(80, 1, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))
    largest = np.abs(path(layer, x, [0.0] * d, [0.0] * d)).max((1, 2))
    growth = (1 + dt) / np.sqrt(2 - dt) * np.sqrt(np.arange(1, 81) * dt)
    assert (largest <= np.minimum(1.0, growth) * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", ["lem", "cornn"])
def test_the_bounds_break_where_their_conditions_do(name: str) -> None:
    if name == "lem":
        layer: Recurrence = LEM(1, 1, dt=exact(1.9)).to(FLOAT64)
        fill(layer, {"b1": np.array([50.0]), "Vz": np.array([[50.0]])})
    else:
        layer = cornn(1, 0.5, 100.0, 1.0)
        fill(layer, {"b": np.array([50.0])})
    x = torch.tensor([[(-1.0) ** n] for n in range(80)], dtype=FLOAT64)
    states = path(layer, x, [0.0], [0.0])
    if name == "lem":
        assert np.abs(states).max() > 1
    else:
        assert states[-1, 0, 0] ** 2 + states[-1, 1, 0] ** 2 / 100 > 80 * 0.5 / 100
