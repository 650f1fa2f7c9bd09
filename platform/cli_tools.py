"""Commands that help: doctor, bench sweep, mlflow sync."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli import StoreOption, app
from longwave.platform.cli_show import ListFormat

bench = typer.Typer(help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)
mlflow = typer.Typer(help="The MLflow mirror.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench, name="bench")
app.add_typer(mlflow, name="mlflow")


@app.command()
def doctor(store: StoreOption = None) -> int:
    """Check the installation: versions, devices, folders, store. Exits with 1 if something is broken.

    Example: longwave doctor
    """
    from longwave.platform import render
    from longwave.platform.doctor import examine

    findings = examine(store)
    render.findings(findings)
    return 0 if all(finding.good for finding in findings) else 1


@bench.command("sweep")
def bench_sweep(
    model: Annotated[str, typer.Option(help="Which model.")] = "lem",
    members: Annotated[int, typer.Option(min=2, help="Members of the pack.")] = 16,
    repeats: Annotated[int, typer.Option(min=1, help="Epochs measured of each; the fastest counts.")] = 3,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure what packing saves: one epoch of a pack against one epoch of a member alone, one thread, FitzHugh-Nagumo.

    Example: longwave bench sweep --members 16
    """
    from longwave.platform import render
    from longwave.platform.bench import sweep_benchmark

    with render.waiting("Measuring"):
        measured = sweep_benchmark(model, members, repeats)
    render.benchmark(measured, format.value)


@bench.command("data")
def bench_data(
    tasks: Annotated[list[str] | None, typer.Argument(help="Which tasks. Default: psmnist and ncifar.")] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure the memory that loading and feeding a task takes. MNIST and CIFAR-10 are made up where absent.

    Example: longwave bench data ncifar
    """
    from longwave.platform import render
    from longwave.platform.bench_data import footprint

    with render.waiting("Measuring"):
        measured = [footprint(name) for name in tasks or ["psmnist", "ncifar"]]
    render.footprints(measured, format.value)


@mlflow.command("sync")
def sync(
    server: Annotated[
        str | None, typer.Option(help="Tracking URI. Default: MLFLOW_TRACKING_URI, else a local file.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Send an MLflow server what it missed. Sending twice changes nothing.

    Example: longwave mlflow sync --server http://127.0.0.1:5000
    """
    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import mlflow_server, store_url
    from longwave.platform.render import waiting
    from longwave.platform.store import Store
    from longwave.platform.tracking import sync as send

    target = mlflow_server(server)
    if target is None:
        raise ConfigError("There is no MLflow server to send to: --server is off.")
    with Store(store_url(store), create=False) as known, waiting(f"Sending to {target}"):
        touched = send(known, target)
    typer.echo(f"{touched} trials sent to {target}.")
