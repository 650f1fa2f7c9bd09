"""A plan of a step on matrix states as Triton code: one kernel per direction.

A program takes a tile of columns, of one head of one sequence, through all steps. A value is a tensor of two axes,
(ROWS, COLUMNS) for a matrix, with 1 in place of an axis that it lacks. All rows are in registers at once, so the passes
of a plan for CPUs become one. The inputs of a step are loaded a step ahead.

The backward pass recomputes the states of a chunk of steps into the program's own memory, and then runs through it
backward. Values without columns are summed over those of the tile; the caller of the kernel adds up the tiles.
"""

from __future__ import annotations

from longwave.models.kernels.compiler.blocks import Home
from longwave.models.kernels.compiler.nodes import Node, ordered
from longwave.models.kernels.matrix.plan import MatrixPlan, MatrixProgram
from longwave.models.kernels.triton.emit import HEAD
from longwave.models.kernels.triton.printer import FORMS

SHAPES = {"ij": "(ROWS, COLUMNS)", "i": "(ROWS, 1)", "j": "(1, COLUMNS)", "": "(1, 1)"}
"""Shapes of values in registers, by their axes."""
OUTSIDE = {
    "ij": ("(I * J)", "i * J + j", "rows & columns"),
    "i": ("I", "i", "rows"),
    "j": ("J", "j", "columns"),
    "": ("1", "one", "one == 0"),
}
"""Values in tensors: number of elements, their offsets, and the mask of those in the tile."""
SCRATCH = {
    "ij": ("(ROWS * COLUMNS)", "i * COLUMNS + lane"),
    "i": ("ROWS", "i"),
    "j": ("COLUMNS", "lane"),
    "": ("1", "one"),
}
"""The same in the program's own memory, without a mask."""
OPERATIONS = FORMS | {
    "sum_i": "sum_rows({0}, rows)",
    "part_j": "sum_columns({0}, columns)",
    "rows": "tl.full((1, 1), I, tl.float32)",
}
NAMES = {"drive": "d", "constant": "c", "kept": "x", "adjoint": "g", "output_adjoint": "e"}
"""Names of values in registers. States before a step are s, in the backward pass b, where s are those after it."""
NUMBERS = ("T", "B", "H", "C")
"""Arguments that must not cause a separate compilation when they are 1 or divisible by 16."""
SIZES = ("I", "J", "ROWS", "COLUMNS")
BEGIN = (
    "task, tile, step = tl.program_id(0).to(tl.int64), tl.program_id(1), B * H",
    "chunks, first, head = tl.cdiv(T, C), task // step * T * step + task % step, task // step * H + task % H",
    "i, lane, one = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :], tl.zeros((1, 1), tl.int32)",
    "j = tile * COLUMNS + lane",
    "rows, columns = i < I, j < J",
)
"""``first`` is the offset of the first step in drives and outputs, ``head`` that of the head in constants."""


def emit(plan: MatrixPlan) -> str:
    """Return the text of a module with the kernels ``forward`` and ``backward``, which take ``operands`` and sizes."""
    return (
        HEAD
        + _kernel(plan, "forward", (*SIZES, "KEEP"), _forward(plan))
        + _kernel(plan, "backward", SIZES, _backward(plan))
    )


def operands(plan: MatrixPlan, direction: str) -> list[Home]:
    """Return the tensor arguments of a kernel, in order."""
    drives, states, constants = len(plan.drives), len(plan.states), len(plan.constants)
    if direction == "forward":
        parts = {"drive": drives, "start": states, "constant": constants, "output": 1, "last": states, "chunk": states}
    else:
        parts = {"drive": drives, "constant": constants, "chunk": states, "output_adjoint": 1, "last_adjoint": states}
        parts |= {"drive_gradient": drives, "start_adjoint": states, "constant_gradient": constants}
        parts |= {"again": states, "kept": len(plan.kept)}
    return [(name, k) for name, count in parts.items() for k in range(count)]


