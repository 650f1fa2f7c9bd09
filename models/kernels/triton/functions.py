"""Functions called by printed steps: operations on vectors of d numbers, and products of rows and matrices.

Kinks, infinities and NaN are as in torch.
"""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import os

import triton
import triton.language as tl

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""Whether Triton's interpreter runs the kernels. There a reduction of a tuple is a slow Python loop."""


@triton.jit
def sigmoid(x):
    """Return σ(x)."""
    # Far below 0 exp(−x) is infinite, and 1 / ∞ the right limit.
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """Return tanh x, with a relative error of 3e-7.

    libdevice's does not run in the interpreter. The form with exp is inaccurate near 0, so a polynomial is used for |x|
    < 0.625, that of tanhf in the Cephes library.
    """
    t = x * x
    p = (((-5.70498872745e-3 * t + 2.06390887954e-2) * t - 5.37397155531e-2) * t + 1.33314422036e-1) * t
    near = x + x * t * (p - 3.33332819422e-1)
    return tl.where(t < 0.390625, near, 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x)))


@triton.jit
def softplus(x):
    """Return log(1 + exp x); W. Kahan's form of log(1 + t) is accurate for small t."""
    t = tl.exp(-tl.abs(x))
    u = 1.0 + t
    small = tl.where(u == 1.0, t, tl.log(u) * t / tl.where(u == 1.0, 1.0, u - 1.0))
    return relu(x) + small


@triton.jit
def relu(x):
    """Return the larger of x and 0."""
    return tl.where(x < 0.0, 0.0, x)


@triton.jit
def flag(mask):
    """Return 1 where ``mask`` is true, else 0."""
    return tl.where(mask, 1.0, 0.0)


@triton.jit
def sign(x):
    """Return −1, 0 or 1; 0 for NaN."""
    return flag(x > 0.0) - flag(x < 0.0)


@triton.jit
def maximum(x, y):
    """Return the larger."""
    return tl.where((x > y) | (x != x), x, y)


@triton.jit
def minimum(x, y):
    """Return the smaller."""
    return tl.where((x < y) | (x != x), x, y)


@triton.jit
def above(x, y):
    """Return 1 where x > y or either is NaN, and a half where they are equal: how torch shares a maximum's gradient."""
    return 1.0 - flag(x < y) - 0.5 * flag(x == y)


@triton.jit
def sum_rows(x, rows):
    """Return the sums (1, columns) over the rows that exist."""
    return tl.sum(tl.where(rows, x, 0.0), 0, keep_dims=True)


@triton.jit
def sum_columns(x, columns):
    """Return the sums (rows, 1) over the columns that exist."""
    return tl.sum(tl.where(columns, x, 0.0), 1, keep_dims=True)


@triton.jit
def _add1(a, b):
    return a + b


@triton.jit
def _add2(a, b, c, d):
    return a + c, b + d


@triton.jit
def _add3(a, b, c, d, e, f):
    return a + d, b + e, c + f


@triton.jit
def _add4(a, b, c, d, e, f, g, h):
    return a + e, b + f, c + g, d + h


@triton.jit
def products(v, w):
    """Return v[i] @ w[i] for rows (1, K) and tiles (K, N), 4 at most, in one reduction.

    One reduction of a tuple costs as many barriers as one product. Adding the products before it would break the chains
    of fused multiply-adds, and a plain sum over 16 or more rows is rewritten into a dot in tf32 by Triton 3.6.
    """
    N: tl.constexpr = len(w)
    x = ()
    for i in tl.static_range(N):
        x = x + (v[i][:, :, None] * w[i][None, :, :],)
    if INTERPRETED:
        out = ()
        for i in tl.static_range(N):
            out = out + (tl.sum(x[i], 1),)
        return out
    elif N == 1:
        return (tl.reduce(x[0], 1, _add1),)
    elif N == 2:
        return tl.reduce(x, 1, _add2)
    elif N == 3:
        return tl.reduce(x, 1, _add3)
    else:
        return tl.reduce(x, 1, _add4)
