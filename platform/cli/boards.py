"""Commands for boards: board, compare and budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.boards import compare
from longwave.platform.boards.columns import named_columns
from longwave.platform.boards.diagram import diagram
from longwave.platform.boards.overview import overviews
from longwave.platform.cli.app import FormatOption, StoreOption, TrustOption
from longwave.platform.cli.names import TASKS, a_model, a_task, model_key, model_keys, split_list, task_key
from longwave.platform.cli.rows import open_store_of
from longwave.platform.errors import ConfigError, NoStoreError, did_you_mean
from longwave.platform.figures.critical_difference import save_diagram
from longwave.platform.names import find_by_title, find_family, list_names
from longwave.platform.paths import store_url
from longwave.platform.plugins.known import plugins_by_name
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render import board as render_board
from longwave.platform.render.budget import print_budgets
from longwave.platform.render.comparison import print_comparison
from longwave.platform.render.export import Format
from longwave.platform.render.overview import print_overviews
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.stored import search_curves

if TYPE_CHECKING:
    from longwave.platform.boards.row import Row

PoolFamilyOption = Annotated[
    str | None, typer.Option("--family", help="Only one family, of models (gated) or of tasks (dynamics).")
]
BoardsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TASK",
        help="One task: its board. Several, or none for all: an overview.",
        callback=task_key,
        autocompletion=a_task,
    ),
]


def show_boards(
    tasks: BoardsArgument = None,
    models: Annotated[str | None, typer.Option(help="Rank only these models: lem,lstm.")] = None,
    family: PoolFamilyOption = None,
    min_seeds: Annotated[int, typer.Option(min=0, help="Leave out rows with fewer retrainings.")] = 0,
    rows: Annotated[
        bool | None,
        typer.Option("--rows/--overview", help="Boards in full, or the overview. Default: rows for one task and JSON."),
    ] = None,
    saturated: Annotated[
        bool, typer.Option("--saturated", help="Overview: also show saturated tasks, which count in no score.")
    ] = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Overview: medians with intervals in place of ranks.")
    ] = False,
    notes: Annotated[
        bool, typer.Option("--notes", help="Board: how each row differs, and what its verdict rests on.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Board: also show superseded rows and all trivial predictors.")
    ] = False,
    columns: Annotated[
        str | None, typer.Option(help="Board: these columns, by their keys in JSON: title,median,parameters.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also write the overview as a critical-difference figure: .svg, .pdf or .png.")
    ] = None,
    trust: TrustOption = None,
    format: FormatOption = Format.table,
    store: StoreOption = None,
) -> None:
    """Print the leaderboard of a task, or an overview of all. It includes published numbers and trivial predictors.

    Example: longwave board fitzhugh_nagumo --format markdown
    """
    in_full = rows or (rows is None and (len(tasks or ()) == 1 or format is Format.json))
    if not in_full and (columns is not None or notes or every):
        raise ConfigError("--columns, --notes and --all are for boards in full. Name one task, or add: --rows")
    if in_full and (saturated or numbers):
        raise ConfigError("--saturated and --numbers are for the overview. Leave them out, or add: --overview")
    if notes and format is not Format.table:
        raise ConfigError(f"--notes is for --format table; {format} has none. Leave one of them out.")
    options = render_board.BoardOptions(notes, every, named_columns(split_list("--columns", columns)))
    only_models = model_keys(models)
    try:
        with Store(store_url(store), create=False) as open_store:
            families, tasks = _of_family(open_store, family, resolve_tasks(open_store, tasks or []))
            pool = Pool(only_models, min_seeds, families, trust or ())
            only_task = tasks[0] if len(tasks) == 1 else None
            shown = [row for row in read_board(open_store, only_task, pool) if not tasks or row.task in tasks]
    except NoStoreError:
        if any((store, only_models, family, min_seeds, trust)):
            raise
        pool = EVERYBODY
        shown = _shipped_rows(tasks or [])
    if figure:
        save_diagram(diagram(overviews(shown)[0]), figure, str(pool))
        typer.echo(f"Figure: {figure}", err=True)
    if in_full:
        render_board.print_boards(shown, pool, format, options)
    else:
        print_overviews(shown, pool, format, saturated, numbers)


def _shipped_rows(tasks: Sequence[str], every_edition: bool = False) -> list[Row]:
    """Return the rows of the newest edition that ships, or of some tasks in any edition, and print a note of it.

    Args:
        tasks: Registry keys or titles; empty for all.
        every_edition: Whether boards that only an earlier edition has are included without being named.

    Raises:
        ConfigError: None of them has a board for a task.
    """
    from longwave.platform.editions.shipped import newest_rows, read_shipped

    editions = read_shipped()
    newest, *earlier = editions
    only_newest = not tasks and not every_edition
    rows = newest_rows([editions[newest]] if only_newest else editions.values())
    tasks_with_rows = {row.task for row in rows}
    titles = {row.task_title: row.task for row in rows}
    tasks = [task if task in tasks_with_rows else find_by_title(task, titles) for task in tasks]
    if unknown := [task for task in tasks if task not in tasks_with_rows]:
        advice = "They ship with the package; a sweep adds others: longwave sweep run FILE"
        raise ConfigError(did_you_mean("board", unknown[0], tasks_with_rows, advice))
    shown, others = "what the editions that ship with the package have", ""
    if only_newest:
        shown = f"edition {newest}, which ships with the package"
        others = f" Boards of edition {' and '.join(map(str, earlier))} are shown by name: longwave board TASK."
    typer.echo(
        f"There is no store yet; below is {shown}.{others} Make a board of your own with: longwave demo", err=True
    )
    return [row for row in rows if not tasks or row.task in tasks]


def compare_models(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A model, or a row's name: its first hex digits, 4 or more.",
            callback=model_key,
            autocompletion=a_model,
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.", callback=model_key, autocompletion=a_model)],
    task: Annotated[
        str | None, typer.Option(help="Only on this task.", callback=task_key, autocompletion=a_task)
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Error ratios up to this, such as 1.05, count as equivalent. Default: none.")
    ] = None,
    trust: TrustOption = None,
    format: FormatOption = Format.table,
    store: StoreOption = None,
) -> None:
    """Compare two models, or two rows, task by task. A model is represented by its best row on validation.

    Example: longwave compare lem lstm
    """
    only = [] if task is None else [task]
    try:
        with open_store_of(a, b, store=store) as open_store:
            only = resolve_tasks(open_store, only)
            rows = read_board(open_store, None, Pool(trust=trust or ()))
    except NoStoreError:
        if store or trust:
            raise
        rows, only = _shipped_rows(only, every_edition=True), []
    first, second = (compare.resolve(rows, name) for name in (a, b))
    print_comparison(compare.compare(rows, first, second, margin, *only), format)


def show_budget(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK", help="Default: all with results.", callback=task_key, autocompletion=a_task),
    ] = None,
    models: Annotated[str | None, typer.Option(help="Only these models: lem,lstm.")] = None,
    family: PoolFamilyOption = None,
    trust: TrustOption = None,
    format: FormatOption = Format.table,
    store: StoreOption = None,
) -> None:
    """Print the best validation score of searches with fewer trials. It shows how much a result depends on the budget.

    Example: longwave budget fitzhugh_nagumo
    """
    only_models = model_keys(models)
    with Store(store_url(store), create=False) as open_store:
        families, tasks = _of_family(open_store, family, resolve_tasks(open_store, tasks or []))
        rows = read_board(open_store, pool=Pool(only_models, families=families, trust=trust or ()))
        curves = search_curves(open_store, [row for row in rows if not tasks or row.task in tasks])
    print_budgets(curves, format)


def _of_family(store: Store, family: str | None, tasks: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the model families to rank and the tasks to show; ``family`` is either of models or of tasks.

    Raises:
        ConfigError: The store has no model or task of that family, or a task is not of that family.
    """
    if family is None:
        return (), list(tasks)
    from longwave.platform.about import write_catalogue  # imports torch

    write_catalogue(store)
    families = {entry.family for entry in store.catalogue()}
    family = find_family(family, families)
    members = [entry for entry in store.catalogue() if entry.family == family]
    if not members:
        raise ConfigError(did_you_mean("family with results", family, families, "List all with: longwave models"))
    if members[0].kind == "model":
        return (family,), list(tasks)
    of_this_family = sorted({entry.name for entry in members} & set(store.tasks()))
    if outside := sorted(set(tasks) - set(of_this_family)):
        raise ConfigError(
            f"{outside[0]} is not in the task family {family}: {', '.join(of_this_family) or 'none has results'}."
        )
    return (), list(tasks) or of_this_family


def resolve_tasks(store: Store, requested: Sequence[str]) -> list[str]:
    """Return the keys of tasks with retrainings, each named by its key or by a title in print; see ``find_by_title``.

    Raises:
        ConfigError: A task does not exist or has no retrainings, or the store has none at all.
    """
    trained = store.tasks()
    if not requested and not trained:
        raise ConfigError("No retrainings are stored yet. Run a sweep with: longwave sweep run FILE")
    if not set(requested) - set(trained):
        return list(requested)
    titles = {entry.facts["title"]: entry.name for entry in store.catalogue() if entry.kind == "task"}
    names = {*list_names(TASKS), *plugins_by_name("task"), *trained}
    keys = [name if name in names else find_by_title(name, titles) for name in requested]
    for name in keys:
        if name not in names:
            raise ConfigError(did_you_mean("task", name, names, "List all with: longwave tasks", trained))
        if name not in trained:
            raise ConfigError(f"No retrainings of {name} are stored yet. Run a sweep with: longwave sweep run FILE")
    return keys
