"""Commands that train: sweep plan, run, resume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.cli.app import ListFormat, StoreOption, app
from longwave.platform.cli.names import a_sweep

if TYPE_CHECKING:
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.config import SweepFile
    from longwave.platform.sweeps.entry import Sweep
    from longwave.platform.sweeps.metrics import DriverMetrics
    from longwave.platform.sweeps.workers import Workers

sweep = typer.Typer(help="Plan, run, watch and steer sweeps.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(sweep, name="sweep")
NVIDIA = Path("/dev/nvidiactl")
"""Is there where NVIDIA's driver is loaded; to ask it takes seconds."""

WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, max=1_000_000, help="Packs at a time. Default: as many as the GPUs take, or where none is, the cores."
    ),
]
StorageOption = Annotated[
    str | None,
    typer.Option(metavar="PLACE", help="Folder of checkpoints; on a cluster one that all nodes share, or s3://... ."),
]
RayOption = Annotated[str | None, typer.Option("--ray", help="Ray cluster to use, for example auto or 10.0.0.1:6379.")]
GpusOption = Annotated[
    float | None, typer.Option(help="Share of a GPU a pack takes, at most 1. Default: as measured; else a whole one.")
]
CpuOption = Annotated[bool, typer.Option("--cpu", help="Train on cores, also where there are GPUs.")]
CpusOption = Annotated[float, typer.Option(min=0.1, max=4096, help="CPUs a pack, fractions allowed; on a GPU at most.")]
LabelOption = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="NAME=VALUE", help="Label that nodes must have, gpu=H200; may be repeated."),
]
HereOption = Annotated[bool, typer.Option("--here", help="In this process, one pack after another, without Ray.")]
MlflowOption = Annotated[
    str | None, typer.Option(help="MLflow to mirror to; off for none. Default: MLFLOW_TRACKING_URI, else a local file.")
]

KeepWeightsOption = Annotated[
    bool, typer.Option("--keep-weights", help="Keep the weights of retrainings; also said in the file.")
]
PriceOption = Annotated[
    str, typer.Option(envvar="LONGWAVE_PRICE", help="Price of a device hour: 2.5, or by kind A100=2.5,cpu=0.04.")
]
MetricsOption = Annotated[
    str | None,
    typer.Option(metavar="PORT", help="Show Prometheus what it does: a port here, or 0.0.0.0:PORT for all networks."),
]


@sweep.command("plan")
def plan(
    file: Annotated[Path, typer.Argument(help="Sweep file, TOML.")],
    cluster: Annotated[bool, typer.Option("--cluster", help="Print placement, hours and cost in their place.")] = False,
    probe: Annotated[bool, typer.Option("--probe", help="Try what nothing is known of; results are kept.")] = False,
    price: PriceOption = "",
    workers: WorkersOption = None,
    ray: RayOption = None,
    gpus: GpusOption = None,
    cpu: CpuOption = False,
    cpus: CpusOption = 1.0,
    label: LabelOption = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
    store: StoreOption = None,
) -> None:
    """Print the search trials of a sweep, or where its packs go and what that takes. Nothing is trained or planned.

    A store is read for its rows and probes alone; probes are kept there.

    Example: longwave sweep plan infra/sweeps/demo.toml --cluster --price 2.5
    """
    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import store_url
    from longwave.platform.render import sweeps, terminal
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.config import read_sweep
    from longwave.platform.sweeps.expecting import expected, here
    from longwave.platform.sweeps.forecast import prices
    from longwave.platform.sweeps.memory import checked_memory
    from longwave.platform.sweeps.plan import first
    from longwave.platform.sweeps.resolve import resolve
    from longwave.platform.sweeps.warm import with_rows

    if (probe or ray) and not cluster:
        raise ConfigError("--ray and --probe go with --cluster.")
    checked, each = read_sweep(file), prices(price)
    how = asked_workers(checked.name, workers, None, ray, gpus, cpu, cpus, label, False)
    with terminal.waiting("Preparing data") as say:
        resolved = checked_memory(resolve(checked), how)
        if cluster:
            fleet, found = expected(resolved, how, store, probe, say)
    if cluster:
        return sweeps.expected(resolved, fleet, found, each, format.value)
    if "rows" in checked.warm:
        with Store(store_url(store), create=False) as known:
            resolved = with_rows(resolved, known)
    terminal.plan(resolved, first(resolved), format.value, here(how))


