"""Commands that measure this machine: bench sweep, kernels, data and board."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longwave.files import atomic_file
from longwave.platform.bench.data import measure_footprints
from longwave.platform.bench.kernels import plan_benchmark, run_benchmark
from longwave.platform.bench.sweep import measure_throughput, sweep_benchmark
from longwave.platform.cli.app import ListFormat, ListFormatOption, OutOption
from longwave.platform.render import bench as render
from longwave.platform.render.terminal import show_waiting


class Device(StrEnum):
    """Device to measure on."""

    cpu = "cpu"
    cuda = "cuda"


def measure_sweeps(
    model: Annotated[str, typer.Option(help="Which model.")] = "lem",
    members: Annotated[int, typer.Option(min=2, max=10_000, help="Members of the pack.")] = 16,
    hidden: Annotated[int | None, typer.Option(min=1, help="Its hidden size. Default: the recipe's.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Epochs to time for each; the fastest counts.")] = 3,
    trials: Annotated[int, typer.Option(min=0, help="Trials of the complete sweeps; 0 skips these sweeps.")] = 16,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of these trials.")] = 2,
    format: ListFormatOption = ListFormat.table,
) -> None:
    """Measure what packing saves on FitzHugh-Nagumo, and the time a sweep spends outside training.

    First an epoch of a pack is compared with one of a single member, on one thread. Then trials per hour, on all
    cores: in packs, one at a time with fused and with reference loops, and by plain Ray Tune with a plain loop. Then
    the whole command for the same trials, less the seconds that these trained.

    Example: longwave bench sweep --members 8 --hidden 64 --trials 0
    """
    from longwave.platform.bench.outside import (
        measure_outside,
    )  # imports SQLAlchemy, which the other benchmarks do not need

    with show_waiting("Measuring"):
        measured = sweep_benchmark(model, members, repeats, hidden)
        ways, missing = measure_throughput(model, trials, epochs) if trials else ([], "")
        commands = measure_outside(model, trials, epochs, repeats) if trials else []
    render.print_sweep(measured, ways, missing, commands, format.value)


def measure_kernels(
    device: Annotated[Device | None, typer.Option(help="cpu or cuda. Default: cuda where there is one.")] = None,
    cell: Annotated[
        list[str] | None, typer.Option(metavar="CELL", help="Cell to time; may be repeated. Default: all.")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            metavar="T,B,p,d", help="Steps, sequences, features, hidden; may be repeated. Default: papers' sizes."
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Fewest repeats of each line; the fastest counts.")] = 3,
    seconds: Annotated[float, typer.Option(min=0, help="How long to go on repeating a line.")] = 1.0,
    peer: Annotated[Path | None, typer.Option(help="Checkout of the LEM authors' code, which is run.")] = None,
    compile: Annotated[bool, typer.Option(help="Measure torch.compile too.")] = True,
    out: OutOption = None,
    format: ListFormatOption = ListFormat.table,
) -> int:
    """Check the fused time loops, then time them. They are compared with float64, plain loops and torch's LSTM.

    Exits with 1 if a loop fails or is not exact.

    Example: longwave bench kernels --device cpu --cell lem --out kernels.json
    """
    plan = plan_benchmark(device, cell or (), size or (), repeats=repeats, seconds=seconds, peer=peer, compile=compile)
    with show_waiting("Measuring") as show_progress:
        report = run_benchmark(plan, show_progress)
    if out is not None:
        with atomic_file(out) as partial:
            partial.write_text(
                json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False), encoding="utf-8"
            )
    render.print_kernels(report, format.value)
    return 0 if report.sound else 1


def measure_data(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="Default: psmnist and ncifar.")] = None,
    format: ListFormatOption = ListFormat.table,
) -> None:
    """Measure the memory that loading and feeding a task takes. Missing MNIST or CIFAR-10 images are made up.

    Example: longwave bench data ncifar
    """
    with show_waiting("Measuring"):
        measured = measure_footprints(tasks or ["psmnist", "ncifar"])
    render.print_footprints(measured, format.value)


def measure_boards(
    runs: Annotated[int, typer.Option(min=10_000, help="Runs in the store, about.")] = 100_000,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each line; the fastest counts.")] = 5,
    format: ListFormatOption = ListFormat.table,
) -> None:
    """Measure how long boards take with many generated runs. They come from SQLite and, with pgserver, from PostgreSQL.

    Example: longwave bench board
    """
    from longwave.platform.bench.board import board_benchmark  # imports SQLAlchemy

    with show_waiting("Measuring"):
        measured = board_benchmark(runs, repeats)
    render.print_boards(measured, format.value)
