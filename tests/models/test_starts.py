"""How weights start: the distributions that the papers state, or that the layer's docstring states where none does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from cases import sequence_models
from torch import Tensor

from longwave.models.base.network import Network
from longwave.models.base.param import OptionValue
from longwave.models.base.spec import Sizes
from longwave.platform.registry import get_model

P, D, LENGTH = 3, 16, 100


def many_starts(name: str, members: int = 400, length: int = LENGTH, **chosen: OptionValue | float) -> Network:
    """Return a network of many members, with the largest published value of what must be given."""
    spec = get_model(name)
    options = {key: value for key, value in chosen.items() if key in spec.options}
    params = spec.layer.relevant({**spec.defaults, **options})
    hyper = {p.name: [p.high] * members for p in params if p.default is None}
    hyper |= {p.name: [float(chosen[p.name])] * members for p in params if p.name in chosen}
    return Network(spec, Sizes(P, D, 2, length), hyper, range(members), options)


def assert_drawn_from(weight: Tensor, distribution: Any) -> None:
    """Kolmogorov-Smirnov at the level 1e-4, or equality with a constant; the seeds are fixed, so the outcome is too."""
    numbers = weight.detach().numpy().ravel().astype(np.float64)
    assert len(numbers)
    if isinstance(distribution, float):
        np.testing.assert_allclose(numbers, distribution, rtol=1e-7)
        return
    assert scipy.stats.kstest(numbers, distribution.cdf).pvalue > 1e-4
    low, high = distribution.support()
    assert low - 1e-6 <= numbers.min() and numbers.max() <= high + 1e-6


def between(low: float, high: float) -> Any:
    return scipy.stats.uniform(low, high - low)


def within(bound: float) -> Any:
    return between(-bound, bound)


def normal(std: float) -> Any:
    return scipy.stats.norm(0, std)


def by_layer(first: dict[str, Any], others: dict[str, Any], layers: int) -> dict[str, Any]:
    """Name the weights of the first layer and of the others by their layer."""
    return {f"{k}{n}": dist for n in range(1, layers + 1) for k, dist in (first if n == 1 else others).items()}


STATE, INPUT = within(D**-0.5), within(P**-0.5)
SMALL = 0.1 / D
KAIMING, KAIMING_INPUT = within(math.sqrt(6 / (65 * D))), within(math.sqrt(6 / (65 * P)))
UNICORNN = {"w": between(0, 1), "b": 0.0, "c": within(0.1)}
MEMORY = 2 ** (1 / LENGTH)
STARTS: dict[str, dict[str, Any]] = {
    "cornn": {"*": within((P + 2 * D) ** -0.5)},
    **{name: {"*": STATE} for name in ("lem", "lstm", "dt_lstm", "gru", "tanh_rnn", "tau_gru", "simple_delay_gru")},
    "neural_oscillator": {"*": STATE},
    "lipschitz_rnn": {"MA": normal(SMALL), "MW": normal(SMALL), "U": INPUT, "b": INPUT},
    "neural_ode_rnn": {"W": normal(SMALL), "U": INPUT, "b": INPUT},
    "antisymmetric_rnn": {"M": normal(2**0.5 * SMALL), "U": INPUT, "b": INPUT},
    "gated_antisymmetric_rnn": {"M": normal(2**0.5 * SMALL), "U": INPUT, "b": INPUT, "Ug": INPUT, "bg": INPUT},
    "fastrnn": {"V": normal(0.1), "W": normal(0.1), "b": 1.0, "a": -3.0, "c": 3.0},
    "fastgrnn": {"V": normal(0.1), "W": normal(0.1), "bg": 1.0, "bh": 1.0, "zeta": 1.0, "nu": -4.0},
    "incremental_rnn": {"V": STATE, "W": STATE, "b": STATE, "eta": 0.2},
    "multilayer_oscillator": by_layer({"V": INPUT, "w": STATE, "b": STATE}, {"V": STATE, "w": STATE, "b": STATE}, 3),
    "unicornn": by_layer({"V": KAIMING_INPUT, **UNICORNN}, {"V": KAIMING, **UNICORNN}, 3),
    "residual_unicornn": {
        **by_layer({"V": KAIMING_INPUT, **UNICORNN}, {"V": KAIMING, **UNICORNN}, 6),
        **{"Lambda3": KAIMING_INPUT, "Lambda4": KAIMING, "Lambda5": KAIMING, "Lambda6": KAIMING},
    },
    "indrnn": {
        **{"V1": INPUT, "w1": between(0, MEMORY), "b1": 0.0},
        **{"V2": STATE, "w2": between(1 / MEMORY, MEMORY), "b2": 0.0},
    },
    **{name: {"*": INPUT} for name in ("mingru", "minlstm")},
    "linoss": {"A": between(0, 1), "s": between(0, 1), "B_re": INPUT, "B_im": INPUT},
    "horn": {"V": INPUT, "b": INPUT, "W": STATE, "c": STATE},
    "lrcssm": {"*": STATE},
    **{name: {**dict.fromkeys("QKVB", normal(0.02)), "scale": 1.0} for name in ("deltanet", "deltaproduct")},
    "bmru": {"Wx": INPUT, "bx": INPUT, "Wbeta": INPUT, "bbeta": INPUT, "alpha": 1.0},
}
"""The start of each weight at the default options; * stands for all. expRNN and chrono-LSTM have tests of their own,
others may have none."""


READ_OUTS = {
    "lem": (normal((2 / D) ** 0.5), STATE),
    **dict.fromkeys(("unicornn", "residual_unicornn"), (normal((2 / D) ** 0.5), 0.0)),
    "lru": (normal(D**-0.5), 0.0),
    "s5": (normal((4 * D) ** -0.5), 0.0),
    **dict.fromkeys(("linoss", "d_linoss"), (STATE, 0.0)),
}
"""Laws of the weights and biases of read-outs that do not start as torch.nn.Linear's."""
NOT_DRAWN = {("s5", "layer.L_im"), ("paragru", "layer.bz"), ("paralstm", "layer.bf"), ("slstm", "layer.b"),
             ("mamba", "layer.A_log"), ("s4d", "layer.A_im"), ("mlstm", "layer.bf"),
             *(("rwkv7", f"layer.{name}") for name in ("w0", "a0", "k_k"))}  # fmt: skip
