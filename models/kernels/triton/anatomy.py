"""What both schedules need to know of a cell beside its equations, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from longwave.models.kernels.cells import CELLS, Cell
from longwave.models.kernels.triton import pointwise as pw
from longwave.models.kernels.triton import steps

Grid = tuple[tuple[int, ...], ...]
"""Numbers of the recurrent matrices that stand, as blocks, in one larger matrix."""


@dataclass(frozen=True)
class Part:
    """One product of a step and the equations beside it, in the graph schedule.

    Forward: ``sources`` (first, end) of the states and extras, times the blocks' transposes, then ``code``. Backward:
    ``code``, then for each of ``products`` the emitted slots (first, end) times the blocks, added to the states'
    adjoints (first, end).
    """

    code: Any
    sources: tuple[int, int] = (0, 1)
    blocks: Grid = ()
    slots: tuple[int, int] = (0, 0)
    products: tuple[tuple[tuple[int, int], Grid, tuple[int, int]], ...] = ()


@dataclass(frozen=True)
class Anatomy:
    """The parts of a cell in this backend.

    Attributes:
        forward, backward: The whole step, for the row schedule.
        parts, back_parts: The same step, for the graph schedule.
        slots: Vectors that a backward step emits: the adjoints of its products.
        weights: What the gradients of the matrices are: (first matrix, first slot, count, source) each, where the
            source is ("before", state), ("now", kept value) or ("late", 0) for h[n−τ].
        drive: The slots that add up to the drive's adjoint, or () for the first ones.
        extras: Values beside the states that the backward step reads.
        adjoints: Adjoints that travel between the parts of a backward step.
    """

    cell: Cell
    forward: Any
    backward: Any
    parts: tuple[Part, ...]
    back_parts: tuple[Part, ...]
    slots: int
    weights: tuple[tuple[int, int, int, tuple[str, int]], ...]
    drive: tuple[int, ...] = ()
    extras: int = 0
    adjoints: int = 1

    @property
    def kept(self) -> int:
        """Return the number of values beside the output and the pre-activations that backward reads."""
        return len(self.cell.states) - 1 + self.extras

    @property
    def counts(self) -> dict[str, int]:
        """Return the kernels' constants."""
        c = self.cell
        return {
            "NS": len(c.states),
            "G": len(c.gates),
            "X": self.extras,
            "N": len(c.matrices),
            "H": len(c.scalars),
            "NU": len(c.vectors),
        }


def _column(*matrices: int) -> Grid:
    return tuple((n,) for n in matrices)


H = ("before", 0)
ANATOMIES = {
    "lem": Anatomy(
        CELLS["lem"], steps.lem, steps.lem_back,
        (Part(pw.lem_1, (0, 1), ((0, 1, 2),)), Part(pw.lem_2, (1, 2), ((3,),))),
        (
            Part(pw.lem_back_1, slots=(2, 4), products=(((3, 4), ((3,),), (1, 2)),)),
            Part(pw.lem_back_2, slots=(0, 2), products=(((0, 3), _column(0, 1, 2), (0, 1)),)),
        ),
        slots=4, weights=((0, 0, 3, H), (3, 3, 1, ("now", 0))), adjoints=2,
    ),
    "cornn": Anatomy(
        CELLS["cornn"], steps.cornn, steps.cornn_back,
        (Part(pw.cornn_1, (0, 2), _column(0, 1)),),
        (Part(pw.cornn_back_1, slots=(0, 1), products=(((0, 1), ((0, 1),), (0, 2)),)),),
        slots=1, weights=((0, 0, 1, H), (1, 0, 1, ("before", 1))), adjoints=2,
    ),
    "lipschitz_euler": Anatomy(
        CELLS["lipschitz_euler"], steps.euler, steps.euler_back,
        (Part(pw.euler_1, (0, 1), ((0, 1),)),),
        (Part(pw.euler_back_1, slots=(0, 2), products=(((0, 2), _column(0, 1), (0, 1)),)),),
        slots=2, weights=((0, 0, 2, H),), drive=(1,),
    ),
    "lipschitz_rk2": Anatomy(
        CELLS["lipschitz_rk2"], steps.rk2, steps.rk2_back,
        (Part(pw.rk2_1, (0, 1), ((0, 1),)), Part(pw.rk2_2, (1, 2), ((0, 1),))),
        (
            Part(pw.rk2_back_1, slots=(2, 4), products=(((2, 4), _column(0, 1), (1, 2)),)),
            Part(pw.rk2_back_2, slots=(0, 2), products=(((0, 2), _column(0, 1), (0, 1)),)),
        ),
        slots=4, weights=((0, 0, 2, H), (0, 2, 2, ("now", 0))), drive=(1, 3), extras=2, adjoints=2,
    ),
    "tau_gru": Anatomy(
        CELLS["tau_gru"], steps.tau_gru, steps.tau_gru_back,
        (Part(pw.tau_gru_now_1, (0, 1), ((0, 2, 3, 1),)),),
        (Part(pw.tau_gru_back_1, slots=(0, 4), products=(((0, 4), _column(0, 1, 2, 3), (0, 1)),)),),
        slots=4, weights=((0, 0, 1, H), (1, 1, 1, ("late", 0)), (2, 2, 2, H)),
    ),
    "lstm": Anatomy(
        CELLS["lstm"], steps.lstm, steps.lstm_back,
        (Part(pw.lstm_1, (0, 1), ((0, 1, 2, 3),)),),
        (Part(pw.lstm_back_1, slots=(0, 4), products=(((0, 4), _column(0, 1, 2, 3), (0, 1)),)),),
        slots=4, weights=((0, 0, 4, H),), adjoints=2,
    ),
    "gru": Anatomy(
        CELLS["gru"], steps.gru, steps.gru_back,
        (Part(pw.gru_1, (0, 1), ((0, 1, 2),)),),
        (
            Part(
                pw.gru_back_1,
                slots=(0, 4),
                products=(((0, 2), _column(0, 1), (0, 1)), ((3, 4), ((2,),), (0, 1))),
            ),
        ),
        slots=4, weights=((0, 0, 2, H), (2, 3, 1, H)), extras=1,
    ),
}  # fmt: skip
"""All cells with recurrent matrices, by name."""
NEAR = (steps.tau_gru_near, steps.tau_gru_near_back)
"""τ-GRU's steps with the delayed product inside."""
