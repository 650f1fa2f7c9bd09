"""A plan of a step on matrix states as C++: one struct for matrix.h, and its entry points."""

from __future__ import annotations

import hashlib

from longwave.models.kernels.compiler.blocks import Home
from longwave.models.kernels.compiler.nodes import Node
from longwave.models.kernels.cpu.emit import FORMS, NUMBERS
from longwave.models.kernels.matrix.plan import MatrixPlan, MatrixProgram, Pass

TOTALLED = ("drive_gradient",)
"""Locations whose values are summed over columns if they have no columns."""


def emit(plan: MatrixPlan) -> str:
    """Return the text of the step's library; the struct's name is a hash of the text, as in ``cpu.emit``."""
    axes = {"states": plan.states, "drives": plan.drives, "constants": plan.constants, "kept": plan.kept}
    lists = [
        f"  static constexpr std::array<Axes, {len(kinds)}> {name} = {{{', '.join(map(_axes, kinds))}}};"
        for name, kinds in axes.items()
    ]
    head = "static void {}(const Call<CELL>& c, const Tile<CELL>& tile)"
    functions = [
        f"  template <int I, int N, class Lanes>\n  {head.format(name)} {{\n"
        + "".join(f"    {line}\n" for line in _Direction(plan, name, program).body())
        + "  }\n"
        for name, program in (("forward", plan.forward), ("again", plan.again), ("back", plan.backward))
    ]
    text = '#include "matrix.h"\n\nnamespace longwave::matrix {\n\nstruct CELL {\n' + "\n".join(lists) + "\n\n"
    text += "\n".join(functions) + "};\n\n}  // namespace longwave::matrix\n\nENTRY(CELL)\n"
    return text.replace("CELL", f"Matrix{hashlib.sha256(text.encode()).hexdigest()[:16]}")


def _axes(kind: str) -> str:
    return f"Axes{{{str('i' in kind).lower()}, {str('j' in kind).lower()}}}"


