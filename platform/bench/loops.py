"""Recurrent layers as the papers' authors write them: plain loops over time, to measure the fused ones against."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn, sigmoid, tanh
from torch.nn.functional import linear

from longwave.models.base.layer import Layer, State
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.stack import Stacked
from longwave.models.kernels.cells import CELLS

Step = Callable[[Tensor, State, tuple[Tensor, ...], tuple[float, ...]], State]
"""Takes one input (B, p), the state (B, d) each, weights and numbers; returns the next state."""


class PlainLoop(nn.Module):
    """A recurrent layer in the structure of its authors' code, (T, B, p) to (T, B, d).

    A Python loop over time with one affine map of the input and one of the state a step, gates stacked. There is no
    members axis, and nothing is moved out of the loop. The values are those of the layer it is made from.

    Args:
        layer: A layer without members, with a fused cell and one layer. Its weights are copied.

    Raises:
        ValueError: It is another layer.
    """

    def __init__(self, layer: Layer[Any]) -> None:
        super().__init__()
        single = layer.members is None and getattr(layer, "layers", 1) == 1
        if not isinstance(layer, Recurrence) or (cell := layer.cell) is None or not single:
            raise ValueError(f"{type(layer).__name__}: a plain loop is of one layer that has a fused cell, no members.")
        held = layer.held()
        given = layer.operands(layer.weights(layer.own(held, 1) if isinstance(layer, Stacked) else held))
        V, b = torch.cat(tuple(given.V), 1)[0], torch.cat([part.flatten() for part in given.b])
        W = torch.cat(tuple(given.W), 1)[0].split(layer.hidden_size) if given.W else ()
        self.step, arrange = STEPS[cell]
        weights = arrange(V, b, W, [part.flatten() for part in given.U])
        self.weights = nn.ParameterList([part.detach().clone() for part in weights])
        self.numbers = tuple(part.item() for part in given.P)
        self.hidden, self.states = layer.hidden_size, len(CELLS[cell].states)
        self.lag = given.lags[0] if given.lags else None

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
        """Return the same loop over a step that torch.compile made, with its weights shared."""
        torch._dynamo.reset()  # or the shapes of an earlier cell would make it compile for any shape
        other = copy.copy(self)
        other.step = torch.compile(self.step, dynamic=False)
        return other


def _lem(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (y, z), (V, b, W, Wy), (dt,) = state, w, c
    e1, ez, e2, ey = linear(x, V, b).chunk(4, 1)
    h1, hz, h2 = linear(y, W).chunk(3, 1)
    delta, delta_bar = dt * sigmoid(e1 + h1), dt * sigmoid(e2 + h2)
    z = (1.0 - delta) * z + delta * tanh(ez + hz)
    y = (1.0 - delta_bar) * y + delta_bar * tanh(linear(z, Wy) + ey)
    return y, z


def _cornn(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (y, z), (W, b), (dt, gamma, _, delta) = state, w, c
    z = z + dt * (tanh(linear(torch.cat((x, y, z), 1), W, b)) - gamma * y - (1 - delta) / dt * z)
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
    (h, memory), (V, b, W) = state, w
    i, f, g, o = (linear(x, V, b) + linear(h, W)).chunk(4, 1)
    memory = sigmoid(f) * memory + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(memory), memory


def _gru(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (h,), (V, b, W, inner) = state, w
    er, es, en = linear(x, V, b).chunk(3, 1)
    hr, hs, hn = linear(h, W, inner).chunk(3, 1)
    s = sigmoid(es + hs)
    return ((1.0 - s) * tanh(en + sigmoid(er + hr) * hn) + s * h,)


def _unicornn(x: Tensor, state: State, w: tuple[Tensor, ...], c: tuple[float, ...]) -> State:
    (y, z), (V, b, own, step) = state, w
    z = z - step * (tanh(own * y + linear(x, V, b)) + c[0] * y)
    return y + step * z, z


Arrange = Callable[[Tensor, Tensor, tuple[Tensor, ...], list[Tensor]], tuple[Tensor, ...]]
STEPS: dict[str, tuple[Step, Arrange]] = {
    "lem": (_lem, lambda V, b, W, U: (V, b, torch.cat(W[:3]), W[3])),
    "cornn": (_cornn, lambda V, b, W, U: (torch.cat((V, *W), 1), b)),
    "lipschitz_euler": (_lipschitz_euler, lambda V, b, W, U: (V, b, torch.cat(W))),
    "lipschitz_rk2": (_lipschitz_rk2, lambda V, b, W, U: (V, b, torch.cat(W))),
    "tau_gru": (_tau_gru, lambda V, b, W, U: (V, b, torch.cat((W[0], *W[2:])), W[1])),
    "lstm": (_lstm, lambda V, b, W, U: (V, b, torch.cat(W))),
    "gru": (_gru, lambda V, b, W, U: (V, b, torch.cat(W), torch.cat((torch.zeros_like(b[: -len(U[0])]), U[0])))),
    "unicornn": (_unicornn, lambda V, b, W, U: (V, b, *U)),
}
"""One step of each cell, and its weights from the fused cell's V (G d, p), b (G d,), W (d, d) each and U (d,) each.

coRNN's is the one with explicit damping."""
