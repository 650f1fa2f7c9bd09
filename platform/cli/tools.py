"""Commands that help: doctor, bench, mlflow sync."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat, OutOption, StoreOption, app

bench = typer.Typer(help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)
mlflow = typer.Typer(help="The MLflow mirror.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench, name="bench")
app.add_typer(mlflow, name="mlflow")


class Device(StrEnum):
    """Where to measure."""

    cpu = "cpu"
    cuda = "cuda"


@app.command()
def doctor(
    store: StoreOption = None,
    repair: Annotated[bool, typer.Option(help="Save what is right of a damaged SQLite store in a new one.")] = False,
    to: Annotated[Path | None, typer.Option(help="The new store's file. Default: one beside the old.")] = None,
) -> int:
    """Check the installation: versions, devices, folders, store. Exits with 1 if something is broken.

    With --repair, save a damaged store's right rows; the old file stays as it is. Exits with 1 if any were lost.

    Example: longwave doctor
    """
    from longwave.platform.doctor import examine
    from longwave.platform.render import terminal

    if repair or to is not None:
        return _repair(store, repair, to)
    findings = examine(store)
    terminal.findings(findings)
    return 0 if all(finding.good for finding in findings) else 1


def _repair(store: str | None, repair: bool, to: Path | None) -> int:
    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import store_url
    from longwave.platform.render import terminal
    from longwave.platform.storage.repair import repair_store

    head, _, file = store_url(store).partition(":///")
    if not repair or head != "sqlite":
        raise ConfigError("--to goes with --repair, and --repair with a store that is a SQLite file.")
    with terminal.waiting("Saving what is readable"):
        saved = repair_store(Path(file), to)
    terminal.rescued(saved)
    return 1 if any(table.lost != 0 for table in saved.tables) else 0


@bench.command("sweep")
def bench_sweep(
    model: Annotated[str, typer.Option(help="Which model.")] = "lem",
    members: Annotated[int, typer.Option(min=2, max=10_000, help="Members of the pack.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Epochs measured of each; the fastest counts.")] = 3,
    trials: Annotated[int, typer.Option(min=0, help="Trials of the whole sweeps; 0 leaves them out.")] = 16,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of these trials.")] = 2,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure what packing saves, on FitzHugh-Nagumo, and what a sweep spends outside of its training.

    First one epoch of a pack against one of a member alone, on one thread. Then trials per hour, on all cores: in
    packs, one at a time with fused and with reference loops, and by plain Ray Tune with a plain loop. Then the whole
    command for the same trials, less the seconds that these trained.

    Example: longwave bench sweep --members 16
    """
    from longwave.platform.bench.outside import outside
    from longwave.platform.bench.sweep import sweep_benchmark, throughput
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    with terminal.waiting("Measuring"):
        measured = sweep_benchmark(model, members, repeats)
        ways, missing = throughput(model, trials, epochs) if trials else ([], "")
        commands = outside(model, trials, epochs, repeats) if trials else []
    render_bench.sweep(measured, ways, missing, commands, format.value)


@bench.command("kernels")
def bench_kernels(
    device: Annotated[Device | None, typer.Option(help="cpu or cuda. Default: cuda where there is one.")] = None,
    cell: Annotated[list[str] | None, typer.Option(help="Which cell; may be repeated. Default: all.")] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(help="T,B,p,d: steps, sequences, features, hidden; may be repeated. Default: papers' sizes."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each line at least; the fastest counts.")] = 3,
    seconds: Annotated[float, typer.Option(min=0, help="For how long more turns of a line are taken.")] = 1.0,
    peer: Annotated[Path | None, typer.Option(help="Folder of a checkout of the LEM authors' code; it is run.")] = None,
    compile: Annotated[bool, typer.Option(help="Measure torch.compile too.")] = True,
    out: OutOption = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> int:
    """Check the fused time loops against float64, then time them. Plain loops and torch's LSTM stand beside.

    Exits with 1 if a loop fails or is not exact.

    Example: longwave bench kernels --device cpu --cell lem --out kernels.json
    """
    import json

    from longwave.files import whole
    from longwave.platform.bench.kernels import measure, planned
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    plan = planned(device, cell or (), size or (), repeats=repeats, seconds=seconds, peer=peer, compile=compile)
    with terminal.waiting("Measuring") as say:
        report = measure(plan, say)
    if out is not None:
        with whole(out) as partial:
            partial.write_text(
                json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False), encoding="utf-8"
            )
    render_bench.kernels(report, format.value)
    return 0 if report.sound else 1


@bench.command("data")
def bench_data(
    tasks: Annotated[list[str] | None, typer.Argument(help="Which tasks. Default: psmnist and ncifar.")] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure the memory that loading and feeding a task takes. MNIST and CIFAR-10 are made up where absent.

    Example: longwave bench data ncifar
    """
    from longwave.platform.bench.data import footprint
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    with terminal.waiting("Measuring"):
        measured = [footprint(name) for name in tasks or ["psmnist", "ncifar"]]
    render_bench.footprints(measured, format.value)


@bench.command("board")
def bench_board(
    runs: Annotated[int, typer.Option(min=10_000, help="Runs in the store, about.")] = 100_000,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each line; the fastest counts.")] = 5,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure how long boards take over many generated runs. They come from SQLite and, with pgserver, from PostgreSQL.

    Example: longwave bench board
    """
    from longwave.platform.bench.board import board_benchmark
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    with terminal.waiting("Measuring"):
        measured = board_benchmark(runs, repeats)
    render_bench.boards(measured, format.value)


@mlflow.command("sync")
def sync(
    server: Annotated[
        str | None, typer.Option(help="Tracking URI. Default: MLFLOW_TRACKING_URI, else a local file.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Send an MLflow server what it does not have, lost runs too. Sending twice changes nothing.

    Example: longwave mlflow sync --server http://127.0.0.1:5000
    """
    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import mlflow_server, store_url
    from longwave.platform.redaction import redacted
    from longwave.platform.render.terminal import waiting
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.mirror import sync as send

    target = mlflow_server(server)
    if target is None:
        raise ConfigError("There is no MLflow server to send to: --server is off.")
    with Store(store_url(store), create=False) as known, waiting(f"Sending to {redacted(target)}"):
        touched = send(known, target)
    typer.echo(f"{touched} trials sent to {redacted(target)}.")
