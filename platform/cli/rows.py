"""Commands about rows of a board: show, reproduce, diff, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.cli.app import ListFormat, StoreOption, app
from longwave.platform.cli.names import a_task, task_key
from longwave.platform.render.export import Format
from longwave.platform.render.harmless import visible

if TYPE_CHECKING:
    from longwave.platform.sweeps.reproduce import Rerun, RerunPlan

EXITS = {"inside": 0, "outside": 1, "undecided": 3}
RowArgument = Annotated[str, typer.Argument(metavar="ROW", help="Row name, or its first hex digits, 4 or more.")]
TaskOption = Annotated[
    str | None, typer.Option(help="Look at rows of this task alone.", callback=task_key, autocompletion=a_task)
]


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ROW|TRIAL", help="A row's or a trial's first hex digits, 4 or more.")],
    format: Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")] = Format.table,
    store: StoreOption = None,
) -> None:
    """Print one row or one trial in full: settings, seeds, scores, where it was trained, what it took, commands.

    Example: longwave show 3f9c12ab
    """
    from longwave.platform.boards.detail import of_row, of_trial
    from longwave.platform.paths import store_url
    from longwave.platform.render import rows as render_rows
    from longwave.platform.storage.store import Store

    with Store(store_url(store), create=False) as known:
        found = known.trials_named(name)
        config = found[0].config
        if config.row.startswith(name.lower()) or not config.id.startswith(name.lower()):
            facts = of_row(found, known.sweeps_of_rows([config.row]), known.search_runs(config.row))
        else:
            facts = of_trial(found[0], known.sweeps_of_trial(config.id), known.attempts([config.id]).get(config.id, ()))
    render_rows.detail(found[0], facts, format)


@app.command()
def reproduce(
    row: RowArgument,
    seed: Annotated[int | None, typer.Option(min=0, max=2**31 - 1, help="Default: one new to the row.")] = None,
    task: TaskOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Store it as one more retraining of the row.")] = False,
    keep_weights: Annotated[
        bool, typer.Option("--keep-weights", help="Keep its weights; with --seed of a retraining, as that one's.")
    ] = False,
    patch: Annotated[
        bool, typer.Option("--patch", help="Run nothing; print the row's uncommitted changes, for git apply.")
    ] = False,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
    store: StoreOption = None,
) -> int:
    """Train a row once more with a fresh seed and check its number. It is not added to the row unless asked.

    Exits with 0 inside the 95 % prediction interval of the row's scores, with 1 outside it or diverged, with 2 where
    nothing could be run, and with 3 where nothing can be said: the row has one score, seeds of it diverged as the new
    one did, or the training failed.

    Example: longwave reproduce 3f9c12ab
    """
    from longwave.platform.boards.diff import environments, values
    from longwave.platform.paths import store_url
    from longwave.platform.render import rows as render_rows
    from longwave.platform.render.terminal import as_json, waiting
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps import reproduce

    with Store(store_url(store), create=False) as known:
        if patch:
            stored = known.patches(values(environments(known.rows(row, task)), "diff")).values()
            text = "".join(stored) or "No uncommitted changes of this row are stored.\n"
            typer.echo(visible(text) if sys.stdout.isatty() else text, nl=False, err=not stored)  # git reads a pipe
            return 0
        with waiting("Preparing data"):
            plan = reproduce.plan(known, row, seed, task)
        if keep:
            reproduce.check_new(plan)
        if format is ListFormat.table:
            render_rows.expected(plan)
        done = _rerun(plan, keep_weights)
        kept = keep and reproduce.keep(known, done)
    if format is ListFormat.json:
        as_json({**done.to_dict(), "kept": kept})
    else:
        render_rows.found(done, kept)
    return EXITS[done.outcome]


@app.command()
def diff(
    first: RowArgument,
    second: RowArgument,
    all: Annotated[bool, typer.Option("--all", help="What they have in common too.")] = False,
    format: Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")] = Format.table,
    store: StoreOption = None,
) -> None:
    """Print what two rows differ in, from settings to scores. Protocol, data, code and environment are in between.

    Example: longwave diff 3f9c12ab 77d0e4c1 --format markdown
    """
    from longwave.platform.boards.diff import compared
    from longwave.platform.paths import store_url
    from longwave.platform.render import rows as render_rows
    from longwave.platform.storage.store import Store

    with Store(store_url(store), create=False) as known:
        a, b = (known.rows(name) for name in (first, second))
        lines = compared(a, b, (known.sweeps_of_rows([a[0].config.row]), known.sweeps_of_rows([b[0].config.row])))
    render_rows.diff(a[0].config, b[0].config, [line for line in lines if all or line.differs], format)


@app.command()
def export(
    row: RowArgument,
    weights: Annotated[Path, typer.Option("--weights", help="Where to write the weights: FILE.safetensors")],
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of the retraining with this seed. Default: the best.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Where its sweep kept checkpoints, if that was said.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write the trained weights of a row's retraining as safetensors. Its best one on validation, of those kept.

    Weights are kept by `longwave sweep run FILE --keep-weights`, or keep_weights = true in the file. In Python,
    `longwave.load("ROW")` gives the network.

    Example: longwave export 3f9c12ab --weights lem.safetensors
    """
    from longwave.files import whole
    from longwave.platform.paths import store_url
    from longwave.platform.render.terminal import say
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.kept import kept

    with Store(store_url(store), create=False) as known:
        trial, found = kept(known, row, seed, storage)
    with whole(weights) as partial:
        partial.write_bytes(found.file)
    say(f"Weights of {trial.config.model} on {trial.config.task}, seed {trial.config.seed}, are in {weights}.")


def _rerun(plan: RerunPlan, weights: bool) -> Rerun:
    """Train with a progress bar, on a terminal."""
    from rich.progress import Progress

    from longwave.platform.render.terminal import Terminal
    from longwave.platform.sweeps.reproduce import rerun

    with Progress(console=Terminal(stderr=True), transient=True) as progress:
        bar = progress.add_task("Training", total=plan.config.epochs)
        return rerun(plan, lambda point: progress.update(bar, completed=point.epoch), weights)
