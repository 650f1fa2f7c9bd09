"""Commands that write the first file of a model or task: new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.plugins.new import write_new
from longwave.platform.render import terminal

if TYPE_CHECKING:
    from longwave.platform.plugins.plugin import PluginKind


ToOption = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder to write to. Default: this one.")]

NewName = Annotated[str, typer.Argument(help="Its name: lowercase letters, digits and _.")]


def write_model(name: NewName, to: ToOption = Path()) -> None:
    """Write a model of your own: a commented file that trains and passes all checks.

    Example: longwave new model leaky --to models
    """
    _write_plugin("model", name, to)


def write_task(name: NewName, to: ToOption = Path()) -> None:
    """Write a task of your own: a commented file that trains and passes all checks.

    Example: longwave new task sign
    """
    _write_plugin("task", name, to)


def _write_plugin(kind: PluginKind, name: str, to: Path) -> None:
    path = write_new(kind, name, to)
    command = f"longwave {kind}s my-{name} --plugins {path}"
    terminal.print_line(
        f"Wrote the {kind} my-{name}, ready to train: {path}\n  Check it: longwave check {path}\n  Show it: {command}"
    )
