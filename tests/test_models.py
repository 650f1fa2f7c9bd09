"""The models against their papers: equations, gradients, initial weights, parameter counts and proved bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from torch import Tensor, nn
from torch.func import functional_call

from longwave.models.chrono_lstm import ChronoLSTM
from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.lem import LEM
from longwave.models.lstm import LSTM
from longwave.models.network import Network
from longwave.models.recurrence import Recurrence
from longwave.models.spec import ModelSpec, Sizes
from longwave.platform.registry import all_models, get_model

FLOAT64 = torch.float64
CASES = [
    pytest.param(spec, dict(zip(spec.options, chosen, strict=True)), id="-".join([spec.name, *chosen]))
    for spec in all_models().values()
    for chosen in product(*spec.options.values())
]
Weights = dict[str, np.ndarray]
Rows = list[np.ndarray]


def lem_by_hand(x: np.ndarray, y: np.ndarray, z: np.ndarray, w: Weights, dt: float) -> tuple[Rows, Rows]:
    """Return all y[n] and z[n] of one sequence, LEM eq. 3 with the eight biases of the authors' code."""
    ys, zs = [], []
    for x_n in x:
        delta = dt * expit(w["W1"] @ y + w["c1"] + w["V1"] @ x_n + w["b1"])
        delta_bar = dt * expit(w["W2"] @ y + w["c2"] + w["V2"] @ x_n + w["b2"])
        z = (1 - delta) * z + delta * np.tanh(w["Wz"] @ y + w["cz"] + w["Vz"] @ x_n + w["bz"])
        y = (1 - delta_bar) * y + delta_bar * np.tanh(w["Wy"] @ z + w["cy"] + w["Vy"] @ x_n + w["by"])
        ys.append(y)
        zs.append(z)
    return ys, zs


def cornn_by_hand(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, w: Weights, dt: float, gamma: float, epsilon: float, damping: str
) -> tuple[Rows, Rows]:
    """Return all y[n] and z[n] of one sequence, coRNN eq. 3; the implicit z[n] comes from solving its equation."""
    ys, zs = [], []
    for x_n in x:
        force = np.tanh(w["W"] @ y + w["Wz"] @ z + w["V"] @ x_n + w["b"])
        if damping == "implicit":
            z = np.linalg.solve((1 + dt * epsilon) * np.eye(len(z)), z + dt * force - dt * gamma * y)
        else:
            z = z + dt * (force - gamma * y - epsilon * z)
        y = y + dt * z
        ys.append(y)
        zs.append(z)
    return ys, zs


def lstm_by_hand(x: np.ndarray, h: np.ndarray, c: np.ndarray, w: Weights) -> tuple[Rows, Rows]:
    """Return all h[n] and c[n] of one sequence, LEM eq. 15; rows of the weights in torch's order i, f, g, o."""
    hs, cs = [], []
    for x_n in x:
        i, f, g, o = np.split(w["weight_ih"] @ x_n + w["bias_ih"] + w["weight_hh"] @ h + w["bias_hh"], 4)
        c = expit(f) * c + expit(i) * np.tanh(g)
        h = expit(o) * np.tanh(c)
        hs.append(h)
        cs.append(c)
    return hs, cs


def gru_by_hand(x: np.ndarray, h: np.ndarray, w: Weights) -> tuple[Rows]:
    """Return all h[n] of one sequence, in torch's form of the GRU; rows in torch's order r, s, ñ."""
    hs = []
    for x_n in x:
        from_x = np.split(w["weight_ih"] @ x_n + w["bias_ih"], 3)
        from_h = np.split(w["weight_hh"] @ h + w["bias_hh"], 3)
        r, s = expit(from_x[0] + from_h[0]), expit(from_x[1] + from_h[1])
        h = (1 - s) * np.tanh(from_x[2] + r * from_h[2]) + s * h
        hs.append(h)
    return (hs,)


def assert_equation_holds(layer: Recurrence, by_hand: Callable[..., tuple[Rows, ...]], seed: int, scale: float) -> None:
    """Compare a whole batch from a random start state with sequences computed one by one."""
    rng = np.random.default_rng(seed)
    weights = {name: scale * rng.standard_normal(tuple(p.shape)) for name, p in layer.named_parameters()}
    layer = layer.to(FLOAT64)
    layer.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()}, strict=False)
    x = rng.standard_normal((7, 3, layer.input_size))
    start = [rng.standard_normal((3, layer.hidden_size)) for _ in layer.STATE]
    output, state = layer(torch.from_numpy(x), tuple(map(torch.from_numpy, start)))
    for b in range(3):
        expected = by_hand(x[:, b], *(s[b] for s in start), weights)
        np.testing.assert_allclose(output[:, b].detach().numpy(), np.stack(expected[0]), rtol=1e-11, atol=1e-12)
        for found, rows in zip(state, expected, strict=True):
            np.testing.assert_allclose(found[b].detach().numpy(), rows[-1], rtol=1e-11, atol=1e-12)


