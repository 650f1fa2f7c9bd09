"""Whole steps of the cells for the row schedule: the parts of ``pointwise``, with the products between them.

Forward: ``(s, a, x, w, p, u) -> (s, a, x)``, w the tiles of Wᵀ. Backward: ``(g, s, a, x, w, p, u) -> (g, o, q)``, w the
tiles of W.
"""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import os

import triton
import triton.language as tl

from longwave.models.kernels.triton import pointwise as pw

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""Whether Triton's interpreter runs the kernels. There a reduction of a tuple is a loop in Python, and very slow."""


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
    """Return v[i] @ w[i] for rows (1, K) and tiles (K, N), in one reduction.

    One reduction of a tuple costs the barriers of one product. Adding the products before it would break the chains of
    fused multiply-adds, and a plain sum over 16 or more rows is rewritten into a dot in tf32 by Triton 3.6.
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


@triton.jit
def lem(s, a, x, w, p, u):
    """One step of LEM: two products in sequence."""
    s, a, x = pw.lem_1(s, a, x, products((s[0], s[0], s[0]), (w[0], w[1], w[2])), p, u)
    return pw.lem_2(s, a, x, products((s[1],), (w[3],)), p, u)


@triton.jit
def lem_back(g, s, a, x, w, p, u):
    """One step of LEM backwards."""
    g, o2, q2 = pw.lem_back_1(g, s, a, x, p, u)
    m = products((o2[1],), (w[3],))
    g, o1, q1 = pw.lem_back_2((g[0], g[1] + m[0]), s, a, x, p, u)
    m = products((o1[0], o1[1], o2[0]), (w[0], w[1], w[2]))
    return (g[0] + (m[0] + m[1] + m[2]), g[1]), (o1[0], o1[1], o2[0], o2[1]), (q1[0] + q2[0],)


@triton.jit
def cornn(s, a, x, w, p, u):
    """One step of coRNN."""
    m = products((s[0], s[1]), (w[0], w[1]))
    return pw.cornn_1(s, a, x, (m[0] + m[1],), p, u)


@triton.jit
def cornn_back(g, s, a, x, w, p, u):
    """One step of coRNN backwards."""
    g, o, q = pw.cornn_back_1(g, s, a, x, p, u)
    m = products((o[0], o[0]), (w[0], w[1]))
    return (g[0] + m[0], g[1] + m[1]), o, q


@triton.jit
def euler(s, a, x, w, p, u):
    """One Euler step of the Lipschitz RNN."""
    return pw.euler_1(s, a, x, products((s[0], s[0]), (w[0], w[1])), p, u)


@triton.jit
def euler_back(g, s, a, x, w, p, u):
    """One Euler step of the Lipschitz RNN backwards."""
    g, o, q = pw.euler_back_1(g, s, a, x, p, u)
    m = products(o, (w[0], w[1]))
    return (g[0] + (m[0] + m[1]),), o, q


@triton.jit
def rk2(s, a, x, w, p, u):
    """One midpoint step of the Lipschitz RNN: the same two products twice."""
    s, a, x = pw.rk2_1(s, a, x, products((s[0], s[0]), (w[0], w[1])), p, u)
    return pw.rk2_2(s, a, x, products((x[0], x[0]), (w[0], w[1])), p, u)


@triton.jit
def rk2_back(g, s, a, x, w, p, u):
    """One midpoint step of the Lipschitz RNN backwards."""
    g, o2, q2 = pw.rk2_back_1(g, s, a, x, p, u)
    m = products(o2, (w[0], w[1]))
    g, o1, q1 = pw.rk2_back_2((g[0], g[1] + (m[0] + m[1])), s, a, x, p, u)
    m = products(o1, (w[0], w[1]))
    return (g[0] + (m[0] + m[1]),), (o1[0], o1[1], o2[0], o2[1]), (q1[0] + q2[0],)


@triton.jit
def tau_gru(s, a, x, w, p, u):
    """One step of τ-GRU whose delayed product is in the drive."""
    return pw.tau_gru_1(s, a, x, products((s[0], s[0], s[0]), (w[0], w[2], w[3])), p, u)


@triton.jit
def tau_gru_back(g, s, a, x, w, p, u):
    """One step of τ-GRU backwards, without the delayed product."""
    g, o, q = pw.tau_gru_back_1(g, s, a, x, p, u)
    m = products((o[0], o[2], o[3]), (w[0], w[2], w[3]))
    return (g[0] + (m[0] + m[1] + m[2]),), o, q


@triton.jit
def tau_gru_near(s, a, x, w, p, u):
    """One step of τ-GRU with its delayed product; x holds h[n−τ]."""
    m = products((s[0], s[0], s[0], x[0]), (w[0], w[2], w[3], w[1]))
    return pw.tau_gru_now_1(s, a, (), m, p, u)


@triton.jit
def tau_gru_near_back(g, s, a, x, w, p, u):
    """One step of τ-GRU backwards; x holds az's adjoint of τ steps later, and whether it is this step's own."""
    g, o, q = pw.tau_gru_back_1(g, s, a, x, p, u)
    m = products((o[0], o[2], o[3], tl.where(x[1], o[1], x[0])), (w[0], w[2], w[3], w[1]))
    return (g[0] + (m[0] + m[1] + m[2] + m[3]),), o, q


@triton.jit
def lstm(s, a, x, w, p, u):
    """One step of the LSTM."""
    return pw.lstm_1(s, a, x, products((s[0], s[0], s[0], s[0]), (w[0], w[1], w[2], w[3])), p, u)


@triton.jit
def lstm_back(g, s, a, x, w, p, u):
    """One step of the LSTM backwards."""
    g, o, q = pw.lstm_back_1(g, s, a, x, p, u)
    m = products(o, (w[0], w[1], w[2], w[3]))
    return (g[0] + ((m[0] + m[1]) + (m[2] + m[3])), g[1]), o, q


@triton.jit
def gru(s, a, x, w, p, u):
    """One step of the GRU."""
    return pw.gru_1(s, a, x, products((s[0], s[0], s[0]), (w[0], w[1], w[2])), p, u)


@triton.jit
def gru_back(g, s, a, x, w, p, u):
    """One step of the GRU backwards."""
    g, o, q = pw.gru_back_1(g, s, a, x, p, u)
    m = products((o[0], o[1], o[3]), (w[0], w[1], w[2]))
    return (g[0] + (m[0] + m[1] + m[2]),), o, q
