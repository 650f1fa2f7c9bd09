"""Commands for data sets: data fetch and data list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from longwave.platform import registry
from longwave.platform.cli.app import FormatOption
from longwave.platform.cli.names import a_task, task_key
from longwave.platform.downloads.fetch import OnProgress, fetch, link
from longwave.platform.errors import ConfigError
from longwave.platform.render import terminal
from longwave.platform.render.export import Format
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import Terminal, show_waiting

if TYPE_CHECKING:
    from longwave.tasks.base.spec import TaskSpec


def fetch_data(
    task: Annotated[str, typer.Argument(help="Task whose data to fetch.", callback=task_key, autocompletion=a_task)],
    path: Annotated[
        Path | None, typer.Option(help="Folder that already has the files. It is linked to, never written to.")
    ] = None,
) -> None:
    """Download the data of a task, check and unpack them. Run again, it keeps the files that are complete.

    Example: longwave data fetch psmnist --path /share/mnist
    """
    spec = registry.get_task(task)
    if spec.files is None:
        if path is not None:
            raise ConfigError(f"{task} needs no files, so --path {path} would not be used.")
        with show_waiting(f"Preparing {task}"):
            spec.load(spec.variant)
        typer.echo(f"{task}: nothing to fetch; its data are ready. Licence: {spec.licence}")
        return
    with _progress_bar() as report:
        if path is None:
            fetch(spec, spec.files, report)
        else:
            link(spec, spec.files, path, report)
    where = f"{spec.files.folder} -> {spec.files.folder.resolve()}" if path else spec.files.root
    typer.echo(f"{task}: {spec.files.title} is in {where}. Licence: {spec.files.licence}")


def list_data(format: FormatOption = Format.table) -> None:
    """List each task's data set: where it is, whether it is complete, and its licence.

    Example: longwave data list --format json
    """
    records = [_task_line(spec) for spec in registry.all_tasks().values()]
    lines = [list(line.values()) for line in records]
    terminal.print_tables(
        [Table("", list(records[0]), lines, records=records, prose=frozenset({1, 2, 3, 4}), drop=(4, 3))], format
    )


def _task_line(task: TaskSpec) -> dict[str, str]:
    if task.files is None:
        return {"task": task.name, "data": "no files needed", "state": "ready", "licence": task.licence, "place": ""}
    absent = task.files.missing()
    state = f"missing {absent[0]}" if absent else "present"
    facts = {"state": state, "licence": task.files.licence, "place": str(task.files.root)}
    return {"task": task.name, "data": task.files.title, **facts}


@contextmanager
def _progress_bar() -> Iterator[OnProgress]:
    """Show a progress bar for the latest report on a terminal, and remove it at the end."""
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[size]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        shown = ""

        def report(what: str, done: int, total: int | None) -> None:
            nonlocal shown
            if what != shown:
                for bar in bars.task_ids:
                    bars.remove_task(bar)
                bars.add_task(what, total=total, size="")
                shown = what
            size = f"{done / 2**20:.0f}/{total / 2**20:.0f} MiB" if total else ""
            bars.update(bars.task_ids[0], completed=done, total=total, size=size)

        yield report
