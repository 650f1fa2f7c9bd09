"""Output of ``longwave bench``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from longwave.platform.render.terminal import print_json, print_line, print_table

if TYPE_CHECKING:
    from longwave.platform.bench.board import BoardTime
    from longwave.platform.bench.data import Footprint
    from longwave.platform.bench.outside import Outside
    from longwave.platform.bench.report import KernelReport, Target
    from longwave.platform.bench.sweep import Measurement, Throughput

RATIOS = {
    "floor": "over floor",
    "gemm": "over GEMM",
    "eager": "× eager",
    "compiled": "× compile",
    "lstm": "× LSTM",
    "peer": "× peer",
}
"""Headings of ratios: our time over a lower bound, or the speed-up over another loop."""
RAY_CLOCK = (
    "seconds: once all processes are warm; of plain Ray Tune, once its first one is, and others may still start."
)
"""How the seconds of a sweep were taken."""


def print_kernels(report: KernelReport, format: str) -> None:
    """Print the results of the kernel benchmark: a table of errors and times, packs, targets and notes."""
    from longwave.platform.bench.report import judge_targets

    if format == "json":
        print_json(report.to_dict())
        return
    columns = ["cell", "size", "path", "error", "forward", "backward", "GEMM", "floor", "GFlop/s", *RATIOS.values()]
    rows = []
    for line in report.lines:
        us = [f"{t:.2f}" if t else "" for t in (line.forward, line.backward, line.gemm, line.floor)]
        ratios = [_shorten(line.ratios[name]) if name in line.ratios else "" for name in RATIOS]
        error = Text(f"{line.error:.0e}", "" if line.exact else "red")
        speed = "{reached:.0f} of {peak:.0f}, {share:.0%}".format(**line.roofline) if line.roofline else ""
        rows.append([line.cell, line.size, line.path, error, *us, speed, *ratios])
    versions = ", ".join(f"{name} {report.versions[name]}" for name in ("torch", "triton", "numpy"))
    drop = (7, 8, 6, 14, 13, 9, 12, 10, 11)
    print_table(columns, rows, title=f"µs a step; {report.versions['device']}; {versions}", prose=[2], drop=drop)
    print_line(
        "  error: worst relative error of values and gradients against float64. GEMM: the products alone, forward and "
        "backward, by torch.\n  GFlop/s: what our products reach, of independent multiply-adds in the same vectors; "
        "ATEN_CPU_CAPABILITY=avx2 or =default measures narrower ones.\n"
        "  × eager, × compile, × LSTM, × peer: how many times faster than the plain loop, the "
        "same with a compiled step, torch's LSTM, the other checkout.\n  Lines run on one thread; eager, compile and "
        f"peer over {max((line.capped for line in report.lines), default=0)} steps at most, scaled to the whole."
    )
    _print_vanishing(report)
    if report.packs:
        packs = [
            (p.members, p.size, p.threads, f"{p.one:.2f}", f"{p.pack:.2f}", f"{p.ratio:.2f}") for p in report.packs
        ]
        print_table(["members", "size", "threads", "ms one", "ms pack", "ratio"], packs, title="LEM in one call")
    print_targets(judge_targets(report))
    if report.budgets:
        print_table(
            list(report.budgets[0]), [list(b.values()) for b in report.budgets], title="GPU kernels as compiled"
        )
    for note in (*report.notes, *(f"failed: {what}" for what in report.failed)):
        print_line(f"  {note}")


def _print_vanishing(report: KernelReport) -> None:
    """Print the times of loops whose loss reads only the last step."""
    if not report.vanishing:
        return
    from longwave.platform.bench.vanishing import gain_text

    columns = ["cell", "size", "forward", "backward", "from all", "last / all", "kept / flushed", "× eager"]
    rows = []
    for line in report.vanishing:
        us = [f"{t:.2f}" for t in (line.forward, line.backward, line.whole)]
        eager = _shorten(line.ratios["eager"]) if "eager" in line.ratios else ""
        rows.append([line.cell, line.size, *us, *(f"{line.ratios[name]:.2f}" for name in ("last", "kept")), eager])
    print_table(columns, rows, title="Loss on the last step alone, µs a step", drop=(2, 4, 3))
    print_line(
        "  from all: backward pass of a loss on all steps; last / all: backward over from all.\n"
        "  kept / flushed: backward pass with subnormal numbers kept, over that with them flushed.\n"
        f"  {gain_text(report.vanishing)}"
    )


def _shorten(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def print_targets(targets: Sequence[Target]) -> None:
    """Print each target with its measured ratio, and whether it is met."""
    words = {True: Text("met", "green"), False: Text("not met", "red")}
    rows = [(t.what, f"{t.ratio:.3g}", f"{'≤' if t.at_most else '≥'} {t.bound:g}", words[t.met]) for t in targets]
    if rows:
        print_table(["target", "found", "asked for", ""], rows, prose=[0])


def print_sweep(
    lines: Sequence[Measurement], ways: Sequence[Throughput], missing: str, commands: Sequence[Outside], format: str
) -> None:
    """Print the sweep benchmark: epochs, trials per hour, and the overhead of commands."""
    if format == "json":
        measured = {
            "epoch": [asdict(line) for line in lines],
            "trials": [asdict(way) for way in ways],
            "commands": [asdict(command) for command in commands],
        }
        print_json({**measured, "missing": missing})
        return
    rows = [(m.name, m.shape, m.path, f"{m.ms:.1f}", f"{m.ratio:.2f}", f"{m.per_member:.1f}") for m in lines]
    print_table(
        ["what", "shape", "kernel path", "ms", "ratio to the first", "ms a member"], rows, prose=[0, 1, 2], drop=[2]
    )
    if ways:
        hourly = [(w.way, w.processes, f"{w.seconds:.2f}", f"{w.per_hour:.0f}", _shorten(w.ratio)) for w in ways]
        title = f"{ways[0].trials} trials of {ways[0].epochs} epochs"
        print_table(
            ["way", "processes", "seconds", "trials per hour", "ratio to the first"], hourly, title=title, prose=[0]
        )
        print_line(f"  {missing or RAY_CLOCK}")
    if commands:
        command_lines = [
            (c.way, f"{c.seconds:.2f}", f"{c.training:.2f}", f"{c.outside:.2f}", f"{c.processor:.2f}") for c in commands
        ]
        title = f"The command, of {commands[0].trials} trials of {commands[0].epochs} epochs"
        print_table(
            ["command", "seconds", "training", "outside of it", "processor seconds"],
            command_lines,
            title=title,
            prose=[0],
        )


def print_footprints(lines: Sequence[Footprint], format: str) -> None:
    """Print the memory that tasks need, without that of the interpreter and its modules."""
    if format == "json":
        print_json([asdict(line) for line in lines])
        return
    rows = [
        (f.name, f.shape, f.path, f"{f.ms:.1f}", f"{f.loaded - f.before:.0f}", f"{f.peak - f.before:.0f}")
        for f in lines
    ]
    print_table(["task", "batch M×B×T×p", "data", "ms a batch", "MiB loaded", "MiB peak"], rows, prose=[0, 2], drop=[2])


def print_boards(lines: Sequence[BoardTime], format: str) -> None:
    """Print the times of boards."""
    if format == "json":
        print_json([asdict(line) for line in lines])
        return
    rows = [(b.name, b.shape, b.path, f"{b.ms:.0f}", f"{b.first:.0f}", f"{b.ratio:.2f}") for b in lines]
    print_table(
        ["what", "store", "database", "ms", "ms the first time", "of the time allowed"], rows, prose=[0, 1, 2], drop=[2]
    )
