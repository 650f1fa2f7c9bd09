"""The kernel of the graph schedule: one block of one step, for any width."""

# mypy: ignore-errors
# Triton's language looks like Python but its tuples and constants have no types there.
import triton
import triton.language as tl

from longwave.models.kernels.triton.row_kernels import load, numbers

SIZES = ("R", "ss", "ks", "os", "gs", "ms")
"""R = B·d and the members' strides: no separate compilation for special values."""


@triton.jit(do_not_specialize=SIZES)
def block_kernel(
    BEFORE, AFTER, KEPT, ADJOINT, SLOT, SUMS, GY, PRODUCTS, P, U, R, ss, ks, os, gs, ms,
    block: tl.constexpr, SIZE: tl.constexpr, BLOCK: tl.constexpr, NM: tl.constexpr, KO: tl.constexpr,
    NS: tl.constexpr, G: tl.constexpr, X: tl.constexpr, N: tl.constexpr, H: tl.constexpr, NU: tl.constexpr,
):  # fmt: skip
    """Run a block on rows of one step.

    BEFORE and AFTER (M, B, NS, d) hold the states, KEPT (M, B, G + X, d) drives and kept rows; in the backward pass
    ADJOINT (M, B, NS, d), SLOT (M, B, KO, d), SUMS (M, B, H + NU, d), to which terms are added, and GY (M, B, d), the
    adjoint of the step's output. PRODUCTS (M, B, NM, d) are the block's own.
    """
    k = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, c = i // SIZE, i % SIZE
    states = k * ss + row * NS * SIZE + c
    block(
        BEFORE + states, AFTER + states, KEPT + k * ks + row * (G + X) * SIZE + c,
        ADJOINT + k * R * NS + row * NS * SIZE + c, SLOT + k * os + row * KO * SIZE + c,
        SUMS + k * R * (H + NU) + row * (H + NU) * SIZE + c, GY + k * gs + i, PRODUCTS + k * ms + row * NM * SIZE + c,
        numbers(P + k * H, H), load(U + k * NU * SIZE, SIZE, c, i < R, NU), i < R, SIZE,
    )  # fmt: skip