class _Direction:
    """One function of the struct: all steps of a chunk, for the columns of a tile."""

    def __init__(self, plan: MatrixPlan, name: str, program: MatrixProgram) -> None:
        self.plan, self.name, self.program = plan, name, program
        matrices = [k for k, kind in enumerate(plan.states) if kind == "ij"]
        self.in_registers = name != "back" and len(matrices) == 1
        self.matrix = matrices[0] if matrices else -1

    def body(self) -> list[str]:
        """Return the lines of the function."""
        backward = self.name == "back"
        lines = ["const int64_t rows = I ? I : c.I;", "(void)rows;", *self._pointers()]
        if self.in_registers:
            lines += self._hold("{0} = load(tile.before + {1})")
        order = "int64_t t = tile.steps - 1; t >= 0; --t" if backward else "int64_t t = 0; t < tile.steps; ++t"
        inner = [*self._step_pointers(), *(x for p in self.program.passes for x in self._pass(p))]
        lines += [f"for ({order}) {{", *(f"  {line}" for line in inner), "}"]
        if self.in_registers:
            lines += self._hold("store({0}, tile.end() + {1})")
        return lines

    def _hold(self, form: str) -> list[str]:
        """Return the lines that move a matrix between memory and registers, if it fits into these."""
        index = f"offset<CELL>(CELL::states, {self.matrix}, c.I, N) + i * L"
        begins = ["V held[I ? I * N : 1];"] if "load" in form else []
        return [
            *begins,
            "if constexpr (I > 0) {",
            "#pragma GCC unroll 64",
            f"  for (int i = 0; i < I * N; ++i) {form.format('held[i]', index)};",
            "}",
        ]

    def _homes(self) -> list[Home]:
        return list(dict.fromkeys([*self.program.inputs.values(), *(home for _, home in self.program.targets)]))

    def _pointers(self) -> list[str]:
        """Return the lines that set the pointers to time-independent values."""
        lines = []
        for name, k in self._homes():
            if name in ("constant", "constant_gradient"):
                lines.append(f"{_type(name)} {name}{k} = tile.{name} + offset<CELL>(CELL::constants, {k}, c.I, N);")
            elif name == "adjoint":
                lines.append(f"float* adjoint{k} = tile.adjoint + offset<CELL>(CELL::states, {k}, c.I, N);")
        return list(dict.fromkeys(lines))

    def _step_pointers(self) -> list[str]:
        """Return the lines that set the pointers to a step's inputs and outputs."""
        lines = []
        distance = "-AHEAD" if self.name == "back" else "AHEAD"
        for name, k in self._homes():
            if name in ("drive", "drive_gradient", "output", "output_adjoint"):
                lines.append(f"{_type(name)} {name}{k} = Lanes::{name}(c, tile, {k}, t, {distance});")
            elif name in ("before", "after", "kept"):
                axes, step = ("kept", "kept") if name == "kept" else ("states", "state")
                shift = f"(t + 1) * tile.{step}_step" if name == "after" else f"t * tile.{step}_step"
                base = "kept" if name == "kept" else "before"
                kinds = f"offset<CELL>(CELL::{axes}, {k}, c.I, N)"
                const = "const float*" if self.name == "back" or name == "before" else "float*"
                lines.append(f"{const} {name}{k} = tile.{base} + {shift} + {kinds};")
        return list(dict.fromkeys(lines))

    def _pass(self, p: Pass) -> list[str]:
        lines = [self._assigned(n) for n in p.single]
        lines += [x for n, home in p.single_targets for x in self._stored(n, home)]
        if not p.rows and not p.targets:
            return lines
        totals = [(n, home) for n, home in p.targets if home[0] in TOTALLED and "j" not in self.plan.axes(home)]
        unroll = "Lanes::rows_together" if totals else "4"
        for n in p.sums:
            lines.append(f"V sum{n.number}[SPLIT<N>][{_count(n)}] = {{}};")
        lines += [f"V total{home[1]}[L] = {{}};" for _, home in totals]
        lines.append(f"over_rows<I, {unroll}>(rows, [&](int64_t i, int u) __attribute__((always_inline)) {{")
        lines += [f"  {self._assigned(n)}" for n in p.rows]
        for n in p.sums:
            value = self._name(n.args[0])
            lines.append(f"  for (int n = 0; n < {_count(n)}; ++n) sum{n.number}[u % SPLIT<N>][n] += {value};")
        for n, home in p.targets:
            if (n, home) in totals:
                value, address = self._name(n), self._outside(home)
                lines.append(f"  Lanes::keep_row({value}, total{home[1]}, u, {address}, tile.column);")
            else:
                lines += [f"  {x}" for x in self._stored(n, home)]
        lines.append("}, [&](int64_t i, int64_t count) __attribute__((always_inline)) {")
        for _, home in totals:
            lines.append(f"  Lanes::store_sums(total{home[1]}, {self._outside(home)}, count, tile.column);")
        lines.append("});")
        for n in p.sums:
            count, total = _count(n), f"whole<SPLIT<N>, {_count(n)}>(sum{n.number}, n)"
            lines.append(f"V v{n.number}{'[N]' if 'j' in n.kind else ''};")
            lines.append(f"for (int n = 0; n < {count}; ++n) {self._name(n)} = {total};")
        return lines

    def _assigned(self, n: Node) -> str:
        """Return the line that computes a value: for each vector of columns, or one for all of them."""
        name = f"v{n.number}"
        if n.op == "part_j":
            value = self._name(n.args[0])
            return f"V {name}{{}}; for (int n = 0; n < N; ++n) {name} += Lanes::part({value}, tile.left);"
        text = self._loaded(self.program.inputs[n]) if n in self.program.inputs else self._operation(n)
        if "j" in n.kind:
            return f"V {name}[N]; for (int n = 0; n < N; ++n) {name}[n] = {text};"
        return f"const V {name} = {text};"

    def _operation(self, n: Node) -> str:
        if n.op == "rows":
            return "all(float(c.I))"
        return FORMS[n.op].format(*map(self._name, n.args))

    def _name(self, n: Node) -> str:
        if n.value is not None:
            return f"all({NUMBERS.get(repr(n.value), f'{n.value!r}f')})"
        return f"v{n.number}[n]" if "j" in n.kind else f"v{n.number}"

    def _address(self, home: Home) -> str:
        """Return the address of a vector of a row, in memory of the tile."""
        name, kind = f"{home[0]}{home[1]}", self.plan.axes(home)
        return name + {"ij": " + (i * N + n) * L", "i": " + i * L", "j": " + n * L", "": ""}[kind]

    def _outside(self, home: Home) -> str:
        """Return the address in a tensor, or in a group's copy of it."""
        name, kind = f"{home[0]}{home[1]}", self.plan.axes(home)
        row = " + i * Lanes::stride"
        return name + {"ij": f"{row} * c.J + n * L", "i": row, "j": " + n * L", "": ""}[kind]

    def _loaded(self, home: Home) -> str:
        kind = self.plan.axes(home)
        if home[0] in ("drive", "output_adjoint"):
            address = self._outside(home)
            form = "c.output_adjoint ? {} : V{{}}" if home[0] == "output_adjoint" else "{}"
            columns = f"Lanes::with_columns({address}, tile.left)"
            return form.format(columns if "j" in kind else f"Lanes::without_columns({address})")
        if home == ("before", self.matrix) and self.in_registers:
            return f"I > 0 ? held[I ? i * N + n : 0] : load({self._address(home)})"
        return f"load({self._address(home)})"

    def _stored(self, n: Node, home: Home) -> list[str]:
        value, kind, (name, k) = self._name(n), self.plan.axes(home), home
        each = "for (int n = 0; n < N; ++n) " if "j" in kind else ""
        if name in ("output", "drive_gradient") and "j" in kind:
            return [f"{each}Lanes::store_columns({value}, {self._outside(home)}, tile.left);"]
        if name == "drive_gradient":
            return [f"Lanes::store_sum({value}, {self._outside(home)}, tile.column);"]
        if name == "constant_gradient":
            return [f"{each}add({value}, {self._address(home)});"]
        if name == "after" and k == self.matrix and self.in_registers:
            keep = f"if constexpr (I == 0) store({value}, {self._address(home)});"
            keep += f" else {{ held[I ? i * N + n : 0] = {value};"
            keep += f" if ({str(self.name == 'again').lower()}) store({value}, {self._address(home)}); }}"
            return [f"{each}{{ {keep} }}"]
        return [f"{each}store({value}, {self._address(home)});"]


def _count(n: Node) -> str:
    return "N" if "j" in n.kind else "1"


def _type(name: str) -> str:
    return "float*" if name in ("constant_gradient", "drive_gradient", "output") else "const float*"
