"""The Typer application, and the options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from longwave.platform.render.export import Format


class Listing(typer.core.TyperGroup):
    """Commands on things of one kind, of which ``show`` needs no name: ``longwave tasks enso``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take what begins with no command of its own as what ``show`` is asked."""
        own = args[:1] and (args[0] in self.commands or args[0] in ("--help", "-h"))
        return super().parse_args(ctx, args if own else ["show", *args])


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


tasks = typer.Typer(
    cls=Listing,
    help="List the tasks, or show one in full; data of your own are added.\n\nExample: longwave tasks fitzhugh_nagumo",
    rich_markup_mode=None,
)
app.add_typer(tasks, name="tasks")
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
