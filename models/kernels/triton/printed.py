"""The printed steps of a plan as Triton's functions. Triton reads a function's source lines, so the text is a file."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from longwave.files import atomic_file
from longwave.models.kernels.compiler.blocks import Program
from longwave.models.kernels.compiler.plan import Plan
from longwave.models.kernels.triton.emit import emit, slot_count
from longwave.models.kernels.triton.printer import active

RowRun = tuple[str, int, int]
"""Neighbouring rows that a product reads: the array, the first, the end."""
Grid = tuple[tuple[int, ...], ...]
"""Indices of the recurrent matrices that are the blocks of a larger matrix."""


@dataclass(frozen=True)
class Part:
    """A block of the graph schedule: products of ``runs`` of rows with a grid of matrices each, then ``code``."""

    code: Any
    runs: tuple[tuple[RowRun, Grid], ...]
    sums: int


@dataclass(frozen=True, eq=False)
class PrintedPlan:
    """The functions of a plan; see ``emit``.

    Attributes:
        plan: The printed plan.
        forward, backward: Whole steps, for the row schedule: with delayed products hoisted, and inside.
        parts, backward_parts: The same, block by block.
        slots: Number of adjoint rows from the backward pass.
    """

    plan: Plan
    forward: tuple[Any, Any]
    backward: tuple[Any, Any]
    parts: tuple[Part, ...]
    backward_parts: tuple[Part, ...]
    slots: int

    @property
    def counts(self) -> dict[str, int]:
        """Return the kernels' constants: numbers of states, gates, other kept rows, matrices, scalars, vectors."""
        p = self.plan
        counts = {"NS": p.states, "G": len(p.gates), "X": p.kept - len(p.gates)}
        return counts | {"N": len(p.matrices), "H": len(p.nums), "NU": len(p.vecs)}


@cache
def printed(plan: Plan) -> PrintedPlan:
    """Return the functions of a plan."""
    module = load_module(emit(plan))

    def ways(name: str) -> tuple[Any, Any]:
        return getattr(module, name), getattr(module, f"{name}_near", None)

    def parts(direction: str, program: Program) -> tuple[Part, ...]:
        return tuple(
            Part(getattr(module, f"{direction}_{k}"), _runs(plan, program, k), len(program.blocks[k].sums))
            for k in active(program.blocks)
        )

    forward, backward = parts("forward", plan.forward), parts("back", plan.backward)
    return PrintedPlan(plan, ways("forward"), ways("back"), forward, backward, slot_count(plan))


def load_module(text: str) -> Any:
    """Return a module of this text, from a file in Triton's cache (TRITON_CACHE_DIR) named by its hash."""
    name = f"longwave_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
    if name not in sys.modules:
        folder = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton/cache") / "longwave"
        path = folder / f"{name}.py"
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with atomic_file(path) as partial:
                partial.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


def _runs(plan: Plan, program: Program, k: int) -> tuple[tuple[RowRun, Grid], ...]:
    """Return the inputs of block ``k``'s product: runs of neighbouring rows, and the matrices of each row by sum."""
    factors = [n.factors for n in program.blocks[k].sums]
    rows = sorted(
        (program.row(row), tuple(plan.matrices.index(f[i][1]) for f in factors))
        for i, (_, _, row) in enumerate(factors[0] if factors else ())
    )
    runs: list[tuple[RowRun, Grid]] = []
    for (array, j), matrices in rows:
        if runs and runs[-1][0][0] == array and runs[-1][0][2] == j:
            (_, first, _), grid = runs[-1]
            runs[-1] = ((array, first, j + 1), (*grid, matrices))
        else:
            runs.append(((array, j, j + 1), (matrices,)))
    return tuple(runs)
