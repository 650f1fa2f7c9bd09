"""What bounds the states of the recurrent models of 2023 to 2026, and where they are stable."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import build, fill, jacobian, noise, path, random_weights
from scipy.special import expit

from longwave.models.al_rnn import ALRNN
from longwave.models.bmru import BMRU
from longwave.models.horn import HORN
from longwave.models.kernels.dispatch import using
from longwave.models.lrcssm import LrcSSM
from longwave.models.mingru import MinGRU
from longwave.models.minlstm import MinLSTM
from longwave.models.paragru import ParaGRU
from longwave.models.paralstm import ParaLSTM
from longwave.models.rg_lru import RGLRU
from longwave.models.slstm import SLSTM

D, STEPS = 5, 30
seeds, scales = st.integers(0, 999), st.floats(0.1, 4.0)
quickly = settings(max_examples=15)


@pytest.mark.parametrize("kind", [MinGRU, MinLSTM])
@quickly
@given(seed=seeds, scale=scales)
def test_gates_of_the_input_average_the_start_and_the_candidates(
    kind: type[MinGRU | MinLSTM], seed: int, scale: float
) -> None:
    layer = build(kind, D)
    w, x, start = random_weights(layer, seed, scale), noise(STEPS, seed), np.linspace(-2, 2, D)
    candidates = np.concatenate([start[None], x.numpy() @ w["Wh"].T + w["bh"]])
    states = path(layer, x, start)[:, 0]
    assert (states <= candidates.max(0) + 1e-12).all() and (states >= candidates.min(0) - 1e-12).all()


@pytest.mark.parametrize("kind", [MinGRU, MinLSTM])
@quickly
@given(seed=seeds, scale=scales)
def test_states_from_positive_candidates_are_positive(kind: type[MinGRU | MinLSTM], seed: int, scale: float) -> None:
    layer = build(kind, D, candidate="positive")
    random_weights(layer, seed, scale)
    assert (path(layer, noise(STEPS, seed), np.linspace(0, 2, D)) >= 0).all()


@quickly
@given(seed=seeds, scale=scales)
def test_pararnns_states_stay_within_1_or_where_they_start(seed: int, scale: float) -> None:
    gru, lstm = build(ParaGRU, D), build(ParaLSTM, D)
    random_weights(gru, seed, scale)
    random_weights(lstm, seed, scale)
    start, x = np.linspace(-3, 3, D), noise(STEPS, seed)
    most = np.maximum(1.0, np.abs(start))
    assert (np.abs(path(gru, x, start)[:, 0]) <= most).all()
    h, c = path(lstm, x, start, start).transpose(1, 0, 2)
    assert (np.abs(h) < 1).all() and (np.abs(c) <= most).all()


@pytest.mark.parametrize("kind", [ParaGRU, LrcSSM, MinGRU, MinLSTM])
@quickly
@given(seed=seeds)
def test_a_unit_that_hears_itself_alone_has_a_diagonal_jacobian(kind: type[ParaGRU], seed: int) -> None:
    layer = build(kind, D)
    random_weights(layer, seed)
    slopes = jacobian(layer, noise(1, seed)[0], np.linspace(-1, 1, D))
    assert np.diag(slopes).all() and not (slopes - np.diag(np.diag(slopes))).any()


@given(omega=st.floats(0.01, 3.0), gamma=st.floats(0.0, 1.5), dt=st.floats(0.1, 1.0))
def test_an_unforced_horn_is_stable_exactly_where_its_docstring_says(omega: float, gamma: float, dt: float) -> None:
    layer = build(HORN, 1, omega=omega, gamma=gamma, dt=dt)
    fill(layer)
    slopes = jacobian(layer, noise(1, 0)[0], [0.3], [-0.2])
    assert np.linalg.det(slopes) == pytest.approx(1 - 2 * gamma * dt, abs=1e-12)
    margin = min(1 - gamma * dt, 4 * (1 - gamma * dt) - (omega * dt) ** 2)
    radius = np.abs(np.linalg.eigvals(slopes)).max()
    if abs(margin) > 1e-6:
        assert (radius <= 1 + 1e-9) == (margin > 0)


@quickly
@given(seed=seeds, rectified=st.sampled_from([1, 2, 3, 5, 10]))
def test_the_al_rnn_is_linear_where_no_rectified_unit_changes_its_sign(seed: int, rectified: int) -> None:
    layer = build(ALRNN, D, rectified=rectified)
    w, z = random_weights(layer, seed), np.random.default_rng(seed).standard_normal(D)
    passed = (z > 0) | (np.arange(D) < D - rectified)
    expected = np.diag(w["A"]) + w["W"] @ np.diag(passed.astype(float))
    np.testing.assert_allclose(jacobian(layer, noise(1, seed)[0], z), expected, rtol=0, atol=1e-12)


@quickly
@given(seed=seeds, scale=scales, dt=st.floats(0.1, 1.0))
def test_a_step_of_lrcssm_shrinks_the_state_and_adds_at_most_the_leak(seed: int, scale: float, dt: float) -> None:
    layer = build(LrcSSM, D, dt=dt)
    w = random_weights(layer, seed, scale)
    start = np.linspace(-3, 3, D)
    states = np.concatenate([start[None], path(layer, noise(STEPS, seed), start)[:, 0]])
    assert (np.abs(states[1:]) <= np.abs(states[:-1]) + dt * np.abs(w["v_leak"])).all()


@quickly
@given(seed=seeds, scale=scales)
def test_slstm_from_rest_averages_what_its_gates_let_in(seed: int, scale: float) -> None:
    layer = build(SLSTM, D, heads=2)
    random_weights(layer, seed, scale)
    h, c, n, m = path(layer, 10 * noise(STEPS, seed), *[np.zeros(D)] * 4).transpose(1, 0, 2)
    assert np.isfinite(m).all() and (np.abs(h) <= 1 + 1e-12).all() and (np.abs(c) <= n * (1 + 1e-12)).all()


def test_slstms_first_step_is_that_of_any_input_gate() -> None:
    layer = build(SLSTM, 3)
    fill(layer, {"b": np.repeat([0.5, -1e4, 0.0, 0.25], 3)})
    h = path(layer, noise(1, 0), *[np.zeros(3)] * 4)[0, 0]
    np.testing.assert_allclose(h, np.tanh(0.5) / (1 + np.exp(-0.25)), rtol=1e-12)


@quickly
@given(seed=seeds, scale=scales)
def test_a_bistable_unit_has_one_of_two_values_once_it_was_set(seed: int, scale: float) -> None:
    layer = build(BMRU, D)
    w, start = random_weights(layer, seed, scale), np.linspace(-2, 2, D)
    states = path(layer, noise(STEPS, seed), start)[:, 0]
    assert ((np.abs(states) == np.abs(w["alpha"])) | (states == start)).all()


@quickly
@given(seed=seeds)
def test_the_fused_loop_of_bistable_units_has_the_plain_loops_surrogate_gradient(seed: int) -> None:
    layer = build(BMRU, D, p=3).float()
    random_weights(layer, seed)
    layer.float()
    x, found = torch.randn(STEPS, 4, 3, generator=torch.Generator().manual_seed(seed)), {}
    for way in ("reference", "cpu"):
        with using(way):
            layer.zero_grad()
            layer(x)[0].cumsum(0).mul(0.1).sin().sum().backward()
            found[way] = [weight.grad.clone() for weight in layer.parameters()]
    assert all(gradient.any() for gradient in found["cpu"])
    torch.testing.assert_close(found["cpu"], found["reference"], rtol=1e-4, atol=1e-4)


@given(r=st.floats(-16.0, 8.0))
def test_rg_lrus_input_keeps_its_digits_where_the_decay_is_near_1(r: float) -> None:
    layer = build(RGLRU, 1)
    fill(layer, {"br": [r], "bi": [40.0], "bx": [1.0], "Lambda": [-6.0]})
    exact = layer(torch.zeros(1, 1, 1, dtype=torch.float64))[0].item()
    single = layer.float()(torch.zeros(1, 1, 1))[0].item()
    assert exact == pytest.approx(np.sqrt(-np.expm1(-16 * np.log1p(np.exp(-6.0)) / (1 + np.exp(-r)))), rel=1e-12)
    assert single == pytest.approx(exact, rel=2e-6)


@pytest.mark.parametrize("way", ["reference", "cpu"])
@pytest.mark.parametrize("r", [-80.0, -100.0, -1e4])
def test_rg_lrus_gradient_is_a_number_where_its_gate_rounds_to_0(way: str, r: float) -> None:
    layer = RGLRU(1, 1)
    fill(layer, {"br": [r], "bi": [40.0], "bx": [3.0], "Lambda": [-6.0]})
    layer.float()
    with using(way):
        if way == "cpu" and layer.why().path != "cpu":
            pytest.skip(layer.why().reason)
        outputs, _ = layer(torch.ones(1, 1, 1), (torch.ones(1, 1),))
        gradients = torch.autograd.grad(outputs.sum(), list(layer.parameters()))
    assert outputs.item() == pytest.approx(1.0)
    assert all(g.isfinite().all() and g.abs().max() < 1e-10 for g in gradients)


@pytest.mark.parametrize("way", ["reference", "cpu"])
@pytest.mark.parametrize("f, i", [(-100.0, -100.0), (-100.0, -95.0), (-200.0, -190.0), (300.0, -300.0), (0.0, 0.0)])
def test_minlstms_ratio_of_gates_is_a_number_where_both_are_closed(way: str, f: float, i: float) -> None:
    layer = MinLSTM(1, 1)
    with torch.no_grad():
        for name, weight in layer.named_parameters():
            weight.fill_({"bf": f, "bi": i, "bh": 3.0}.get(name, 0.0))
    with using(way):
        if way == "cpu" and layer.why().path != "cpu":
            pytest.skip(layer.why().reason)
        outputs, _ = layer(torch.ones(1, 1, 1), (torch.ones(1, 1),))
        gradients = torch.autograd.grad(outputs.sum(), list(layer.parameters()))
    keep = expit(np.logaddexp(0, -i) - np.logaddexp(0, -f))
    np.testing.assert_allclose(outputs.item(), keep + (1 - keep) * 3.0, rtol=1e-5)
    assert all(g.isfinite().all() for g in gradients)
