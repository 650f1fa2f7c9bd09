"""The operations of torch that a step may use, expressed in the intermediate form."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce

import torch

from longwave.models.kernels.compiler.nodes import Node

Formula = Callable[..., Node]
SAME = frozenset(("detach", "clone", "alias", "expand", "view", "_unsafe_view"))
"""Operations that are the identity on rows, if the shape does not change."""


STRICT = torch.__version__ >= "2.15"
"""Whether torch's clamp has no gradient at a constant bound, and shares it with a variable one."""


def _operation(op: str) -> Formula:
    return lambda x, *more: x.graph(op, x, *more)


def _where(mask: Node, x: Node | float, y: Node | float) -> Node:
    return mask.graph("where", mask, x, y)


def _clamp(x: Node, low: Node | None = None, high: Node | None = None) -> Node:
    """Return min(max(x, low), high); NaN is kept, with zero gradient."""
    g, bounds = x.graph, [b for b in (low, high) if b is not None]
    if any(b.value is None for b in bounds):
        if (
            len(bounds) == 2 or not STRICT
        ):  # for equal numbers torch's gradient then matches neither maximum nor minimum
            raise NotImplementedError(" by tensors")
        return g("min" if low is None else "max", x, *bounds)
    value, inside, within = x, g.const(1.0), "gt" if STRICT else "ge"
    if low is not None:
        value, inside = g("max", value, low), g(within, x, low)
    if high is not None:
        value, inside = g("min", value, high), inside * g(within, high, x)
    return _where(inside, x, g("stop", value))


def _hardtanh(x: Node, low: Node | float = -1.0, high: Node | float = 1.0) -> Node:
    """As torch: no gradient on the bounds, unlike that of a clamp."""
    return _where(x.graph("ge", x, high), high, _where(x.graph("ge", low, x), low, x))


def _power(x: Node, exponent: Node) -> Node:
    n = exponent.value
    if n == 0.5:
        return x.graph("sqrt", x)
    if n is None or n != round(n) or abs(n) > 8:
        raise NotImplementedError
    factor = x if n > 0 else 1.0 / x
    return reduce(operator.mul, [factor] * round(abs(n)), x.graph.const(1.0))


def _lerp(x: Node, y: Node, t: Node) -> Node:
    if t.value is not None and abs(t.value) >= 0.5:  # as torch, which starts from the nearer end
        return y - (y - x) * (1.0 - t)
    return x + t * (y - x)


def _gelu(x: Node, approximate: str = "none") -> Node:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + x.graph("tanh", 0.7978845608028654 * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1.0 + x.graph("erf", x * 0.7071067811865476))


def _softplus(x: Node, beta: Node | float = 1.0, threshold: Node | float = 20.0) -> Node:
    scaled = x * beta
    return _where(x.graph("gt", scaled, threshold), x, x.graph("softplus", scaled) / beta)


def _elu(x: Node, alpha: Node | float = 1.0, scale: Node | float = 1.0, inner: Node | float = 1.0) -> Node:
    negative = x.graph("ge", 0.0, x)
    low = alpha * (x.graph("exp", _where(negative, x, 0.0) * inner) - 1.0)  # exp of a large x would be infinite
    return scale * _where(negative, low, x)


FORMULAS: Mapping[str, Formula] = {
    **{op: _operation(op) for op in ("sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "relu", "abs", "erf")},
    **{op: _operation(op) for op in ("gt", "ge", "eq")},
    "neg": lambda x: -x,
    "sign": _operation("sign"),
    "sgn": _operation("sign"),
    "maximum": _operation("max"),
    "minimum": _operation("min"),
    "lt": lambda x, y: x.graph("gt", y, x),
    "le": lambda x, y: x.graph("ge", y, x),
    "ne": lambda x, y: 1.0 - x.graph("eq", x, y),
    "add": lambda x, y, alpha=1.0: x + y * alpha,
    "sub": lambda x, y, alpha=1.0: x - y * alpha,
    "rsub": lambda x, y, alpha=1.0: y - x * alpha,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "lerp": _lerp,
    "addcmul": lambda x, y, z, value=1.0: x + y * z * value,
    "addcdiv": lambda x, y, z, value=1.0: x + y / z * value,
    "where": _where,
    "masked_fill": lambda x, mask, value: _where(mask, value, x),
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": lambda x, high: _clamp(x, None, high),
    "hardtanh": _hardtanh,
    "leaky_relu": lambda x, slope=0.01: _where(x.graph("gt", x, 0.0), x, slope * x),
    "elu": _elu,
    "softplus": _softplus,
    "gelu": _gelu,
    "silu": lambda x: x * x.graph("sigmoid", x),
    "pow": _power,
    "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / x.graph("sqrt", x),
    "zeros_like": lambda x: x.graph.const(0.0),
    "ones_like": lambda x: x.graph.const(1.0),
    "full_like": lambda x, value: value,
}
"""Elementwise operations on rows, as functions of nodes, of entries of weights and of constants."""
COMPARED = frozenset(("gt", "ge", "eq", "lt", "le", "ne"))
"""Those with boolean results."""
EXTRA = frozenset(("dtype", "layout", "device", "pin_memory", "memory_format"))
"""Arguments without effect on values here."""
