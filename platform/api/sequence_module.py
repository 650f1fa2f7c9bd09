"""Layers over sequences as plain modules of torch: ``outputs, state = lw.LEM(1, 64, dt=0.5)(x)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch._compile import _disable_dynamo
from torch.nn.utils.rnn import PackedSequence

from longwave.models.base.block import KEEP, Blocks
from longwave.models.base.block_options import OPTIONS, check_block
from longwave.models.base.layer import Layer, State
from longwave.models.base.param import whole_number
from longwave.models.base.ragged import checked_lengths, ends_of, packed_as, reversed_in_time, run_ragged, unpacked
from longwave.platform.api.plain_module import LoneModule, shortest_number

Only = Literal["outputs", "last"]
"""Values of ``only``, for modules that do not return the state."""
NOT_SHOWN: Mapping[str, Any] = {
    "num_layers": 1,
    "bidirectional": False,
    "only": None,
    "width": None,
    "dropout": None,
    "conv": 0,
}
"""Values that change nothing, and are not shown."""


class SequenceModule(LoneModule):
    """A layer over sequences, (batch, time, features) in and out, or a stack of them.

    Example::

        lem = lw.LEM(1, 64, dt=0.5)
        outputs, state = lem(x)                # x (B, T, 1), outputs (B, T, 64)
        outputs, state = lem(later, state)     # continues where x ended
        output, state = lem.step(now, state)   # one step: now (B, 1), output (B, 64)

        deep = lw.LEM(1, 64, dt=0.5, num_layers=4, block="pre", dropout=0.1)       # residual blocks
        both = torch.nn.Sequential(lw.LSTM(1, 64, bidirectional=True, only="last"), torch.nn.Linear(128, 2))

    Under ``torch.autocast`` a layer computes in its weights' dtype, as rounding errors add up over steps, and returns
    outputs in autocast's, as torch.nn.LSTM does; states keep full precision. ``torch.compile`` leaves it unchanged,
    like torch.nn.LSTM: its time loop is already compiled.

    Args:
        num_layers, bidirectional, dropout: As in torch.nn.LSTM: number of stacked layers, each forwards and backwards,
            and the dropout between layers. A layer that is itself a stack has ``layers``.
        block: With ``"pre"`` or ``"post"`` there are ``num_layers`` residual blocks around the recurrence, after an
            encoder. ``dropout`` is then that of the blocks.
        width, norm, nonlinearity, glu, conv: Of blocks; see ``models.base.block.Blocks``.
        only: ``"outputs"`` returns no state, and ``"last"`` only the outputs at each last step, (B, outputs), for
            ``torch.nn.Sequential``.
        inputs, hidden, chosen: See ``LoneModule``.
    """

    MORE: ClassVar[Mapping[str, bool]] = {"batch_first": True}
    num_layers: int
    bidirectional: bool
    only: Only | None

    if TYPE_CHECKING:

        def __call__(
            self, x: Tensor, state: State | None = None, lengths: Tensor | Sequence[int] | None = None
        ) -> tuple[Tensor, State]:
            """As ``forward``."""

    def _make_layer(self, inputs: int, hidden: int, arguments: dict[str, Any]) -> Layer[Any]:
        """Return the first layer, and store the others.

        Raises:
            ValueError: Two of the arguments are incompatible.
        """
        name, stacks = type(self).__name__, "layers" in self.LAYER.OPTIONS
        self.num_layers = whole_number(f"{name}: num_layers", arguments.pop("num_layers", 1))
        self.bidirectional = arguments.pop("bidirectional", False)
        self.only, in_blocks = arguments.pop("only", None), arguments.get("block", "none") != "none"
        if self.only not in (None, *get_args(Only)):
            raise ValueError(f"{name}: only must be outputs or last, got {self.only!r}.")
        if not isinstance(self.bidirectional, bool):
            raise ValueError(f"{name}: bidirectional must be True or False, got {self.bidirectional!r}.")
        if stacks and self.num_layers > 1:
            raise ValueError(f"{name} stacks layers itself: give layers={self.num_layers}, not num_layers.")
        if in_blocks:
            if self.bidirectional:
                raise ValueError(f"{name}: a residual block is causal: leave bidirectional or block out.")
            self.more, self.between = nn.ModuleList(), 0.0
            sizes: dict[str, Any] = {"depth": self.num_layers, **self.MORE}
            return Blocks(self.LAYER, inputs, hidden, **sizes, **arguments)  # type: ignore[arg-type]
        of_blocks = {n: arguments.pop(n) for n in OPTIONS if n in arguments and n not in self.LAYER.OPTIONS}
        check_block(of_blocks, arguments.pop("width", None))
        rate = 0.0 if _has_dropout(self.LAYER) else arguments.pop("dropout", 0.0)
        if not isinstance(rate, Real) or isinstance(rate, bool):
            raise ValueError(f"{name}: dropout must be a number, got {rate!r}.")
        self.between = float(rate)
        if not 0 <= self.between < 1 or (self.between and self.num_layers == 1):
            rule = "at least 0 and below 1, between layers: with num_layers of 2 or more"
            raise ValueError(f"{name}: dropout must be {rule}, got {self.between:g} with num_layers={self.num_layers}.")
        directions = 2 if self.bidirectional else 1
        make_cell, cells, features = super()._make_layer, list[Layer[Any]](), inputs
        for _ in range(self.num_layers):
            cells += [make_cell(features, hidden, arguments) for _ in range(directions)]
            features = directions * cells[-1].output_size
        self.more = nn.ModuleList(cells[1:])
        return cells[0]

    @property
    def outputs(self) -> int:
        """Output features: d, or 2d for complex states, doubled if bidirectional; with blocks, their width."""
        return self.layer.output_size * (2 if self.bidirectional else 1)

    def reset_parameters(self) -> None:
        """Draw all weights again."""
        for cell in self._cells():
            cell.reset_parameters()

    def chosen(self) -> dict[str, Any]:
        """Return every hyper-parameter and option in effect, by name."""
        in_effect: dict[str, Any] = {
            "num_layers": self.num_layers,
            "bidirectional": self.bidirectional,
            "only": self.only,
        }
        if isinstance(self.layer, Blocks):
            in_effect |= {name: getattr(self.layer, name) for name in ("block", "norm", "nonlinearity", "glu", "conv")}
            in_effect["width"] = self.outputs if self.outputs != self.hidden else None
            rate = getattr(self.layer, "dropout", None)
            in_effect["dropout"] = shortest_number(rate) if isinstance(rate, Tensor) else None
        elif self.between:
            in_effect["dropout"] = self.between
        shown = {name: value for name, value in in_effect.items() if name not in NOT_SHOWN or value != NOT_SHOWN[name]}
        return super().chosen() | shown

    def forward(
        self, x: Tensor | PackedSequence, state: State | None = None, lengths: Tensor | Sequence[int] | None = None
    ) -> Any:
        """Return the outputs of every step, (B, T, outputs), and the last state; with ``only`` just the outputs.

        Args:
            x: (B, T, p), of the weights' dtype, (T, p) for one sequence, or packed, which gives packed outputs.
            state: That of the previous call; by default zeros, the initial state.
            lengths: (B,) steps of each sequence, if they are padded at the end. Outputs are zero there, and the state
                is that at each sequence's end.

        Raises:
            ValueError: Another shape or dtype.
        """
        run = self._read_uncompiled if torch.compiler.is_compiling() else self._read
        return run(x, state, lengths)

    def _read(self, x: Tensor | PackedSequence, state: State | None, lengths: Tensor | Sequence[int] | None) -> Any:
        if isinstance(x, PackedSequence):
            if lengths is not None:
                raise ValueError(f"{type(self).__name__}: packed sequences have their lengths. Leave lengths out.")
            padded, sizes = unpacked(x)
            outputs, last = self._run(padded, state, checked_lengths(sizes, padded))
            packed = outputs if self.only == "last" else packed_as(outputs, x)
            return packed if self.only else (packed, last)
        if lengths is not None and (not isinstance(x, Tensor) or x.ndim != 3):
            got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"{type(self).__name__}: with lengths, x must be (B, T, {self.inputs}), got {got}.")
        if unbatched := isinstance(x, Tensor) and x.ndim == 2 and lengths is None:
            x, state = x.unsqueeze(0), change_state(state, lambda s: s.unsqueeze(0))
        outputs, last = self._run(x, state, None if lengths is None else checked_lengths(lengths, x))
        if unbatched:
            outputs, last = outputs.squeeze(0), tuple(s.squeeze(0) for s in last)
        return outputs if self.only else (outputs, last)

    _read_uncompiled = _disable_dynamo(_read)

    def step(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Return the output of one step, (B, outputs), and the state after it, as ``forward`` does for many.

        Args:
            x: (B, p).
            state: That of the previous step; zeros by default.

        Raises:
            ValueError: Another shape or dtype, or a layer without a state, or one that reads backwards.
        """
        if not self.layer.STATE and not isinstance(self.layer, Blocks):
            raise ValueError(
                f"{type(self).__name__} has no state to carry from step to step. Give it the whole sequence."
            )
        if self.bidirectional:
            raise ValueError(f"{type(self).__name__} reads backwards, too, from the end. Give it the whole sequence.")
        if not isinstance(x, Tensor) or x.ndim != 2:
            got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"{type(self).__name__}: a step must be a tensor (B, {self.inputs}), got {got}.")
        outputs, last = self._run(x.unsqueeze(1), state, None)
        return outputs if self.only == "last" else outputs.squeeze(1), last

    def _cells(self) -> list[Any]:
        return [self.layer, *self.more]

    def _run(self, x: Tensor, state: State | None, lengths: Tensor | None) -> tuple[Tensor, State]:
        """Return outputs (B, T, ·), or (B, ·) of last steps, and last states, under autocast as in the class."""
        device_type = x.device.type if isinstance(x, Tensor) else "cpu"
        if not self._leaves_autocast(device_type):
            return self._through_layers(x, state, lengths)
        with torch.autocast(device_type, enabled=False):
            outputs, last = self._through_layers(x.float(), change_state(state, Tensor.float), lengths)
        return outputs.to(torch.get_autocast_dtype(device_type)), last

    def _through_layers(self, x: Tensor, state: State | None, lengths: Tensor | None) -> tuple[Tensor, State]:
        cells, directions = self._cells(), 2 if self.bidirectional else 1
        self._check_state(state, cells)
        self._check_ragged(lengths, cells)
        last, start = list[Tensor](), 0
        for k in range(0, len(cells), directions):
            if k and self.between and self.training:
                in_torchs_order = x.transpose(0, 1).contiguous()
                x = nn.functional.dropout(in_torchs_order, self.between).transpose(0, 1)
            directions_out = list[Tensor]()
            for cell, backwards in zip(cells[k : k + directions], (False, True), strict=False):
                count = len(cell.state_shapes())
                cell_state = None if state is None else state[start : start + count]
                inputs = reversed_in_time(x, lengths) if backwards else x
                outputs, ends = run_ragged(cell, inputs, cell_state, lengths)
                directions_out.append(reversed_in_time(outputs, lengths) if backwards else outputs)
                last, start = [*last, *ends], start + count
            x = torch.cat(directions_out, -1)
        if self.only != "last":
            return x, tuple(last)
        return torch.cat(
            [ends_of(directions_out[0], lengths), *(reverse_out[:, 0] for reverse_out in directions_out[1:])], -1
        ), tuple(last)

    def _check_state(self, state: State | None, cells: Sequence[Any]) -> None:
        if not isinstance(state, Tensor | Sequence | None):  # a tensor is refused by the layer
            raise ValueError(f"{type(self).__name__}: state must be a tuple of tensors, got {state!r}.")
        names = [name for cell in cells for name in cell.state_shapes()]
        if len(cells) > 1 and state is not None and len(state) != len(names):
            rule = (
                f"state must be {len(names)} tensors, {', '.join(cells[0].state_shapes())} of each layer and direction"
            )
            raise ValueError(f"{type(self).__name__}: {rule}, got {len(state)}.")

    def _check_ragged(self, lengths: Tensor | None, cells: Sequence[Any]) -> None:
        """Raise ValueError if a layer uses the whole sequence, padding included, or one dropout mask for all of it."""
        if lengths is None:
            return
        name, rate = type(self).__name__, getattr(self.layer, "dropout", None)
        if getattr(self.layer, "norm", "none") in KEEP and self.training:
            raise ValueError(f"{name}: norm {self.layer.norm} counts what is padded in training. Leave lengths out.")
        if isinstance(rate, Tensor) and bool(rate.any()) and self.training:
            raise ValueError(f"{name}: its dropout has one mask a sequence, which lengths cut. Leave either out.")


def change_state(state: State | None, change: Callable[[Tensor], Tensor]) -> State | None:
    """Return a state with each of its tensors changed; anything else unchanged, which the layer refuses."""
    return tuple(map(change, state)) if isinstance(state, (tuple, list)) else state


def _has_dropout(layer: type[Layer[Any]]) -> bool:
    return any(p.name == "dropout" for p in layer.PARAMS)
