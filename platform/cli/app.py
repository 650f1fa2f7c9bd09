"""The Typer application, and the options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.render.export import Format

app = typer.Typer(
    help="Compare long-memory sequence models: sweeps on Ray, honest boards, one command a row.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
PluginsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugins",
        metavar="FILE|FOLDER",
        help="Models and tasks of your own, named my-FILE or FOLDER-FILE; may be repeated, and stand anywhere.",
    ),
]


@app.callback()
def start(plugins: PluginsOption = None) -> None:
    """Bring in what the command line gives; see main.py, which puts it in front."""
    if plugins:
        from longwave.platform.plugins.known import bring

        for path in plugins:
            bring(path)


StoreOption = Annotated[
    str | None,
    typer.Option("--store", envvar="LONGWAVE_STORE", help="Results store, sqlite:///file.db or postgresql://..."),
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="BUNDLE", help="Rank the rows of an imported bundle, too; may be repeated."),
]
FormatOption = Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")]


class ListFormat(StrEnum):
    """How a list is printed."""

    table = "table"
    json = "json"
