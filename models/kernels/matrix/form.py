"""The axes of inputs and outputs of a step with matrix states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Form:
    """Sizes, and axes by name: ``"ij"`` for a matrix (I, J), ``"i"`` or ``"j"`` for a vector, ``""`` for a scalar.

    Attributes:
        heads: H, number of matrices.
        rows: I, over which a step sums.
        columns: J, over which it does not.
        states: Tensors carried from step to step.
        drives: Inputs of each step.
        constants: Inputs shared by all steps.
    """

    heads: int
    rows: int
    columns: int
    states: Mapping[str, str]
    drives: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)

    def shape(self, axes: str) -> tuple[int, ...]:
        """Return the sizes of all axes."""
        return shape_of(axes, self.rows, self.columns)


def shape_of(axes: str, rows: int, columns: int) -> tuple[int, ...]:
    """Return the sizes of ``axes``, such as (rows, columns) of ``"ij"``."""
    return tuple({"i": rows, "j": columns}[axis] for axis in axes)
