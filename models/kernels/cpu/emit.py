"""A plan as C++: one struct for driver.h, and its entry points."""

from __future__ import annotations

import hashlib

from longwave.models.kernels.compiler.blocks import Block, Home, Program
from longwave.models.kernels.compiler.nodes import Node
from longwave.models.kernels.compiler.padding import rests
from longwave.models.kernels.compiler.plan import Plan

FORMS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "sigmoid": "sigmoid({0})", "tanh": "hyperbolic_tangent({0})", "exp": "exponential({0})", "log": "logarithm({0})",
    "sin": "sine({0})", "cos": "cosine({0})", "sqrt": "root({0})", "softplus": "softplus({0})",
    "erf": "error_function({0})", "relu": "at_least({0}, V{{}})", "abs": "absolute({0})", "sign": "sign({0})",
    "max": "maximum({0}, {1})", "min": "minimum({0}, {1})", "above": "above({0}, {1})", "gt": "flag({0} > {1})",
    "ge": "flag({0} >= {1})", "eq": "flag({0} == {1})", "where": "({0} != 0.0f ? {1} : {2})",
}  # fmt: skip
ADDED = ("sum", "unit", "ring")
"""Locations that accumulate sums of terms."""
FETCHED = ("kept", "before", "after")
"""Locations that the backward pass prefetches a step ahead: processors do not predict reads in descending order."""


NUMBERS = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
"""Constants that C++ spells as names."""


def emit(plan: Plan) -> str:
    """Return the text of the cell's library.

    The struct's name is a hash of the text: the dynamic linker merges the tables of equal names.
    """
    text = _struct(plan)
    return text.replace("CELL", f"Cell{hashlib.sha256(text.encode()).hexdigest()[:16]}")


def _struct(plan: Plan) -> str:
    forward, backward = _Direction(plan, plan.forward, "false"), _Direction(plan, plan.backward, "true")
    states, scalars = plan.states, len(plan.nums)
    counts = {"states": states, "gates": len(plan.gates), "kept": plan.kept, "slots": plan.slots, "scalars": scalars}
    counts |= {"matrices": len(plan.matrices), "vectors": len(plan.vecs)}
    counts["outputs"] = plan.outputs
    counts["panels"] = max(forward.panels, backward.panels)
    parts = [
        f"  static constexpr int {', '.join(f'{name} = {n}' for name, n in counts.items())};\n"
        f"  static constexpr bool delayed = {str(plan.delayed).lower()};\n",
        _function("static float* pack_forward(float* to, const Task& t, const float* W)", forward.packing()),
        _function(f"static void step(const Step<{states}>& s)", forward.body()),
        _function("static float* pack_backward(float* to, const Task& t, const float* W)", backward.packing()),
        _function(f"static void back(Back<{states}, {scalars}>& s)", backward.body()),
        *([_delays(plan, forward, backward)] if plan.delayed else []),
        "  template <class Gradient>\n"
        + _function(f"static void weights(const Back<{states}, {scalars}>& s, Gradient gradient)", _gradients(plan)),
    ]
    body = "\n".join(parts)
    opened = '#include "copies.h"\n#include "driver.h"\n\nnamespace longwave {\n\n'
    closed = "\n}  // namespace longwave\n\nENTRY(CELL)\n"
    return f"{opened}struct CELL {{\n{body}}};\n{closed}"


def _function(head: str, lines: list[str]) -> str:
    return f"  {head} {{\n{''.join(f'    {line}' + chr(10) for line in lines)}  }}\n"


def _gradients(plan: Plan) -> list[str]:
    return [
        f"gradient({g.matrix}, {_pointer(g.home)}, {g.slot}, {g.count}, {_stride(g.home)});" for g in plan.gradients
    ]


def _delays(plan: Plan, forward: _Direction, backward: _Direction) -> str:
    """Return the code of a chunk of steps for delayed outputs: one product per direction, for all of its steps."""
    count, forward_lines, backward_lines = plan.states, list[str](), list[str]()
    for k, (gate, _) in enumerate(plan.delays):
        forward_lines += _chunk("s.late(), s.D, w + s.d * u, s.d", f"kept + r * s.width + {gate} * s.D + u", forward, k)
        backward_lines += _chunk(f"s.slots + {gate} * s.D, s.slots_width, w + s.D * u, s.D", "at(r) + u", backward, k)
    head = f"static void delay(const Step<{count}>& s, float* kept, int64_t steps)"
    head_back = f"static void delay_back(const Back<{count}, {len(plan.nums)}>& s, int64_t steps, At at)"
    return f"{_function(head, forward_lines)}\n  template <class At>\n{_function(head_back, backward_lines)}"


