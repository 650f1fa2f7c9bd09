"""Recurrent layers as their authors write them: plain loops over time, the reference for timing the fused ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn, sigmoid, tanh
from torch.nn.functional import linear

from longwave.models.base.fused import Fusable
from longwave.models.base.layer import Layer, State
from longwave.models.base.recurrence import Recurrence
from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.lstm import LSTM
from longwave.models.tau_gru import TauGRU
from longwave.models.unicornn import UnICORNN

Step = Callable[[Tensor, State, tuple[Tensor, ...], tuple[float, ...]], State]
"""Maps an input (B, p), states (B, d), weights and numbers to the next state."""


class PlainLoop(nn.Module):
    """A recurrent layer in the structure of its authors' code, (T, B, p) to (T, B, d).

    A Python loop over time with one affine map of the input and one of the state per step, gates stacked, without a
    members axis and with nothing moved out of the loop. It computes the same values as ``layer``.

    Args:
        layer: One of ``PLAINS``, without members. Its weights are copied.

    Raises:
        ValueError: There is no plain loop of this layer.
    """

    def __init__(self, layer: Layer[Any]) -> None:
        super().__init__()
        plain = next((p for p in PLAINS if isinstance(layer, p.kind) and _chosen(layer, p.options)), None)
        if plain is None or not isinstance(layer, Fusable) or layer.members is not None:
            raise ValueError(f"{type(layer).__name__}: there is no plain loop of this layer, or it has members.")
        self.step = plain.step
        weights, scalars = plain.arrange(layer.loop_weights(layer.lifted_tensors()))
        self.weights = nn.ParameterList([part.detach()[0].clone() for part in weights])
        self.numbers = tuple(part.item() for part in scalars)
        self.hidden = layer.hidden_size
        self.states = sum(shape == (self.hidden,) for shape in layer.state_shapes().values())
        self.lag = next(iter(layer.lags()), None)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs for x from the zero state."""
        start = x.new_zeros(x.shape[1], self.hidden)
        state: State = (start,) * self.states
        weights, outputs = tuple(self.weights), list[Tensor]()
        for n, u in enumerate(x):
            if self.lag is not None:
                state = (*state, outputs[n - 1 - self.lag] if n > self.lag else start)
            state = self.step(u, state, weights, self.numbers)
            outputs.append(state[0])
        return torch.stack(outputs)

    def compiled(self) -> PlainLoop:
        """Return the same loop with its step compiled by torch.compile; weights are shared."""
        torch._dynamo.reset()  # otherwise the shapes of an earlier cell make it compile for dynamic shapes
        other = copy.copy(self)
        other.step = torch.compile(self.step, dynamic=False)
        return other


def _chosen(layer: Layer[Any], options: Mapping[str, Any]) -> bool:
    return all(getattr(layer, name, None) == value for name, value in options.items())