"""Weights whose start no seed decides."""


@pytest.mark.parametrize("name", sorted(STARTS))
def test_every_weight_starts_from_its_stated_distribution(name: str) -> None:
    layer = many_starts(name).layer
    expected = STARTS[name]
    if "*" in expected:
        expected = dict.fromkeys(layer.shapes(), expected["*"])
    assert set(expected) == set(layer.shapes())
    for weight, distribution in expected.items():
        assert_drawn_from(getattr(layer, weight), distribution)


@pytest.mark.parametrize(
    "name, option, value, weight, distribution",
    [
        ("incremental_rnn", "euler_steps", 10, "eta", 0.1),
        ("cornn", "trainable", True, "dt_shift", 0.0),
        ("cornn", "trainable", True, "gamma_shift", 0.0),
        ("cornn", "trainable", True, "epsilon_shift", 0.0),
        ("cornn", "trainable", True, "Wz", within((P + 2 * D) ** -0.5)),
        ("lem", "multiscale", False, "cz", STATE),
        ("lem", "biases", 4, "b1", STATE),
        ("lstm", "biases", 1, "bias_ih", STATE),
        ("tau_gru", "form", "no gating", "W4", STATE),
        ("unicornn", "multiscale", False, "c3", within(0.1)),
        ("indrnn", "layers", 1, "w1", between(1 / MEMORY, MEMORY)),
        ("horn", "heterogeneous", True, "omega_factor", between(0.5, 2)),
        ("horn", "heterogeneous", True, "gamma_factor", between(0.5, 2)),
        ("residual_unicornn", "skip", 3, "Lambda4", KAIMING_INPUT),
        ("residual_unicornn", "skip", 3, "Lambda5", KAIMING),
    ],
)
def test_weights_start_alike_under_other_options(
    name: str, option: str, value: OptionValue, weight: str, distribution: Any
) -> None:
    layer = many_starts(name, **{option: value}).layer
    assert_drawn_from(getattr(layer, weight), distribution)


@pytest.mark.parametrize("name", sorted(sequence_models()))
def test_read_outs_start_as_torchs_but_where_the_paper_has_another_law(name: str) -> None:
    network = many_starts(name)
    weight, bias = READ_OUTS.get(name, (STATE, STATE))
    assert_drawn_from(network.weight, weight)
    assert_drawn_from(network.bias, bias)


def test_chrono_lstm_starts_with_memories_uniform_up_to_the_sequence_length() -> None:
    layer = many_starts("chrono_lstm", length=100).layer
    b_i, b_f, b_g, b_o = layer.bias_ih.detach().split(D, dim=1)
    assert_drawn_from(b_f.exp() / 98, between(1 / 98, 99 / 98))
    assert torch.equal(b_i, -b_f)
    assert not any(bias.any() for bias in (b_g, b_o, layer.bias_hh))
    for weight in (layer.weight_ih, layer.weight_hh):
        assert_drawn_from(weight, STATE)