def _kernel(plan: MatrixPlan, name: str, sizes: tuple[str, ...], lines: list[str]) -> str:
    arguments = [*(f"{name}{k}" for name, k in operands(plan, name)), *NUMBERS, *(f"{s}: tl.constexpr" for s in sizes)]
    body = "".join(f"    {line}\n" for line in (*BEGIN, *lines))
    return f"\n\n@triton.jit(do_not_specialize={[*NUMBERS]})\ndef {name}({', '.join(arguments)}):\n{body}"


def _forward(plan: MatrixPlan) -> list[str]:
    states, loop = [*enumerate(plan.states)], _Loop(plan, plan.forward, backward=False)
    return [
        *loop.fixed(),
        *(f"s{k} = {_load(f'start{k}', 'task', axes)}" for k, axes in states),
        "at = first",
        "for k in range(chunks):",
        *_inside(
            "if KEEP:",
            *_inside(*(_store(f"chunk{k}", "(task * chunks + k)", axes, f"s{k}") for k, axes in states)),
            "count = tl.minimum(T - k * C, C)",
            *loop.lines(),
        ),
        *(_store(f"last{k}", "task", axes, f"s{k}") for k, axes in states),
    ]


def _backward(plan: MatrixPlan) -> list[str]:
    states, again, backward = (
        [*enumerate(plan.states)],
        _Loop(plan, plan.again, False),
        _Loop(plan, plan.backward, True),
    )
    sums = [(k, axes) for k, axes in enumerate(plan.constants) if plan.fixed[k]]
    return [
        "tasks = tl.num_programs(0).to(tl.int64)",
        "program = tile * tasks + task",
        *dict.fromkeys([*again.fixed(), *backward.fixed()]),
        *(f"g{k} = {_load(f'last_adjoint{k}', 'task', axes, once='j' not in axes)}" for k, axes in states),
        "for turn in range(chunks):",
        *_inside(
            "k = chunks - 1 - turn",
            "count = tl.minimum(T - k * C, C)",
            "at, own = first + tl.cast(k * C, tl.int64) * step, program * C",
            *(f"s{k} = {_load(f'chunk{k}', '(task * chunks + k)', axes)}" for k, axes in states),
            "tl.debug_barrier()  # own memory is written and read by different threads of this program",
            *again.lines(*(_keep(f"again{k}", plan.states[k], f"s{k}") for k in backward.states)),
            "tl.debug_barrier()",
            "at, own = at - step, own - 1",
            *(f"p{k} = tl.zeros({SHAPES[axes]}, tl.float32)" for k, axes in sums),
            *backward.lines(),
            *(_add(f"constant_gradient{k}", _part("task", "tasks", axes), axes, f"p{k}") for k, axes in sums),
        ),
        *(_store(f"start_adjoint{k}", _part("task", "tasks", axes), axes, f"g{k}") for k, axes in states),
    ]


