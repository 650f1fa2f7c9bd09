"""The recurrent cells that have a fused time loop, and what one call of them carries."""

from __future__ import annotations

from dataclasses import dataclass

from longwave.models.kernels.compiler.plan import Plan


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


CELLS = {
    cell.name: cell
    for cell in (
        Cell("lem", ("y", "z"), ("1", "z", "2", "y"), ("1", "z", "2", "y"), ("dt",)),
        Cell("cornn", ("y", "z"), ("a",), ("y", "z"), ("dt", "gamma", "kappa", "delta")),
        Cell("lipschitz_euler", ("h",), ("a",), ("A", "W"), ("epsilon",)),
        Cell("lipschitz_rk2", ("h",), ("a",), ("A", "W"), ("epsilon",)),
        Cell("tau_gru", ("h",), ("u", "z", "g", "a"), ("1", "2", "3", "4"), ("alpha", "beta")),
        Cell("lstm", ("h", "c"), ("i", "f", "g", "o"), ("i", "f", "g", "o")),
        Cell("gru", ("h",), ("r", "s", "n"), ("r", "s", "n"), vectors=("c_n",)),
        Cell("unicornn", ("y", "z"), ("a",), scalars=("alpha",), vectors=("w", "s")),
    )
}
"""Those that Triton has by hand."""
PLANNED: dict[str, Cell] = {}
"""Those that were compiled from a layer's step, by the name of their plan."""


def find(name: str) -> Cell:
    """Return the cell of this name."""
    return PLANNED.get(name) or CELLS[name]


def planned(name: str, plan: Plan) -> Cell:
    """Return the cell of a plan, which ``PLANNED`` has from now on."""
    parts = {"states": plan.states, "gates": len(plan.gates), "matrices": len(plan.matrices)}
    parts |= {"scalars": len(plan.nums), "vectors": len(plan.vecs)}
    places = {part: tuple(map(str, range(count))) for part, count in parts.items()}
    return PLANNED.setdefault(name, Cell(name, **places, plan=plan))
