"""Commands that are imported when they are asked for, and the options that several of them take."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from longwave.platform.errors import ConfigError
from longwave.platform.render.export import Format


class LazyCommand(typer.core.TyperCommand):
    """A command whose module is imported once it is run, or its own help is asked for: its group's help is instant.

    Args:
        name: As it is typed.
        target: Where its function is, ``"rows:show_row"`` in this package.
        help: The function's first line.
    """

    def __init__(self, name: str, target: str, help: str) -> None:
        super().__init__(name, help=help)
        self.target = target

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command itself."""
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """Return the command itself."""
        file, _, function = self.target.partition(":")
        one = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        one.command(self.name)(getattr(import_module(f"longwave.platform.cli.{file}"), function))
        return typer.main.get_command(one)


class CommandGroup(typer.core.TyperGroup):
    """Commands on things of one kind.

    Args:
        name, help: Of the group.
        default: The command whose name may be left out: ``longwave tasks enso``.
    """

    def __init__(self, name: str, help: str, default: str = "") -> None:
        super().__init__(name=name, help=help, no_args_is_help=not default, rich_markup_mode=None)
        self.default = default

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take what begins with no command of its own as what the default one is asked."""
        own = not self.default or (args[:1] and (args[0] in self.commands or args[0] in ("--help", "-h")))
        return super().parse_args(ctx, args if own else [self.default, *args])


StoreOption = Annotated[
    str | None,
    typer.Option("--store", envvar="LONGWAVE_STORE", help="Results store, sqlite:///file.db or postgresql://..."),
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="BUNDLE",
        help="Also rank the rows of this imported bundle: its name, or 8 digits or more. May be repeated.",
    ),
]


PriceOption = Annotated[
    str, typer.Option(envvar="LONGWAVE_PRICE", help="Price of a device hour: 2.5, or by kind A100=2.5,cpu=0.04.")
]


def in_a_folder(option: typer.CallbackParam, file: Path | None) -> Path | None:
    """Return the file that an option names.

    Raises:
        ConfigError: It cannot be written.
    """
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise ConfigError(f"--{option.name} must be a file in an existing folder, got {file}.")
    return file


OutOption = Annotated[Path | None, typer.Option(callback=in_a_folder, help="File for all numbers and versions, JSON.")]
FormatOption = Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")]


class ListFormat(StrEnum):
    """How a list is printed."""

    table = "table"
    json = "json"


ListFormatOption = Annotated[ListFormat, typer.Option(help="table or json")]