def _lem(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (y, z), (V, b, W, Wy), (dt,) = state, w, c
    e1, ez, e2, ey = linear(x, V, b).chunk(4, 1)
    h1, hz, h2 = linear(y, W).chunk(3, 1)
    delta, delta_bar = dt * sigmoid(e1 + h1), dt * sigmoid(e2 + h2)
    z = (1.0 - delta) * z + delta * tanh(ez + hz)
    y = (1.0 - delta_bar) * y + delta_bar * tanh(linear(z, Wy) + ey)
    return y, z


def _cornn(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (y, z), (W, b), (dt, gamma, epsilon) = state, w, c
    z = z + dt * (tanh(linear(torch.cat((x, y, z), 1), W, b)) - gamma * y - epsilon * z)
    return y + dt * z, z


def _slope(x: Tensor, h: Tensor, w: tuple[Tensor, ...]) -> Tensor:
    V, b, W = w
    flat, bent = linear(h, W).chunk(2, 1)
    return flat + tanh(bent + linear(x, V, b))


def _lipschitz_euler(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (h,) = state
    return (h + c[0] * _slope(x, h, w),)


def _lipschitz_rk2(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (h,) = state
    middle = h + c[0] / 2 * _slope(x, h, w)
    return (h + c[0] * _slope(x, middle, w),)


def _tau_gru(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (h, delayed), (V, b, W, W2), (alpha, beta) = state, w, c
    eu, ez, eg, ea = linear(x, V, b).chunk(4, 1)
    hu, hg, ha = linear(h, W).chunk(3, 1)
    gate, weight = sigmoid(eg + hg), sigmoid(ea + ha)
    new = beta * tanh(eu + hu) + alpha * weight * tanh(ez + linear(delayed, W2))
    return ((1.0 - gate) * h + gate * new,)


def _lstm(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (h, memory), (V, b, W, c_h) = state, w
    i, f, g, o = (linear(x, V, b) + linear(h, W, c_h)).chunk(4, 1)
    memory = sigmoid(f) * memory + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(memory), memory


def _gru(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (h,), (V, b, W, inner) = state, w
    er, es, en = linear(x, V, b).chunk(3, 1)
    hr, hs, hn = linear(h, W, inner).chunk(3, 1)
    s = sigmoid(es + hs)
    return ((1.0 - s) * tanh(en + sigmoid(er + hr) * hn) + s * h,)


def _unicornn(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (y, z), (V, b, diagonal, step) = state, w
    z = z - step * (tanh(diagonal * y + linear(x, V, b)) + c[0] * y)
    return y + step * z, z


Arrange = Callable[[Any], tuple[Sequence[Tensor], Sequence[Tensor]]]


class Plain(NamedTuple):
    """The plain loop of some layers.

    Attributes:
        kind, options: Class and options of these layers.
        step: One step of the loop.
        arrange: Maps the layer's weights, of one member, to the weights and numbers of ``step``; of a bias or diagonal
            (1, 1, d) its row (1, d).
    """

    kind: type[Recurrence[Any]]
    options: Mapping[str, Any]
    step: Step
    arrange: Arrange


def _stacked(by_name: Mapping[str, Tensor], names: str) -> Tensor:
    return torch.cat([by_name[name] for name in names], 1)


def _flat(by_name: Mapping[str, Tensor], names: str) -> Tensor:
    return torch.cat([by_name[name] for name in names], -1)[0]


def _torch_rnn(w: Any) -> tuple[Tensor, ...]:
    return w.weight_ih, w.bias_ih[0], w.weight_hh, w.bias_hh[0]


def _lipschitz(w: Any) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    return (w.U, w.b[0], torch.cat((w.A, w.W), 1)), (w.epsilon,)


PLAINS = (
    Plain(
        LEM,
        {"multiscale": True, "floor": None},
        _lem,
        lambda w: ((_stacked(w.V, "1z2y"), _flat(w.b, "1z2y"), _stacked(w.W, "1z2"), w.W["y"]), (w.dt,)),
    ),
    Plain(
        CoRNN,
        {"damping": "explicit"},
        _cornn,
        lambda w: ((torch.cat((w.V, w.W, w.Wz), 2), w.b[0]), (w.dt, w.gamma, w.epsilon)),
    ),
    Plain(LipschitzRNN, {"scheme": "euler"}, _lipschitz_euler, _lipschitz),
    Plain(LipschitzRNN, {"scheme": "rk2"}, _lipschitz_rk2, _lipschitz),
    Plain(
        TauGRU,
        {"form": "full"},
        _tau_gru,
        lambda w: ((_stacked(w.U, "1234"), _flat(w.b, "1234"), _stacked(w.W, "134"), w.W["2"]), (w.alpha, w.beta)),
    ),
    Plain(LSTM, {}, _lstm, lambda w: (_torch_rnn(w), ())),
    Plain(GRU, {}, _gru, lambda w: (_torch_rnn(w), ())),
    Plain(UnICORNN, {"layers": 1}, _unicornn, lambda w: ((w.V, w.b[0], w.w[0], w.dt * sigmoid(w.c[0])), (w.alpha,))),
)
