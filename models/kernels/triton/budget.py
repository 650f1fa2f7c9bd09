"""What a compiled kernel costs per step, read from its machine code; no GPU is needed.

Triton compiles for a target that is not present, and its wheel includes ptxas and cuobjdump.
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

from longwave.models.kernels.cells import Cell
from longwave.models.kernels.compiler.plan import Plan
from longwave.models.kernels.triton import oscillator, oscillator_kernels, row, row_kernels
from longwave.models.kernels.triton.printed import printed

HOPPER = 90
"""The capability of an H100 or H200; an A100 has 80, a B200 100."""
TENSOR = ("HMMA", "HGMMA", "IMMA", "WGMMA")
"""Instructions of the tensor cores, whose operands are rounded."""
BRANCH = re.compile(r"BRA(?:\.\w+)*\s+(?:\w+,\s*)?(?:`\(\S+\)|0x([0-9a-f]+))")


@dataclass(frozen=True)
class Cost:
    """Cost of a kernel; counts are instructions of one warp in one step of the time loop.

    Attributes:
        registers: Per thread.
        shared: Bytes of shared memory per program.
        spills: Loads and stores of registers that did not fit.
        instructions: All.
        multiply_adds: Fused multiply-adds.
        arithmetic: These, multiplications and additions.
        tensor: Products on tensor cores, which would be inexact.
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


def budget(
    cell: Cell,
    direction: str,
    hidden: int,
    near: bool = False,
    reversible: bool = False,
    capability: int = HOPPER,
    storage: str = "float32",
) -> Cost:
    """Return the cost of a cell's kernel of the row schedule, "forward" (kept for backward) or "backward".

    ``near`` has the delayed products in the loop; ``reversible`` is UnICORNN's other backward pass; ``storage`` may be
    "bfloat16", see ``halved``.

    Raises:
        ValueError: There is no such kernel.
    """
    if direction not in ("forward", "backward"):
        raise ValueError(f"direction must be forward or backward, got {direction!r}.")
    if cell.plan is None:
        fn, constants, warps, matrices = *_oscillator(reversible, direction, hidden), 0
    else:
        fn, constants, warps, matrices = _recurrence(cell.plan, direction, hidden, near)
    compiled = _compile(fn, constants, warps, GPUTarget("cuda", capability, 32), storage)
    registers, code = _disassembled(compiled.asm["cubin"])
    counts = _loop(code)
    turns = 1 if matrices else counts["STG"]  # ptxas unrolls UnICORNN's loop, which writes once per step
    return Cost(
        registers=registers,
        shared=compiled.metadata.shared,
        spills=counts["LDL"] + counts["STL"],
        instructions=counts.total() // turns,
        multiply_adds=counts["FFMA"] // turns,
        arithmetic=(counts["FFMA"] + counts["FMUL"] + counts["FADD"]) // turns,
        tensor=sum(counts[name] for name in TENSOR),
        ideal=matrices * row.width(hidden, matrices) ** 2 // (32 * warps),
    )


def _recurrence(plan: Plan, direction: str, hidden: int, near: bool) -> tuple[Any, dict[str, Any], int, int]:
    """Return kernel, constants, warps and products per step of a planned cell."""
    matrices = len(plan.matrices)
    if matrices and (hidden > max(row.WARPS) or row.registers(hidden, matrices) > row.MAX_REGISTERS):
        raise ValueError(f"The row schedule has no kernel of {matrices} matrices for d = {hidden}.")
    steps, width = printed(plan), row.width(hidden, matrices)
    constants = {"SIZE": hidden, "WIDTH": width, "NEAR": near, **steps.counts}
    program = plan.forward if direction == "forward" else plan.backward
    if direction == "forward":
        fn, step = row_kernels.forward_kernel, steps.forward[near]
        constants |= {"KEEP": True}
    else:
        fn, step = row_kernels.backward_kernel, steps.backward[near]
        constants |= {"KO": steps.slots, "OUT": plan.outputs, "HAS_GY": True, "HAS_GL": True}
    products = sum(len(n.factors) for block in program.blocks for n in block.sums) + near * len(plan.delays)
    return fn, {"step": step, **constants}, row.WARPS[width], products


def _oscillator(reversible: bool, direction: str, hidden: int) -> tuple[Any, dict[str, Any], int]:
    """Return kernel, constants and warps of UnICORNN."""
    constants: dict[str, Any] = {"SIZE": hidden, "BLOCK": oscillator.BLOCK, "AHEAD": oscillator.AHEAD}
    if direction == "forward":
        return oscillator_kernels.forward_kernel, constants, 1
    constants |= {"ANCHORED": not reversible, "HAS_GY": True, "HAS_GL": True}
    return oscillator_kernels.backward_kernel, constants, 1


def _compile(fn: Any, constants: dict[str, Any], warps: int, target: Any, storage: str) -> Any:
    """Return the compiled kernel: tensors aligned to 16 bytes, sizes of 32 bits."""
    sizes = {"T", "B", "M", "R", "TE", "TY"}
    kinds = {n: "constexpr" if n in constants else "i32" if n in sizes else "*fp32" for n in fn.arg_names}
    if storage == "bfloat16":
        kinds |= {n: "*bf16" for n in ("E", "K", "SK", "X") if kinds.get(n) == "*fp32"}
    if "LAG" in kinds:
        kinds["LAG"] = "*i32"
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(fn.arg_names) if kinds[n].startswith("*")}
    source = ASTSource(fn=fn, signature=kinds, constexprs=constants, attrs=aligned)
    return triton.compile(source, target=target, options={"num_warps": warps, **row.OPTIONS})


def _disassembled(cubin: bytes) -> tuple[int, str]:
    """Return the registers per thread and the machine code."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage, code = (
            subprocess.run([tool, option, file.name], capture_output=True, text=True, check=True).stdout
            for option in ("--dump-resource-usage", "--dump-sass")
        )
    match = re.search(r"REG:(\d+)", usage)
    assert match is not None
    return int(match[1]), code


def _loop(code: str) -> Counter[str]:
    """Return the instructions of the time loop: the longest section closed by a backward branch."""
    lines = [(int(at, 16), text) for at, text in re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?);", code)]
    longest: list[str] = []
    for at, text in lines:
        branch = BRANCH.search(text)
        if branch and branch[1] and (target := int(branch[1], 16)) < at:
            body = [text for where, text in lines if target <= where <= at]
            longest = max(longest, body, key=len)
    return Counter(re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")[0] for text in longest)
