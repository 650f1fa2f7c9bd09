"""The command ``published``, which lists numbers from papers."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import FormatOption
from longwave.platform.cli.names import a_model, a_task, model_key, task_key
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.literature.published import published_rows
from longwave.platform.registry import all_models, all_tasks, metric_names, printed_forms
from longwave.platform.render import literature, terminal
from longwave.platform.render.export import Format


def list_published(
    task: Annotated[
        str | None,
        typer.Argument(
            help="Only numbers on this task, which need not be one of ours.", callback=task_key, autocompletion=a_task
        ),
    ] = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Only numbers that no row of ours can be compared with, and why.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(help="Only numbers of this model.", callback=model_key, autocompletion=a_model),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """List published numbers, what each measures, and which variant of ours it compares with.

    On a terminal a long list is shown in your pager (PAGER, else less).

    Example: longwave published fitzhugh_nagumo
    """
    numbers = published_rows()
    for kind, requested, registered in (("task", task, all_tasks()), ("model", model, all_models())):
        on_record = {number[kind] for number in numbers}
        if requested in registered and requested not in on_record:
            raise ConfigError(
                f"No published number of the {kind} {requested} is on record. See: longwave {kind}s {requested}"
            )
        if requested is not None and requested not in on_record:
            raise ConfigError(did_you_mean(f"published number of the {kind}", requested, on_record))
    selected = [n for n in numbers if task in (None, n["task"]) and model in (None, n["model"])]
    if not selected:
        raise ConfigError(f"No published number of {model} on {task} is on record. See: longwave published {task}")
    with terminal.paging():
        literature.print_numbers(selected, metric_names(), printed_forms(), unpaired, format)
