"""The kernels of the row schedule: a program runs one sequence of one member over all its steps, weights in registers.

Tensors have the width d of the layer; programs the next power of two, with a tail of zeros. Row indices in 64 bits
advance from step to step: a pointer for each tensor would take registers from the weights. Backward, those of
pre-activations and adjoints have 32 bits: stored in types of two sizes, they share no byte offset. The inputs of the
next step are loaded a step ahead.
"""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import triton
import triton.language as tl

SIZES = ("T", "B", "M", "TE", "TY")
"""Kernel arguments that must not cause a separate compilation when they are 1 or divisible by 16."""


@triton.jit
def load(base, stride, at, inside, N: tl.constexpr):
    """Return N vectors at distance ``stride``, in float32 for any storage type."""
    out = ()
    for i in tl.static_range(N):
        out = out + (tl.load(base + i * stride + at, mask=inside, other=0.0).to(tl.float32),)
    return out


@triton.jit
def store(base, stride, at, inside, values, FIRST: tl.constexpr, N: tl.constexpr):
    """Write the vectors with index ``FIRST`` to N, at distance ``stride``."""
    for i in tl.static_range(FIRST, N):
        tl.store(base + (i - FIRST) * stride + at, values[i], mask=inside)


@triton.jit
def tiles(base, N: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """Return N matrices (SIZE, SIZE), padded with zeros."""
    k, n = tl.arange(0, WIDTH)[:, None], tl.arange(0, WIDTH)[None, :]
    return load(base, SIZE * SIZE, k * SIZE + n, (k < SIZE) & (n < SIZE), N)


@triton.jit
def numbers(base, N: tl.constexpr):
    """Return N scalars."""
    out = ()
    for i in tl.static_range(N):
        out = out + (tl.load(base + i),)
    return out


@triton.jit
def parameters(
    W, P, U, k, SIZE: tl.constexpr, WIDTH: tl.constexpr, N: tl.constexpr, H: tl.constexpr, NU: tl.constexpr
):  # fmt: skip
    """Return the units, which of them exist, and one member's matrices, scalars and vectors.

    A step without matrices has several programs per row, each with its own units.
    """
    at = tl.arange(0, WIDTH)[None, :]
    if N == 0:
        at += tl.program_id(2) * WIDTH
    inside = at < SIZE
    w = tiles(W + k * N * SIZE * SIZE, N, SIZE, WIDTH)
    return at, inside, w, numbers(P + k * H, H), load(U + k * NU * SIZE, SIZE, at, inside, NU)


@triton.jit
def zeros(N: tl.constexpr, WIDTH: tl.constexpr):
    """Return N vectors of zeros."""
    out = ()
    for _ in tl.static_range(N):
        out = out + (tl.zeros((1, WIDTH), tl.float32),)
    return out


@triton.jit
def read(
    E, Y, K, S, SK, GY, e, y, r, start, B, plane, splane, at, inside, started,
    SIZE: tl.constexpr, NS: tl.constexpr, G: tl.constexpr, X: tl.constexpr, OUT: tl.constexpr, HAS_GY: tl.constexpr,
):  # fmt: skip
    """Return the inputs of a backward step: the states before it, pre-activations, extras and the outputs' adjoints.

    The states are those of the step before, B rows back, if ``started``, else the initial state S, which SK has in the
    type of K: it selects pointers, because a mask from the loop index is not boolean in the interpreter.
    """
    s = (tl.load(tl.where(started, Y + y * SIZE - B * SIZE, S + start) + at, mask=inside, other=0.0),)
    for i in tl.static_range(1, NS):
        before = tl.where(started, K + r * SIZE + (i - 1) * plane - B * SIZE, SK + start + i * splane)
        s = s + (tl.load(before + at, mask=inside, other=0.0).to(tl.float32),)
    gy = ()
    if HAS_GY:
        gy = load(GY + y * (OUT * SIZE), SIZE, at, inside, OUT)
    x = load(K + r * SIZE + (NS - 1) * plane, plane, at, inside, X)
    return s, load(E + tl.cast(e, tl.int64) * (G * SIZE), SIZE, at, inside, G), x, gy


@triton.jit(do_not_specialize=SIZES)
def forward_kernel(
    E, Y, K, S, L, W, P, U, LAG, T, B, M, TE, TY,
    step: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr, NS: tl.constexpr, G: tl.constexpr, X: tl.constexpr,
    N: tl.constexpr, H: tl.constexpr, NU: tl.constexpr, KEEP: tl.constexpr, NEAR: tl.constexpr,
):  # fmt: skip
    """Write Y, the last states L and, if KEEP, the pre-activations over E and the other values in K.

    E (M, TE, B, G, d), Y (M, TY, B, d), K (NS − 1 + X, M, T, B, d), S and L (NS, M, B, d), W (M, N, d, d) transposed,
    P (M, H), U (M, NU, d). With NEAR Y is part of the history of h, and LAG (M,) holds the lags.
    """
    row, k = tl.program_id(0), tl.program_id(1).to(tl.int64)
    at, inside, w, p, u = parameters(W, P, U, k, SIZE, WIDTH, N, H, NU)
    e, y, r = k * TE * B + row, k * TY * B + row, k * T * B + row
    plane, splane = tl.cast(M, tl.int64) * T * B * SIZE, M * B * SIZE
    s = load(S + (k * B + row) * SIZE, splane, at, inside, NS)
    a = load(E + e * (G * SIZE), SIZE, at, inside, G)
    lag = tl.load(LAG + k)
    for t in range(T):
        # The last step loads itself again: no mask can be made from t, see ``read``.
        following = load(E + (e + tl.minimum(T - 1 - t, 1) * B) * (G * SIZE), SIZE, at, inside, G)
        late = s[0]
        if NEAR:  # the history is written and read by different threads of this program
            tl.debug_barrier()
            late = tl.where(lag > 0, tl.load(Y + (y - (lag + 1) * B) * SIZE + at, mask=inside, other=0.0), s[0])
        s, a, x = step(s, a, w, p, u, inside, late)
        tl.store(Y + y * SIZE + at, s[0], mask=inside)
        if KEEP:
            store(E + e * (G * SIZE), SIZE, at, inside, a, 0, G)
            store(K + r * SIZE, plane, at, inside, s, 1, NS)
            store(K + r * SIZE + (NS - 1) * plane, plane, at, inside, x, 0, X)
        a = following
        e, y, r = e + B, y + B, r + B
    store(L + (k * B + row) * SIZE, splane, at, inside, s, 0, NS)


@triton.jit(do_not_specialize=SIZES)
def backward_kernel(
    E, Y, K, S, SK, GY, GL, W, P, U, ADJ, GS, Q, LAG, T, B, M, TE, TY,
    step: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr, NS: tl.constexpr, G: tl.constexpr, X: tl.constexpr,
    N: tl.constexpr, H: tl.constexpr, NU: tl.constexpr, KO: tl.constexpr, OUT: tl.constexpr, HAS_GY: tl.constexpr,
    HAS_GL: tl.constexpr, NEAR: tl.constexpr,
):  # fmt: skip
    """Write the slots ADJ (M, TE, B, KO, d), the start's adjoint GS, sums Q (M, B, H + NU, d) of the terms.

    The other tensors are those of ``forward_kernel``, E and K kept by it, W not transposed; GY (M, TY, B, OUT, d)
    holds the adjoints of the first OUT states after each step, SK has the layout of S.
    """
    row, k = tl.program_id(0), tl.program_id(1).to(tl.int64)
    at, inside, w, p, u = parameters(W, P, U, k, SIZE, WIDTH, N, H, NU)
    last = tl.cast(T, tl.int64) - 1
    e = tl.cast((k * TE + last) * B + row, tl.int32)
    y, r = (k * TY + last) * B + row, (k * T + last) * B + row
    plane, splane, start = tl.cast(M, tl.int64) * T * B * SIZE, M * B * SIZE, (k * B + row) * SIZE
    g, q, lag = zeros(NS, WIDTH), zeros(H + NU, WIDTH), tl.load(LAG + k)
    if HAS_GL:
        g = load(GL + (k * B + row) * SIZE, splane, at, inside, NS)
    n = (tl.load(Y + y * SIZE + at, mask=inside, other=0.0),) + load(K + r * SIZE, plane, at, inside, NS - 1)
    s, a, x, gy = read(
        E, Y, K, S, SK, GY, e, y, r, start, B, plane, splane, at, inside, last > 0, SIZE, NS, G, X, OUT, HAS_GY
    )  # fmt: skip
    for i in range(T):
        back = tl.minimum(T - 1 - i, 1) * B
        y, r = y - back, r - back
        following = read(
            E, Y, K, S, SK, GY, e - back, y, r, start, B, plane, splane, at, inside, T - 1 - i > 1,
            SIZE, NS, G, X, OUT, HAS_GY,
        )  # fmt: skip
        if HAS_GY:
            g = plus_first(g, gy, OUT, NS)
        later = a
        if NEAR:  # as in the forward loop; slots of gates without a product are not loaded
            tl.debug_barrier()
            pointer = ADJ + tl.cast(e + tl.minimum(lag, i) * B, tl.int64) * (KO * SIZE)
            later = only(load(pointer, SIZE, at, inside, G), lag <= i, G)
        g, o, terms = step(g, s, n, a, x, w, p, u, inside, later, lag == 0)
        store(ADJ + tl.cast(e, tl.int64) * (KO * SIZE), SIZE, at, inside, o, 0, KO)
        q = plus(q, terms, H + NU)
        n = s
        s, a, x, gy = following
        e -= B
    store(GS + (k * B + row) * SIZE, splane, at, inside, g, 0, NS)
    store(Q + (k * B + row) * (H + NU) * SIZE, SIZE, at, inside, q, 0, H + NU)


@triton.jit
def plus(a, b, N: tl.constexpr):
    """Return the sums of N pairs."""
    out = ()
    for i in tl.static_range(N):
        out = out + (a[i] + b[i],)
    return out


@triton.jit
def plus_first(a, b, K: tl.constexpr, N: tl.constexpr):
    """Return the N vectors of a with those of b added to its first K."""
    out = plus(a, b, K)
    for i in tl.static_range(K, N):
        out = out + (a[i],)
    return out


@triton.jit
def only(a, true, N: tl.constexpr):
    """Return N vectors, zeros unless ``true``."""
    out = ()
    for i in tl.static_range(N):
        out = out + (tl.where(true, a[i], 0.0),)
    return out
