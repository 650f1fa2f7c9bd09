"""The bounds that the papers prove, in their corrected form: states, Jacobians, spectra and rates of contraction."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import (
    FLOAT64,
    OPEN,
    build,
    cornn,
    end,
    fill,
    jacobian,
    noise,
    outputs,
    path,
    random_weights,
    start,
)
from scipy.special import expit, logit
from torch import Tensor

from longwave.models.base.recurrence import Recurrence
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.simple_delay_gru import SimpleDelayGRU
from longwave.models.tau_gru import BLOCKS, TauGRU

damped = pytest.mark.parametrize("damping", ["explicit", "implicit"])
ROUNDING = 1 + 1e-12
seeds = st.integers(0, 9999)


def norm(matrix: np.ndarray) -> float:
    """Return the largest absolute row sum."""
    return float(np.abs(matrix).sum(1).max())


def stable_step(gamma: float, epsilon: float, damping: str) -> float:
    """Return the largest Δt of the proof, coRNN eq. 49 (explicit) and eq. 52 (implicit)."""
    return (2 * epsilon - 1) / (gamma + epsilon**2 if damping == "explicit" else gamma)


sizes = {"d": st.integers(1, 6), "seed": st.integers(0, 999), "scale": st.floats(0.01, 30)}


@pytest.mark.integration
@damped
@settings(max_examples=50)
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
    x = noise(80, seed, scale)
    states = path(layer, x, [0.0] * d, [0.0] * d)
    energy = (states[:, 0] ** 2 + states[:, 1] ** 2 / gamma).sum(1)
    assert (energy <= d * np.arange(1, 81) * dt / gamma * ROUNDING).all()


@settings(max_examples=20)
@given(d=st.integers(1, 6), seed=st.integers(0, 999), scale=st.floats(0.01, 30), dt=st.floats(0.01, 1.0))
def test_implicit_cornn_with_unit_parameters_grows_no_faster_than_its_paper_proves(
    d: int, seed: int, scale: float, dt: float
) -> None:
    layer = cornn(d, dt, 1.0, 1.0, "implicit")
    random_weights(layer, seed, scale)
    x = noise(80, seed, scale)
    energy = (path(layer, x, [0.0] * d, [0.0] * d) ** 2).sum((1, 2))
    assert (energy <= d * np.arange(1, 81) * dt * ROUNDING).all()


@pytest.mark.integration
@settings(max_examples=50)
@given(**sizes, dt=st.floats(0.01, 1.0), saturated=st.booleans())
def test_lems_states_stay_within_the_bound_that_its_paper_proves(
    d: int, seed: int, scale: float, dt: float, saturated: bool
) -> None:
    layer = build(LEM, d, dt=dt)
    w = random_weights(layer, seed, scale)
    if saturated:  # open gates and candidates at ±1 come closest to the bound
        fill(layer, {**w, "b1": np.full(d, 50.0), "b2": np.full(d, 50.0), "bz": np.full(d, 50.0)})
    x = noise(80, seed, scale)
    largest = np.abs(path(layer, x, [0.0] * d, [0.0] * d)).max((1, 2))
    growth = (1 + dt) / np.sqrt(2 - dt) * np.sqrt(np.arange(1, 81) * dt)
    assert (largest <= np.minimum(1.0, growth) * ROUNDING).all()


@pytest.mark.parametrize("name", ["lem", "cornn"])
def test_the_bounds_break_where_their_conditions_do(name: str) -> None:
    if name == "lem":
        layer = build(LEM, 1, dt=1.9)
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


@settings(max_examples=20)
@given(**sizes, dt=st.floats(0.01, 1.0))
def test_two_runs_of_implicit_cornn_differ_by_no_more_than_its_paper_proves(
    d: int, seed: int, scale: float, dt: float
) -> None:
    layer = cornn(d, dt, 1.0, 1.0, "implicit")
    w = random_weights(layer, seed, scale)
    fill(layer, {**w, "Wz": 100 * np.eye(d), "W": 0 * w["W"]})  # opposite inputs keep pushing the runs apart
    x = noise(60, seed, scale=30.0)
    apart = path(layer, x, [0.0] * d, [0.0] * d) - path(layer, -x, [0.0] * d, [0.0] * d)
    assert ((apart**2).sum((1, 2)) <= 4 * d * np.arange(1, 61) * dt * ROUNDING).all()


@settings(max_examples=20)
@given(seed=seeds, dt=st.floats(0.01, 1), r=st.floats(0.5, 1), part=st.floats(0, 1), sharp=st.booleans())
def test_one_step_of_implicit_cornn_has_a_jacobian_as_small_as_its_paper_proves(
    seed: int, dt: float, r: float, part: float, sharp: bool
) -> None:
    d, rng, bound = 4, np.random.default_rng(seed), dt ** (r - 1) * (1 + dt)  # η ≤ Δtʳ for |W| ≤ most − 1, |𝒲| ≤ most
    w, wz, state = rng.standard_normal((3, d, d))
    w, wz, state = -np.eye(d) if sharp else w, np.eye(d) if sharp else wz, state * (not sharp)
    layer = cornn(d, dt, 1.0, 1.0, "implicit")
    w, wz = w * part * (bound - 1) / norm(w), wz * part * bound / norm(wz)
    fill(layer, {"W": w, "Wz": wz})
    eta, delta = dt * max(1 + norm(w), norm(wz)) / (1 + dt), 1 / (1 + dt)
    measured = norm(jacobian(layer, torch.zeros(1, dtype=FLOAT64), state[0], state[1]))
    assert measured <= max(1 + dt * (delta + 2 * eta), delta + 2 * eta) * ROUNDING
    assert measured <= (1 + 3 * dt**r) * ROUNDING
    if sharp:  # at rest, with −W and 𝒲 multiples of I, the velocity's rows reach the bound
        assert measured >= delta + dt * (1 + norm(w) + norm(wz)) / (1 + dt) - 1e-12


@pytest.mark.integration
@settings(max_examples=8)
@given(seed=seeds, gamma=st.floats(0.2, 4), epsilon=st.floats(0.5, 3), driven=st.booleans())
def test_fine_steps_of_cornn_keep_the_bounds_of_its_differential_equation(
    seed: int, gamma: float, epsilon: float, driven: bool
) -> None:
    d, dt, steps = 3, 0.004, 1000  # ε = 1/2 is allowed here, and not in the discrete bound
    layer = cornn(d, dt, gamma, epsilon)
    w = random_weights(layer, seed, scale=2.0)
    if driven:
        fill(layer, {**w, "Wz": 100 * np.eye(d)})
    states = path(layer, noise(1, seed).expand(steps, 1), [0.0] * d, [0.0] * d)
    y, z = (states**2).sum(2).T
    bound = d * dt * np.arange(1, steps + 1) * (1 + 5 * dt)  # the method's own error is of order Δt
    assert (y <= bound / gamma).all()
    assert (z <= bound).all()


@settings(max_examples=30)
@given(d=st.integers(1, 6), seed=seeds, scale=st.floats(0.01, 10), dt=st.floats(0.01, 1))
def test_one_step_of_lem_has_a_jacobian_as_small_as_its_paper_proves(
    d: int, seed: int, scale: float, dt: float
) -> None:
    layer = build(LEM, d, dt=dt)
    w = random_weights(layer, seed, scale)
    y, z = np.random.default_rng(seed).uniform(-1, 1, (2, d))
    eta = max(norm(w[f"W{gate}"]) for gate in "12zy")
    assert norm(jacobian(layer, noise(1, seed)[0], y, z)) <= 1 + (1 + eta) * (1 + 3 * eta) * dt


def lem_gradient(dt: float, seed: int, sign: float) -> tuple[float, float]:
    """Return ∂Eₙ⁽ᵏ⁾/∂(W_y)₀₁, k = 3, n = 8, of E = |y|²/2, by autograd and by eq. 5.39 with a sign of its last term."""
    layer, then, x = build(LEM, 3, dt=dt, biases=4), build(LEM, 3, dt=dt, biases=4), noise(8, seed)
    w = random_weights(layer, seed)
    fill(then, w)
    states = path(layer, x, *np.random.default_rng(seed).uniform(-1, 1, (2, 3)))
    _, state = layer(x[2].view(1, 1, 1), start(*states[1]))
    _, (y_end, _) = then(x[3:].unsqueeze(1), state)
    exact = torch.autograd.grad(0.5 * (y_end**2).sum(), layer.get_parameter("Wy"))[0][0, 1].item()

    def gate(n: int) -> np.ndarray:  # σ̂(B), from 1
        return np.asarray(expit(w["W2"] @ states[n - 2, 0] + w["V2"] @ x[n - 1].numpy() + w["b2"]))

    def candidate(n: int) -> np.ndarray:  # tanh(D)
        return np.asarray(np.tanh(w["Wy"] @ states[n - 1, 1] + w["Vy"] @ x[n - 1].numpy() + w["by"]))

    y = states[-1, 0]
    change = sum(gate(n) * (1 - gate(n)) * (candidate(n) - states[n - 2, 0]) for n in range(4, 9))
    first = dt * gate(3)[0] * (1 - candidate(3)[0] ** 2) * states[2, 1, 1]
    printed = y[0] + dt * (y * change) @ w["W2"][:, 0] + sign * dt * y[0] * sum(gate(n)[0] for n in range(4, 9))
    return exact, float(first * printed)


def test_lems_gradient_has_the_papers_expansion_with_a_minus_in_its_last_term() -> None:
    for seed in range(3):
        for sign, order in [(-1.0, 3), (1.0, 2)]:  # the paper prints plus, and its error is of a lower order then
            errors = [abs(np.subtract(*lem_gradient(dt, seed, sign))) for dt in (0.001, 0.00025)]
            assert np.log(errors[0] / errors[1]) / np.log(4) == pytest.approx(order, abs=0.15)


def linear_part(layer: Recurrence) -> np.ndarray:
    """Return A of a Lipschitz RNN with W = 0 and ε = 1, from its step."""
    zeros = np.zeros(layer.hidden_size)
    return jacobian(layer, torch.zeros(1, dtype=FLOAT64), zeros) - np.eye(layer.hidden_size)


def lipschitz(m: np.ndarray, beta: float, gamma: float) -> Recurrence:
    layer = build(LipschitzRNN, len(m), epsilon=1.0, beta=beta, gamma=gamma, gamma_w=0.0)
    fill(layer, {"MA": m})
    return layer


@settings(max_examples=30)
@given(d=st.integers(1, 7), seed=seeds, beta=st.floats(0, 1), gamma=st.floats(0, 2))
def test_the_spectrum_of_the_lipschitz_rnns_matrix_lies_in_the_corrected_interval(
    d: int, seed: int, beta: float, gamma: float
) -> None:
    m = np.random.default_rng(seed).standard_normal((d, d))
    a = linear_part(lipschitz(m, beta, gamma))
    ends = 2 * (1 - beta) * np.linalg.eigvalsh((m + m.T) / 2)[[0, -1]] - gamma
    real = np.linalg.eigvals(a).real
    assert ends[0] - 1e-9 <= real.min() and real.max() <= ends[1] + 1e-9
    np.testing.assert_allclose(np.linalg.eigvalsh((a + a.T) / 2)[[0, -1]], ends, atol=1e-11)


def test_the_printed_interval_of_the_lipschitz_rnns_spectrum_is_too_narrow() -> None:
    outside = 0
    for seed in range(50):
        m = np.random.default_rng(seed).standard_normal((5, 5))
        ends = 0.5 * np.linalg.eigvalsh((m + m.T) / 2)[[0, -1]] - 0.1
        real = np.linalg.eigvals(linear_part(lipschitz(m, 0.5, 0.1))).real
        outside += real.min() < ends[0] - 1e-6 or real.max() > ends[1] + 1e-6
    assert outside > 0


@settings(max_examples=20)
@given(d=st.integers(1, 7), seed=seeds, gamma=st.floats(0, 2))
def test_the_lipschitz_rnns_matrix_is_skew_symmetric_up_to_its_shift_for_beta_one(
    d: int, seed: int, gamma: float
) -> None:
    a = linear_part(lipschitz(np.random.default_rng(seed).standard_normal((d, d)), 1.0, gamma))
    np.testing.assert_allclose(a + a.T, -2 * gamma * np.eye(d), atol=1e-13)
    np.testing.assert_allclose(np.linalg.eigvals(a).real, -gamma, atol=1e-12)


@pytest.mark.integration
@settings(max_examples=12)
@given(seed=seeds, beta=st.floats(0.5, 1), scale=st.floats(0.1, 1), margin=st.floats(0.1, 2))
def test_a_stable_lipschitz_rnn_contracts_at_least_as_fast_as_its_theorem_says(
    seed: int, beta: float, scale: float, margin: float
) -> None:
    d, epsilon, rng = 4, 0.002, np.random.default_rng(seed)
    ma, mw = scale * rng.standard_normal((2, d, d))
    recurrent = (1 - beta) * (mw + mw.T) + beta * (mw - mw.T)
    widest, top = np.linalg.norm(recurrent, 2), np.linalg.eigvalsh((1 - beta) * (ma + ma.T))[-1]
    gamma = max(top, 0.0) + widest + margin
    layer = build(LipschitzRNN, d, epsilon=epsilon, beta=beta, gamma=float(gamma), gamma_w=0.0)
    fill(layer, {"MA": ma, "MW": mw, "U": rng.standard_normal((d, 1)), "b": rng.standard_normal(d)})
    a = (1 - beta) * (ma + ma.T) + beta * (ma - ma.T) - gamma * np.eye(d)
    rate, size = np.abs(np.linalg.eigvalsh((a + a.T) / 2)).min() - widest, np.linalg.norm(a, 2) + widest
    x, (h, k) = noise(400, seed), rng.standard_normal((2, d))
    apart = np.linalg.norm(path(layer, x, h)[:, 0] - path(layer, x, k)[:, 0], axis=1)
    step = np.sqrt(1 - 2 * epsilon * rate + (epsilon * size) ** 2)  # e^(−ε rate) up to Euler's (ε |A + DW|)²
    assert (apart <= np.linalg.norm(h - k) * step ** np.arange(1, 401) * ROUNDING).all()


@pytest.mark.parametrize("stable", [True, False])
def test_a_lipschitz_rnn_forgets_its_start_under_the_theorems_second_condition(stable: bool) -> None:
    for seed in range(3):
        m = np.random.default_rng(seed).standard_normal((4, 4))
        chosen = {"epsilon": 0.01, "beta": 0.8, "scheme": "rk2", "gamma": 3.0, "gamma_w": 3.0 if stable else 0.0}
        layer = build(LipschitzRNN, 4, **chosen)
        ma, mw = (m, m) if stable else (0 * m, 50 * np.eye(4))  # A = W, beyond condition (a); or A = −3 I, W = 20 I
        fill(layer, {"MA": ma, "MW": mw, "U": np.ones((4, 1))})
        symmetric = 0.2 * (m + m.T) - 3 * np.eye(4)
        assert np.linalg.eigvalsh(symmetric)[-1] < 0
        h, x = np.full(4, 2.0), 0.3
        apart = np.abs(end(layer, 2000, h, x=x) - end(layer, 2000, -h, x=x)).max()
        assert apart < 1e-8 if stable else apart > 0.1


@settings(max_examples=30)
@given(
    **sizes, tau=st.integers(0, 4), form=st.sampled_from(sorted(BLOCKS)), alpha=st.floats(0, 1), saturated=st.booleans()
)
def test_tau_grus_states_stay_within_two(
    d: int, seed: int, scale: float, tau: int, form: str, alpha: float, saturated: bool
) -> None:
    chosen = {"alpha=0": {}, "no gating": {"tau": float(tau)}}.get(form, {"tau": float(tau), "alpha": alpha})
    layer = build(TauGRU, d, form=form, **chosen)
    w = random_weights(layer, seed, scale)
    if saturated:
        fill(layer, {name: value + 100 * (name[0] == "b") for name, value in w.items()})
    assert np.abs(outputs(layer, noise(60, seed, scale))).max() <= 2 * ROUNDING


def test_an_open_tau_gru_reaches_its_bound() -> None:
    layer = build(TauGRU, 2, tau=3.0)
    fill(layer, {f"b{k}": np.full(2, OPEN) for k in "1234"})
    np.testing.assert_allclose(outputs(layer, torch.zeros(3, 1, dtype=FLOAT64)), 2.0, rtol=1e-15)


@settings(max_examples=10)
@given(seed=seeds, m=st.integers(1, 4))
def test_the_delay_adds_the_papers_shorter_paths_from_inputs_to_states(seed: int, m: int) -> None:
    d, rng, steps = 3, np.random.default_rng(seed), 2 * m + 2
    a, c = 0.5 * rng.standard_normal((d, d)), rng.standard_normal((d, 2))
    b = 0.7 * np.eye(d) - 0.4 * a + 0.2 * a @ a  # commutes with A
    layer = build(SimpleDelayGRU, d, p=2, tau=float(m))
    fill(layer, {"W1": a, "W2": b, "U": c, "b3": np.full(d, OPEN)})  # at rest, with an open gate: the linear delay RNN

    def run(x: Tensor) -> Tensor:
        h: Tensor = layer(x.view(steps, 1, 2))[0]
        return h

    derivative = torch.autograd.functional.jacobian(run, torch.zeros(steps, 2, dtype=FLOAT64)).numpy()[:, 0]
    power = [np.linalg.matrix_power(a, k) for k in range(steps + 1)]
    for n, i in product(range(steps), range(steps)):  # the n-th output is h[n+1]
        if i > n:
            continue
        paths = power[n - i] @ c
        if n > m and i < n - m:
            paths = paths + (n - m - i) * power[n - m - i - 1] @ b @ c
        np.testing.assert_allclose(derivative[n, :, i], paths, atol=1e-12)


def tau_gru_sensitivities(layer: Recurrence, x: Tensor, h: np.ndarray, past: np.ndarray) -> list[float]:
    """Return |∂h[k+j]/∂h[k]| for j = 1 … len(x), from the state (h, past)."""

    def run(h: Tensor) -> Tensor:
        states: Tensor = layer(x.unsqueeze(1), (h.view(1, -1), start(past)[0]))[0]
        return states[:, 0]

    return [norm(each) for each in torch.autograd.functional.jacobian(run, torch.from_numpy(h)).numpy()]


@settings(max_examples=20)
@given(seed=seeds, m=st.integers(1, 3), scale=st.floats(0.05, 1.5), open_gates=st.booleans())
def test_tau_grus_gradients_obey_the_corrected_recursion(seed: int, m: int, scale: float, open_gates: bool) -> None:
    d, steps, rng = 3, 8, np.random.default_rng(seed)
    layer = build(TauGRU, d, tau=float(m))
    w = random_weights(layer, seed, scale)
    w = fill(layer, {**w, **({"b3": np.full(d, 3.0), "b4": np.full(d, 3.0)} if open_gates else {})})
    x, h, past = noise(steps, seed), rng.uniform(-2, 2, d), rng.uniform(-2, 2, (m, d))
    with torch.no_grad():
        seen = np.stack([h, *layer(x.unsqueeze(1), start(h, past))[0][:-1, 0].numpy()])
    gates = [expit(seen @ w[f"W{k}"].T + x.numpy() @ w[f"U{k}"].T + w[f"b{k}"] + w[f"c{k}"]) for k in "34"]
    grow = 1 + norm(w["W1"]) + norm(w["W3"]) + norm(w["W4"]) / 4 - float(np.min(gates))
    bound = [1.0]
    for j in range(1, steps + 1):
        bound.append(grow * bound[-1] + (norm(w["W2"]) * bound[j - m - 1] if j > m else 0.0))
    assert (np.array(tau_gru_sensitivities(layer, x, h, past)) <= np.array(bound[1:]) * ROUNDING).all()


def test_the_printed_bound_of_tau_grus_gradients_misses_what_returns_through_the_delay_twice() -> None:
    layer = build(TauGRU, 2, tau=1.0)
    fill(layer, {"W2": 0.9 * np.eye(2), "b3": np.full(2, OPEN), "b4": np.full(2, OPEN)})
    actual = tau_gru_sensitivities(layer, torch.zeros(4, 1, dtype=FLOAT64), np.zeros(2), np.zeros((1, 2)))
    np.testing.assert_allclose(actual, [0, 0.9, 0, 0.81], atol=1e-14)  # printed for four steps: 0


@settings(max_examples=10)
@given(seed=seeds, m=st.integers(0, 5), scale=st.floats(0.1, 2), dt=st.floats(0.01, 0.2))
def test_two_pasts_of_the_delay_equation_part_no_faster_than_its_theorem_says(
    seed: int, m: int, scale: float, dt: float
) -> None:
    d, rng, steps = 3, np.random.default_rng(seed), 50
    layer = build(TauGRU, d, tau=float(m))
    w = random_weights(layer, seed, scale)
    constant = {"W3": np.zeros((d, d)), "U3": np.zeros((d, 1)), "c3": np.zeros(d), "b3": np.full(d, logit(dt))}
    fill(layer, {**w, **constant})  # a constant gate Δt gives Euler's method for h' = −h + u + a z
    runs = []
    pasts = rng.uniform(-1, 1, (2, m + 1, d))
    with torch.no_grad():
        for past in pasts:
            runs.append(layer(noise(steps, seed).unsqueeze(1), start(past[-1], past[:-1]))[0][:, 0].numpy())
    rate = 1 + norm(w["W1"]) + norm(w["W2"]) + norm(w["W4"]) / 4
    bound = np.abs(pasts[0] - pasts[1]).max() * np.exp(rate * dt * np.arange(1, steps + 1))
    assert (np.abs(runs[0] - runs[1]).max(1) <= bound).all()
