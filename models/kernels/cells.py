"""The recurrent cells that have a fused time loop, and what one call of them carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from longwave.models.kernels.compiler.plan import Plan

Marked = TypeVar("Marked", bound=Callable[..., Any])
ONCE = "A fused time loop has first derivatives only; for second ones set LONGWAVE_KERNEL=reference, or use float64."
"""What is said where a second derivative is asked for."""


@dataclass(frozen=True)
class Cell:
    """The anatomy of a cell. Its equations are the layer's that uses it.

    Attributes:
        name: Key.
        states: Tensors that travel from step to step, the output first.
        gates: Parts of the drive, in the order of its features.
        matrices: Recurrent matrices, (d, d) each.
        scalars: Hyper-parameters, one number a member.
        vectors: Numbers that each unit has of its own.
        plan: What was compiled; None for a cell that is written by hand.
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
        """How many of the first states are put out, side by side."""
        return 1 if self.plan is None else self.plan.outputs


OSCILLATOR = Cell("unicornn", ("y", "z"), ("a",), scalars=("alpha",), vectors=("s", "w"))
"""UnICORNN's, by hand in Triton: it loads many steps ahead, and computes z back instead of keeping it."""
CELLS = {OSCILLATOR.name: OSCILLATOR}
"""All cells by name; those that were compiled from a layer's step come here by ``planned``."""


def find(name: str) -> Cell:
    """Return the cell of this name."""
    return CELLS[name]


def by_hand(cell: Cell) -> Callable[[Marked], Marked]:
    """Return a decorator that says of a step that Triton computes it by ``cell``, with the operands of its plan."""

    def marked(step: Marked) -> Marked:
        step.cell = cell  # type: ignore[attr-defined]
        return step

    return marked


def planned(name: str, plan: Plan) -> Cell:
    """Return the cell of a plan, which ``CELLS`` has from now on."""
    if name in CELLS:
        return CELLS[name]
    parts = {"states": plan.states, "gates": len(plan.gates), "matrices": len(plan.matrices)}
    parts |= {"scalars": len(plan.nums), "vectors": len(plan.vecs)}
    names = {part: tuple(map(str, range(count))) for part, count in parts.items()}
    return CELLS.setdefault(name, Cell(name, **names, plan=plan))
