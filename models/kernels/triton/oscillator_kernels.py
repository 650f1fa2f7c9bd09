"""The kernels of UnICORNN's loop: one lane runs one unit of one sequence."""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import triton
import triton.language as tl

from longwave.models.kernels.triton.functions import tanh
from longwave.models.kernels.triton.row_kernels import load, store


@triton.jit
def ahead(base, step, at, inside, t, direction, AHEAD: tl.constexpr):
    """Return the values of AHEAD steps, starting at ``base``; t steps follow it."""
    out = ()
    for i in tl.static_range(AHEAD):
        x = tl.load(base + tl.minimum(t, i) * direction * step + at, mask=inside, other=0.0)
        out = out + (x.to(tl.float32),)
    return out


@triton.jit
def shift(values, base, step, at, inside, t, direction, AHEAD: tl.constexpr):
    """Return the values of one step later."""
    out = ()
    for i in tl.static_range(1, AHEAD):
        out = out + (values[i],)
    reach = tl.minimum(t, AHEAD) * tl.cast(step, tl.int64) * direction
    return out + (tl.load(base + reach + at, mask=inside, other=0.0).to(tl.float32),)


@triton.jit
def lane(P, U, S, k, R, M, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    """Return the index of a lane's unit, whether it exists, and its w, s, α and two of ``S``."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < R
    s, w = load(U + k * 2 * SIZE, SIZE, at % SIZE, inside, 2)
    y, z = load(S + k * R, M * R, at, inside, 2)
    return at, inside, w, s, tl.load(P + k), y, z


@triton.jit(do_not_specialize=("T", "R", "M"))
def forward_kernel(
    X, Y, S, L, P, U, T, R, M, SIZE: tl.constexpr, BLOCK: tl.constexpr, AHEAD: tl.constexpr
):  # fmt: skip
    """Write Y (M, T, R) and the last states L (2, M, R) from the drives X and the start S, R = B·d; U (M, 2, d)."""
    k = tl.program_id(1).to(tl.int64)
    at, inside, w, s, alpha, y, z = lane(P, U, S, k, R, M, SIZE, BLOCK)
    X += k * T * R
    Y += k * T * R
    x = ahead(X, R, at, inside, T - 1, 1, AHEAD)
    for t in range(T):
        following = shift(x, X, R, at, inside, T - 1 - t, 1, AHEAD)
        z -= s * (tanh(w * y + x[0]) + alpha * y)
        y += s * z
        tl.store(Y + at, y, mask=inside)
        x = following
        X += R
        Y += R
    store(L + k * R, M * R, at, inside, (y, z), 0, 2)


@triton.jit(do_not_specialize=("T", "R", "M"))
def backward_kernel(
    X, Y, Z, S, GY, GL, P, U, GX, GS, Q, T, R, M, SIZE: tl.constexpr, BLOCK: tl.constexpr, AHEAD: tl.constexpr,
    ANCHORED: tl.constexpr, HAS_GY: tl.constexpr, HAS_GL: tl.constexpr,
):  # fmt: skip
    """Write the drives' adjoint GX, the start's GS (2, M, R) and the lanes' sums Q (3, M, R) for s, w and α.

    Z (M, R) is the last z; GL (2, M, R) the last states' adjoints. ``before`` holds y of the previous steps; in the
    last iteration it is the initial y. ANCHORED reads y and recomputes only z; otherwise the rounding errors of both
    grow with the steps.
    """
    k = tl.program_id(1).to(tl.int64)
    at, inside, w, s, alpha, start, z = lane(P, U, S, k, R, M, SIZE, BLOCK)
    first = (k + 1) * T * R - R
    X, Y, GX, GY = X + first, Y + first, GX + first, GY + first
    z = tl.load(Z + k * R + at, mask=inside, other=0.0)
    x, before = ahead(X, R, at, inside, T - 1, -1, AHEAD), ahead(Y, R, at, inside, T - 1, -1, AHEAD)
    y, nothing = before[0], tl.zeros((BLOCK,), tl.float32)
    gy, gz, gw, gs, ga = nothing, nothing, nothing, nothing, nothing
    if HAS_GL:
        gy, gz = load(GL + k * R, M * R, at, inside, 2)
    if HAS_GY:
        g = ahead(GY, R, at, inside, T - 1, -1, AHEAD)
    for i in range(T):
        t = T - 1 - i
        x_next = shift(x, X, R, at, inside, t, -1, AHEAD)
        if HAS_GY:
            gy += g[0]
            g = shift(g, GY, R, at, inside, t, -1, AHEAD)
        gs += gy * z
        if ANCHORED:
            before = shift(before, Y, R, at, inside, t, -1, AHEAD)
            y = tl.where(tl.minimum(t, 1) == 0, start, before[0])
        else:
            y -= s * z
        c = tanh(w * y + x[0])
        force = c + alpha * y
        z += s * force
        gz += s * gy
        gx = -s * gz * (1 - c * c)
        tl.store(GX + at, gx, mask=inside)
        gs, gw, ga = gs - gz * force, gw + gx * y, ga - s * gz * y
        gy += w * gx - s * alpha * gz
        x = x_next
        X, Y, GX, GY = X - R, Y - R, GX - R, GY - R
    store(GS + k * R, M * R, at, inside, (gy, gz), 0, 2)
    store(Q + k * R, M * R, at, inside, (gs, gw, ga), 0, 3)
