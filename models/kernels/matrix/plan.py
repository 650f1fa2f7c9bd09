"""From a step on matrix states to the plan of both directions: each pass over the rows, and the values saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from longwave.models.kernels.compiler.blocks import Home
from longwave.models.kernels.compiler.nodes import COSTLY, Node, ordered
from longwave.models.kernels.matrix.backward import backward_pass
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.trace import MatrixStep, trace

Placed = tuple[Node, Home]
"""A value, and its ``Home`` (see ``compiler.blocks``): a state ``before`` or ``after`` the step, a ``drive``, a
``constant``, a ``kept`` value, an incoming ``adjoint``, the ``output`` and its ``output_adjoint``; and where a gradient
goes: ``drive_gradient``, ``constant_gradient``, ``adjoint``."""


@dataclass
class Pass:
    """The operations before a pass over the rows, and in it, row by row.

    Attributes:
        single: Values without rows, in order, and ``single_targets`` those to store.
        rows: Values of one row, in order, and ``targets`` those to store.
        sums: Sums over rows computed in this pass.
    """

    single: list[Node] = field(default_factory=list)
    single_targets: list[Placed] = field(default_factory=list)
    rows: list[Node] = field(default_factory=list)
    targets: list[Placed] = field(default_factory=list)
    sums: list[Node] = field(default_factory=list)


class MatrixProgram:
    """One direction of a step, pass by pass: a value without rows is available once the sums that it needs are.

    Args:
        inputs: Locations of the initial values.
        targets: Values to store, and their locations.
        rows: Which locations have rows.
        overwrites: For target locations with rows, the location that they overwrite, which must not be read later.
    """

    def __init__(
        self,
        inputs: Mapping[Node, Home],
        targets: Sequence[Placed],
        rows: Callable[[Home], bool],
        overwrites: Mapping[Home, Home],
    ) -> None:
        self.inputs, self.targets = dict(inputs), list(targets)
        self._rows, self._at = rows, dict[Node, int]()
        for n in ordered([n for n, _ in self.targets], self.inputs.__contains__):
            ready = 0 if n in self.inputs else max((self._at[a] for a in n.args), default=0)
            self._at[n] = ready + (n.op == "sum_i" and n not in self.inputs)
        late = {home: 0 for home in overwrites if rows(home)}
        while True:
            self.passes = [Pass() for _ in range(max(*self._at.values(), *late.values(), 0) + 1)]
            self._fill_passes(late)
            reads = {self.inputs[n]: p for n, p in self._reads.items()}
            if all(reads.get(overwrites[home], 0) <= p for home, p in late.items()):
                break
            late = {home: max(p, reads.get(overwrites[home], 0)) for home, p in late.items()}

    def _fill_passes(self, late: Mapping[Home, int]) -> None:
        """Fill the passes; targets come no earlier than given by ``late``."""
        self._singles, self._reads = dict[Node, None](), dict[Node, int]()
        self._in_rows: list[dict[Node, None]] = [{} for _ in self.passes]
        for n, home in self.targets:
            at = max(self._at[n], late.get(home, 0))
            if self._rows(home):
                self._row(n, at)
                self.passes[at].targets.append((n, home))
            else:
                self._single(n)
                self.passes[at].single_targets.append((n, home))
        for one_pass, values in zip(self.passes, self._in_rows, strict=True):
            one_pass.rows = list(values)

    def _row(self, n: Node, p: int) -> None:
        """Compute the value of each row in pass ``p``."""
        if "i" not in n.kind:
            self._single(n)
        elif n not in self._in_rows[p]:
            if n in self.inputs:
                self._reads[n] = max(self._reads.get(n, 0), p)
            else:
                for a in n.args:
                    self._row(a, p)
            self._in_rows[p][n] = None

    def _single(self, n: Node) -> None:
        """Compute a value without rows, as early as possible."""
        if n in self._singles or n.op == "const":
            return
        at = self._at[n]
        if n in self.inputs:
            self.passes[0].single.append(n)
        elif n.op == "sum_i":
            self._row(n.args[0], at - 1)
            self.passes[at - 1].sums.append(n)
        else:
            for a in n.args:
                self._single(a)
            self.passes[at].single.append(n)
        self._singles[n] = None


@dataclass(frozen=True, eq=False)
class MatrixPlan:
    """Both directions of a step.

    Attributes:
        states, drives, constants, kept: The axes of each.
        forward: From the states before to those after, and the output.
        again: The same without the output, saving values for ``backward`` that are expensive to recompute.
        backward: From the adjoints of states and output to those of the states before, and to gradients.
        driven, fixed: Which drives and which constants have a gradient.
    """

    states: tuple[str, ...]
    drives: tuple[str, ...]
    constants: tuple[str, ...]
    kept: tuple[str, ...]
    forward: MatrixProgram
    again: MatrixProgram
    backward: MatrixProgram
    driven: tuple[bool, ...]
    fixed: tuple[bool, ...]

    def axes(self, home: Home) -> str:
        """Return the axes of a location."""
        return _axes(self.states, self.drives, self.constants, self.kept)[home[0]][home[1]]


def plan(step: MatrixStep, form: Form) -> MatrixPlan:
    """Return the plan of a step.

    Raises:
        Unsupported: The step does something that no loop over matrices can; the message names it and its line.
    """
    states, drives, constants = (tuple(of.values()) for of in (form.states, form.drives, form.constants))
    backward = backward_pass(trace(step, form))
    forward, total = backward.step, backward.total
    sources = {
        n: n.attr[0] for n in ordered([*forward.after, forward.output, *total.values()]) if not n.args and n.attr
    }
    inputs: dict[Node, Home] = {n: ("before", k) for k, n in enumerate(forward.before)}
    inputs |= {n: (n.op, k) for n, k in sources.items() if n.op in ("drive", "constant")}
    incoming: dict[Node, Home] = {n: ("adjoint", k) for k, n in enumerate(backward.adjoints)}
    incoming |= {backward.output: ("output_adjoint", 0)}
    available = {n: ("after", k) for k, n in enumerate(forward.after) if n.args} | inputs | incoming
    zero = forward.output.graph.const(0.0)
    targets: list[Placed] = [(total.get(n, zero), ("adjoint", k)) for k, n in enumerate(forward.before)]
    for op in ("drive", "constant"):
        targets += [(total[n], (f"{op}_gradient", k)) for n, k in sources.items() if n.op == op and n in total]
    kept = _kept([n for n, _ in targets], available, set(ordered([*forward.after, forward.output])))
    available |= {n: ("kept", k) for k, n in enumerate(kept)}
    axes = _axes(states, drives, constants, tuple(n.kind for n in kept))

    def rows(home: Home) -> bool:
        return "i" in axes[home[0]][home[1]]

    after: list[Placed] = [(n, ("after", k)) for k, n in enumerate(forward.after)]
    overwrites: dict[Home, Home] = {("after", k): ("before", k) for k in range(len(states))}
    kept_targets: list[Placed] = [(n, ("kept", k)) for k, n in enumerate(kept)]
    gradients = {home for _, home in targets}
    return MatrixPlan(
        states,
        drives,
        constants,
        axes["kept"],
        forward=MatrixProgram(inputs, [*after, (forward.output, ("output", 0))], rows, overwrites),
        again=MatrixProgram(inputs, [*after, *kept_targets], rows, overwrites),
        backward=MatrixProgram(available, targets, rows, {("adjoint", k): ("adjoint", k) for k in range(len(states))}),
        driven=tuple(("drive_gradient", k) in gradients for k in range(len(drives))),
        fixed=tuple(("constant_gradient", k) in gradients for k in range(len(constants))),
    )


def _axes(
    states: tuple[str, ...], drives: tuple[str, ...], constants: tuple[str, ...], kept: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the axes of all locations, by name."""
    axes = {**dict.fromkeys(("before", "after", "adjoint"), states), "kept": kept}
    axes |= dict.fromkeys(("output", "output_adjoint"), ("j",))
    axes |= dict.fromkeys(("drive", "drive_gradient"), drives)
    return axes | dict.fromkeys(("constant", "constant_gradient"), constants)


def _kept(roots: Sequence[Node], available: Mapping[Node, Home], step: set[Node]) -> list[Node]:
    """Return the expensive values of the step below ``roots``: sums, exponentials and the like."""
    saved = dict[Node, None]()

    def visit(n: Node) -> None:
        if n in available or n in saved:
            return
        if n in step and (n.op == "sum_i" or n.op in COSTLY):
            saved[n] = None
            return
        for a in n.args:
            visit(a)

    for root in roots:
        visit(root)
    return list(saved)
