"""Commands for the networks of a row: reproduce and export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from longwave.files import atomic_file
from longwave.platform.boards.diff import environments, values
from longwave.platform.cli.app import ListFormat, ListFormatOption, StoreOption
from longwave.platform.cli.names import a_task, task_key
from longwave.platform.cli.rows import RowArgument, open_store_of
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.render import rows
from longwave.platform.render.harmless import escape_invisible
from longwave.platform.render.terminal import Terminal, print_json, print_line, show_waiting
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import reproduce
from longwave.platform.sweeps.reproduce import train_again
from longwave.platform.sweeps.saved_weights import find_weights
from longwave.platform.training.environment import keep_to

if TYPE_CHECKING:
    from longwave.platform.sweeps.reproduce import Rerun, RerunPlan


EXITS = {"inside": 0, "outside": 1, "undecided": 3}

TaskOption = Annotated[
    str | None, typer.Option(help="Only rows of this task.", callback=task_key, autocompletion=a_task)
]


def reproduce_row(
    row: RowArgument,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**31 - 1, help="Default: the first that the row does not have.")
    ] = None,
    task: TaskOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Store the result as one more retraining of the row.")] = False,
    keep_weights: Annotated[
        bool,
        typer.Option(
            "--keep-weights", help="Save its weights; with --keep, or as those of the retraining with --seed."
        ),
    ] = False,
    patch: Annotated[
        bool,
        typer.Option(
            "--patch", help="Train nothing; print the uncommitted changes that the row was trained with, for git apply."
        ),
    ] = False,
    format: ListFormatOption = ListFormat.table,
    store: StoreOption = None,
) -> int:
    """Train a row once more with a fresh seed and check its number. It is not added to the row unless asked.

    Exits with 0 if the score is inside the 95 % prediction interval of the row's scores, 1 if outside or diverged, 2 if
    nothing could be run, and 3 if the result is undecided: the row has one score, some of its seeds diverged too, its
    scores vary so much that none would be outside, or the training failed.

    Example: longwave reproduce 3f9c12ab
    """
    if patch and (keep or keep_weights or seed is not None):
        raise ConfigError("--patch trains nothing: leave out --seed, --keep and --keep-weights.")
    if patch and format is not ListFormat.table:
        raise ConfigError(f"--patch prints a patch: leave out --format {format}.")
    with open_store_of(row, store=store) as open_store:
        if patch:
            stored = open_store.patches(values(environments(open_store.rows(row, task)), "diff")).values()
            text = "".join(stored) or "No uncommitted changes of this row are stored.\n"
            typer.echo(
                escape_invisible(text) if sys.stdout.isatty() else text, nl=False, err=not stored
            )  # git needs the patch unchanged
            return 0
        with show_waiting("Preparing data"):
            plan = reproduce.plan_rerun(open_store, row, seed, task)
        if keep:
            reproduce.check_seed_is_new(plan)
        elif keep_weights:
            reproduce.check_seed_is_stored(plan)
        if format is ListFormat.table:
            rows.print_expected(plan)
        rerun = _rerun_with_bar(plan, keep_weights)
        added = keep and reproduce.store_rerun(open_store, rerun)
    if format is ListFormat.json:
        print_json({**rerun.to_dict(), "kept": added})
    else:
        rows.print_rerun(rerun, added)
    return EXITS[rerun.outcome]


def export_weights(
    row: RowArgument,
    weights: Annotated[Path, typer.Option("--weights", help="Where to write the weights: FILE.safetensors")],
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of the retraining with this seed. Default: the best.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Folder of its sweep's checkpoints, if --storage was given.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write the trained weights of a row's retraining as safetensors. By default, it is the best on validation of those
    whose weights were saved.

    Weights are saved by `longwave sweep run FILE --keep-weights`, or keep_weights = true in the file. In Python,
    `longwave.load("ROW")` gives the network.

    Example: longwave export 3f9c12ab --weights lem.safetensors
    """
    if weights.suffix != ".safetensors":
        raise ConfigError(f"--weights is a file NAME.safetensors, got {weights}. Rename it.")
    with Store(store_url(store), create=False) as open_store:
        trial, saved = find_weights(open_store, row, seed, storage)
    try:
        with atomic_file(weights) as partial:
            partial.write_bytes(saved.file)
    except OSError as error:
        raise ConfigError(f"{weights} cannot be written: {error.strerror}. Name another file.") from None
    print_line(f"Weights of {trial.config.model} on {trial.config.task}, seed {trial.config.seed}, are in {weights}.")


def _rerun_with_bar(plan: RerunPlan, weights: bool) -> Rerun:
    """Train with a progress bar, if this is a terminal, and on one thread, the default of sweeps.

    On busy cores several threads that wait for each other took twenty times as long.
    """
    keep_to(1)
    with Progress(console=Terminal(stderr=True), transient=True) as progress:
        bar = progress.add_task("Training", total=plan.config.epochs)
        return train_again(plan, lambda point: progress.update(bar, completed=point.epoch), weights)
