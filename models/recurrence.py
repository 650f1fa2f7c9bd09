"""The manners all recurrent layers share: torch.nn.LSTM's shapes, and an optional members axis.

A cell's file gives the weights' shapes, the drive of a whole sequence and one step. Here, and
nowhere else, a call without members gets a members axis of one and loses it again, so a cell never
has to mention it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import ClassVar

import torch
from torch import Tensor, nn

from longwave.models.spec import Param

State = tuple[Tensor, ...]
Hyper = float | Sequence[float] | Tensor


def affine(weight: Tensor, x: Tensor, bias: Tensor) -> Tensor:
    """Return W x + b for each member.

    Args:
        weight: W, (M, k, p).
        x: (M, B, p), or a whole sequence (M, T, B, p).
        bias: b, (M, 1, k); for x (M, B, p) anything that broadcasts to (M, B, k).
    """
    if x.ndim == 3:
        return torch.baddbmm(bias, x, weight.mT)
    flat: Tensor = torch.baddbmm(bias, x.flatten(1, -2), weight.mT)
    return flat.view(len(flat), *x.shape[1:-1], -1)


class Recurrence(nn.Module):
    """A recurrent layer. Subclasses give ``STATE``, ``PARAMS``, ``shapes``, ``drive`` and ``step``.

    Args:
        input_size, hidden_size: Features p of an input step and d of the state.
        members: ``None`` for one layer, or the number M of members of a pack. With members every tensor, weight
            and hyper-parameter carries a leading axis M.
        batch_first: Take and return (B, T, ·) in place of (T, B, ·).
        hyper: Hyper-parameters by name: a number, or one a member, or a tensor (kept in the graph).

    Raises:
        ValueError: A size below 1, or a hyper-parameter that is not valid; the message names layer, rule and value.
    """

    STATE: ClassVar[tuple[str, ...]]
    """Names of the state's tensors. The first is the layer's output."""
    PARAMS: ClassVar[tuple[Param, ...]] = ()
    """The layer's hyper-parameters."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        members: int | None = None,
        batch_first: bool = False,
        **hyper: Hyper,
    ) -> None:
        super().__init__()
        for name, size in {"input_size": input_size, "hidden_size": hidden_size, "members": members}.items():
            if size is not None and size < 1:
                raise ValueError(f"{type(self).__name__}: {name} must be at least 1, got {size}.")
        self.input_size, self.hidden_size, self.batch_first = input_size, hidden_size, batch_first
        self.members = members
        lead = () if members is None else (members,)
        for name, shape in self.shapes().items():
            self.register_parameter(name, nn.Parameter(torch.empty(lead + shape)))
        for param in self.PARAMS:
            self._register_hyper(param, hyper[param.name], lead)
        self.reset_parameters()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each weight of one member."""
        raise NotImplementedError

    def draw(self, name: str, weight: Tensor, generator: torch.Generator | None) -> None:
        """Fill one member's ``weight`` in place: U(−1/√d, 1/√d) unless a cell says otherwise."""
        bound = self.hidden_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def drive(self, x: Tensor, w: SimpleNamespace) -> tuple[Tensor, ...]:
        """Return the parts of the step that depend on the input alone, (M, T, B, d) each, from x (M, T, B, p)."""
        raise NotImplementedError

    def step(self, u: tuple[Tensor, ...], state: State, w: SimpleNamespace) -> State:
        """Return the next state, (M, B, d) each, from one step ``u`` of the drive and the state."""
        raise NotImplementedError

    def scan(self, x: Tensor, state: State, w: SimpleNamespace) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state for x (M, T, B, p); w holds the weights (M, ...)."""
        outputs = []
        for u in zip(*(part.unbind(1) for part in self.drive(x, w)), strict=True):
            state = self.step(u, state, w)
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Run a whole sequence.

        Args:
            x: (T, B, p), or (B, T, p) if ``batch_first``; with members (M, T, B, p) or (M, B, T, p).
            state: Start state, one (B, d) or (M, B, d) tensor for each name in ``STATE``; zeros by default.

        Returns:
            The outputs, like x with d in place of p, and the last state. A sequence run in pieces, each starting
            from the last state, gives the same outputs as in one call.

        Raises:
            ValueError: x or the state has another shape than the layer needs, or another dtype than its weights.
        """
        self._check(x, state)
        if self.batch_first:
            x = x.transpose(-3, -2)
        lone = self.members is None
        if lone:
            x = x.unsqueeze(0)
            state = state and tuple(s.unsqueeze(0) for s in state)
        if state is None:
            state = tuple(x.new_zeros(x.shape[0], x.shape[2], self.hidden_size) for _ in self.STATE)
        output, state = self.scan(x, state, self._weights(lone))
        if lone:
            output, state = output.squeeze(0), tuple(s.squeeze(0) for s in state)
        return output.transpose(-3, -2) if self.batch_first else output, state

    def reset_parameters(self, generators: Sequence[torch.Generator] | None = None) -> None:
        """Draw all weights anew; member k from its own generator, so it starts like the same trial alone."""
        for k in range(self.members or 1):
            generator = generators[k] if generators else None
            for name in self.shapes():
                weight = self.get_parameter(name).data
                self.draw(name, weight if self.members is None else weight[k], generator)

    def _register_hyper(self, param: Param, value: Hyper, lead: tuple[int, ...]) -> None:
        tensor = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.get_default_dtype())
        shared = tensor.ndim == 0 and not isinstance(tensor, nn.Parameter)
        if tuple(tensor.shape) != lead and not shared:
            expected = f"one value for each of {lead[0]} members" if lead else "one number"
            raise ValueError(
                f"{type(self).__name__}: {param.name} must be {expected}, got shape {tuple(tensor.shape)}."
            )
        for number in tensor.detach().flatten().tolist():
            try:
                param.check(number)
            except ValueError as error:
                raise ValueError(f"{type(self).__name__}: {error}") from None
        if isinstance(tensor, nn.Parameter):
            self.register_parameter(param.name, tensor)
        else:
            self.register_buffer(param.name, tensor.expand(lead).clone() if tensor.shape != lead else tensor)

    def _weights(self, lone: bool) -> SimpleNamespace:
        """Return all weights with a members axis: matrices (M, k, p), vectors and hyper-parameters (M, 1, ·)."""
        out = {}
        for name, tensor in {**dict(self.named_parameters()), **dict(self.named_buffers())}.items():
            tensor = tensor.unsqueeze(0) if lone else tensor
            out[name] = tensor.contiguous() if tensor.ndim == 3 else tensor.reshape(len(tensor), 1, -1)
        return SimpleNamespace(**out)

    def _check(self, x: Tensor, state: State | None) -> None:
        name, weight = type(self).__name__, getattr(self, next(iter(self.shapes())))
        lead = () if self.members is None else (self.members,)
        axes = ("B", "T") if self.batch_first else ("T", "B")
        wanted = f"({', '.join([*map(str, lead), *axes, str(self.input_size)])})"
        if x.ndim != len(lead) + 3 or x.shape[: len(lead)] != lead or x.shape[-1] != self.input_size or 0 in x.shape:
            raise ValueError(f"{name}: x must be {wanted} and not empty, got {tuple(x.shape)}.")
        for what, tensor in {"x": x, **dict(zip(self.STATE, state or (), strict=False))}.items():
            if tensor.dtype != weight.dtype:
                raise ValueError(f"{name}: {what} must have the weights' dtype {weight.dtype}, got {tensor.dtype}.")
        shape = (*lead, x.shape[-3 if self.batch_first else -2], self.hidden_size)
        if state is not None and [tuple(s.shape) for s in state] != [shape] * len(self.STATE):
            got = [tuple(s.shape) for s in state]
            raise ValueError(
                f"{name}: state must be {len(self.STATE)} tensors {shape} ({', '.join(self.STATE)}), got {got}."
            )
