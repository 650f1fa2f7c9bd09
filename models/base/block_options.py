"""Options of residual blocks, which layers fit into a block, and the number of trainable parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard

import torch
from torch import Tensor, nn

from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.stack import DROPOUT as STACK_DROPOUT
from longwave.models.base.stack import Stacked

Cell: TypeAlias = Recurrence[Any] | MatrixRecurrence[Any]
"""Layers that fit into a block."""
DROPOUT = replace(
    STACK_DROPOUT, meaning="Share of a residual block's features set to zero, the same at every step of a sequence."
)
GATES = {"full": 2, "half": 1, "none": 0}
"""Matrices of the gate."""
NONLINEARITIES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "gelu": lambda x: nn.functional.gelu(x, approximate="tanh"),
    "silu": nn.functional.silu,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "none": lambda x: x,
}
OPTIONS: Mapping[str, tuple[OptionValue, ...]] = {
    "block": ("none", "pre", "post"),
    "depth": (1, 2, 3, 4, 5, 6, 8),
    "norm": ("layer", "rms", "batch", "running", "none"),
    "nonlinearity": tuple(NONLINEARITIES),
    "glu": tuple(GATES),
    "conv": (0, 4, 2, 3),
}
"""Static choices of every model whose layer fits into a block; with ``"none"`` the others have no effect."""


def fits(layer: type[Any]) -> TypeGuard[type[Cell]]:
    """Return whether a kind of layer fits into a block.

    It does if it is a recurrence that stacks no layers itself, and none of its options and parameters has the name of
    one of the block's.
    """
    names = {*layer.OPTIONS, *(p.name for p in layer.PARAMS)}
    one = issubclass(layer, (Recurrence, MatrixRecurrence)) and not issubclass(layer, Stacked)
    return one and not names & {*OPTIONS, DROPOUT.name}


def check_block(options: Mapping[str, OptionValue], width: int | None) -> None:
    """Check that options and width of blocks are given only with a block.

    Raises:
        ValueError: There is no block, but a width or an option that differs from its default.
    """
    if options.get("block", "none") != "none":
        return
    for name, (default, *_) in OPTIONS.items():
        if options.get(name, default) != default:
            raise ValueError(f'{name} {options[name]} has no effect without a block. Set block = "pre" or "post".')
    if width is not None:
        raise ValueError(f'width {width} has no effect without a block. Set block = "pre" or "post", or only hidden.')


def count_blocks(cell: int, p: int, width: int, outputs: int, options: Mapping[str, OptionValue]) -> int:
    """Return the number of trainable parameters of an encoder and its blocks, without a read-out.

    Args:
        cell: Parameters of one cell that reads ``width`` features.
        p, width, outputs: Features of the input, between blocks, and of a cell's output.
        options: Of the blocks.
    """
    chosen_options = {name: options.get(name, default) for name, (default, *_) in OPTIONS.items()}
    norm = {"layer": 2, "batch": 2, "rms": 1}.get(str(chosen_options["norm"]), 0)
    gate, conv = GATES[str(chosen_options["glu"])], int(chosen_options["conv"])
    block = cell + outputs * width + width + norm * width + gate * (width * width + width)
    block += (conv + 1) * width if conv else 0
    return p * width + width + int(chosen_options["depth"]) * block
