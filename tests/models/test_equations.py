"""Every model against its paper's equation, written anew in NumPy for one sequence at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from cases import every_choice, sequence_models
from equations import Array, Outcome, W, a_layer, assert_equation_holds, iterate
from hypothesis import given, settings
from scipy.linalg import expm
from scipy.special import expit, logit
from torch import nn

from longwave.models.base.param import OptionValue
from longwave.models.base.recurrence import Recurrence
from longwave.models.gru import GRU
from longwave.models.lstm import LSTM
from longwave.models.tanh_rnn import TanhRNN
from longwave.platform.registry import get_model

FLOAT64 = torch.float64


def lem(x: Array, start: list[Array], w: W) -> Outcome:
    """LEM eq. 3, with a second bias for each W, clipped gates, or one fixed time scale."""

    def linear(k: str, s: Array, x_n: Array) -> Array:
        own = {name: w.get(name + k, 0.0) for name in "WVbc"}
        return own["W"] @ s + own["V"] @ x_n + own["b"] + own["c"]

    def step(x_n: Array, y: Array, z: Array) -> tuple[Array, ...]:
        delta = delta_bar = w.dt
        if w.multiscale:
            delta = np.maximum(w.floor, w.dt * expit(linear("1", y, x_n)))
            delta_bar = np.maximum(w.floor, w.dt * expit(linear("2", y, x_n)))
        z = (1 - delta) * z + delta * np.tanh(linear("z", y, x_n))
        return (1 - delta_bar) * y + delta_bar * np.tanh(linear("y", z, x_n)), z

    return iterate(step, x, *start)


def cornn(x: Array, start: list[Array], w: W) -> Outcome:
    """coRNN eq. 3; the implicit z[n] comes from solving its equation."""
    dt, gamma, epsilon = w.dt, w.gamma, w.epsilon
    if w.trainable:
        dt = expit(logit(dt) + w.dt_shift)[0]
        gamma, epsilon = max(gamma + w.gamma_shift[0], 0.0), max(epsilon + w.epsilon_shift[0], 0.0)

    def step(x_n: Array, y: Array, z: Array) -> tuple[Array, ...]:
        force = np.tanh(w.W @ y + w.Wz @ z + w.V @ x_n + w.b)
        if w.damping == "implicit":
            z = np.linalg.solve((1 + dt * epsilon) * np.eye(len(z)), z + dt * force - dt * gamma * y)
        else:
            z = z + dt * (force - gamma * y - epsilon * z)
        return y + dt * z, z

    return iterate(step, x, *start)


def lipschitz_rnn(x: Array, start: list[Array], w: W) -> Outcome:
    """Lipschitz RNN eqs. 1, 2, 9, 10 and 12, the explicit midpoint rule for RK2."""
    one = np.eye(len(w.b))
    a = (1 - w.beta) * (w.MA + w.MA.T) + w.beta * (w.MA - w.MA.T) - w.gamma * one
    b = (1 - w.beta_w) * (w.MW + w.MW.T) + w.beta_w * (w.MW - w.MW.T) - w.gamma_w * one

    def slope(h: Array, x_n: Array) -> Array:
        return w.alpha * (a @ h) + np.tanh(b @ h + w.U @ x_n + w.b)

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        k = h if w.scheme == "euler" else h + w.epsilon / 2 * slope(h, x_n)
        return (h + w.epsilon * slope(k, x_n),)

    return iterate(step, x, *start)


def neural_ode_rnn(x: Array, start: list[Array], w: W) -> Outcome:
    """Lipschitz RNN eq. 11."""
    return iterate(lambda x_n, h: (h + w.epsilon * np.tanh(w.W @ h + w.U @ x_n + w.b),), x, *start)


def antisymmetric(upper: Array, d: int) -> Array:
    """M − Mᵀ by its entries above the diagonal, row by row."""
    out, numbers = np.zeros((d, d)), iter(upper)
    for i in range(d):
        for j in range(i + 1, d):
            out[i, j] = next(numbers)
            out[j, i] = -out[i, j]
    return out


def antisymmetric_rnn(x: Array, start: list[Array], w: W, gated: bool = False) -> Outcome:
    """Lipschitz RNN §7, and Chang et al.'s gated form."""
    a = antisymmetric(w.M, len(w.b)) - w.gamma * np.eye(len(w.b))

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        gate = expit(a @ h + w.Ug @ x_n + w.bg) if gated else 1.0
        return (h + w.epsilon * gate * np.tanh(a @ h + w.U @ x_n + w.b),)

    return iterate(step, x, *start)