class _Loop:
    """One direction, over the steps of a chunk.

    Attributes:
        states: Those that the backward pass reads before or after a step.
    """

    def __init__(self, plan: MatrixPlan, program: MatrixProgram, backward: bool) -> None:
        self.plan, self.program, self.backward = plan, program, backward
        nodes = [n for n in ordered([n for n, _ in program.targets], program.inputs.__contains__) if n.op != "const"]
        self.made = [n for n in nodes if n not in program.inputs]
        names = NAMES | ({"before": "b", "after": "s"} if backward else {"before": "s"})
        read = {n: program.inputs[n] for n in nodes if n in program.inputs}
        self.names = {n: f"{names[name]}{k}" for n, (name, k) in read.items()} | {n: f"v{n.number}" for n in self.made}
        homes = sorted(read.values())
        self.constants = [k for name, k in homes if name == "constant"]
        self.states = sorted({k for name, k in homes if name in ("before", "after")}) if backward else []
        moving = [(name, k) for name, k in homes if name in ("drive", "kept", "output_adjoint")]
        self.read = {f"{names[name]}{k}": (name, k) for name, k in (*moving, *(("before", k) for k in self.states))}

    def fixed(self) -> list[str]:
        """Return the lines that load the constants."""
        return [f"c{k} = {_load(f'constant{k}', 'head', self.plan.constants[k])}" for k in self.constants]

    def lines(self, *first: str) -> list[str]:
        """Return the loop, whose steps begin with ``first``, and the loads before it."""
        sign, count = "-" if self.backward else "+", len(self.plan.states)
        states, others = self.program.targets[:count], self.program.targets[count:]
        moved = {"at": f"at {sign} step"} | ({} if self.program is self.plan.forward else {"own": f"own {sign} 1"})
        moved |= {f"{'g' if self.backward else 's'}{home[1]}": self._whole(n, home) for n, home in states}
        moved |= {f"s{k}": f"b{k}" for k in self.states} | {name: f"next_{name}" for name in self.read}
        return [
            *(f"{name} = {self._loaded(home, 'at', 'own')}" for name, home in self.read.items()),
            "for t in range(count):",
            *_inside(
                "ahead = tl.minimum(count - 1 - t, 1)  # at the last step that step is loaded again",
                *(
                    f"next_{name} = {self._loaded(home, f'(at {sign} ahead * step)', f'(own {sign} ahead)')}"
                    for name, home in self.read.items()
                ),
                *first,
                *(f"{self.names[n]} = {self._operation(n)}" for n in self.made),
                *(self._stored(n, home) for n, home in others),
                f"{', '.join(moved)} = {', '.join(moved.values())}",
            ),
        ]

    def _stored(self, n: Node, home: Home) -> str:
        name, k = home
        axes, value = self.plan.axes(home), self._whole(n, home)
        if name == "kept":
            return _keep(f"kept{k}", axes, value)
        if name == "constant_gradient":
            return f"p{k} += {value}"
        return _store(f"{name}{k}", "at" if name == "output" else _part("at", "T * tasks", axes), axes, value)

    def _loaded(self, home: Home, at: str, slot: str) -> str:
        name, k = home
        axes = self.plan.axes(home)
        if name in ("before", "kept"):
            size, within = SCRATCH[axes]
            return f"tl.load({'again' if name == 'before' else name}{k} + {slot} * {size} + {within})"
        return _load(f"{name}{k}", at, axes)

    def _operation(self, n: Node) -> str:
        args = [self._name(a) for a in n.args]
        if args and all(a.op == "const" for a in n.args):
            args[0] = f"tl.full((1, 1), {args[0]}, tl.float32)"
        return OPERATIONS[n.op].format(*args) if n.op in OPERATIONS else f"{n.op}({', '.join(args)})"

    def _name(self, n: Node) -> str:
        return n.literal if n.op == "const" else self.names[n]

    def _whole(self, n: Node, home: Home) -> str:
        """Return the text of a value that goes to ``home``, of whose axes the node may lack some."""
        axes = self.plan.axes(home)
        if n.op == "const":
            return f"tl.full({SHAPES[axes]}, {n.literal}, tl.float32)"
        return self._name(n) if n.kind == axes else f"tl.broadcast_to({self._name(n)}, {SHAPES[axes]})"


def _inside(*lines: str) -> list[str]:
    return [f"    {line}" for line in lines]


def _load(pointer: str, at: str, axes: str, once: bool = False) -> str:
    """Return the text of a value in a tensor; ``once``, of zeros in all tiles but the first."""
    size, within, inside = OUTSIDE[axes]
    mask = f"({inside}) & (one + tile == 0)" if once else inside
    return f"tl.load({pointer} + {at} * {size} + {within}, mask={mask}, other=0.0)"


def _store(pointer: str, at: str, axes: str, value: str) -> str:
    size, within, inside = OUTSIDE[axes]
    return f"tl.store({pointer} + {at} * {size} + {within}, {value}, mask={inside})"


def _add(pointer: str, at: str, axes: str, value: str) -> str:
    return _store(pointer, at, axes, f"{_load(pointer, at, axes)} + {value}")


def _keep(pointer: str, axes: str, value: str) -> str:
    size, within = SCRATCH[axes]
    return f"tl.store({pointer} + own * {size} + {within}, {value})"


def _part(at: str, count: str, axes: str) -> str:
    """Return the address of a value of which each tile has its own ``count`` elements if it has no columns."""
    return at if "j" in axes else f"(tile * {count} + {at})"
