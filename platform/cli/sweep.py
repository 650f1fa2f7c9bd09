"""Commands that train: sweep plan, run, resume."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.cli.app import ListFormat, StoreOption, app

if TYPE_CHECKING:
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.entry import Sweep
    from longwave.platform.sweeps.metrics import DriverMetrics
    from longwave.platform.sweeps.workers import Workers

sweep = typer.Typer(help="Plan, run, watch and steer sweeps.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(sweep, name="sweep")

WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Packs at a time; all cores of this machine by default.")
]
StorageOption = Annotated[
    Path | None, typer.Option(help="Folder of checkpoints; on a cluster one that all nodes share.")
]
RayOption = Annotated[str | None, typer.Option("--ray", help="Ray cluster to use, for example auto or 10.0.0.1:6379.")]
GpusOption = Annotated[float, typer.Option(min=0, help="GPUs a pack, fractions allowed.")]
HereOption = Annotated[bool, typer.Option("--here", help="In this process, one pack after another, without Ray.")]
MlflowOption = Annotated[
    str | None, typer.Option(help="MLflow to mirror to; off for none. Default: MLFLOW_TRACKING_URI, else a local file.")
]

MetricsOption = Annotated[
    str | None,
    typer.Option(metavar="PORT", help="Show Prometheus what it does: a port here, or 0.0.0.0:PORT for all networks."),
]


@sweep.command("plan")
def plan(
    file: Annotated[Path, typer.Argument(help="Sweep file, TOML.")],
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
    store: StoreOption = None,
) -> None:
    """Print the search trials of a sweep. Nothing is run and nothing is written. A store is read for its rows alone.

    Example: longwave sweep plan infra/sweeps/demo.toml
    """
    from longwave.platform.paths import store_url
    from longwave.platform.render import terminal
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.config import read_sweep
    from longwave.platform.sweeps.plan import searches
    from longwave.platform.sweeps.resolve import resolve
    from longwave.platform.sweeps.warm import with_rows

    checked = read_sweep(file)
    with terminal.waiting("Preparing data"):
        resolved = resolve(checked)
    if "rows" in checked.warm:
        with Store(store_url(store), create=False) as known:
            resolved = with_rows(resolved, known)
    terminal.plan(resolved, searches(resolved, {}), format.value)


@sweep.command("run")
def run(
    file: Annotated[Path, typer.Argument(help="Sweep file, TOML.")],
    workers: WorkersOption = None,
    storage: StorageOption = None,
    ray: RayOption = None,
    gpus: GpusOption = 0.0,
    here: HereOption = False,
    mlflow: MlflowOption = None,
    metrics: MetricsOption = None,
    store: StoreOption = None,
) -> None:
    """Run a sweep: search, retrain the winners, store everything. Run again, it does what is missing.

    Example: longwave sweep run infra/sweeps/demo.toml --workers 2
    """
    from longwave.platform.paths import store_url
    from longwave.platform.render.terminal import waiting
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.config import read_sweep
    from longwave.platform.sweeps.executor import running
    from longwave.platform.sweeps.metrics import DriverMetrics
    from longwave.platform.sweeps.resolve import resolve
    from longwave.platform.sweeps.sweep import plan

    checked = read_sweep(file)
    how = _workers(checked.name, workers, storage, ray, gpus, here)
    numbers = DriverMetrics(checked.name)
    with numbers.served(metrics), running(how):  # Ray starts while data are prepared
        with waiting("Preparing data"):
            resolved = resolve(checked)
        with Store(store_url(store)) as known:
            _train(plan(resolved, known), known, how, mlflow, numbers)


@sweep.command("resume")
def resume(
    name: Annotated[str, typer.Argument(help="Name of a sweep in the store.")],
    workers: WorkersOption = None,
    storage: StorageOption = None,
    ray: RayOption = None,
    gpus: GpusOption = 0.0,
    here: HereOption = False,
    mlflow: MlflowOption = None,
    metrics: MetricsOption = None,
    store: StoreOption = None,
) -> None:
    """Go on with a sweep that was interrupted. What has ended is not trained again.

    Example: longwave sweep resume demo
    """
    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.metrics import DriverMetrics
    from longwave.platform.sweeps.sweep import stored_sweep

    numbers = DriverMetrics(name)
    with Store(store_url(store), create=False) as known, numbers.served(metrics):
        _train(stored_sweep(known, name), known, _workers(name, workers, storage, ray, gpus, here), mlflow, numbers)


def _workers(name: str, workers: int | None, storage: Path | None, ray: str | None, gpus: float, here: bool) -> Workers:
    import os

    from longwave.platform.paths import sweep_storage
    from longwave.platform.sweeps.workers import Workers

    return Workers(workers or os.cpu_count() or 1, sweep_storage(storage, name), ray, gpus, here)


def _train(sweep: Sweep, store: Store, how: Workers, mlflow: str | None, numbers: DriverMetrics) -> None:
    from longwave.platform.paths import mlflow_server
    from longwave.platform.render.terminal import Terminal
    from longwave.platform.sweeps.driver import resume as go_on

    file = sweep.file
    console, board = Terminal(), f"longwave board {file.task or ''}".strip()
    view = go_on(sweep, store, how, mlflow_server(mlflow), console, numbers)
    console.print(f"{file.name}: {view.counts()}. See it with: {board}", highlight=False)