layers = {"p": st.integers(1, 4), "d": st.integers(1, 5), "seed": st.integers(0, 999), "scale": st.floats(0.05, 1.5)}
quickly = settings(deadline=None, max_examples=30)


@quickly
@given(**layers, dt=st.floats(0.01, 2.0))
def test_lem_follows_equation_3_of_its_paper(p: int, d: int, seed: int, scale: float, dt: float) -> None:
    layer = LEM(p, d, dt=torch.tensor(dt, dtype=FLOAT64))
    assert_equation_holds(layer, lambda *a: lem_by_hand(*a, dt), seed, scale)


@pytest.mark.parametrize("damping", ["explicit", "implicit"])
@quickly
@given(**layers, dt=st.floats(0.01, 0.2), gamma=st.floats(0, 20), epsilon=st.floats(0, 9))
def test_cornn_follows_equation_3_of_its_paper(
    damping: str, p: int, d: int, seed: int, scale: float, dt: float, gamma: float, epsilon: float
) -> None:
    hyper = {"dt": dt, "gamma": gamma, "epsilon": epsilon}
    layer = CoRNN(p, d, damping=damping, **{k: torch.tensor(v, dtype=FLOAT64) for k, v in hyper.items()})
    assert_equation_holds(layer, lambda *a: cornn_by_hand(*a, **hyper, damping=damping), seed, scale)


@quickly
@given(**layers)
def test_lstm_follows_equation_15_of_the_lem_paper(p: int, d: int, seed: int, scale: float) -> None:
    assert_equation_holds(LSTM(p, d), lstm_by_hand, seed, scale)


@quickly
@given(**layers)
def test_chrono_lstm_is_an_lstm(p: int, d: int, seed: int, scale: float) -> None:
    assert_equation_holds(ChronoLSTM(p, d, t_max=9), lstm_by_hand, seed, scale)


@quickly
@given(**layers)
def test_gru_follows_its_equation(p: int, d: int, seed: int, scale: float) -> None:
    assert_equation_holds(GRU(p, d), gru_by_hand, seed, scale)


@pytest.mark.parametrize("ours, torchs", [(LSTM, nn.LSTM), (GRU, nn.GRU)])
def test_lstm_and_gru_equal_torchs_layers_in_values_and_gradients(
    ours: type[Recurrence], torchs: type[nn.Module]
) -> None:
    layer, reference = ours(3, 5).to(FLOAT64), torchs(3, 5).to(FLOAT64)
    with torch.no_grad():
        for name, weight in layer.named_parameters():
            getattr(reference, f"{name}_l0").copy_(weight)
    x, start = torch.randn(6, 2, 3, dtype=FLOAT64), torch.randn(2, 5, dtype=FLOAT64)
    state = (start,) * len(layer.STATE)
    output, last = layer(x, state)
    lone = tuple(s.unsqueeze(0) for s in state)
    expected, last_expected = reference(x, lone if len(lone) > 1 else lone[0])
    torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-13)
    for found, wanted in zip(last, last_expected if len(lone) > 1 else [last_expected], strict=True):
        torch.testing.assert_close(found, wanted[0], rtol=1e-12, atol=1e-13)
    ramp = torch.linspace(-1, 1, output.numel(), dtype=FLOAT64).view_as(output)
    (output * ramp).sum().backward()
    (expected * ramp).sum().backward()
    for name, weight in layer.named_parameters():
        torch.testing.assert_close(weight.grad, getattr(reference, f"{name}_l0").grad, rtol=1e-11, atol=1e-12)