@pytest.mark.parametrize("length", [1, 2])
def test_chrono_lstm_of_the_shortest_sequences_starts_with_biases_zero(length: int) -> None:
    assert not many_starts("chrono_lstm", members=2, length=length).layer.bias_ih.any()


def test_chrono_lstm_with_one_bias_a_gate_starts_as_with_two() -> None:
    one, two = (many_starts("chrono_lstm", members=3, biases=biases).layer for biases in (1, 2))
    assert torch.equal(one.bias_ih, two.bias_ih)


@pytest.mark.parametrize("dt, longest", [(1.0, 99.0), (0.25, 24.0), (2.0, 199.0)])
def test_chrono_lem_starts_with_the_z_gates_time_scales_uniform_up_to_the_sequence_length(
    dt: float, longest: float
) -> None:
    layer = many_starts("lem", start="chrono", dt=dt).layer
    assert_drawn_from((-layer.b1.detach().double()).exp() / longest, between(1 / longest, 1))
    for name in layer.shapes().keys() - {"b1"}:
        assert_drawn_from(getattr(layer, name), STATE if name[0] in "VW" else 0.0)


@pytest.mark.parametrize("length, dt", [(1, 1.0), (2, 1.0), (1, 2.0), (20, 0.1)])
def test_chrono_lem_of_the_shortest_sequences_starts_with_biases_zero(length: int, dt: float) -> None:
    assert not many_starts("lem", members=2, length=length, start="chrono", dt=dt).layer.b1.any()


@pytest.mark.parametrize("biases, multiscale", [(4, True), (8, False)])
def test_chrono_lem_has_no_bias_but_the_z_gates_in_its_other_forms(biases: int, multiscale: bool) -> None:
    layer = many_starts("lem", members=50, start="chrono", biases=biases, multiscale=multiscale).layer
    vectors = {name for name in layer.shapes() if name[0] in "bc"}
    assert {name for name in vectors if getattr(layer, name).any()} == ({"b1"} if multiscale else set())


@pytest.mark.parametrize(
    "name, weight, factor",
    [
        ("lipschitz_rnn", "MA", 1.0),
        ("lipschitz_rnn", "MW", 1.0),
        ("neural_ode_rnn", "W", 1.0),
        ("antisymmetric_rnn", "M", 2**0.5),
        ("gated_antisymmetric_rnn", "M", 2**0.5),
    ],
)
def test_sigma_is_d_times_the_standard_deviation_of_each_members_start(name: str, weight: str, factor: float) -> None:
    spec, sigmas = get_model(name), [0.1, 0.1, 6.0, 12.0]
    hyper = {p.name: [p.high] * 4 for p in spec.layer.PARAMS if p.default is None}
    network = Network(spec, Sizes(P, 200, 2, 9), {**hyper, "sigma": sigmas}, range(4))
    for numbers, sigma in zip(getattr(network.layer, weight), sigmas, strict=True):
        assert_drawn_from(numbers, normal(factor * sigma / 200))


def test_the_antisymmetric_rnn_starts_like_the_difference_of_a_normal_matrix_and_its_transpose() -> None:
    layer = many_starts("antisymmetric_rnn", sigma=3.0).layer
    full = np.random.default_rng(0).normal(0, 3.0 / D, (400, D, D))
    difference = (full - full.transpose(0, 2, 1))[:, *np.triu_indices(D, 1)]
    assert scipy.stats.ks_2samp(layer.M.detach().numpy().ravel(), difference.ravel()).pvalue > 1e-4


def test_exprnn_starts_as_independent_rotations_of_pairs_by_uniform_angles() -> None:
    layer = many_starts("exprnn").layer
    full = np.zeros((400, D, D))
    full[:, *np.triu_indices(D, 1)] = layer.M.detach().numpy()
    firsts, seconds = np.arange(0, D, 2), np.arange(1, D, 2)
    assert_drawn_from(torch.from_numpy(full[:, firsts, seconds]), within(math.pi))
    full[:, firsts, seconds] = 0
    assert not full.any()
    assert_drawn_from(layer.V, normal((2 / P) ** 0.5))
    assert_drawn_from(layer.b, within(0.01))


