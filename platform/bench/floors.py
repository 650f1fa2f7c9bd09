"""What a time loop cannot go below: the products of its cell alone, and the speed of the machine."""

from __future__ import annotations

import itertools
from functools import cache

import torch
from torch import Tensor

from longwave.models.kernels.cells import Cell
from longwave.platform.bench.sizes import Size, make_layer

PRODUCTS: dict[str, tuple[tuple[int, int], ...]] = {
    "lem": ((1, 3), (1, 1)),
    "cornn": ((2, 1),),
    "lipschitz_euler": ((1, 2),),
    "lipschitz_rk2": ((1, 2), (1, 2)),
    "tau_gru": ((1, 3), (1, 1)),
    "lstm": ((1, 4),),
    "gru": ((1, 3),),
    "unicornn": (),
}
"""Recurrent products of a step by cell: how many vectors of d numbers go in, and how many come out."""
KEPT_ADJOINTS = {"cornn": 1, "lipschitz_euler": 2}
"""Vectors of a row and step that weight gradients are made of; 4 for other cells."""
CLOCK, LANES, BANDWIDTH, RATE = 1.98e9, 128, 4.3e12, 50e12
"""An H200: Hz; multiply-adds a cycle and processor; bytes a second; operations a second of a float32 product."""
STAGE, LATENCY = 190, 78
"""Cycles from one product to the next, of which nothing can be hidden; cycles of a step without products."""


@cache
def _compiled_cell(name: str) -> Cell:
    """Return what is compiled of a cell's layer."""
    return make_layer(name, Size(1, 1, 1, 1), torch.device("cpu")).cell_on("cpu")


def multiply_adds(cell: str, size: Size) -> int:
    """Return the multiply-adds of a step, forward and backward: recurrent products, drives, weight gradients.

    The input's gradient is not among them: data has none.
    """
    recurrent = sum(i * o for i, o in PRODUCTS[cell]) * size.hidden**2
    drive = len(_compiled_cell(cell).gates) * size.hidden * size.inputs
    return size.batch * (3 * recurrent + 2 * drive)


def processor_floor(cell: str, size: Size, rate: float | None) -> float | None:
    """Return the µs of a step's products at ``rate`` multiply-adds a second; None without products, or without rate."""
    return 1e6 * multiply_adds(cell, size) / rate if rate and PRODUCTS[cell] else None


def gpu_floor(cell: str, size: Size, processors: int) -> float:
    """Return the µs of a step, forward and backward, on an H200's clock and memory with so many processors.

    The time loops take the longest chain of multiply-adds, each row on the processors that are left for it, and the
    wait between products; or the traffic of the drives, states and adjoints if that takes longer. The drives and
    weight gradients come on top, at the rate of large products.
    """
    d, rows, gates, states = size.hidden, size.batch, len(_compiled_cell(cell).gates), len(_compiled_cell(cell).states)
    chain = [i * o for i, o in PRODUCTS[cell]]
    if cell == "tau_gru":
        chain = chain[:1]  # what is delayed waits for nothing
    shared = min(max(1, processors // rows), 8 if d >= 128 else 1)
    cycles = sum(chain) * d * d * -(-rows // processors) / LANES / shared + (len(chain) * STAGE or LATENCY)
    adjoints = KEPT_ADJOINTS.get(cell, 4)
    numbers = (2 * gates + states, gates + adjoints + 2 * states) if chain else (2, 3)
    loops = sum(max(cycles / CLOCK, 4 * rows * d * n / BANDWIDTH) for n in numbers)
    products = rows * (sum(i * o for i, o in PRODUCTS[cell]) * d * d + 2 * gates * d * size.inputs)
    return 1e6 * (loops + 2 * products / RATE)


class Products:
    """The products of a call alone, as torch runs them: one a step and matrix, the rest over all steps at once.

    Args:
        cell, size: What calls for them.
        device: Where they run.
    """

    def __init__(self, cell: str, size: Size, device: torch.device) -> None:
        T, B, p, d = size.steps, size.batch, size.inputs, size.hidden
        width = len(_compiled_cell(cell).gates) * d

        def draw(*shape: int) -> Tensor:
            return torch.randn(shape, device=device)

        self.x, self.V, self.drive = draw(T * B, p), draw(width, p), draw(T * B, width)
        sets = [
            (draw(T, B, i * d), draw(o * d, i * d), draw(T, B, o * d), draw(T, B, i * d)) for i, o in PRODUCTS[cell]
        ]
        pairs = [[(W, s, e, a) for s, e, a in zip(S, E, A, strict=True)] for S, W, E, A in sets]
        self.steps = list(itertools.chain(*zip(*pairs, strict=True)))
        self.whole = [(E.flatten(0, 1).T, S.flatten(0, 1)) for S, _, E, _ in sets] + [(self.drive.T, self.x)]

    def forward(self) -> None:
        """Multiply as the way forward does: the drives, then step by step."""
        torch.mm(self.x, self.V.T, out=self.drive)
        for W, state, product, _ in self.steps:
            torch.mm(state, W.T, out=product)

    def backward(self) -> None:
        """Multiply as the backward pass does: step by step, then one product a weight gradient."""
        for W, _, product, adjoint in self.steps:
            torch.mm(product, W, out=adjoint)
        for a, b in self.whole:
            torch.mm(a, b)