def function_and_inputs(
    spec: ModelSpec, options: dict[str, str], members: int
) -> tuple[Callable[..., tuple[Tensor, ...]], tuple[Tensor, ...]]:
    """Return the layer as a function of the input, the start state, all weights and all hyper-parameters."""
    torch.manual_seed(3)
    hyper = {p.name: [p.low + (p.high - p.low) * (k + 1) / 5 for k in range(members)] for p in spec.params}
    layer = spec.build(Sizes(1, 2, 1, 5), members, **hyper, **options).to(FLOAT64)
    named = {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
    n = len(layer.STATE)

    def function(x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(named, rest[n:], strict=True))
        output, state = functional_call(layer, weights, (x, rest[:n]))
        return output, *state

    leaves = [torch.randn(members, 3, 2, 1, dtype=FLOAT64), *(torch.randn(members, 2, 2, dtype=FLOAT64),) * n]
    inputs = [*leaves, *named.values()]
    return function, tuple(tensor.detach().clone().requires_grad_() for tensor in inputs)


@pytest.mark.parametrize("spec, options", CASES)
def test_gradients_of_input_state_weights_and_hyper_parameters_equal_finite_differences(
    spec: ModelSpec, options: dict[str, str]
) -> None:
    function, inputs = function_and_inputs(spec, options, members=2)
    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("spec, options", [c for c in CASES if c.id.startswith(("lem", "cornn"))])
def test_second_gradients_equal_finite_differences(spec: ModelSpec, options: dict[str, str]) -> None:
    function, inputs = function_and_inputs(spec, options, members=1)
    assert torch.autograd.gradgradcheck(function, inputs)


def many_starts(name: str, members: int = 400, p: int = 3, d: int = 16, length: int = 100) -> Network:
    spec = get_model(name)
    hyper = {param.name: [param.high] * members for param in spec.params}
    return Network(spec, Sizes(p, d, 2, length), hyper, range(members))


def assert_drawn_from(weight: Tensor, distribution: Any) -> None:
    """Kolmogorov-Smirnov at the level 1e-4; the seeds are fixed, so the outcome is too."""
    numbers = weight.detach().numpy().ravel().astype(np.float64)
    assert scipy.stats.kstest(numbers, distribution.cdf).pvalue > 1e-4
    low, high = distribution.support()
    assert low - 1e-6 <= numbers.min() and numbers.max() <= high + 1e-6


@pytest.mark.parametrize("name", ["lem", "lstm", "gru", "cornn"])
def test_weights_and_biases_start_uniform_within_the_published_bound(name: str) -> None:
    network = many_starts(name)
    k = (3 + 2 * 16) ** -0.5 if name == "cornn" else 16**-0.5
    for weight in network.layer.parameters():
        assert_drawn_from(weight, scipy.stats.uniform(-k, 2 * k))


@pytest.mark.parametrize("name", sorted(all_models()))
def test_read_outs_start_as_torchs_and_lems_weights_with_variance_2_over_d(name: str) -> None:
    network, default = many_starts(name), scipy.stats.uniform(-(16**-0.5), 2 * 16**-0.5)
    assert_drawn_from(network.weight, scipy.stats.norm(0, (2 / 16) ** 0.5) if name == "lem" else default)
    assert_drawn_from(network.bias, default)


def test_chrono_lstm_starts_with_memories_uniform_up_to_the_sequence_length() -> None:
    layer = many_starts("chrono_lstm", length=100).layer
    b_i, b_f, b_g, b_o = layer.bias_ih.detach().split(16, dim=1)
    assert_drawn_from(b_f.exp() / 98, scipy.stats.uniform(1 / 98, 1))
    assert torch.equal(b_i, -b_f)
    assert not any(bias.any() for bias in (b_g, b_o, layer.bias_hh))
    for weight in (layer.weight_ih, layer.weight_hh):
        assert_drawn_from(weight, scipy.stats.uniform(-0.25, 0.5))


@pytest.mark.parametrize("length", [1, 2])
def test_chrono_lstm_of_the_shortest_sequences_starts_with_biases_zero(length: int) -> None:
    assert not many_starts("chrono_lstm", members=2, length=length).layer.bias_ih.any()


def test_chrono_lstm_refuses_a_memory_below_two_steps() -> None:
    with pytest.raises(ValueError, match=r"^ChronoLSTM: t_max must be at least 2, got 1\.$"):
        ChronoLSTM(1, 2, t_max=1)


def test_cornn_refuses_an_unknown_damping() -> None:
    with pytest.raises(ValueError, match=r"^CoRNN: damping must be one of explicit, implicit, got 'none'\.$"):
        CoRNN(1, 2, dt=0.1, gamma=1, epsilon=1, damping="none")


def count(name: str, p: int, d: int, q: int, members: int = 1) -> int:
    spec = get_model(name)
    hyper = {param.name: [param.high] * members for param in spec.params}
    return Network(spec, Sizes(p, d, q, 9), hyper, [0] * members).parameter_count()


# Not here, with the reason. "One bias": the papers count one bias a gate for LSTM and GRU, torch has two.
#   LSTM d=256 267k (one bias; 267,786 here), nCIFAR 116k (one bias; 117,002), Google12 107k (one bias, no read-out),
#   nCIFAR 64k and HAR-2 16k (Kag et al. 2020; no formula fits); BIDMC32HR 67k (67,713 here, cut off, not rounded).
#   GRU IMDB 164k (one bias 164,865, cut off), Google12 80k (one bias, no read-out).
#   LEM nCIFAR 116k (four biases; the code's eight give 117,002), BIDMC32HR 67k (67,713 cut off), Google12 107k (cell
#   with four biases, no read-out; 109,068 here), PTB 524k and 5M (language model's own cell).
#   coRNN BIDMC32HR 34k (33,281), Google12 44k (44,684 cut off), PTB 2.3M (no read-out).
@pytest.mark.parametrize(
    "name, case, p, d, q, exact, printed",
    [
        ("cornn", "sMNIST", 1, 128, 10, 34_314, "34k"),
        ("cornn", "sMNIST", 1, 256, 10, 134_154, "134k"),
        ("cornn", "nCIFAR", 96, 128, 10, 46_474, "46k"),
        ("cornn", "HAR-2", 9, 64, 1, 8_897, "9k"),
        ("cornn", "HAR-2", 9, 20, 1, 1_021, "1k"),
        ("cornn", "IMDB", 100, 128, 1, 45_825, "46k"),
        ("cornn", "Lorenz96", 5, 64, 5, 8_901, "9k"),
        ("cornn", "EigenWorms", 6, 32, 5, 2_437, "2.4k"),
        ("cornn", "FitzHugh-Nagumo", 1, 24, 1, 1_225, "1k"),
        ("cornn", "ENSO", 1, 16, 1, 561, "0.561k"),
        ("lem", "sMNIST", 1, 128, 10, 68_362, "68k"),
        ("lem", "nCIFAR", 96, 128, 10, 117_002, "117k"),
        ("lem", "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
        ("lem", "FitzHugh-Nagumo", 1, 16, 1, 1_233, "1k"),
        ("lem", "ENSO", 1, 16, 1, 1_233, "1.233k"),
        ("lem", "HAR-2", 9, 64, 1, 19_265, "19k"),
        ("lem", "IMDB", 300, 128, 1, 220_289, "220k"),
        ("lstm", "sMNIST", 1, 128, 10, 68_362, "68k"),
        ("lstm", "sCIFAR", 3, 128, 10, 69_386, "69k"),
        ("chrono_lstm", "sMNIST", 1, 128, 10, 68_362, "68k"),
        ("lstm", "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
        ("chrono_lstm", "EigenWorms", 6, 32, 5, 5_285, "5.3k"),
        ("lstm", "ENSO", 1, 16, 1, 1_233, "1.233k"),
        ("lstm", "HAR-2", 9, 64, 1, 19_265, "19k"),
        ("lstm", "Lorenz96", 5, 44, 5, 9_201, "9k"),
        ("lstm", "IMDB", 300, 128, 1, 220_289, "220k"),
        ("gru", "sMNIST", 1, 256, 10, 201_482, "201k"),
        ("gru", "nCIFAR", 96, 128, 10, 88_074, "88k"),
        ("gru", "ENSO", 1, 16, 1, 929, "0.929k"),
        ("gru", "HAR-2", 9, 75, 1, 19_426, "19k"),
    ],
)
def test_parameter_counts_are_the_published_ones(
    name: str, case: str, p: int, d: int, q: int, exact: int, printed: str
) -> None:
    found = count(name, p, d, q)
    digits = len(printed.rstrip("k").partition(".")[2])
    assert found == exact
    assert f"{found / 1000:.{digits}f}k" == printed, case


@settings(deadline=None, max_examples=25)
@given(p=st.integers(1, 9), d=st.integers(1, 9), q=st.integers(1, 9), members=st.integers(1, 3))
def test_parameter_counts_follow_the_papers_formulas_and_are_those_of_one_member(
    p: int, d: int, q: int, members: int
) -> None:
    block, read_out = d * d + d * p, (d + 1) * q
    assert count("lem", p, d, q, members) == 4 * block + 8 * d + read_out
    assert count("cornn", p, d, q, members) == 2 * d * d + d * p + d + read_out
    assert count("lstm", p, d, q, members) == count("chrono_lstm", p, d, q, members) == 4 * block + 8 * d + read_out
    assert count("gru", p, d, q, members) == 3 * block + 6 * d + read_out