def exprnn(x: Array, start: list[Array], w: W) -> Outcome:
    """modReLU of an orthogonal recurrence."""
    rotation = expm(antisymmetric(w.M, len(w.b)))

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        u = rotation @ h + w.V @ x_n
        return (np.where(np.abs(u) + w.b > 0, u + np.sign(u) * w.b, 0.0),)

    return iterate(step, x, *start)


def fastrnn(x: Array, start: list[Array], w: W) -> Outcome:
    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        return (expit(w.a) * np.tanh(w.V @ x_n + w.W @ h + w.b) + expit(w.c) * h,)

    return iterate(step, x, *start)


def fastgrnn(x: Array, start: list[Array], w: W) -> Outcome:
    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        z = expit(w.V @ x_n + w.W @ h + w.bg)
        return ((expit(w.zeta) * (1 - z) + expit(w.nu)) * np.tanh(w.V @ x_n + w.W @ h + w.bh) + z * h,)

    return iterate(step, x, *start)


def incremental_rnn(x: Array, start: list[Array], w: W) -> Outcome:
    """K Euler steps from g = 0, with the increment itself as the new state."""

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        g = np.zeros_like(h)
        for k in range(w.euler_steps):
            g = g + w.eta[k] * (np.tanh(w.W @ (g + h) + w.V @ x_n + w.b) - w.alpha * (g + h))
        return (g,)

    return iterate(step, x, *start)


def lstm(x: Array, start: list[Array], w: W) -> Outcome:
    """LEM eq. 15 and Appendix D; rows of the weights in torch's order i, f, g, o."""
    version = w.get("version", "")

    def step(x_n: Array, h: Array, c: Array) -> tuple[Array, ...]:
        rows = w.weight_ih @ x_n + w.bias_ih + w.weight_hh @ h + w.get("bias_hh", 0.0)
        i, f, g, o = np.split(rows, 4)
        i, f, o = expit(i), expit(f), expit(o)
        if version:
            i, f = w.dt * i, (w.dt if version == "v1" else 1 - w.dt) * f
        c = f * c + i * np.tanh(g)
        return o * np.tanh(c), c

    return iterate(step, x, *start)


def gru(x: Array, start: list[Array], w: W) -> Outcome:
    """Torch's form of the GRU; rows in torch's order r, s, ñ."""

    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        from_x = np.split(w.weight_ih @ x_n + w.bias_ih, 3)
        from_h = np.split(w.weight_hh @ h + w.get("bias_hh", 0.0), 3)
        r, s = expit(from_x[0] + from_h[0]), expit(from_x[1] + from_h[1])
        return ((1 - s) * np.tanh(from_x[2] + r * from_h[2]) + s * h,)

    return iterate(step, x, *start)


def tanh_rnn(x: Array, start: list[Array], w: W) -> Outcome:
    def step(x_n: Array, h: Array) -> tuple[Array, ...]:
        return (np.tanh(w.weight_hh @ h + w.weight_ih @ x_n + w.bias_ih + w.get("bias_hh", 0.0)),)

    return iterate(step, x, *start)


