"""The kernels of the graph schedule: the equations of one part of one step, for any width."""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import triton
import triton.language as tl

from longwave.models.kernels.triton.row_kernels import load, numbers, plus, plus_first, store

SIZES = ("R", "es", "rs", "ms", "gs", "os")
"""R = B·d and the members' strides: no compilation of their own for special values."""


@triton.jit(do_not_specialize=SIZES)
def part_kernel(
    E, SOURCE, TARGET, PRODUCTS, P, U, R, es, rs, ms,
    part: tl.constexpr, SIZE: tl.constexpr, C: tl.constexpr, NM: tl.constexpr, BLOCK: tl.constexpr,
    NS: tl.constexpr, G: tl.constexpr, X: tl.constexpr, N: tl.constexpr, H: tl.constexpr, NU: tl.constexpr,
):  # fmt: skip
    """Take the states from SOURCE, write them and the extras to TARGET, (M, B, C, d) each; overwrite E (M, B, G, d).

    PRODUCTS (M, B, NM, d) holds this part's products.
    """
    k = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside, row, c = i < R, i // SIZE, i % SIZE
    at = row * C * SIZE + c
    s = load(SOURCE + k * rs, SIZE, at, inside, NS)
    x = load(TARGET + k * rs + NS * SIZE, SIZE, at, inside, X)
    a = load(E + k * es, SIZE, row * G * SIZE + c, inside, G)
    m = load(PRODUCTS + k * ms, SIZE, row * NM * SIZE + c, inside, NM)
    s, a, x = part(s, a, x, m, numbers(P + k * H, H), load(U + k * NU * SIZE, SIZE, c, inside, NU))
    store(TARGET + k * rs, SIZE, at, inside, s, 0, NS)
    store(TARGET + k * rs + NS * SIZE, SIZE, at, inside, x, 0, X)
    store(E + k * es, SIZE, row * G * SIZE + c, inside, a, 0, G)


@triton.jit(do_not_specialize=SIZES)
def back_kernel(
    E, BEFORE, EXTRAS, GY, A, ADJ, Q, P, U, R, es, rs, gs, os,
    part: tl.constexpr, SIZE: tl.constexpr, C: tl.constexpr, NA: tl.constexpr, FIRST: tl.constexpr, END: tl.constexpr,
    KO: tl.constexpr, HAS_GY: tl.constexpr, BLOCK: tl.constexpr,
    NS: tl.constexpr, G: tl.constexpr, X: tl.constexpr, N: tl.constexpr, H: tl.constexpr, NU: tl.constexpr,
):  # fmt: skip
    """Update the adjoints A (M, B, NA, d), write the slots FIRST to END of ADJ (M, B, KO, d), add to Q (M, B, H, d).

    BEFORE (M, B, C, d) holds the states before the step, EXTRAS likewise what else was kept of it.
    """
    k = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside, row, c = i < R, i // SIZE, i % SIZE
    at = row * C * SIZE + c
    s = load(BEFORE + k * rs, SIZE, at, inside, NS)
    x = load(EXTRAS + k * rs + NS * SIZE, SIZE, at, inside, X)
    a = load(E + k * es, SIZE, row * G * SIZE + c, inside, G)
    adjoint = A + k * R * NA
    g = load(adjoint, SIZE, row * NA * SIZE + c, inside, NA)
    if HAS_GY:
        g = plus_first(g, tl.load(GY + k * gs + i, mask=inside, other=0.0), NA)
    g, o, terms = part(g, s, a, x, numbers(P + k * H, H), load(U + k * NU * SIZE, SIZE, c, inside, NU))
    store(adjoint, SIZE, row * NA * SIZE + c, inside, g, 0, NA)
    store(ADJ + k * os + FIRST * SIZE, SIZE, row * KO * SIZE + c, inside, o, 0, END - FIRST)
    sums = Q + k * R * H
    q = plus(load(sums, SIZE, row * H * SIZE + c, inside, H), terms, H)
    store(sums, SIZE, row * H * SIZE + c, inside, q, 0, H)
