"""Commands that list models and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from longwave.platform import registry
from longwave.platform.cli.app import FormatOption
from longwave.platform.cli.names import a_model, a_task
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.plugin import CELLS
from longwave.platform.registry import Spec
from longwave.platform.render import models as render_models
from longwave.platform.render import tasks as render_tasks
from longwave.platform.render.export import Format

FamilyOption = Annotated[str | None, typer.Option(metavar="NAME", help="List only this family.")]


def show_models(
    name: Annotated[str | None, typer.Argument(help="Model to show in full.", autocompletion=a_model)] = None,
    family: FamilyOption = None,
    format: FormatOption = Format.table,
    kernel: Annotated[bool, typer.Option("--kernel", help="Print the plan of one model's fused loop.")] = False,
    task: Annotated[
        str | None,
        typer.Option(help="Print one model's search ranges on this task.", autocompletion=a_task),
    ] = None,
) -> None:
    """List the models with their papers, or show one in full. Its page has equation and settings.

    Example: longwave models lem
    """
    _one_or_family(name, family)
    if kernel and name is None:
        raise ConfigError("--kernel prints the plan of one model: longwave models NAME --kernel")
    if kernel and format is not Format.table:
        raise ConfigError(f"--kernel prints text: leave out --format {format}.")
    if kernel and task is not None:
        raise ConfigError("--kernel prints the plan of a loop and --task search ranges. Give one of them.")
    if task is not None and name is None:
        raise ConfigError("--task prints the ranges of one model: longwave models NAME --task TASK")
    if name is not None:
        ranges_for = None if task is None else registry.get_task(task)
        render_models.print_model(registry.get_model(name), format, kernel, ranges_for)
    else:
        models = registry.cell_models() if family == CELLS else registry.all_models()
        render_models.print_models(_of_family(models, family), format)


def show_tasks(
    name: Annotated[str | None, typer.Argument(help="Task to show in full.", autocompletion=a_task)] = None,
    family: FamilyOption = None,
    format: FormatOption = Format.table,
) -> None:
    """List the tasks with their metrics, or show one in full. Its page has data, protocols and recipes.

    Example: longwave tasks fitzhugh_nagumo
    """
    _one_or_family(name, family)
    if name is not None:
        render_tasks.print_task(registry.get_task(name), format)
    else:
        render_tasks.print_tasks(_of_family(registry.all_tasks(), family), format)


def _one_or_family(name: str | None, family: str | None) -> None:
    """Raise ConfigError if both a name and a family are given."""
    if name is not None and family is not None:
        raise ConfigError(f"--family lists a family and {name} shows one. Give one of them.")


def _of_family(specs: Mapping[str, Spec], family: str | None) -> list[Spec]:
    """Return the models or tasks of a family, or all if it is None."""
    return list(specs.values()) if family is None else registry.of_family(specs, family)