def delayed(step: Callable[[Array, Array, Array], Array], x: Array, start: list[Array], tau: int) -> Outcome:
    """h[n+1] from h[n] and h[n−τ]; the past holds h[−m] … h[−1]."""
    h, past = start
    seen = [*past, h]
    for x_n in x:
        seen.append(step(x_n, seen[-1], seen[-1 - tau]))
    last = np.array(seen[len(x) : len(x) + len(past)]).reshape(past.shape)
    return np.stack(seen[len(past) + 1 :]), [seen[-1], last]


def tau_gru(x: Array, start: list[Array], w: W) -> Outcome:
    """τ-GRU eqs. 2-6 with α and β of §5.5, and its ablations."""

    def linear(k: int, s: Array, x_n: Array) -> Array:
        weight, inputs, bias, second = (w[f"{name}{k}"] for name in "WUbc")
        return weight @ s + inputs @ x_n + bias + second

    def step(x_n: Array, h: Array, old: Array) -> Array:
        u = 0.0 if w.form == "beta=0" else w.beta * np.tanh(linear(1, h, x_n))
        z = 0.0 if w.form == "alpha=0" else w.alpha * np.tanh(linear(2, old, x_n))
        if w.form not in ("alpha=0", "no weighting"):
            z = expit(linear(4, old if w.form == "delayed weighting" else h, x_n)) * z
        g = 1.0 if w.form == "no gating" else expit(linear(3, h, x_n))
        return (1 - g) * h + g * (u + z)

    return delayed(step, x, start, int(w.tau))


def simple_delay_gru(x: Array, start: list[Array], w: W) -> Outcome:
    """τ-GRU eq. 12; a bias for each of the five maps."""

    def step(x_n: Array, h: Array, old: Array) -> Array:
        g = expit(w.W3 @ h + w.c3 + w.U3 @ x_n + w.b3)
        return (1 - g) * h + g * np.tanh(w.W1 @ h + w.c1 + w.W2 @ old + w.c2 + w.U @ x_n + w.b)

    return delayed(step, x, start, int(w.tau))


def layered(step: Callable[..., tuple[Array, ...]], x: Array, start: list[Array], w: W, skip: int = 99) -> Outcome:
    """Layer after layer; thesis eqs. 3.79 and 3.80 for the layers above ``skip``. ``step`` has the layer first."""
    below, ends, size, of = [x], [], len(start) // w.layers, w
    for k in range(1, w.layers + 1):
        drive = below[-1] @ of[f"V{k}"].T + of[f"b{k}"]
        if k > skip:
            drive = drive + below[k - skip - 1] @ of[f"Lambda{k}"].T
        rows, last = iterate(partial(step, k), drive, *start[(k - 1) * size : k * size])
        below.append(rows)
        ends += last
    return below[-1], ends


def unicornn(x: Array, start: list[Array], w: W) -> Outcome:
    """Thesis eq. 3.6."""

    def step(k: int, u_n: Array, y: Array, z: Array) -> tuple[Array, ...]:
        rate = w[f"dt_{k}"] * expit(w[f"c{k}"])
        z = z - rate * (np.tanh(w[f"w{k}"] * y + u_n) + w.alpha * y)
        return y + rate * z, z

    return layered(step, x, start, w, w.get("skip", 99))


def indrnn(x: Array, start: list[Array], w: W) -> Outcome:
    """A rectified sum."""

    def step(k: int, u_n: Array, h: Array) -> tuple[Array, ...]:
        return (np.maximum(u_n + w[f"w{k}"] * h, 0.0),)

    return layered(step, x, start, w)


def oscillate(force: Callable[[Array], Array], y: Array, z: Array, w: W) -> tuple[Array, ...]:
    """One step of y'' = force(y): Euler for z, then for y with the new z; or velocity Verlet in its usual form."""
    if w.scheme == "imex":
        z = z + w.dt * force(y)
        return y + w.dt * z, z
    new = y + w.dt * z + w.dt**2 / 2 * force(y)
    return new, z + w.dt * (force(y) + force(new)) / 2


