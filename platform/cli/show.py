"""Commands that look: models, tasks, board, compare, budget, dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longwave.platform.cli.app import FormatOption, StoreOption, app
from longwave.platform.render.export import Format

if TYPE_CHECKING:
    from longwave.platform.storage.store import Store

FamilyOption = Annotated[str | None, typer.Option(metavar="NAME", help="List this family alone.")]


@app.command()
def models(
    name: Annotated[str | None, typer.Argument(help="One model, in full.")] = None,
    family: FamilyOption = None,
    format: FormatOption = Format.table,
) -> None:
    """List the models with their papers, or show one in full. Its page has equation and settings.

    Example: longwave models lem
    """
    from longwave.platform.registry import all_models, get_model, of_family
    from longwave.platform.render import models as render_models

    _one_or_family(name, family)
    if name:
        render_models.page(get_model(name), format)
    else:
        render_models.listing(of_family(all_models(), family) if family else list(all_models().values()), format)


@app.command()
def tasks(
    name: Annotated[str | None, typer.Argument(help="One task, in full.")] = None,
    family: FamilyOption = None,
    format: FormatOption = Format.table,
) -> None:
    """List the tasks with their metrics, or show one in full. Its page has data, protocols and recipes.

    Example: longwave tasks fitzhugh_nagumo
    """
    from longwave.platform.registry import all_tasks, get_task, of_family
    from longwave.platform.render import tasks as render_tasks

    _one_or_family(name, family)
    if name:
        render_tasks.page(get_task(name), format)
    else:
        render_tasks.listing(of_family(all_tasks(), family) if family else list(all_tasks().values()), format)


@app.command()
def board(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="One task: its board. Several, or none for all: an overview.")
    ] = None,
    models: Annotated[str, typer.Option(help="Rank these models alone: lem,lstm.")] = "",
    min_seeds: Annotated[int, typer.Option(min=0, help="Leave out rows with fewer retrainings.")] = 0,
    rows: Annotated[
        bool | None,
        typer.Option("--rows/--overview", help="Boards in full, or the overview. Default: rows for one task and JSON."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also write the overview as a critical-difference figure: .svg, .pdf or .png.")
    ] = None,
    format: FormatOption = Format.table,
    store: StoreOption = None,
) -> None:
    """Print the leaderboard of a task, or an overview of all. Published numbers and trivial predictors stand in it.

    Example: longwave board fitzhugh_nagumo --format markdown
    """
    from longwave.platform.boards import diagram
    from longwave.platform.boards.board import board as rows_of
    from longwave.platform.boards.overview import overview
    from longwave.platform.paths import store_url
    from longwave.platform.render import board as render_board
    from longwave.platform.storage.groups import Pool
    from longwave.platform.storage.store import Store

    pool = Pool(_names(models), min_seeds)
    one = tasks[0] if tasks and len(tasks) == 1 else None
    with Store(store_url(store), create=False) as known:
        _check_tasks(known, tasks or [])
        found = [row for row in rows_of(known, one, pool) if not tasks or row.task in tasks]
    if figure:
        diagram.save(diagram.diagram(overview(found)), figure, str(pool))
        typer.echo(f"Figure: {figure}", err=True)
    if rows or (rows is None and (one or format is Format.json)):
        render_board.boards(found, pool, format)
    else:
        render_board.overview(overview(found), pool, format)


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A model, or a row's name: its first hex digits, 4 or more.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.")],
    task: Annotated[str | None, typer.Option(help="On this task alone.")] = None,
    rope: Annotated[float, typer.Option(help="Gains up to this, in the metric's unit, make no difference.")] = 0.0,
    format: FormatOption = Format.table,
    store: StoreOption = None,
) -> None:
    """Compare two models, or two rows, task by task. A model stands there with its best row on validation.

    Example: longwave compare lem lstm
    """
    from longwave.platform.boards import compare as comparison
    from longwave.platform.boards.board import board as rows_of
    from longwave.platform.paths import store_url
    from longwave.platform.render import board as render_board
    from longwave.platform.storage.store import Store

    with Store(store_url(store), create=False) as known:
        _check_tasks(known, [task] if task else [])
        found = rows_of(known, task)
        first, second = (comparison.resolve(known, found, name, task) for name in (a, b))
    render_board.comparison(comparison.compare(found, first, second, rope), format)


@app.command()
def budget(
    tasks: Annotated[list[str] | None, typer.Argument(help="Which tasks. Default: all with results.")] = None,
    models: Annotated[str, typer.Option(help="These models alone: lem,lstm.")] = "",
    format: FormatOption = Format.table,
    store: StoreOption = None,
) -> None:
    """Print what searches with fewer trials would have found. So much of each result is budget.

    Example: longwave budget fitzhugh_nagumo
    """
    from longwave.platform.boards.board import board as rows_of
    from longwave.platform.boards.budget import budgets
    from longwave.platform.paths import store_url
    from longwave.platform.render import board as render_board
    from longwave.platform.storage.groups import Pool
    from longwave.platform.storage.store import Store

    with Store(store_url(store), create=False) as known:
        _check_tasks(known, tasks or [])
        rows = rows_of(known, pool=Pool(_names(models)))
        found = budgets(known, [row for row in rows if not tasks or row.task in tasks])
    render_board.budgets(found, format)


@app.command()
def dashboard(
    port: Annotated[int, typer.Option(help="Port on this machine.", min=1, max=65535)] = 8501,
    store: StoreOption = None,
) -> int:
    """Open the Lab: the leaderboard in a browser. It shows every seed's curve and listens on this machine alone.

    Example: longwave dashboard --port 8600
    """
    import os
    import subprocess
    import sys
    import tomllib

    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store

    url = store_url(store)
    Store(url, create=False).close()
    folder = Path(__file__).resolve().parents[2] / "dashboard"
    options = _flags(tomllib.loads((folder / "streamlit.toml").read_text(encoding="utf-8")))
    options += ["--server.address=127.0.0.1", f"--server.port={port}"]
    command = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py"), *options]
    typer.echo(f"The Lab is at http://127.0.0.1:{port}. Stop it with Ctrl-C.")
    return subprocess.run(command, env={**os.environ, "LONGWAVE_STORE": url}).returncode


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _one_or_family(name: str | None, family: str | None) -> None:
    """Raise ConfigError where one thing and a family are both asked for."""
    from longwave.platform.errors import ConfigError

    if name and family:
        raise ConfigError(f"--family lists a family, {name} is one of its own. Give one of them.")


def _check_tasks(store: Store, asked: Sequence[str]) -> None:
    """Raise ConfigError for a task that does not exist or has no retrainings."""
    from longwave.platform.errors import ConfigError

    for name in set(asked) - set(store.tasks()):
        from longwave.platform.registry import get_task

        get_task(name)
        raise ConfigError(f"No retrainings of {name} are stored yet. Run a sweep with: longwave sweep run FILE")


def _flags(settings: dict[str, Any], head: str = "") -> list[str]:
    """Return Streamlit's settings as its flags; it reads no settings file but those in fixed places."""
    flags = []
    for name, value in settings.items():
        if isinstance(value, dict):
            flags += _flags(value, f"{head}{name}.")
        else:
            flags.append(f"--{head}{name}={str(value).lower() if isinstance(value, bool) else value}")
    return flags
