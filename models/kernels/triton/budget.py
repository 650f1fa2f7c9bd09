"""What a compiled kernel costs per step, read from its machine code; no GPU is needed.

Triton compiles for a target that is not there, and its wheel carries ptxas and cuobjdump.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton  # type: ignore[import-untyped]
from triton.backends.compiler import GPUTarget  # type: ignore[import-untyped]
from triton.compiler import ASTSource  # type: ignore[import-untyped]

from longwave.models.kernels.triton import oscillator, oscillator_kernels, row, row_kernels
from longwave.models.kernels.triton.anatomy import ANATOMIES, NEAR

TARGET = GPUTarget("cuda", 90, 32)
"""Hopper."""
TENSOR = ("HMMA", "HGMMA", "IMMA", "WGMMA")
"""Instructions of the tensor cores, whose operands are rounded."""
BRANCH = re.compile(r"BRA(?:\.\w+)*\s+(?:\w+,\s*)?(?:`\(\S+\)|0x([0-9a-f]+))")


@dataclass(frozen=True)
class Cost:
    """Cost of a kernel; counts are instructions of one warp in one step of the time loop.

    Attributes:
        registers: Of a thread.
        shared: Bytes of shared memory of a program.
        spills: Loads and stores of registers that did not fit.
        instructions: All.
        multiply_adds: Fused multiply-adds.
        arithmetic: These, multiplications and additions.
        tensor: Products on tensor cores, which would not be exact.
        ideal: Multiply-adds that the matrix products need.
    """

    registers: int
    shared: int
    spills: int
    instructions: int
    multiply_adds: int
    arithmetic: int
    tensor: int
    ideal: int


def budget(cell: str, direction: str, hidden: int) -> Cost:
    """Return the cost of a cell's kernel of the row schedule on Hopper, "forward" (kept for backward) or "backward".

    ``cell`` is a cell's name, or "tau_gru_near" for τ-GRU with short lags, or "unicornn_reversible".

    Raises:
        ValueError: There is no such kernel.
    """
    if direction not in ("forward", "backward"):
        raise ValueError(f"direction must be forward or backward, got {direction!r}.")
    if cell.startswith("unicornn"):
        fn, constants, warps, matrices = *_oscillator(cell, direction, hidden), 0
    else:
        fn, constants, warps, matrices = _recurrence(cell, direction, hidden)
    compiled = _compile(fn, constants, warps)
    registers, code = _disassembled(compiled.asm["cubin"])
    counts = _loop(code)
    turns = 1 if matrices else counts["STG"]  # ptxas unrolls UnICORNN's loop, which writes once a step
    return Cost(
        registers=registers,
        shared=compiled.metadata.shared,
        spills=counts["LDL"] + counts["STL"],
        instructions=counts.total() // turns,
        multiply_adds=counts["FFMA"] // turns,
        arithmetic=(counts["FFMA"] + counts["FMUL"] + counts["FADD"]) // turns,
        tensor=sum(counts[name] for name in TENSOR),
        ideal=matrices * row.width(hidden) ** 2 // (32 * warps),
    )


def _recurrence(cell: str, direction: str, hidden: int) -> tuple[Any, dict[str, Any], int, int]:
    """Return kernel, constants, warps and products a step of a cell with matrices."""
    near = cell == "tau_gru_near"
    name = "tau_gru" if near else cell
    if name not in ANATOMIES or hidden > max(row.WARPS):
        raise ValueError(f"The row schedule has no kernel {cell!r} for d = {hidden}.")
    anatomy, width = ANATOMIES[name], row.width(hidden)
    constants = {"SIZE": hidden, "WIDTH": width, "NEAR": near, **anatomy.counts}
    if direction == "forward":
        fn, step = row_kernels.forward_kernel, NEAR[0] if near else anatomy.forward
        constants |= {"KEEP": True}
    else:
        fn, step = row_kernels.backward_kernel, NEAR[1] if near else anatomy.backward
        constants |= {"KO": anatomy.slots, "HAS_GY": True, "HAS_GL": True}
    products = {"lipschitz_rk2": 4, "tau_gru": 3}.get(cell, len(anatomy.cell.matrices))
    return fn, {"step": step, **constants}, row.WARPS[width], products


def _oscillator(cell: str, direction: str, hidden: int) -> tuple[Any, dict[str, Any], int]:
    """Return kernel, constants and warps of UnICORNN."""
    constants: dict[str, Any] = {"SIZE": hidden, "BLOCK": oscillator.BLOCK, "AHEAD": oscillator.AHEAD}
    if direction == "forward":
        return oscillator_kernels.forward_kernel, constants, 1
    constants |= {"ANCHORED": cell != "unicornn_reversible", "HAS_GY": True, "HAS_GL": True}
    return oscillator_kernels.backward_kernel, constants, 1


def _compile(fn: Any, constants: dict[str, Any], warps: int) -> Any:
    """Return the compiled kernel: tensors aligned to 16 bytes, sizes of 32 bits."""
    sizes = {"T", "B", "M", "R", "TE", "TY"}
    kinds = {n: "constexpr" if n in constants else "i32" if n in sizes else "*fp32" for n in fn.arg_names}
    if "LAG" in kinds:
        kinds["LAG"] = "*i32"
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(fn.arg_names) if kinds[n].startswith("*")}
    source = ASTSource(fn=fn, signature=kinds, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=TARGET, options={"num_warps": warps, **row.OPTIONS})


def _disassembled(cubin: bytes) -> tuple[int, str]:
    """Return the registers of a thread and the machine code."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage, code = (
            subprocess.run([tool, option, file.name], capture_output=True, text=True, check=True).stdout
            for option in ("--dump-resource-usage", "--dump-sass")
        )
    found = re.search(r"REG:(\d+)", usage)
    assert found is not None
    return int(found[1]), code


def _loop(code: str) -> Counter[str]:
    """Return the instructions of the time loop: the longest stretch that a backward branch closes."""
    lines = [(int(at, 16), text) for at, text in re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?);", code)]
    longest: list[str] = []
    for at, text in lines:
        branch = BRANCH.search(text)
        if branch and branch[1] and (target := int(branch[1], 16)) < at:
            body = [text for where, text in lines if target <= where <= at]
            longest = max(longest, body, key=len)
    return Counter(re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")[0] for text in longest)
