"""Commands that look: models, tasks, board, dashboard."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from longwave.platform.cli import StoreOption, app


class ListFormat(StrEnum):
    """How a list is printed."""

    table = "table"
    json = "json"


class BoardFormat(StrEnum):
    """How a board is printed."""

    table = "table"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    json = "json"


@app.command()
def models(
    name: Annotated[str | None, typer.Argument(help="One model, in full.")] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """List the models with their family, paper and ranges, or show one: equation, parameters, published settings.

    Example: longwave models lem
    """
    from longwave.platform import render_models
    from longwave.platform.registry import all_models, get_model

    if name:
        render_models.page(get_model(name), format.value)
    else:
        render_models.listing(list(all_models().values()), format.value)


@app.command()
def tasks(
    name: Annotated[str | None, typer.Argument(help="One task, in full.")] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """List the tasks with their metric and chance level, or show one: data, protocols, recipes, trivial predictors.

    Example: longwave tasks fitzhugh_nagumo
    """
    from longwave.platform import render_tasks
    from longwave.platform.registry import all_tasks, get_task

    if name:
        render_tasks.page(get_task(name), format.value)
    else:
        render_tasks.listing(list(all_tasks().values()), format.value)


@app.command()
def board(
    task: Annotated[str | None, typer.Argument(help="One task; all tasks with results by default.")] = None,
    format: Annotated[BoardFormat, typer.Option(help="table, csv, markdown, latex or json")] = BoardFormat.table,
    store: StoreOption = None,
) -> None:
    """Print the leaderboard: mean ± std over retrainings, published numbers beside them.

    Example: longwave board fitzhugh_nagumo --format markdown
    """
    from longwave.platform import render_board
    from longwave.platform.board import board as rows_of
    from longwave.platform.errors import ConfigError
    from longwave.platform.paths import store_url
    from longwave.platform.store import Store

    with Store(store_url(store), create=False) as known:
        names = known.tasks()
        if task and task not in names:
            from longwave.platform.registry import get_task

            get_task(task)
            raise ConfigError(f"No retrainings of {task} are stored yet. Run a sweep with: longwave sweep run FILE")
        rows = [row for name in ([task] if task else names) for row in rows_of(known, name)]
    render_board.show(rows, format.value)


@app.command()
def dashboard(
    port: Annotated[int, typer.Option(help="Port on this machine.", min=1, max=65535)] = 8501,
    store: StoreOption = None,
) -> int:
    """Open the Lab: the leaderboard in a browser, with every seed's curve. It listens on this machine alone.

    Example: longwave dashboard --port 8600
    """
    import os
    import subprocess
    import sys
    import tomllib
    from pathlib import Path

    from longwave.platform.paths import store_url
    from longwave.platform.store import Store

    url = store_url(store)
    Store(url, create=False).close()
    folder = Path(__file__).resolve().parents[1] / "dashboard"
    options = _flags(tomllib.loads((folder / "streamlit.toml").read_text(encoding="utf-8")))
    options += ["--server.address=127.0.0.1", f"--server.port={port}"]
    command = [sys.executable, "-m", "streamlit", "run", str(folder / "app.py"), *options]
    typer.echo(f"The Lab is at http://127.0.0.1:{port}. Stop it with Ctrl-C.")
    return subprocess.run(command, env={**os.environ, "LONGWAVE_STORE": url}).returncode


def _flags(settings: dict[str, Any], head: str = "") -> list[str]:
    """Return Streamlit's settings as its flags; it reads no settings file but those in fixed places."""
    flags = []
    for name, value in settings.items():
        if isinstance(value, dict):
            flags += _flags(value, f"{head}{name}.")
        else:
            flags.append(f"--{head}{name}={str(value).lower() if isinstance(value, bool) else value}")
    return flags
