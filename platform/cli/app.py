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
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PluginsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugins",
        metavar="FILE|FOLDER",
        help="Models and tasks of your own, named my-FILE or FOLDER-FILE; may be repeated, and stand anywhere.",
    ),
]


def _version(asked: bool) -> None:
    """Print which Longwave this is, and end."""
    if asked:
        from importlib.metadata import version

        typer.echo(f"longwave {version('longwave')}")
        raise typer.Exit


@app.callback()
def start(
    plugins: PluginsOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Compare long-memory sequence models: sweeps on Ray, honest boards, one command a row.

    Tables fit the terminal; COLUMNS says another width. In a pipe, without COLUMNS, nothing is left out and each line
    of a table is one line. Names of models and tasks are taken in any case: LEM, psMNIST, Lorenz-96.
    """
    if plugins:  # main.py puts them in front
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


def in_a_folder(option: typer.CallbackParam, file: Path | None) -> Path | None:
    """Return the file that an option names.

    Raises:
        ConfigError: It cannot be written.
    """
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        from longwave.platform.errors import ConfigError

        raise ConfigError(f"--{option.name} is a file in a folder that is there, got {file}.")
    return file


OutOption = Annotated[Path | None, typer.Option(callback=in_a_folder, help="File for all numbers and versions, JSON.")]
FormatOption = Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")]


class ListFormat(StrEnum):
    """How a list is printed."""

    table = "table"
    json = "json"
