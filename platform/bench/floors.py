"""Lower bounds on the time of a loop: the matrix products of its cell at the speed of the machine."""

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
"""Recurrent products of a step by cell, each with its number of input and output vectors of size d."""
KEPT_ADJOINTS = {"cornn": 1, "lipschitz_euler": 2}
"""Vectors per row and step from which weight gradients are computed; 4 for other cells."""
CLOCK, LANES, BANDWIDTH, RATE = 1.98e9, 128, 4.3e12, 50e12
"""An H200: clock in Hz; multiply-adds per cycle and multiprocessor; bytes/s; operations/s of a float32 product."""
STAGE, LATENCY = 190, 78
"""Cycles from one product to the next, which cannot be hidden; cycles of a step without products."""


@cache
def _compiled_cell(name: str) -> Cell:
    """Return the part of a cell's layer that is compiled."""
    return make_layer(name, Size(1, 1, 1, 1), torch.device("cpu")).cell_on("cpu")


def multiply_adds(cell: str, size: Size) -> int:
    """Return the multiply-adds of a step, forward and backward: recurrent products, drives, weight gradients. The
    gradient of the input is left out, because data need none.
    """
    recurrent = sum(i * o for i, o in PRODUCTS[cell]) * size.hidden**2
    drive = len(_compiled_cell(cell).gates) * size.hidden * size.inputs
    return size.batch * (3 * recurrent + 2 * drive)


def processor_floor(cell: str, size: Size, rate: float | None) -> float | None:
    """Return the µs of a step's products at ``rate`` multiply-adds per second; None without products or rate."""
    return 1e6 * multiply_adds(cell, size) / rate if rate and PRODUCTS[cell] else None


def gpu_floor(cell: str, size: Size, processors: int) -> float:
    """Return the µs of a step, forward and backward, on an H200 with this number of multiprocessors.

    The time loops take as long as the longest chain of multiply-adds, with the multiprocessors shared among rows, plus
    the latency between products; or the memory traffic of drives, states and adjoints if that takes longer. Drives and
    weight gradients are added at the rate of large products.
    """
    d, rows, gates, states = size.hidden, size.batch, len(_compiled_cell(cell).gates), len(_compiled_cell(cell).states)
    chain = [i * o for i, o in PRODUCTS[cell]]
    if cell == "tau_gru":
        chain = chain[:1]  # products of the delayed state are not on the critical path
    shared = min(max(1, processors // rows), 8 if d >= 128 else 1)
    cycles = sum(chain) * d * d * -(-rows // processors) / LANES / shared + (len(chain) * STAGE or LATENCY)
    adjoints = KEPT_ADJOINTS.get(cell, 4)
    numbers = (2 * gates + states, gates + adjoints + 2 * states) if chain else (2, 3)
    loops = sum(max(cycles / CLOCK, 4 * rows * d * n / BANDWIDTH) for n in numbers)
    products = rows * (sum(i * o for i, o in PRODUCTS[cell]) * d * d + 2 * gates * d * size.inputs)
    return 1e6 * (loops + 2 * products / RATE)


class Products:
    """Only the matrix products of a call, as torch runs them: one per step and matrix, the others over all steps at
    once.

    Args:
        cell, size: Cell and size of the call.
        device: Device of the products.
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
        """Compute the products of the forward pass: the drives, then step by step."""
        torch.mm(self.x, self.V.T, out=self.drive)
        for W, state, product, _ in self.steps:
            torch.mm(state, W.T, out=product)

    def backward(self) -> None:
        """Compute the products of the backward pass: step by step, then one per weight gradient."""
        for W, _, product, adjoint in self.steps:
            torch.mm(product, W, out=adjoint)
        for a, b in self.whole:
            torch.mm(a, b)
