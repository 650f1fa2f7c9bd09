"""The recurrent cells that have a fused time loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from longwave.models.kernels.compiler.plan import Plan

Marked = TypeVar("Marked", bound=Callable[..., Any])
REFERENCE = "inside longwave.models.kernels.using('reference'), or in float64"
ONCE = f"A fused time loop has first derivatives only; for second ones run the layer {REFERENCE}."
"""The message if a second derivative is requested."""
BATCHED = f"A fused time loop takes one gradient at a time; for several at once run the layer {REFERENCE}."
"""The message if gradients are batched, as by ``is_grads_batched`` or ``jacobian(..., vectorize=True)``."""


@dataclass(frozen=True)
class Cell:
    """The structure of a cell. Its equations are those of the layer that uses it.

    Attributes:
        name: Key.
        states: Tensors carried from step to step, the output first.
        gates: Parts of the drive, in the order of its features.
        matrices: Recurrent matrices, (d, d) each.
        scalars: Hyper-parameters, one number per member.
        vectors: Parameters with one number per unit.
        plan: The compiled plan; None for a hand-written cell.
    """

    name: str
    states: tuple[str, ...]
    gates: tuple[str, ...]
    matrices: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    plan: Plan | None = None

    @property
    def outputs(self) -> int:
        """How many of the first states are output, concatenated."""
        return 1 if self.plan is None else self.plan.outputs


OSCILLATOR = Cell("unicornn", ("y", "z"), ("a",), scalars=("alpha",), vectors=("s", "w"))
"""UnICORNN's, hand-written in Triton: it loads many steps ahead, and recomputes z backward instead of storing it."""
CELLS = {OSCILLATOR.name: OSCILLATOR}
"""All cells by name; ``planned`` adds those compiled from a layer's step."""


def find(name: str) -> Cell:
    """Return the cell of this name."""
    return CELLS[name]


def by_hand(cell: Cell) -> Callable[[Marked], Marked]:
    """Return a decorator for a step that Triton computes by ``cell``, with the operands of its plan."""

    def marked(step: Marked) -> Marked:
        step.cell = cell  # type: ignore[attr-defined]
        return step

    return marked


def planned(name: str, plan: Plan) -> Cell:
    """Return the cell of a plan, and add it to ``CELLS``."""
    if name in CELLS:
        return CELLS[name]
    parts = {"states": plan.states, "gates": len(plan.gates), "matrices": len(plan.matrices)}
    parts |= {"scalars": len(plan.nums), "vectors": len(plan.vecs)}
    names = {part: tuple(map(str, range(count))) for part, count in parts.items()}
    return CELLS.setdefault(name, Cell(name, **names, plan=plan))