def _chunk(source: str, target: str, direction: _Direction, k: int) -> list[str]:
    depth = "s.D" if direction.transposed == "true" else "s.d"
    return [
        "groups(s.nb, [&](auto N, int64_t first) {",
        "  const int64_t u = first * L;",
        f"  const float* w = s.w + {direction.panels - len(direction.plan.delays) + k} * s.D * {depth};",
        f"  stage<N>(steps * s.n, std::array{{Source{{{source}}}}},",
        "    [&](int64_t r, V (&a)[N]) { for (int n = 0; n < N; ++n) a[n] = V{}; },",
        f"    [&](int64_t r, V (&a)[N]) {{ for (int n = 0; n < N; ++n) add(a[n], {target} + n * L); }});",
        "});",
    ]


def _pointer(home: Home) -> str:
    array, j = home
    forms = {"kept": f"s.kept + {j} * s.D", "slot": f"s.slots + {j} * s.D", "unit": f"s.dU + {j} * s.D"}
    forms |= {"late": "s.late()", "ring": "s.ring", "adjoint": f"s.adjoint[{j}]"}
    return forms.get(array, f"s.{array}({j})")


def _stride(home: Home) -> str:
    return {"kept": "s.width", "slot": "s.slots_width"}.get(home[0], "s.D")