@sweep.command("run")
def run(
    file: Annotated[Path, typer.Argument(help="Sweep file, TOML.")],
    workers: WorkersOption = None,
    storage: StorageOption = None,
    ray: RayOption = None,
    gpus: GpusOption = None,
    cpu: CpuOption = False,
    cpus: CpusOption = 1.0,
    label: LabelOption = None,
    here: HereOption = False,
    mlflow: MlflowOption = None,
    metrics: MetricsOption = None,
    keep_weights: KeepWeightsOption = False,
    store: StoreOption = None,
) -> None:
    """Run a sweep: search, retrain the winners, store everything. Run again, it does what is missing.

    Example: longwave sweep run infra/sweeps/demo.toml --workers 2
    """
    from longwave.platform.paths import mlflow_server, store_url
    from longwave.platform.sweeps.config import read_sweep
    from longwave.platform.sweeps.executor import running
    from longwave.platform.sweeps.metrics import DriverMetrics
    from longwave.platform.sweeps.mirroring import mirroring

    checked, server = keeping(read_sweep(file), keep_weights), mlflow_server(mlflow)
    how = asked_workers(checked.name, workers, storage, ray, gpus, cpu, cpus, label, here)
    numbers = DriverMetrics(checked.name)
    # What trains, and what mirrors, starts while torch is imported and data are prepared.
    with numbers.served(metrics), running(how), mirroring(server):
        from longwave.platform.render.terminal import waiting
        from longwave.platform.storage.store import Store
        from longwave.platform.sweeps.memory import checked_memory
        from longwave.platform.sweeps.resolve import resolve
        from longwave.platform.sweeps.sweep import plan

        with waiting("Preparing data"):
            resolved = checked_memory(resolve(checked), how)
        with Store(store_url(store)) as known:
            with waiting("Planning"):
                planned = plan(resolved, known)
            _train(planned, known, how, server, numbers)


@sweep.command("resume")
def resume(
    name: Annotated[str, typer.Argument(help="Name of a sweep in the store.", autocompletion=a_sweep)],
    workers: WorkersOption = None,
    storage: StorageOption = None,
    ray: RayOption = None,
    gpus: GpusOption = None,
    cpu: CpuOption = False,
    cpus: CpusOption = 1.0,
    label: LabelOption = None,
    here: HereOption = False,
    mlflow: MlflowOption = None,
    metrics: MetricsOption = None,
    keep_weights: KeepWeightsOption = False,
    store: StoreOption = None,
) -> None:
    """Go on with a sweep that was interrupted. What has ended is not trained again.

    Example: longwave sweep resume demo
    """
    from longwave.platform.paths import mlflow_server, store_url
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.metrics import DriverMetrics
    from longwave.platform.sweeps.sweep import stored_sweep

    how, server = asked_workers(name, workers, storage, ray, gpus, cpu, cpus, label, here), mlflow_server(mlflow)
    numbers = DriverMetrics(name)
    with Store(store_url(store), create=False) as known, numbers.served(metrics):
        found = stored_sweep(known, name)
        _train(replace(found, file=keeping(found.file, keep_weights)), known, how, server, numbers)


def keeping(file: SweepFile, weights: bool) -> SweepFile:
    """Return a sweep's settings, with its weights kept where that is asked on the command line."""
    return file.model_copy(update={"keep_weights": True}) if weights else file


def asked_workers(
    name: str,
    workers: int | None,
    storage: str | None,
    ray: str | None,
    gpus: float | None,
    cpu: bool,
    cpus: float,
    label: list[str] | None,
    here: bool,
) -> Workers:
    """Return how packs are to be run, as the options say.

    Raises:
        ConfigError: Two of them exclude each other, or one is none.
    """
    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import sweep_storage
    from longwave.platform.sweeps.address import check_address
    from longwave.platform.sweeps.workers import Workers, labels

    if gpus is not None and cpu:
        raise ConfigError("--gpus and --cpu exclude each other. Leave one out.")
    if gpus is not None and not 0.0001 <= gpus <= 1:
        told = "A pack trains on one GPU; to train on cores: --cpu"
        raise ConfigError(f"--gpus must be at least 0.0001 and at most 1, got {gpus:g}. {told}.")
    if label and ray is None:
        raise ConfigError("--label chooses nodes of a cluster: give --ray ADDRESS, too, or leave it out.")
    if ray == "":
        raise ConfigError("--ray is the address of a cluster: auto, or HOST:6379. Leave it out for this machine.")
    if here and ray is not None:
        raise ConfigError("--here trains in this process, --ray on a cluster. Leave one out.")
    if storage and storage.startswith("memory:") and not here:
        raise ConfigError("memory:// lies in one process: it goes with --here. Workers need a folder or s3://... .")
    if ray:
        check_address(ray)
    single_first = not here and workers is None and ray is None and gpus is None and cpus == 1
    single_first = single_first and (cpu or not NVIDIA.exists())  # for GPUs Ray is needed: it starts at once
    return Workers(workers, sweep_storage(storage, name), ray, gpus, cpu, cpus, labels(label or ()), here, single_first)


def _train(sweep: Sweep, store: Store, how: Workers, server: str | None, numbers: DriverMetrics) -> None:
    from longwave.platform.render.terminal import Terminal
    from longwave.platform.sweeps.driver import resume as go_on

    file = sweep.file
    console, board = Terminal(), f"longwave board {file.task or ''}".strip()
    view = go_on(sweep, store, how, server, console, numbers)
    console.print(f"{file.name}: {view.counts()}. See it with: {board}", highlight=False)