def neural_oscillator(x: Array, start: list[Array], w: W) -> Outcome:
    """Thesis eq. 4.1."""
    s = getattr(np, w.activation)

    def step(x_n: Array, y: Array, z: Array) -> tuple[Array, ...]:
        return oscillate(lambda at: s(w.W @ at + w.V @ x_n + w.b), y, z, w)

    return iterate(step, x, *start)


def multilayer_oscillator(x: Array, start: list[Array], w: W) -> Outcome:
    """Thesis eq. 4.2."""
    s = getattr(np, w.activation)

    def step(k: int, u_n: Array, y: Array, z: Array) -> tuple[Array, ...]:
        return oscillate(lambda at: s(w[f"w{k}"] * at + u_n), y, z, w)

    return layered(step, x, start, w)


BY_HAND: dict[str, Callable[[Array, list[Array], W], Outcome]] = {
    **{f.__name__: f for f in (lem, cornn, lipschitz_rnn, neural_ode_rnn, antisymmetric_rnn, exprnn, fastrnn)},
    **{f.__name__: f for f in (fastgrnn, incremental_rnn, lstm, gru, tanh_rnn, tau_gru, simple_delay_gru)},
    **{f.__name__: f for f in (unicornn, indrnn, neural_oscillator, multilayer_oscillator)},
    "gated_antisymmetric_rnn": partial(antisymmetric_rnn, gated=True),
    "chrono_lstm": lstm,
    "dt_lstm": lstm,
    "residual_unicornn": unicornn,
}
CASES = [
    pytest.param(name, options, id="-".join([name, *map(str, options.values())]))
    for name, spec in sequence_models().items()
    if name in BY_HAND
    for options in every_choice(spec)
]
LAYERS = range(1, 7)


def filled(hyper: Mapping[str, float]) -> dict[str, float]:
    """What holds by the papers where a value is not given: 1 for a weight, τ-GRU without delay, one Δt for all."""
    layers = {f"dt_{k}": hyper.get("dt", 1.0) for k in LAYERS}
    of_w = {"beta_w": hyper.get("beta", 1.0), "gamma_w": hyper.get("gamma", 0.0)}
    return {"alpha": 1.0, "beta": 1.0, "tau": 0, "dt": 1.0, "floor": 0.0, **layers, **of_w, **hyper}


quickly = settings(max_examples=8)


@pytest.mark.parametrize("name, options", CASES)
@quickly
@given(sizes=a_layer)
def test_a_model_follows_its_papers_equation(name: str, options: dict[str, OptionValue], sizes: dict[str, Any]) -> None:
    assert_equation_holds(BY_HAND[name], name, options, sizes, filled=filled)


@pytest.mark.parametrize("name", ["lem", "lipschitz_rnn", "tau_gru", "unicornn", "residual_unicornn"])
@quickly
@given(sizes=a_layer)
def test_what_is_not_given_is_as_in_the_papers_first_equation(name: str, sizes: dict[str, Any]) -> None:
    assert_equation_holds(BY_HAND[name], name, get_model(name).defaults, sizes, required=True, filled=filled)


@pytest.mark.parametrize("ours, torchs", [(LSTM, nn.LSTM), (GRU, nn.GRU), (TanhRNN, nn.RNN)])
def test_lstm_gru_and_tanh_rnn_equal_torchs_layers_in_values_and_gradients(
    ours: type[Recurrence], torchs: type[nn.Module]
) -> None:
    torch.default_generator.manual_seed(0)
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
    for actual, wanted in zip(last, last_expected if len(lone) > 1 else [last_expected], strict=True):
        torch.testing.assert_close(actual, wanted[0], rtol=1e-12, atol=1e-13)
    ramp = torch.linspace(-1, 1, output.numel(), dtype=FLOAT64).view_as(output)
    (output * ramp).sum().backward()
    (expected * ramp).sum().backward()
    for name, weight in layer.named_parameters():
        torch.testing.assert_close(weight.grad, getattr(reference, f"{name}_l0").grad, rtol=1e-11, atol=1e-12)
