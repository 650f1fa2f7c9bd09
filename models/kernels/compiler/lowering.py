"""The operations of torch that a step may use, in terms of the intermediate form's own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce

from longwave.models.kernels.compiler.nodes import Node

Formula = Callable[..., Node]
SAME = frozenset(("detach", "clone", "alias", "contiguous", "lift_fresh", "expand", "view", "_unsafe_view", "reshape"))
"""Operations that give the same rows, if they give the same shape."""


def _own(op: str) -> Formula:
    return lambda x, *more: x.graph(op, x, *more)


def _where(mask: Node, x: Node | float, y: Node | float) -> Node:
    return mask.graph("where", mask, x, y)


def _clamp(x: Node, low: Node | None = None, high: Node | None = None) -> Node:
    # As torch: the bounds themselves let the gradient through, and NaN stays.
    below = x if low is None else _where(x.graph("gt", low, x), low, x)
    return below if high is None else _where(x.graph("gt", x, high), high, below)


def _hardtanh(x: Node, low: Node | float = -1.0, high: Node | float = 1.0) -> Node:
    return _where(x.graph("gt", x, low), _where(x.graph("gt", high, x), x, high), low)


def _power(x: Node, exponent: Node) -> Node:
    n = exponent.value
    if n == 0.5:
        return x.graph("sqrt", x)
    if n is None or n != round(n) or not 1 <= abs(n) <= 8:
        raise NotImplementedError
    product = reduce(operator.mul, [x] * round(abs(n)))
    return product if n > 0 else 1.0 / product


def _gelu(x: Node, approximate: str = "none") -> Node:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + x.graph("tanh", 0.7978845608028654 * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1.0 + x.graph("erf", x * 0.7071067811865476))


def _softplus(x: Node, beta: Node | float = 1.0, threshold: Node | float = 20.0) -> Node:
    # Above the threshold torch gives x itself, which float32 does anyway.
    return x.graph("softplus", x * beta) / beta


def _elu(x: Node, alpha: Node | float = 1.0, scale: Node | float = 1.0, inner: Node | float = 1.0) -> Node:
    low = alpha * (x.graph("exp", _clamp(x * inner, None, x.graph.const(0.0))) - 1.0)
    return scale * _where(x.graph("gt", x, 0.0), x, low)


FORMULAS: Mapping[str, Formula] = {
    **{op: _own(op) for op in ("sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "relu", "abs", "erf")},
    **{op: _own(op) for op in ("gt", "ge", "eq")},
    "neg": lambda x: -x,
    "sign": _own("sign"),
    "sgn": _own("sign"),
    "maximum": _own("max"),
    "minimum": _own("min"),
    "lt": lambda x, y: x.graph("gt", y, x),
    "le": lambda x, y: x.graph("ge", y, x),
    "ne": lambda x, y: 1.0 - x.graph("eq", x, y),
    "add": lambda x, y, alpha=1.0: x + y * alpha,
    "sub": lambda x, y, alpha=1.0: x - y * alpha,
    "rsub": lambda x, y, alpha=1.0: y - x * alpha,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "lerp": lambda x, y, t: x + t * (y - x),
    "addcmul": lambda x, y, z, value=1.0: x + y * z * value,
    "addcdiv": lambda x, y, z, value=1.0: x + y / z * value,
    "where": _where,
    "masked_fill": lambda x, mask, value: _where(mask, value, x),
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": lambda x, high: _clamp(x, None, high),
    "hardtanh": _hardtanh,
    "relu6": lambda x: _hardtanh(x, 0.0, 6.0),
    "leaky_relu": lambda x, slope=0.01: _where(x.graph("gt", x, 0.0), x, slope * x),
    "elu": _elu,
    "softplus": _softplus,
    "gelu": _gelu,
    "silu": lambda x: x * x.graph("sigmoid", x),
    "square": lambda x: x * x,
    "pow": _power,
    "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / x.graph("sqrt", x),
    "zeros_like": lambda x: x.graph.const(0.0),
    "ones_like": lambda x: x.graph.const(1.0),
    "full_like": lambda x, value: value,
}
"""What an operation on rows, unit by unit, is: of nodes, of the weights' numbers and of constants."""
COMPARED = frozenset(("gt", "ge", "eq", "lt", "le", "ne"))
"""Those of them that give truths."""
EXTRA = frozenset(("dtype", "layout", "device", "pin_memory", "memory_format"))
"""Arguments that change no value here."""
