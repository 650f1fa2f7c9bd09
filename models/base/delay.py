"""Layers with a delay of τ steps: the state carries the last max τ hidden states, zeros before the start."""

from __future__ import annotations

from typing import Generic

import torch
from torch import Tensor

from longwave.models.base.layer import State
from longwave.models.base.param import Param
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.weights import W
from longwave.models.kernels.compiler.trace import Recurrent

TAU = Param(
    "tau",
    "τ",
    5,
    200,
    False,
    "steps back",
    "Time lag of the delayed feedback.",
    "τ-GRU, Appendix G",
    zero=True,
    most=100_000,
    whole=True,
)
"""The limit is five times the longest sequence here; the state holds τ hidden states."""


class Delayed(Recurrence[W], Generic[W]):
    """h[n+1] from h[n] and h[n−τ], τ in whole steps. Subclasses define ``shapes``, ``drive`` and ``next``.

    The state is h, (B, d), and ``past``, (B, m, d): h[n−m] … h[n−1] for the members' largest τ, m.
    """

    STATE = ("h", "past")

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of h and of the past."""
        return {"h": (self.hidden_size,), "past": (max(self.lags()), self.hidden_size)}

    def trim_state(self, state: State) -> State:
        """Return the state with the past cut to the largest delay of the current members."""
        h, past = state
        return h, past[..., past.shape[-2] - max(self.lags()) :, :]

    def next(self, u: tuple[Tensor, ...], h: Tensor, delayed: Tensor, w: W) -> Tensor:
        """Return h[n+1], (M, B, d), from one step ``u`` of the drive, h[n] and h[n−τ]."""
        raise NotImplementedError

    def recurrent(self, inputs: int) -> Recurrent:
        """Return ``drive`` and ``next``, to be compiled; see ``Fusable``."""

        def step(u: tuple[Tensor, ...], state: State, late: Tensor, w: W) -> State:
            return (self.next(u, state[0], late, w),)

        return Recurrent(self.drive, step, 1, self.hidden_size, inputs)

    def loop(self, drive: tuple[Tensor, ...], state: State, w: W) -> tuple[Tensor, State]:
        """Return h after each step, (M, T, B, d), and the last state."""
        h, past = state
        lags, m = self.lags(), past.shape[2]
        history = [*past.unbind(2), h]
        for n, u in enumerate(zip(*(part.unbind(1) for part in drive), strict=True)):
            indices = [n + m - lag for lag in lags]
            shared = len(set(indices)) == 1
            delayed = history[indices[0]] if shared else torch.stack([history[b][k] for k, b in enumerate(indices)])
            history.append(self.next(u, history[-1], delayed, w))
        steps = len(history) - 1 - m
        past = torch.stack(history[steps : steps + m], 2) if m else past
        return torch.stack(history[m + 1 :], 1), (history[-1], past)

    def lags(self) -> list[int]:
        """Return τ of each member."""
        tau = getattr(self, "tau", None)
        return [0] * (self.members or 1) if tau is None else [round(t) for t in tau.flatten().tolist()]
