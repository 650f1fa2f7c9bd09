"""Options that sweep plan, run, resume and submit share: where and how packs are trained."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from longwave.platform.cli.app import StoreOption
from longwave.platform.errors import ConfigError
from longwave.platform.paths import mlflow_server, sweep_storage
from longwave.platform.sweeps.place.stalls import STALL_SECONDS
from longwave.platform.sweeps.place.workers import Workers, parse_labels
from longwave.platform.sweeps.trackers.tracker import TrackerName, check_tracker

FileArgument = Annotated[Path, typer.Argument(help="Sweep file, TOML.")]
NVIDIA = Path("/dev/nvidiactl")
"""Exists if NVIDIA's driver is loaded; querying the driver takes seconds."""

LARGEST_WORKERS, LARGEST_CPUS = 1_000_000, 4096


@dataclass(frozen=True, kw_only=True)
class PlaceOptions:
    """Where packs are trained. Each field is an option: ``workers`` is ``--workers``."""

    workers: Annotated[
        int | None,
        typer.Option(help="Packs at a time. Default: as many as fit on the GPUs, or one per core without a GPU."),
    ] = None
    ray: Annotated[str | None, typer.Option(help="Ray cluster to use, for example auto or 10.0.0.1:6379.")] = None
    gpus: Annotated[
        float | None,
        typer.Option(help="Share of a GPU per pack, at most 1. Default: as measured, else 1."),
    ] = None
    cpu: Annotated[bool, typer.Option("--cpu", help="Train on CPU cores even where there are GPUs.")] = False
    cpus: Annotated[
        float, typer.Option(help="Cores per pack, 0.1 or more; for a pack on a GPU, the most it may take.")
    ] = 1.0
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Label that nodes must have, gpu=H200; may be repeated."),
    ] = None
    store: StoreOption = None

    def workers_of(self, name: str) -> Workers:
        """Return how to run the packs of the sweep ``name``.

        Raises:
            ConfigError: Two options exclude each other, or one is not valid.
        """
        if self.workers is not None and not 1 <= self.workers <= LARGEST_WORKERS:
            raise ConfigError(f"--workers must be 1 to {LARGEST_WORKERS:,} packs at a time, got {self.workers}.")
        if not 0.1 <= self.cpus <= LARGEST_CPUS:
            raise ConfigError(f"--cpus must be 0.1 to {LARGEST_CPUS:,} CPUs a pack, got {self.cpus:g}.")
        if self.gpus is not None and self.cpu:
            raise ConfigError("--gpus and --cpu exclude each other. Leave one out.")
        if self.gpus is not None and not 0.0001 <= self.gpus <= 1:
            advice = "A pack trains on one GPU; to train on cores: --cpu"
            raise ConfigError(f"--gpus must be at least 0.0001 and at most 1, got {self.gpus:g}. {advice}.")
        if self.label and self.ray is None:
            raise ConfigError("--label chooses nodes of a cluster: give --ray ADDRESS, too, or leave it out.")
        if self.ray == "":
            raise ConfigError("--ray is the address of a cluster: auto, or HOST:6379. Leave it out for this machine.")
        if self.ray:
            from longwave.platform.sweeps.on_ray.client import check_address

            check_address(self.ray)
        storage, nodes = sweep_storage(None, name), parse_labels(self.label or ())
        return Workers(self.workers, storage, self.ray, self.gpus, self.cpu, self.cpus, nodes)

    def words(self) -> list[str]:
        """Return command-line arguments for these options, without defaults."""
        arguments = list[str]()
        for field in fields(self):
            value = getattr(self, field.name)
            option = f"--{field.name.replace('_', '-')}"
            if value is True:
                arguments.append(option)
            elif value != field.default:
                for item in value if isinstance(value, list) else [value]:
                    arguments += [option, str(item)]
        return arguments


@dataclass(frozen=True, kw_only=True)
class RunOptions(PlaceOptions):
    """How a sweep is run."""

    storage: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE", help="Folder of checkpoints; on a cluster one that all nodes share, or s3://... ."
        ),
    ] = None
    here: Annotated[
        bool, typer.Option("--here", help="Train in this process, one pack after another, without Ray.")
    ] = False
    mlflow: Annotated[
        str | None,
        typer.Option(help="MLflow to copy to; off for none. Default: MLFLOW_TRACKING_URI, else a local file."),
    ] = None
    tracker: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME|FILE", help="Another tracker: wandb, or a Python file of yours; may be repeated."),
    ] = None
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="PORT",
            help="Serve metrics to Prometheus: a port on this machine, or 0.0.0.0:PORT for all networks.",
        ),
    ] = None
    keep_weights: Annotated[
        bool, typer.Option("--keep-weights", help="Save the weights of retrainings, as the sweep file can also ask.")
    ] = False
    stall: Annotated[
        float,
        typer.Option(
            min=1,
            max=1e7,
            metavar="SECONDS",
            help="Report a pack as stalled after so long without a step; never before 20 times its longest one.",
        ),
    ] = STALL_SECONDS
    stall_kill: Annotated[
        bool, typer.Option("--stall-kill", help="Fail stalled packs with a stack trace, and continue.")
    ] = False

    def workers_of(self, name: str) -> Workers:
        """Return how to run the packs of the sweep ``name``.

        Raises:
            ConfigError: Two options exclude each other, or one is not valid.
        """
        if self.here and self.ray is not None:
            raise ConfigError("--here trains in this process and --ray on a cluster. Give one of them.")
        if self.storage and self.storage.startswith("memory:") and not self.here:
            raise ConfigError(
                "memory:// exists within one process only, so it needs --here. Workers need a folder or s3://... ."
            )
        chosen = self.here or self.ray is not None or self.workers is not None or self.gpus is not None
        single_first = not chosen and self.cpus == 1 and (self.cpu or not NVIDIA.exists())
        return replace(
            super().workers_of(name),
            storage=sweep_storage(self.storage, name),
            here=self.here,
            single_first=single_first,
            stall=self.stall,
            stall_kill=self.stall_kill,
        )

    def trackers(self) -> list[TrackerName]:
        """Return the sweep's trackers: MLflow, unless that is off, and the others.

        Raises:
            ConfigError: There is no such tracker, or MLflow's address is not valid.
        """
        server = mlflow_server(self.mlflow)
        others = [TrackerName(name) for name in self.tracker or ()]
        for other in others:
            check_tracker(other.name)
        return [*([TrackerName("mlflow", server)] if server else []), *others]


def takes_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that takes the fields of its argument ``options`` as command-line options."""
    signature = inspect.signature(command, eval_str=True)
    kind = signature.parameters["options"].annotation
    hints = get_type_hints(kind, include_extras=True)
    options_given = [
        inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name])
        for f in fields(kind)
    ]

    @wraps(command)
    def wrapped(**arguments: Any) -> Any:
        options = kind(**{f.name: arguments.pop(f.name) for f in fields(kind)})
        return command(**arguments, options=options)

    others = [p.replace(kind=p.KEYWORD_ONLY) for p in signature.parameters.values() if p.name != "options"]
    wrapped.__signature__ = signature.replace(parameters=[*others, *options_given])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in (*others, *options_given)}
    return wrapped
