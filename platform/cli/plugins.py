"""Commands for what is brought from outside: check, new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.cli.app import app

if TYPE_CHECKING:
    from longwave.platform.plugins.plugin import PluginKind


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="A model or task of your own, or a data card.")],
) -> int:
    """Check a model or task of your own, rule by rule, and say what is wrong. Exit code 1 where a rule is broken.

    Example: longwave check my_model.py
    """
    from longwave.platform.contracts.check import checked
    from longwave.platform.render.plugins import shown

    broken = 0
    for subject, found in checked(file):
        broken += shown(subject, found)
    return 1 if broken else 0


new = typer.Typer(help="Write the first file of a model or task of your own.", no_args_is_help=True)
app.add_typer(new, name="new")
NewName = Annotated[str, typer.Argument(help="Its name: small letters, digits and _.")]
ToOption = Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Where it goes; by default here.")]


@new.command("model")
def new_model(name: NewName, to: ToOption = Path()) -> None:
    """Write a model of your own: a file with comments, which is whole and keeps all rules.

    Example: longwave new model leaky --to models
    """
    _write("model", name, to)


@new.command("task")
def new_task(name: NewName, to: ToOption = Path()) -> None:
    """Write a task of your own: a file with comments, which is whole and keeps all rules.

    Example: longwave new task sign
    """
    _write("task", name, to)


def _write(kind: PluginKind, name: str, to: Path) -> None:
    from longwave.platform.plugins.new import write_new
    from longwave.platform.render import terminal

    path = write_new(kind, name, to)
    told = f"longwave {kind}s my-{name} --plugins {path}"
    terminal.say(f"{path} is a whole {kind}, my-{name}.\n  Check it: longwave check {path}\n  Show it: {told}")