class _Direction:
    """One function of the struct, ``step`` or ``back``, and the order of its packed matrices."""

    def __init__(self, plan: Plan, program: Program, transposed: str) -> None:
        self.plan, self.program, self.transposed = plan, program, transposed
        self.depth = "D" if transposed == "true" else "d"
        self.guarded = transposed == "true" and not rests(plan)
        self.sources = {k: self._sources(b) for k, b in enumerate(program.blocks) if b.sums}
        self.offsets: dict[str, int] = {}
        self.panels = 0
        for k, sources in self.sources.items():
            key = str([m for _, m in sources])
            if key not in self.offsets:
                self.offsets[key] = self.panels
                self.panels += sum(len(rows) for _, rows in sources) * len(program.blocks[k].sums)
        self.panels += len(plan.delays)

    def _sources(self, block: Block) -> list[tuple[Home, list[list[int]]]]:
        """Return runs of neighbouring rows: the location of the first, and the matrices of each row by sum."""
        factors = [n.factors for n in block.sums]
        rows = [
            (self.program.row(row), [self.plan.matrices.index(f[i][1]) for f in factors])
            for i, (_, _, row) in enumerate(factors[0])
        ]
        runs: list[tuple[Home, list[list[int]]]] = []
        for home, matrices in sorted(rows):
            last = runs[-1] if runs else None
            if self.transposed == "true" and last and (last[0][0], last[0][1] + len(last[1])) == home:
                last[1].append(matrices)
            else:
                runs.append((home, [matrices]))
        return runs

    def packing(self) -> list[str]:
        """Return the lines that pack the matrices; blocks with equal matrices share them."""
        lines, packed = list[str](), set[str]()
        for k, sources in self.sources.items():
            key = str([m for _, m in sources])
            if key not in packed:
                packed.add(key)
                block = self.program.blocks[k]
                counts = ", ".join(str(len(rows)) for _, rows in sources)
                numbers = ", ".join(str(m) for _, rows in sources for row in rows for m in row)
                lines.append(self._packed(len(block.sums), counts, numbers))
        lines += [self._packed(1, "1", str(m)) for _, m in self.plan.delays]
        return [*lines, "return to;"]

    def _packed(self, sums: int, counts: str, numbers: str) -> str:
        call = f"to = pack<{self.transposed}, {sums}>(to, t, W, {{{counts}}}, m);"
        return f"{{ static constexpr int m[] = {{{numbers}}}; {call} }}"

    def body(self) -> list[str]:
        """Return the lines of the function."""
        self.top: dict[Node | Home, str] = {}
        lines = [x for k, b in enumerate(self.program.blocks) if b.sums or b.targets for x in self._block(k, b)]
        return ["const int64_t D = s.D, d = s.d;", "(void)D, (void)d;", *self.top.values(), *lines]

    def _array(self, home: Home) -> tuple[str, str]:
        """Return names for the first row of a location and its row stride: `s` would be reread at each store."""
        name, stride = f"{home[0]}{home[1]}", {"kept": "width", "slot": "slots_width"}.get(home[0], "D")
        self.top.setdefault(home, f"const auto {name} = {_pointer(home)};")
        if stride != "D":
            self.top.setdefault((stride, 0), f"const int64_t {stride} = s.{stride};")
        return name, stride

    def _address(self, home: Home) -> str:
        """Return the address of unit i of row r; of a vector's unit, that of unit i."""
        name, stride = self._array(home)
        return f"{name} + i" if home[0] == "unit" else f"{name} + r * {stride} + i"

    def _step(self, home: Home) -> str:
        """Return the distance of a location from that of the preceding step, the next in the backward pass."""
        name, length = ("kept_step", "s.n * s.width") if home[0] == "kept" else ("state_step", "s.row")
        self.top.setdefault((name, 0), f"const int64_t {name} = {length};")
        return name

    def _block(self, k: int, block: Block) -> list[str]:
        lines = self._lines(k, block)
        if not block.sums:
            loops = ["for (int64_t r = 0; r < s.n; ++r)", "  for (int64_t i = 0; i < D; i += L) {"]
            return [*loops, *(f"    {line}" for line in lines), "  }"]
        count, sources, at = len(block.sums), list[str](), 0
        for home, rows in self.sources[k]:
            depth = f"{len(rows)} * {self.depth}"
            panel = f"w + {at} * {self.depth} * N * L"
            sources.append(f"Source{{{', '.join(self._array(home))}, {panel}, {depth}}}")
            at += len(rows)
        loop = "for (int n = 0; n < G; ++n) {"
        homes = [None if n.start is None else self.program.homes[n.start] for n in block.sums]
        values = ["V{}" if home is None else f"load({self._address(home)})" for home in homes]
        starts = "".join(f" a[n * {count} + {j}] = {value};" for j, value in enumerate(values))
        offset = self.offsets[str([m for _, m in self.sources[k]])]
        return [
            f"groups<most({count})>(s.nb, [&](auto G, int64_t first) {{",
            f"  constexpr int N = G * {count};",
            "  const int64_t u = first * L;",
            f"  const float* w = s.w + {offset} * D * {self.depth} + {at} * {self.depth} * {count} * u;",
            f"  stage<N>(s.n, std::array{{{', '.join(sources)}}},",
            f"    [&](int64_t r, V (&a)[N]) {{ {loop} const int64_t i = u + n * L; (void)i;{starts} }} }},",
            f"    [&](int64_t r, V (&a)[N]) {{ {loop}",
            "      const int64_t i = u + n * L;",
            *(f"      {line}" for line in lines),
            "    } });",
            "});",
        ]

    def _lines(self, k: int, block: Block) -> list[str]:
        """Return the code of one vector of one row: values, then stores."""
        names = {n: f"a[n * {len(block.sums)} + {j}]" for j, n in enumerate(block.sums)}
        lines = []
        for line in self.program.lines(k):
            n = line.node
            text = f"load({self._address(line.home)})" if line.home else self._operation(n, names)
            names[n] = f"{'p' if n.kind == 'num' else 'v'}{n.number}"
            if n.kind == "num":
                self.top[n] = f"const V {names[n]} = {text};"
            else:
                lines.append(f"const V {names[n]} = {text};")
            if line.home and self.transposed == "true" and line.home[0] in FETCHED:
                lines.append(f"fetch({self._address(line.home)} - {self._step(line.home)});")
        for n, home in block.targets:
            value = _name(n, names)
            if self.guarded and home[0] in ("slot", "sum"):
                value = f"inside({value}, i, d)"
            if home[0] == "sum":
                lines.append(f"s.sums[{home[1]}] += {value};")
            else:
                lines.append(f"{'add' if home[0] in ADDED else 'store'}({value}, {self._address(home)});")
        return lines

    def _operation(self, n: Node, names: dict[Node, str]) -> str:
        if n.op == "num":
            return f"s.scalar({self.plan.nums.index(n)})"
        if n.op == "vec":
            k = self.plan.vecs.index(n)
            self.top.setdefault(("U", k), f"const float* U{k} = s.U + {k} * D;")
            return f"load(U{k} + i)"
        return FORMS[n.op].format(*(_name(a, names) for a in n.args))


def _name(n: Node, names: dict[Node, str]) -> str:
    return names[n] if n.value is None else f"all({NUMBERS.get(repr(n.value), f'{n.value!r}f')})"
