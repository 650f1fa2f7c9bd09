"""Commands that are imported on first use, and options that several of them share."""

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
    """A command whose module is imported when it runs or shows its help, so that the group's help is instant.

    Args:
        name: Name of the command.
        target: Its module and function in this package: ``"rows:show_row"``.
        help: The function's first line.
    """

    def __init__(self, name: str, target: str, help: str) -> None:
        super().__init__(name, help=help)
        self.target = target

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the imported command."""
        return self.load().make_context(info_name, args, parent, **extra)

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the whole sentence, which the group's help wraps, where click would cut it to ``limit`` characters."""
        return self.help or ""

    def load(self) -> Any:
        """Import the command and return it."""
        file, _, function = self.target.partition(":")
        wrapper = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        wrapper.command(self.name)(getattr(import_module(f"longwave.platform.cli.{file}"), function))
        return typer.main.get_command(wrapper)


class CommandGroup(typer.core.TyperGroup):
    """A group of commands.

    Args:
        name, help: Name and help of the group.
        default: The command whose name may be left out: ``longwave tasks enso``.
    """

    def __init__(self, name: str, help: str, default: str = "") -> None:
        super().__init__(name=name, help=help, no_args_is_help=not default, rich_markup_mode=None)
        self.default = default

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Pass arguments that do not begin with a command to the default command."""
        has_command = not self.default or (args[:1] and (args[0] in self.commands or args[0] in ("--help", "-h")))
        return super().parse_args(ctx, args if has_command else [self.default, *args])


StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="LONGWAVE_STORE",
        help="Results store, sqlite:///file.db or postgresql://... Default: the file that `longwave doctor` names.",
    ),
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
