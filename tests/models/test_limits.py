"""Where one model is a special case of another: both layers give the same outputs and gradients there."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import OPEN, Weights, build, fill, noise, outputs, random_weights
from scipy.special import expit, logit

from longwave.models.antisymmetric_rnn import AntisymmetricRNN
from longwave.models.base.recurrence import Recurrence
from longwave.models.chrono_lstm import ChronoLSTM
from longwave.models.cornn import CoRNN
from longwave.models.dt_lstm import DtLSTM
from longwave.models.exprnn import ExpRNN
from longwave.models.fastgrnn import FastGRNN
from longwave.models.fastrnn import FastRNN
from longwave.models.gated_antisymmetric_rnn import GatedAntisymmetricRNN
from longwave.models.gru import GRU
from longwave.models.incremental_rnn import IncrementalRNN
from longwave.models.indrnn import IndRNN
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.lstm import LSTM
from longwave.models.multilayer_oscillator import MultilayerOscillator
from longwave.models.neural_ode_rnn import NeuralODERNN
from longwave.models.neural_oscillator import NeuralOscillator
from longwave.models.residual_unicornn import ResidualUnICORNN
from longwave.models.simple_delay_gru import SimpleDelayGRU
from longwave.models.tanh_rnn import TanhRNN
from longwave.models.tau_gru import TauGRU
from longwave.models.unicornn import UnICORNN

D, P, T = 4, 2, 12
SHUT = -800.0
"""Bias of a gate that is shut: σ(−800) is 0 in float64."""
seeds = st.integers(0, 9999)
some = settings(max_examples=10)


def draw(seed: int, *shape: int) -> np.ndarray:
    return 0.6 * np.random.default_rng(seed).standard_normal(shape)


def assert_same(one: Recurrence, other: Recurrence, seed: int, tolerance: float = 1e-12) -> None:
    """Assert that two layers give the same outputs, and the same derivative by the inputs, on a random sequence."""
    x, towards = noise(T, seed, p=P), noise(T, seed + 1, p=D)
    actual = []
    for layer in (one, other):
        inputs = x.clone().requires_grad_()
        y = layer(inputs.unsqueeze(1))[0][:, 0]
        actual.append((y.detach(), torch.autograd.grad((y * towards).sum(), inputs)[0]))
    for a, b in zip(*actual, strict=True):
        largest = a.abs().max().item()
        assert largest > 0
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance * largest)


def pair(one: Recurrence, other: Recurrence, weights: Weights) -> tuple[Recurrence, Recurrence]:
    """Give both layers those of the weights that they have, and zeros for the others."""
    fill(one, weights)
    fill(other, weights)
    return one, other


@some
@given(seed=seeds, beta=st.floats(0, 1), gamma=st.floats(0, 2))
def test_a_lipschitz_rnn_without_linear_part_is_a_neural_ode_rnn(seed: int, beta: float, gamma: float) -> None:
    unit = build(LipschitzRNN, D, P, epsilon=0.3, beta=0.7, gamma=0.1, beta_w=beta, gamma_w=gamma, alpha=0.0)
    plain = build(NeuralODERNN, D, P, epsilon=0.3)
    w = random_weights(unit, seed)
    m = w["MW"]
    fill(plain, {**w, "W": (1 - beta) * (m + m.T) + beta * (m - m.T) - gamma * np.eye(D)})
    assert_same(unit, plain, seed)


@some
@given(seed=seeds, gamma=st.floats(0, 2))
def test_an_antisymmetric_unit_is_a_neural_ode_rnn_and_a_lipschitz_rnn_with_its_matrix(seed: int, gamma: float) -> None:
    unit, plain = build(AntisymmetricRNN, D, P, epsilon=0.3, gamma=gamma), build(NeuralODERNN, D, P, epsilon=0.3)
    w, m = random_weights(unit, seed), np.zeros((D, D))
    m[np.triu_indices(D, 1)] = w["M"]
    fill(plain, {**w, "W": m - m.T - gamma * np.eye(D)})
    assert_same(unit, plain, seed)
    lipschitz = build(LipschitzRNN, D, P, epsilon=0.3, beta=1.0, gamma=gamma, alpha=0.0)
    fill(lipschitz, {**w, "MW": m})
    assert_same(unit, lipschitz, seed)


@some
@given(seed=seeds)
def test_a_gated_antisymmetric_unit_with_an_open_gate_is_an_antisymmetric_one(seed: int) -> None:
    gated, unit = (build(kind, D, P, epsilon=0.3, gamma=0.4) for kind in (GatedAntisymmetricRNN, AntisymmetricRNN))
    assert_same(*pair(gated, unit, {**random_weights(unit, seed), "bg": np.full(D, OPEN)}), seed)


@some
@given(seed=seeds, tau=st.integers(0, 4), value=st.floats(0.05, 1))
def test_tau_grus_ablations_are_the_full_form_with_a_part_switched_off(seed: int, tau: int, value: float) -> None:
    lag, ones = float(tau), np.full(D, OPEN)
    w = random_weights(build(TauGRU, D, P, tau=lag), seed)
    shut = {f"{kind}{k}": np.zeros_like(w[f"{kind}{k}"]) for kind in "UWc" for k in "34"}
    cases: list[tuple[str, dict[str, float], dict[str, float], dict[str, np.ndarray]]] = [
        ("alpha=0", {}, {"alpha": 0.0}, {}),
        ("beta=0", {"alpha": value}, {"alpha": value, "beta": 0.0}, {}),
        ("no weighting", {"alpha": value}, {"alpha": value}, {**{k: shut[k] for k in ("U4", "W4", "c4")}, "b4": ones}),
        ("no gating", {}, {}, {**{k: shut[k] for k in ("U3", "W3", "c3")}, "b3": ones}),
    ]
    for form, own, full, changed in cases:
        lags = {} if form == "alpha=0" else {"tau": lag}
        ablated = build(TauGRU, D, P, form=form, **lags, **own)
        assert_same(*pair(ablated, build(TauGRU, D, P, tau=lag, **full), {**w, **changed}), seed)
    late = build(TauGRU, D, P, tau=0.0, form="delayed weighting")
    assert_same(*pair(late, build(TauGRU, D, P, tau=0.0), w), seed)


@some
@given(seed=seeds, alpha=st.floats(0, 1), beta=st.floats(0, 1), tau=st.integers(0, 3))
def test_tau_gru_with_lag_zero_feeds_back_the_present_state_and_else_an_older_one(
    seed: int, alpha: float, beta: float, tau: int
) -> None:
    layer, x = build(TauGRU, D, P, tau=float(tau), alpha=alpha, beta=beta), noise(T, seed, p=P)
    w, states = random_weights(layer, seed), [np.zeros(D)] * (tau + 1)
    for u in x.numpy():
        seen = dict.fromkeys("134", states[-1]) | {"2": states[-1 - tau]}
        part = {k: w[f"W{k}"] @ h + w[f"U{k}"] @ u + w[f"b{k}"] + w[f"c{k}"] for k, h in seen.items()}
        g, a = expit(part["3"]), expit(part["4"])
        new = beta * np.tanh(part["1"]) + alpha * a * np.tanh(part["2"])
        states.append((1 - g) * states[-1] + g * new)
    np.testing.assert_allclose(outputs(layer, x), states[tau + 1 :], rtol=1e-11, atol=1e-13)


@some
@given(seed=seeds, tau=st.integers(0, 4))
def test_a_simple_delay_gru_without_delayed_weights_is_a_plain_gated_unit(seed: int, tau: int) -> None:
    delayed, plain = build(SimpleDelayGRU, D, P, tau=float(tau)), build(TauGRU, D, P, form="alpha=0")
    w = random_weights(delayed, seed)
    w = fill(delayed, {**w, "W2": np.zeros((D, D))})
    fill(plain, {**w, "U1": w["U"], "b1": w["b"], "c1": w["c1"] + w["c2"]})
    assert_same(delayed, plain, seed)


@some
@given(seed=seeds, dt=st.floats(0.01, 1), damping=st.sampled_from(["explicit", "implicit"]))
def test_cornn_without_damping_spring_and_velocity_weights_is_a_neural_oscillator(
    seed: int, dt: float, damping: str
) -> None:
    cornn = build(CoRNN, D, P, dt=dt, gamma=0.0, epsilon=0.0, damping=damping)
    oscillator = build(NeuralOscillator, D, P, dt=dt, scheme="imex")
    assert_same(*pair(cornn, oscillator, random_weights(oscillator, seed)), seed)


@some
@given(seed=seeds)
def test_lem_with_the_settings_of_its_appendix_d_is_an_lstm_with_coupled_gates(seed: int) -> None:
    lem, lstm = build(LEM, D, P, dt=1.0, biases=4), build(LSTM, D, P, biases=1)
    w = random_weights(lem, seed)
    full = {**w, "Wy": np.eye(D), "Vy": np.zeros((D, P)), "by": np.zeros(D)}  # y = δ̄ tanh(z)
    fill(lem, {**full, "W2": np.zeros((D, D)), "V2": np.zeros((D, P)), "b2": np.full(D, OPEN)})
    gates = {  # i = δ, f = 1 − δ = σ(−·), g = tanh(W_z y + ...), o = δ̄ = 1
        "weight_ih": np.concatenate([w["V1"], -w["V1"], w["Vz"], np.zeros((D, P))]),
        "weight_hh": np.concatenate([w["W1"], -w["W1"], w["Wz"], np.zeros((D, D))]),
        "bias_ih": np.concatenate([w["b1"], -w["b1"], w["bz"], np.full(D, OPEN)]),
    }
    fill(lstm, gates)
    assert_same(lem, lstm, seed)


@some
@given(seed=seeds, dt=st.floats(0.01, 1.9))
def test_lem_with_open_gates_is_lem_without_multiscale_and_so_is_a_floor_of_dt(seed: int, dt: float) -> None:
    w = random_weights(build(LEM, D, P, dt=dt, multiscale=False), seed)
    plain = build(LEM, D, P, dt=dt, multiscale=False)
    gates = {"b1": np.full(D, OPEN), "b2": np.full(D, OPEN)}
    assert_same(*pair(build(LEM, D, P, dt=dt), plain, {**w, **gates}), seed)
    floored = build(LEM, D, P, dt=dt, floor=min(dt, 1.0))
    same = build(LEM, D, P, dt=min(dt, 1.0), multiscale=False)
    assert_same(*pair(floored, same, {**w, "b1": np.full(D, SHUT), "b2": np.full(D, SHUT)}), seed)


@some
@given(seed=seeds)
def test_dt_lstm_with_a_step_of_one_is_an_lstm_and_in_its_second_version_one_that_forgets(seed: int) -> None:
    first, second = build(DtLSTM, D, P, dt=1.0, version="v1"), build(DtLSTM, D, P, dt=1.0, version="v2")
    w = {name: value.copy() for name, value in random_weights(first, seed).items()}
    assert_same(*pair(first, build(LSTM, D, P), w), seed)
    fill(second, w)
    forgets = build(LSTM, D, P)
    for name in ("weight_ih", "weight_hh", "bias_hh", "bias_ih"):
        w[name][D : 2 * D] = SHUT if name == "bias_ih" else 0.0
    fill(forgets, w)
    assert_same(second, forgets, seed)


@some
@given(seed=seeds, dt=st.floats(0.01, 0.99))
def test_dt_lstm_with_smaller_steps_is_an_lstm_with_its_gates_scaled(seed: int, dt: float) -> None:
    forget, take, w = (np.full(D, 0.7), np.full(D, 0.4), {"weight_ih": draw(seed, 4 * D, P)})
    w["weight_ih"][: 2 * D] = 0.0  # constant gates i and f, so that Δt i and Δt f are gates too
    w["weight_hh"] = np.concatenate([np.zeros((2 * D, D)), draw(seed + 1, 2 * D, D)])
    rest = np.zeros(2 * D)
    for version, share in [("v1", dt), ("v2", 1 - dt)]:
        layer, lstm = build(DtLSTM, D, P, dt=dt, version=version, biases=1), build(LSTM, D, P, biases=1)
        fill(layer, {**w, "bias_ih": np.concatenate([logit(take), logit(forget), rest])})
        fill(lstm, {**w, "bias_ih": np.concatenate([logit(dt * take), logit(share * forget), rest])})
        assert_same(layer, lstm, seed, tolerance=1e-11)


@some
@given(seed=seeds)
def test_the_chrono_lstm_is_the_lstm_with_another_start(seed: int) -> None:
    chrono, lstm = build(ChronoLSTM, D, P, t_max=100), build(LSTM, D, P)
    assert_same(*pair(chrono, lstm, random_weights(lstm, seed)), seed)


@some
@given(seed=seeds)
def test_gated_torch_layers_with_open_gates_are_tanh_rnns(seed: int) -> None:
    plain, gru = build(TanhRNN, D, P, biases=1), build(GRU, D, P, biases=1)
    w = random_weights(plain, seed, scale=0.6)
    zero = {"weight_ih": np.zeros((D, P)), "weight_hh": np.zeros((D, D)), "bias_ih": np.zeros(D)}
    parts = {k: [zero[k], zero[k], w[k]] for k in w}
    parts["bias_ih"][:2] = [np.full(D, OPEN), np.full(D, SHUT)]  # r = 1, s = 0
    fill(gru, {k: np.concatenate(v) for k, v in parts.items()})
    assert_same(plain, gru, seed)


@some
@given(seed=seeds, layers=st.integers(1, 4), multiscale=st.booleans())
def test_unicornns_static_choices_change_what_is_trained_and_not_what_is_computed(
    seed: int, layers: int, multiscale: bool
) -> None:
    one = build(UnICORNN, D, P, dt=0.3, alpha=1.5, layers=layers)
    own = {f"dt_{k}": 0.3 for k in range(1, layers + 1)}
    other = build(UnICORNN, D, P, dt=0.9, alpha=1.5, layers=layers, multiscale=multiscale, **own)
    random_weights(one, seed)
    other.load_state_dict({**other.state_dict(), **{k: v for k, v in one.state_dict().items() if k != "dt"}})
    assert_same(one, other, seed)


@some
@given(seed=seeds, layers=st.integers(3, 6), skip=st.sampled_from([2, 3]))
def test_residual_unicornn_without_skipping_weights_is_unicornn(seed: int, layers: int, skip: int) -> None:
    residual = build(ResidualUnICORNN, D, P, dt=0.3, alpha=1.5, layers=layers, skip=skip)
    plain = build(UnICORNN, D, P, dt=0.3, alpha=1.5, layers=layers)
    w = random_weights(plain, seed)
    assert_same(*pair(residual, plain, w), seed)
    if layers > skip:  # Λ of layer S + 1 sees the input alone, and counts
        fill(residual, {**w, f"Lambda{skip + 1}": np.ones((D, P))})
        with pytest.raises(AssertionError, match="Tensor-likes are not close!"):
            assert_same(residual, plain, seed)


oscillation = {"scheme": st.sampled_from(["imex", "symplectic"]), "activation": st.sampled_from(["tanh", "sin"])}


@some
@given(seed=seeds, layers=st.integers(1, 4), **oscillation)
def test_a_multilayer_oscillator_is_a_chain_of_general_ones_with_diagonal_matrices(
    seed: int, layers: int, scheme: str, activation: str
) -> None:
    layered = build(MultilayerOscillator, D, P, dt=0.3, layers=layers, scheme=scheme, activation=activation)
    w, y = random_weights(layered, seed, scale=0.7), noise(T, seed, p=P)
    for k in range(1, layers + 1):
        general = build(NeuralOscillator, D, y.shape[1], dt=0.3, scheme=scheme, activation=activation)
        fill(general, {"W": np.diag(w[f"w{k}"]), "V": w[f"V{k}"], "b": w[f"b{k}"]})
        y = torch.from_numpy(outputs(general, y))
    np.testing.assert_allclose(outputs(layered, noise(T, seed, p=P)), y, rtol=1e-11, atol=1e-12)


@some
@given(seed=seeds, dt=st.floats(0.01, 1), c=st.floats(-2, 2), layers=st.integers(1, 4))
def test_unicornn_without_control_and_with_one_time_scale_is_a_multilayer_oscillator_of_opposite_sign(
    seed: int, dt: float, c: float, layers: int
) -> None:
    unicornn = build(UnICORNN, D, P, dt=dt, alpha=0.0, layers=layers)
    layered = build(MultilayerOscillator, D, P, dt=dt * float(expit(c)), layers=layers)
    w = random_weights(unicornn, seed)
    w = fill(unicornn, {name: np.full(D, c) if name[0] == "c" else value for name, value in w.items()})
    fill(layered, {name: -value for name, value in w.items()})
    assert_same(unicornn, layered, seed, tolerance=1e-11)


@some
@given(seed=seeds, epsilon=st.floats(0.01, 0.99))
def test_fastrnn_lies_between_a_neural_ode_rnn_and_a_tanh_rnn(seed: int, epsilon: float) -> None:
    fast, ode, plain = build(FastRNN, D, P), build(NeuralODERNN, D, P, epsilon=epsilon), build(TanhRNN, D, P, biases=1)
    w = random_weights(ode, seed)
    shared = {"V": w["U"], "W": w["W"], "b": w["b"]}
    fill(fast, {**shared, "a": np.array([logit(epsilon)]), "c": np.array([OPEN])})
    assert_same(fast, ode, seed, tolerance=1e-11)
    fill(fast, {**shared, "a": np.array([OPEN]), "c": np.array([SHUT])})
    fill(plain, {"weight_ih": w["U"], "weight_hh": w["W"], "bias_ih": w["b"]})
    assert_same(fast, plain, seed)


@some
@given(seed=seeds, nu=st.floats(-3, 3))
def test_fastgrnn_with_an_open_or_a_shut_gate_is_a_fastrnn(seed: int, nu: float) -> None:
    gated, fast = build(FastGRNN, D, P), build(FastRNN, D, P)
    w = random_weights(fast, seed, scale=0.6)
    shared = {"V": w["V"], "W": w["W"], "bh": w["b"], "nu": np.array([nu])}
    fill(gated, {**shared, "bg": np.full(D, 2 * OPEN)})
    fill(fast, {**w, "a": np.array([nu]), "c": np.array([OPEN])})
    assert_same(gated, fast, seed)
    fill(gated, {**shared, "bg": np.full(D, SHUT), "zeta": np.array([SHUT])})
    fill(fast, {**w, "a": np.array([nu]), "c": np.array([SHUT])})
    assert_same(gated, fast, seed)


@some
@given(seed=seeds, alpha=st.floats(0.2, 2), eta=st.floats(0.1, 1))
def test_an_incremental_rnn_of_one_step_is_an_euler_step_less_the_old_state(
    seed: int, alpha: float, eta: float
) -> None:
    layer, h, x = build(IncrementalRNN, D, P, alpha=alpha, euler_steps=1), np.zeros(D), noise(T, seed, p=P)
    w = random_weights(layer, seed, scale=0.6)
    w, rows = fill(layer, {**w, "eta": np.array([eta])}), []
    for u in x.numpy():
        h = eta * (np.tanh(w["W"] @ h + w["V"] @ u + w["b"]) - alpha * h)
        rows.append(h)
    np.testing.assert_allclose(outputs(layer, x), rows, rtol=1e-11, atol=1e-13)


@some
@given(seed=seeds)
def test_an_indrnn_and_an_exprnn_without_recurrence_or_rotation_only_add_up(seed: int) -> None:
    x, v = noise(T, seed, p=P), draw(seed, D, P)
    ind, exp = build(IndRNN, D, P, layers=1), build(ExpRNN, D, P)
    fill(ind, {"V1": v})
    np.testing.assert_allclose(outputs(ind, x), np.maximum(x.numpy() @ v.T, 0), atol=1e-14)
    fill(ind, {"V1": np.abs(v), "w1": np.ones(D)})
    np.testing.assert_allclose(outputs(ind, x.abs()), np.cumsum(x.abs().numpy() @ np.abs(v).T, 0), rtol=1e-12)
    fill(exp, {"V": v})
    np.testing.assert_allclose(outputs(exp, x), np.cumsum(x.numpy() @ v.T, 0), atol=1e-12)