def test_exprnn_of_odd_size_starts_with_one_unit_that_does_not_turn() -> None:
    upper = Network(get_model("exprnn"), Sizes(P, 5, 2, 9), {}, [0]).layer.M.detach().numpy()
    full = np.zeros((5, 5))
    full[np.triu_indices(5, 1)] = upper
    assert full[0, 1] != 0 != full[2, 3]
    assert np.count_nonzero(full) == 2


@pytest.mark.parametrize("name, ramp", [("paragru", "bz"), ("paralstm", "bf")])
def test_pararnns_cells_start_xavier_uniform_with_one_bias_that_falls_from_0_to_minus_1(name: str, ramp: str) -> None:
    layer = many_starts(name).layer
    for weight in layer.shapes():
        values = getattr(layer, weight)
        if weight == ramp:
            np.testing.assert_allclose(values.detach(), np.tile(-np.arange(D) / (D - 1), (400, 1)), atol=1e-7)
        else:
            start = {"B": within(math.sqrt(6 / (P + D))), "b": 0.0}.get(weight[0], normal(2 / math.sqrt(5 * D)))
            assert_drawn_from(values, start)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_slstm_starts_with_forget_biases_from_5_to_minus_7_in_each_head(heads: int) -> None:
    layer = many_starts("slstm", heads=heads).layer
    assert_drawn_from(layer.W, normal(math.sqrt(2 / (5 * P))))
    assert_drawn_from(layer.R, 0.0)
    z, i, f, o = layer.b.detach().chunk(4, dim=1)
    assert not (z.any() or i.any() or o.any())
    width = D // heads
    expected = [5 - 12 * (j / (width - 1)) ** 0.3 for _ in range(heads) for j in range(width)]
    np.testing.assert_allclose(f, np.tile(expected, (400, 1)), atol=1e-5)


def test_mamba_starts_with_rates_from_1_to_n_and_time_steps_uniform_in_their_logarithm() -> None:
    layer = many_starts("mamba").layer
    np.testing.assert_allclose(layer.A_log.detach().exp(), np.broadcast_to(np.arange(1, 17), (400, D, 16)), rtol=1e-6)
    steps = torch.nn.functional.softplus(layer.dt_bias.detach().double())
    assert_drawn_from(steps.log(), between(math.log(0.001), math.log(0.1)))
    assert_drawn_from(layer.D, 1.0)
    for name, start in {"X": INPUT, "Z": INPUT, "W": STATE, "dt": within(1.0)}.items():
        assert_drawn_from(getattr(layer, name), start)


@pytest.mark.parametrize(
    "name, most, weights",
    [
        ("gated_deltanet", 16, dict.fromkeys("QKVGAB", normal(0.02)) | {"scale": 1.0}),
        ("gated_deltaproduct", 16, dict.fromkeys("QKVAB", normal(0.02)) | {"scale": 1.0}),
        ("mamba2", 15, {**dict.fromkeys(("X", "Z", "B", "C", "dt"), INPUT), "D": 1.0, "scale": 1.0}),
    ],
)
def test_heads_start_with_uniform_rates_and_time_steps_uniform_in_their_logarithm(
    name: str, most: float, weights: dict[str, Any]
) -> None:
    layer = many_starts(name, heads=4).layer
    assert_drawn_from(layer.A_log.exp(), between(16 - most, 16))
    steps = torch.nn.functional.softplus(layer.dt_bias.detach().double())
    assert_drawn_from(steps.log(), between(math.log(0.001), math.log(0.1)))
    assert layer.shapes().keys() == {*weights, "A_log", "dt_bias"}
    for weight, start in weights.items():
        assert_drawn_from(getattr(layer, weight), start)


def test_s4d_starts_as_s4d_lin_with_unit_variances() -> None:
    layer = many_starts("s4d").layer
    np.testing.assert_allclose(layer.A_im.detach(), np.broadcast_to(np.pi * np.arange(32), (400, D, 32)), rtol=1e-6)
    assert_drawn_from(layer.A_re.exp(), 0.5)
    assert_drawn_from(layer.log_dt, between(math.log(0.001), math.log(0.1)))
    starts = {"C_re": normal(0.5**0.5), "C_im": normal(0.5**0.5), "D": normal(1), "X": INPUT, "b": INPUT}
    for weight, start in starts.items():
        assert_drawn_from(getattr(layer, weight), start)


