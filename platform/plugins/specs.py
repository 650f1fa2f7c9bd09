"""Models and tasks of plugins: run on first use, checked, and named by namespace and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, wraps
from numbers import Number
from typing import Any

from longwave.models.base.spec import ModelSpec
from longwave.platform.errors import ConfigError, LongwaveError
from longwave.platform.plugins.cards import card_path
from longwave.platform.plugins.known import note_used, plugin_of
from longwave.platform.plugins.modules import module_of, plugin_error
from longwave.platform.plugins.plugin import BINDS, Plugin, PluginKind
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError
from longwave.tasks.base.spec import TaskSpec

KINDS: Mapping[PluginKind, type[ModelSpec] | type[TaskSpec]] = {"model": ModelSpec, "task": TaskSpec}


def plugin_spec(kind: PluginKind, name: str) -> ModelSpec | TaskSpec | None:
    """Return a plugin's model or task by full name, with the plugin's version; None if there is none.

    Raises:
        ConfigError: The plugin does not run, or binds something else; the message names file and rule.
    """
    plugin = plugin_of(kind, name)
    if plugin is None:
        return None
    note_used(plugin)
    return spec_in(plugin, kind, name)


@cache
def spec_in(plugin: Plugin, kind: PluginKind, name: str) -> ModelSpec | TaskSpec:
    """Return a plugin's model or task under its full name and with the plugin's version.

    Raises:
        ConfigError: As ``plugin_spec``.
    """
    file, short = plugin.bound[kind, name], name.partition("-")[2]
    if file.endswith(".toml"):
        spec: Any = _task_of_card(plugin)
    else:
        spec = getattr(module_of(plugin, file), BINDS[kind], None)
    if not isinstance(spec, KINDS[kind]) or spec.name != short:
        rule = f"{BINDS[kind]} = {KINDS[kind].__name__}(name={short!r}, ...)"
        named = f", named {spec.name!r}" if isinstance(spec, KINDS[kind]) else ""
        actual = f"an object of type {type(spec).__name__}{named}"
        raise ConfigError(f"{plugin.where(file)} must bind {rule}, got {actual}.")
    changes: dict[str, Any] = {
        "name": name,
        "title": f"{spec.title} [{name} {plugin.version[:6]}]",
        "version": plugin.version,
    }
    if isinstance(spec, TaskSpec):
        changes["load"] = _guarded(plugin, file, "load", spec.load, Data, spec.variant)
    else:
        changes["count"] = _guarded(plugin, file, "count", spec.count, Number)
    return replace(spec, **changes)


def _task_of_card(plugin: Plugin) -> TaskSpec:
    """Return the task that a data card describes.

    Raises:
        ConfigError: The card breaks a rule; the message names it.
    """
    from longwave.tasks.cards.task import card_task  # imports pydantic, which workers without cards do not need

    try:
        return card_task(card_path(plugin))
    except DataError as error:
        raise ConfigError(" ".join(getattr(error, "lines", [str(error)]))) from None


def _guarded(
    plugin: Plugin, file: str, name: str, function: Callable[..., Any], kind: type[Any], default: str | None = None
) -> Callable[..., Any]:
    """Return a function of a plugin with errors that name the plugin's file and the function.

    Args:
        plugin, file: Where it is from.
        name: Its name in the model or task.
        function: The function.
        kind: Type of what it returns.
        default: Default variant of a task, the only one for which a ValueError is an error of the plugin.
    """

    @wraps(function)
    def call_guarded(*arguments: Any, **options: Any) -> Any:
        try:
            result = function(*arguments, **options)
        except FileNotFoundError as error:
            raise DataError(str(plugin_error(plugin, file, error, name))) from None
        except (DataError, LongwaveError, MemoryError, OSError):
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, ValueError) and default not in (None, *arguments):
                raise
            raise plugin_error(plugin, file, error, name) from None
        if not isinstance(result, kind):
            rule = f"{name} must return an object of type {kind.__name__}, got one of type {type(result).__name__}"
            raise ConfigError(f"{plugin.where(file)}: {rule}.")
        return result

    return call_guarded
