"""Residual blocks for any recurrence, so that cells and state-space models compare in the same architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn

from longwave.models.base.algebra import affine
from longwave.models.base.block_options import DROPOUT, GATES, NONLINEARITIES, OPTIONS, Cell, fits
from longwave.models.base.dropout import dropped
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import OptionValue, whole_number
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import NoWeights, WeightGroup
from longwave.models.kernels import Route

EPSILON = 1e-5
"""Epsilon of the norms, added to a variance or to a mean square."""
KEEP = {"batch": 0.9, "running": 0.99}
"""Share of a running average that a training step keeps, as in torch (0.9) and in Equinox (0.99)."""


class Blocks(SequenceLayer[NoWeights]):
    """A linear encoder and ``depth`` residual blocks around cells of one kind, (T, B, p) to (T, B, width).

    With u⁰ = E x + e, block k = 1 … L is (in a ``post`` block norm(·) comes after the sum instead)::

        s = cell(conv(norm(uᵏ⁻¹)))            y = φ(C s + D norm(uᵏ⁻¹))
        uᵏ = uᵏ⁻¹ + (W₁ y + b₁) σ(W₂ y + b₂)

    with D a vector, and dropout after φ and after the gate, one mask per sequence as in ``Stacked``. There is no norm
    after the last block. The read-out sees uᴸ. This is the block of S5, LRU and LinOSS (Smith et al. 2023, Orvieto et
    al. 2023, Rusch and Rus 2025), where the cell is the state-space model without its output map, which is C and D
    here. conv(·) is the short convolution of Mamba, DeltaNet and xLSTM: of each feature over its last steps, with a
    bias; the last inputs of a call are carried to the next. By default there is none.

    E, W₁, W₂ and biases start as torch.nn.Linear's, the convolution as torch.nn.Conv1d's, C as the cell's own read-out,
    D as N(0, 1), a norm's scale as 1 and shift as 0. Trainable parameters: see ``block_options.count_blocks``.

    Args:
        cell: The kind of recurrence.
        input_size: p.
        hidden_size: Hidden size d of a cell; of a state-space model, the number of states.
        width: Features between blocks; by default d.
        block: ``pre``: the cell reads normalised features; ``post``: the sum is normalised.
        depth: L.
        norm: ``layer``; ``rms``; ``batch``, over batch and time, in evaluation by a running average; ``running``, the
            batch norm of Equinox, which uses the running average, this batch included, in training too, and has no
            scale and shift. In a ragged batch both include the padding.
        nonlinearity: φ; ``gelu`` is the approximation by tanh.
        glu: ``full`` as above; ``half``: y σ(W₂ y + b₂); ``none``: y.
        conv: Steps of the convolution; 0 for none.
        dropout: Share of features set to 0 in training.
        members, batch_first, t_max: See ``Recurrence``.
        settings: Options and hyper-parameters of the cell, the same in all blocks.
    """

    PARAMS = (DROPOUT,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {**OPTIONS, "block": ("pre", "post")}
    block: str
    depth: int
    norm: str
    nonlinearity: str
    glu: str
    conv: int

    def __init__(
        self,
        cell: type[Cell],
        input_size: int,
        hidden_size: int,
        *,
        width: int | None = None,
        batch_first: bool = False,
        members: int | None = None,
        t_max: int = 1,
        **settings: Any,
    ) -> None:
        if not fits(cell):
            raise ValueError(f"{cell.__name__} cannot be used in a block: it is not a recurrence of one layer.")
        hidden_size = whole_number("Blocks: hidden_size", hidden_size)
        self._width = hidden_size if width is None else whole_number("Blocks: width", width)
        self._cell_outputs = cell.OUTPUTS * hidden_size
        block_settings = {name: settings.pop(name) for name in ("dropout", *OPTIONS) if name in settings}
        super().__init__(
            input_size, hidden_size, batch_first=batch_first, members=members, t_max=t_max, **block_settings
        )
        self.cells = nn.ModuleList(
            cell(self._width, hidden_size, members=members, t_max=t_max, **settings) for _ in range(self.depth)
        )
        self.reset_parameters()

    @property
    def output_size(self) -> int:
        """Features between blocks."""
        return self._width

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all cells' states, y1, z1, y2, z2, ..., then of the convolutions' last inputs."""
        cells = {f"{name}{k}": shape for k, cell in self._numbered() for name, shape in cell.state_shapes().items()}
        return cells | ({f"conv{k}": (self.conv - 1, self._width) for k, _ in self._numbered()} if self.conv else {})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of encoder, output maps, norms and gates; those of block k end in k."""
        width, gate = self._width, GATES[self.glu] * self._width
        shapes: dict[str, tuple[int, ...]] = {"E": (width, self.input_size), "e": (width,)}
        block: dict[str, tuple[int, ...]] = {"C": (width, self._cell_outputs), "D": (width,)}
        if gate:
            block |= {"W": (gate, width), "b": (gate,)}
        if self.conv:
            block |= {"taps": (width, self.conv), "bias": (width,)}
        if self.norm not in ("none", "running"):
            block["scale"] = (width,)
        if self.norm in ("layer", "batch"):
            block["shift"] = (width,)
        if self.norm in KEEP:
            block |= {"mean": (width,), "variance": (width,), "seen": (1,)}
        return shapes | {f"{n}{k}": shape for k in range(1, self.depth + 1) for n, shape in block.items()}

    def untrained(self) -> frozenset[str]:
        """Return ``statistics``."""
        return frozenset(self.statistics())

    def statistics(self) -> list[str]:
        """Return the names of running averages."""
        averages = ("mean", "variance", "seen") if self.norm in KEEP else ()
        return [f"{name}{k}" for k in range(1, self.depth + 1) for name in averages]

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as described in the class."""
        kind, width = name.rstrip("0123456789"), self._width
        fans = {
            "E": self.input_size,
            "e": self.input_size,
            "W": width,
            "b": width,
            "taps": self.conv,
            "bias": self.conv,
        }
        if kind == "C":
            next(self._numbered())[1].draw_readout(weight, weight.new_empty(len(weight)), generator)
        elif kind == "D":
            nn.init.normal_(weight, generator=generator)
        elif kind in fans:
            bound = fans[kind] ** -0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)
        else:
            weight.fill_(1.0 if kind in ("scale", "variance") else 0.0)

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw all weights again, those of the cells last."""
        if not hasattr(self, "cells"):
            return  # a layer's constructor ends by drawing its weights, before there are cells
        super().reset_parameters(generators)
        for _, cell in self._numbered():
            cell.reset_parameters(generators)

    def constrain(self) -> None:
        """Project the cells' weights back onto their constraints."""
        for _, cell in self._numbered():
            cell.constrain()

    def groups(self) -> dict[str, WeightGroup]:
        """Return the groups of the cells with their full names."""
        groups: dict[str, WeightGroup] = {}
        for k, cell in self._numbered():
            for key, group in cell.groups().items():
                names = tuple(f"cells.{k - 1}.{name}" for name in group.weights)
                before = groups[key].weights if key in groups else ()
                groups[key] = replace(group, weights=(*before, *names))
        return groups

    def trim_state(self, state: State) -> State:
        """Return the state with that of each cell trimmed; see ``Layer.trim_state``."""
        cells = [part for cell, cell_state in self._with_states(state) for part in cell.trim_state(cell_state)]
        return (*cells, *state[len(cells) :])

    def why(self) -> Route:
        """Return how the cells are computed, and why."""
        return next(self._numbered())[1].why()

    def run(self, x: Tensor, state: State, generators: Generators) -> tuple[Tensor, State]:
        """Return the last block's outputs (M, T, B, width), and the last states of all cells and convolutions."""
        w = self.lifted_tensors()
        u, last, conv_inputs = affine(w["E"], x, w["e"]), list[Tensor](), list(state[len(state) - self.depth :])
        for k, (cell, cell_state) in enumerate(self._with_states(state), 1):
            normed = cell_input = self._normed(u, w, k) if self.block == "pre" else u
            if self.conv:
                cell_input, conv_inputs[k - 1] = self._convolved(normed, conv_inputs[k - 1], w, k)
            s, cell_last = cell.run(cell_input, cell_state, generators)
            y = NONLINEARITIES[self.nonlinearity](affine(w[f"C{k}"], s) + w[f"D{k}"].unsqueeze(1) * normed)
            u = u + self._dropped(self._gated(self._dropped(y, generators), w, k), generators)
            u = self._normed(u, w, k) if self.block == "post" else u
            last += cell_last
        return u, (*last, *conv_inputs) if self.conv else tuple(last)

    def _numbered(self) -> Iterator[tuple[int, Cell]]:
        yield from enumerate(self.cells, 1)

    def _with_states(self, state: State) -> Iterator[tuple[Cell, State]]:
        start = 0
        for _, cell in self._numbered():
            count = len(cell.state_shapes())
            yield cell, state[start : start + count]
            start += count

    def _convolved(self, u: Tensor, previous: Tensor, w: Mapping[str, Tensor], k: int) -> tuple[Tensor, Tensor]:
        """Return u (M, T, B, width) convolved over time for block k, and the last inputs, (M, B, conv − 1, width)."""
        padded, steps = torch.cat([previous.transpose(1, 2), u], 1), u.shape[1]
        convolved = w[f"bias{k}"].unsqueeze(1)
        for j, tap in enumerate(w[f"taps{k}"].unsqueeze(1).unsqueeze(1).unbind(-1)):
            convolved = torch.addcmul(convolved, tap, padded[:, j : j + steps])
        return convolved, padded[:, steps:].transpose(1, 2)

    def _gated(self, y: Tensor, w: Mapping[str, Tensor], k: int) -> Tensor:
        if self.glu == "none":
            return y
        parts = affine(w[f"W{k}"], y, w[f"b{k}"]).chunk(GATES[self.glu], -1)
        return (parts[0] if self.glu == "full" else y) * torch.sigmoid(parts[-1])

    def _dropped(self, y: Tensor, generators: Generators) -> Tensor:
        rate = getattr(self, "dropout", None) if self.training else None
        return y if rate is None else dropped(y, rate.to(y.dtype), generators)

    def _normed(self, u: Tensor, w: Mapping[str, Tensor], k: int) -> Tensor:
        """Return u (M, T, B, width) normalised for block k."""
        if self.norm == "none":
            return u
        if self.norm == "rms":
            return u * (u.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * w[f"scale{k}"].unsqueeze(1)
        if self.norm == "layer":
            u = nn.functional.layer_norm(u, u.shape[-1:], eps=EPSILON)
        else:
            mean, variance = self._batch_averages(u, w, k)
            u = (u - mean) * (variance + EPSILON).rsqrt()
        if self.norm == "running":
            return u
        return u * w[f"scale{k}"].unsqueeze(1) + w[f"shift{k}"].unsqueeze(1)

    def _batch_averages(self, u: Tensor, w: Mapping[str, Tensor], k: int) -> tuple[Tensor, Tensor]:
        """Return mean and variance by channel, (M, 1, 1, width); in training the running ones are updated."""
        names, seen = (f"mean{k}", f"variance{k}"), w[f"seen{k}"].unsqueeze(1)
        running = [w[name].unsqueeze(1) for name in names]
        if not self.training:
            return running[0], running[1]
        of_batch = [mean := u.mean((1, 2), keepdim=True), (u - mean).square().mean((1, 2), keepdim=True)]
        keep = seen * KEEP[self.norm]  # the first batch fills the averages
        updated = [keep * old + (1 - keep) * new for old, new in zip(running, of_batch, strict=True)]
        with torch.no_grad():
            for name, value in zip(names, updated, strict=True):
                buffer = self.get_buffer(name)
                buffer.copy_(value.view_as(buffer))
            self.get_buffer(f"seen{k}").fill_(1.0)
        mean, variance = updated if self.norm == "running" else of_batch
        return mean, variance