def test_rwkv7_starts_with_ramps_over_features_bends_within_heads_and_orthogonal_maps() -> None:
    layer = many_starts("rwkv7", heads=4).layer
    n = np.arange(D)
    bend = (n % 4 - 1.5) / 1.5
    bend, ramp = bend * np.abs(bend), n / (D - 1)
    ramps = {"w0": -6 + 6 * ramp + 0.5 + 2.5 * bend, "a0": -0.19 + 0.3 * bend + 0.4 * (ramp - 0.5)}
    for weight, start in {**ramps, "k_k": 0.71 - 0.1 * (ramp - 0.5)}.items():
        np.testing.assert_allclose(getattr(layer, weight).detach(), np.tile(start, (400, 1)), atol=1e-6)
    for weight in ("w2", "a2", "g2"):
        rows = getattr(layer, weight).detach()
        size = min(rows.shape[1:])
        gram = rows @ rows.mT if rows.shape[1] == size else rows.mT @ rows
        np.testing.assert_allclose(gram, np.broadcast_to(0.01 * np.eye(size), (400, size, size)), atol=1e-6)
    starts: dict[str, Any] = {"R": within(0.5 * P**-0.5), "K": within(0.05 * P**-0.5), "V": within(0.5 * P**-0.5)}
    numbers = {"w1": 0.0, "a1": 0.0, "g1": 0.0, "k_a": 1.02, "r_k": -0.04, "scale": 1.0, "shift": 0.0}
    for weight, start in {**starts, **numbers}.items():
        assert_drawn_from(getattr(layer, weight), start)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_mlstm_starts_with_forget_biases_from_3_to_6_over_its_heads(heads: int) -> None:
    layer = many_starts("mlstm", heads=heads).layer
    np.testing.assert_allclose(layer.bf.detach(), np.tile(np.linspace(3, 6, heads), (400, 1)), rtol=1e-6)
    starts: dict[str, Any] = dict.fromkeys(("Wq", "Wk", "Wv", "Wo"), normal(math.sqrt(2 / (5 * P))))
    for weight, start in {**starts, **dict.fromkeys(("Wi", "Wf", "bo"), 0.0), "bi": normal(0.1)}.items():
        assert_drawn_from(getattr(layer, weight), start)


def test_rg_lru_starts_with_decays_on_a_ring() -> None:
    layer = many_starts("rg_lru").layer
    a = torch.exp(-torch.nn.functional.softplus(layer.Lambda.detach().double()))
    assert_drawn_from((a**2 - 0.81) / (0.999**2 - 0.81), between(0, 1))
    for name in layer.shapes().keys() - {"Lambda"}:
        assert_drawn_from(getattr(layer, name), normal(P**-0.5) if name[0] == "W" else 0.0)


def test_the_al_rnn_starts_with_the_diagonal_of_a_positive_definite_matrix_of_norm_1() -> None:
    layer = many_starts("al_rnn").layer
    assert_drawn_from(layer.W, normal(0.01))
    assert_drawn_from(layer.h, 0.0)
    assert_drawn_from(layer.C, within(math.sqrt(6 / (P + D))))
    r = np.random.default_rng(0).standard_normal((400, D, D))
    full = r.transpose(0, 2, 1) @ r / D + np.eye(D)
    diagonals = np.diagonal(full, axis1=1, axis2=2) / np.linalg.norm(full, 2, (1, 2))[:, None]
    assert scipy.stats.ks_2samp(layer.A.detach().numpy().ravel(), diagonals.ravel()).pvalue > 1e-4
    assert layer.A.min() > 0 and layer.A.max() < 1


@pytest.mark.parametrize(
    "name, starts",
    {
        "lru": dict.fromkeys(("B_re", "B_im"), normal((2 * P) ** -0.5)),
        "s5": {
            **dict.fromkeys(("B_re", "B_im"), normal((2 * P) ** -0.5)),
            **{"L_re": -0.5, "log_dt": between(math.log(0.001), math.log(0.1))},
        },
        "d_linoss": {"s": normal(0.5), "B_re": INPUT, "B_im": INPUT},
    }.items(),
)
def test_inputs_and_time_steps_of_state_spaces_start_as_their_papers_say(name: str, starts: dict[str, Any]) -> None:
    layer = many_starts(name).layer
    for weight, start in starts.items():
        assert_drawn_from(getattr(layer, weight), start)


@pytest.mark.parametrize("name", sorted(sequence_models()))
def test_weights_differ_between_members_and_follow_from_the_seed(name: str) -> None:
    network, again = many_starts(name, members=2), many_starts(name, members=2)
    for (key, weight), same in zip(network.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(weight, same)
        constant = weight.unique().numel() == 1 or (name, key) in NOT_DRAWN
        assert constant or not torch.equal(weight[0], weight[1])
