"""Commands for data of your own: tasks add and tasks remove."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from longwave.platform.plugins import cards
from longwave.platform.plugins.plugin import OWN
from longwave.platform.render.harmless import one_line
from longwave.platform.render.terminal import show_waiting
from longwave.platform.wording import describe_count
from longwave.tasks.cards.keys import list_keys

if TYPE_CHECKING:
    from longwave.platform.plugins.cards import AddedCard

WIDTH = 78
"""Width of a help page, in columns."""


def _describe_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose help ends with the keys of a data card."""
    lines = ["\b", "Keys of a card:"]
    for name, kind, meaning in list_keys():
        lines += [f"  {name}: {kind}", *wrap(meaning, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    command.__doc__ = "\n".join([cleandoc(command.__doc__ or ""), "", *lines])
    return command


@_describe_keys
def add_task(card: Annotated[Path, typer.Argument(metavar="CARD", help="Data card, TOML, beside its data.")]) -> None:
    """Add data of your own as a task. All of it is read and checked first; the files stay where they are.

    Example: longwave tasks add mydata.toml
    """
    with show_waiting(f"Reading {card}"):
        added = cards.add(card)
    print_added(added)
    typer.echo(f'See it with: longwave tasks {added.name}. In a sweep file: task = "{added.name}"')


def remove_task(name: Annotated[str, typer.Argument(help="A task that was added.")]) -> None:
    """Remove a task of your own. Its files and its results stay.

    Example: longwave tasks remove my-mydata
    """
    typer.echo(f"Removed the task {OWN}-{cards.remove(name).stem}. Its data and results are kept.")


def print_added(added: AddedCard) -> None:
    """Print the result of adding a card."""
    data = added.data
    counts = f"{len(data.training(0))} examples to train, {len(data.valid)} to validate, {len(data.test)} to test"
    steps = describe_count(data.valid.positions, "step")
    outcome = "is there already" if added.replaced == added.version else "was added"
    if added.replaced not in ("", added.version):
        outcome = f"has changed: version {added.version} replaces {added.replaced}, whose rows are superseded"
    typer.echo(f"{added.name} {outcome}: {counts}, of {steps} at most. Data {data.version}.")
    for remark in added.remarks:
        typer.echo(one_line(f"  {remark.rule}: {remark.text}"))
