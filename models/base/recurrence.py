"""The manners all recurrent layers share: torch.nn.LSTM's shapes, and an optional members axis.

A cell's file gives the weights' shapes, the drive of a whole sequence and one step. Here, and
nowhere else, a call without members gets a members axis of one and loses it again, so a cell never
has to mention it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn

from longwave.models import kernels
from longwave.models.base.call import check_call
from longwave.models.base.param import OptionValue, Param

State = tuple[Tensor, ...]
Generators = Sequence[Generator] | None


class Recurrence(nn.Module):
    """A recurrent layer. Subclasses give ``STATE``, ``PARAMS``, ``OPTIONS``, ``shapes``, ``drive`` and ``step``.

    Args:
        input_size, hidden_size: Features p of an input step and d of the state.
        members: ``None`` for one layer, or the number M of members of a pack. With members every tensor, weight
            and hyper-parameter carries a leading axis M.
        batch_first: Take and return (B, T, ·) in place of (T, B, ·).
        t_max: T_max ≥ 1, the longest memory expected, in input steps; some initialisations need it.
        chosen: Options, and hyper-parameters: a number, one a member, or a tensor (kept in the graph; an
            ``nn.Parameter`` is trained).

    Raises:
        ValueError: A size below 1, an unknown option or hyper-parameter, or one that is missing or not valid; the
            message names layer, rule and value.
    """

    STATE: ClassVar[tuple[str, ...]]
    """Names of the state's tensors, in a stack those of one layer. The first is the output."""
    PARAMS: ClassVar[tuple[Param, ...]] = ()
    """The layer's hyper-parameters."""
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {}
    """Static choices by name, the default first; a layer holds its own as attributes."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        members: int | None = None,
        batch_first: bool = False,
        t_max: int = 1,
        **chosen: Any,
    ) -> None:
        super().__init__()
        counts = {"input_size": input_size, "hidden_size": hidden_size, "members": members, "t_max": t_max}
        for name, size in counts.items():
            if size is not None and size < 1:
                raise ValueError(f"{type(self).__name__}: {name} must be at least 1, got {size}.")
        self.input_size, self.hidden_size, self.batch_first = input_size, hidden_size, batch_first
        self.members, self.t_max = members, t_max
        for name, choices in self.OPTIONS.items():
            setattr(self, name, self._chosen(name, choices, chosen.pop(name, choices[0])))
        lead = () if members is None else (members,)
        for name, shape in self.shapes().items():
            weight = nn.Parameter(torch.empty(lead + shape), requires_grad=name not in self.untrained())
            self.register_parameter(name, weight) if weight.requires_grad else self.register_buffer(name, weight.data)
        self._register_hyper(chosen, lead)
        self.reset_parameters()

    @classmethod
    def relevant(cls, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return the hyper-parameters that mean something under ``options``."""
        return cls.PARAMS

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each weight of one member."""
        raise NotImplementedError

    def untrained(self) -> frozenset[str]:
        """Return the weights that stay as drawn."""
        return frozenset()

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each tensor of the state, of one sequence, by name."""
        return dict.fromkeys(self.STATE, (self.hidden_size,))

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill one member's ``weight`` in place: U(−1/√d, 1/√d) unless a cell says otherwise."""
        bound = self.hidden_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill one member's read-out in place, weight (q, d) and bias (q,): as torch.nn.Linear's."""
        bound = self.hidden_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)
        nn.init.uniform_(bias, -bound, bound, generator=generator)

    def prepare(self, w: SimpleNamespace) -> None:
        """Add to ``w`` what follows from the weights alone and is wanted at every step."""

    def drive(self, x: Tensor, w: SimpleNamespace) -> tuple[Tensor, ...]:
        """Return the parts of the step that depend on the input alone, (M, T, B, d) each, from x (M, T, B, p)."""
        raise NotImplementedError

    def step(self, u: tuple[Tensor, ...], state: State, w: SimpleNamespace) -> State:
        """Return the next state, (M, B, d) each, from one step ``u`` of the drive and the state."""
        raise NotImplementedError

    @property
    def cell(self) -> str | None:
        """The cell of ``kernels.cells`` whose fused loop computes the layer, None where there is none."""
        return None

    def operands(self, w: SimpleNamespace) -> kernels.Operands:
        """Return what the fused loop of ``cell`` needs."""
        raise NotImplementedError

    def why(self) -> kernels.Route:
        """Return which way the time loop takes where the weights are, and why."""
        weight: Tensor = getattr(self, next(iter(self.shapes())))
        return kernels.choose(self.cell, self.hidden_size, weight.device, self.dtype)

    @property
    def dtype(self) -> torch.dtype:
        """The weights' dtype."""
        weight: Tensor = getattr(self, next(iter(self.shapes())))
        return weight.dtype

    def readout(self, outputs: Tensor, state: State) -> Tensor:
        """Return what a read-out of the last step sees, (M, B, d)."""
        return state[0]

    def scan(self, x: Tensor, state: State, w: SimpleNamespace, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state for x (M, T, B, p); w holds the weights (M, ...)."""
        return self.through(x, state, w, lambda: self.loop(self.drive(x, w), state, w))

    def through(
        self, x: Tensor, state: State, w: SimpleNamespace, reference: Callable[[], tuple[Tensor, State]]
    ) -> tuple[Tensor, State]:
        """Return what ``reference`` defines, by the fused loop of the cell where it can run."""
        path = self.why().path
        if path == "reference" or self.cell is None:
            return reference()
        return kernels.advance(path, self.cell, self.operands(w), x, state)

    def loop(self, drive: tuple[Tensor, ...], state: State, w: SimpleNamespace) -> tuple[Tensor, State]:
        """Return the first state after each step, (M, T, B, d), and the last state."""
        outputs = []
        for u in zip(*(part.unbind(1) for part in drive), strict=True):
            state = self.step(u, state, w)
            outputs.append(state[0])
        return torch.stack(outputs, 1), state

    def forward(self, x: Tensor, state: State | None = None, generators: Generators = None) -> tuple[Tensor, State]:
        """Run a whole sequence.

        Args:
            x: (T, B, p), or (B, T, p) if ``batch_first``; with members (M, T, B, p) or (M, B, T, p).
            state: Start state, a tensor (B, ·) or (M, B, ·) for each of ``state_shapes()``; zeros by default.
            generators: One a member, for dropout in training; torch's own by default.

        Returns:
            The outputs, like x with d in place of p, and the last state. A sequence run in pieces, each starting
            from the last state, gives the same outputs as in one call (dropout in training aside).

        Raises:
            ValueError: x or the state has another shape than the layer needs, or another dtype than its weights.
        """
        check_call(self, x, state)
        if generators is not None and len(generators) != (self.members or 1):
            raise ValueError(f"{type(self).__name__}: one generator a member is needed, got {len(generators)}.")
        if self.batch_first:
            x = x.transpose(-3, -2)
        lone = self.members is None
        if lone:
            x = x.unsqueeze(0)
            state = state and tuple(s.unsqueeze(0) for s in state)
        if state is None:
            state = tuple(x.new_zeros(x.shape[0], x.shape[2], *s) for s in self.state_shapes().values())
        output, state = self.scan(x, state, self._weights(lone), generators)
        if lone:
            output, state = output.squeeze(0), tuple(s.squeeze(0) for s in state)
        return output.transpose(-3, -2) if self.batch_first else output, state

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw all weights anew; member k from its own generator, so it starts like the same trial alone."""
        tensors = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        for k in range(self.members or 1):
            generator = generators[k] if generators else None
            one = {name: t.data if self.members is None else t.data[k] for name, t in tensors.items()}
            hyper = {p.name: one[p.name].item() for p in self.PARAMS if p.name in one}
            for name in self.shapes():
                self.draw(name, one[name], hyper, generator)

    def _chosen(self, name: str, choices: tuple[OptionValue, ...], value: OptionValue) -> OptionValue:
        if value not in choices or type(value) is not type(choices[choices.index(value)]):
            allowed = ", ".join(map(str, choices))
            raise ValueError(f"{type(self).__name__}: {name} must be one of {allowed}, got {value!r}.")
        return value

    def _register_hyper(self, chosen: Mapping[str, Any], lead: tuple[int, ...]) -> None:
        params = {p.name: p for p in self.relevant({name: getattr(self, name) for name in self.OPTIONS})}
        if unknown := sorted(chosen.keys() - params.keys()):
            known = ", ".join([*params, *self.OPTIONS]) or "none"
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r} here; it has: {known}.")
        for name, param in params.items():
            if name in chosen or isinstance(param.default, float):
                self._register_one(param, chosen.get(name, param.default), lead)
            elif param.searched:
                raise ValueError(f"{type(self).__name__}: {param.symbol} ({name}) must be given.")

    def _register_one(self, param: Param, value: Any, lead: tuple[int, ...]) -> None:
        try:
            tensor = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64)
        except (TypeError, ValueError):
            message = f"{type(self).__name__}: {param.symbol} ({param.name}) must be {param.rule}, got {value!r}."
            raise ValueError(message) from None
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
        out, dtype = {}, self.dtype
        for name, tensor in {**dict(self.named_parameters()), **dict(self.named_buffers())}.items():
            tensor = (tensor.unsqueeze(0) if lone else tensor).to(dtype)
            out[name] = tensor.contiguous() if tensor.ndim == 3 else tensor.reshape(len(tensor), 1, -1)
        for param in self.PARAMS:
            if isinstance(param.default, str) and param.default in out:
                out.setdefault(param.name, out[param.default])
        w = SimpleNamespace(**out)
        self.prepare(w)
        return w
