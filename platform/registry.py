"""Find all models, tasks and other things that are added as files: one file, one bound name, no list to edit.

Models and tasks of plugins have a dash in their names, unlike shipped ones: ``my-leaky``. So have the cells of
torchrecurrent, an optional package that is imported when one of them, or their family, is requested.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Protocol, TypeVar

from longwave.models.base.spec import ModelSpec
from longwave.models.base.torchrecurrent import cell_specs
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.names import find_family, find_spelling
from longwave.platform.plugins.known import plugins_by_name
from longwave.platform.plugins.plugin import CELLS, PluginKind, is_cell, is_plugin
from longwave.platform.plugins.specs import plugin_spec
from longwave.tasks.base.spec import TaskSpec

Spec = TypeVar("Spec", ModelSpec, TaskSpec)


class Named(Protocol):
    """The object that a file binds, which has the file's name."""

    @property
    def name(self) -> str:
        """Its registry key."""


Bound = TypeVar("Bound", bound=Named)


def collect_specs(package: str, bound: str, kind: type[Bound]) -> dict[str, Bound]:
    """Import every file of ``package`` and return ``{file name: bound object}``, sorted by name.

    Raises:
        TypeError: A file does not bind ``bound``, or binds one whose name is not the file's name.
        ImportError: A file cannot be imported. It is not skipped, because an error is better than a missing row.
    """
    folder: Any = importlib.import_module(package)
    specs: dict[str, Bound] = {}
    for info in sorted(pkgutil.iter_modules(folder.__path__), key=lambda i: i.name):
        if info.ispkg:
            continue  # shared code
        spec = getattr(importlib.import_module(f"{package}.{info.name}"), bound, None)
        if not isinstance(spec, kind) or spec.name != info.name:
            expected = f"{bound} = {kind.__name__}(name={info.name!r}, ...)"
            raise TypeError(f"{package.rpartition('.')[2]}/{info.name}.py must bind {expected}, got {spec!r}.")
        specs[info.name] = spec
    return specs


@cache
def shipped_models() -> Mapping[str, ModelSpec]:
    """Return all shipped models by name."""
    return collect_specs("longwave.models", "MODEL", ModelSpec)


@cache
def shipped_tasks() -> Mapping[str, TaskSpec]:
    """Return all shipped tasks by name."""
    return collect_specs("longwave.tasks", "TASK", TaskSpec)


@cache
def cell_models() -> Mapping[str, ModelSpec]:
    """Return all torchrecurrent cells by name: ``torchrecurrent-lem``.

    Raises:
        ConfigError: The package is not installed; the message says how to install it.
    """
    try:
        specs = cell_specs()
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return {(name := f"{CELLS}-{short}"): replace(spec, name=name) for short, spec in specs.items()}


def all_models() -> Mapping[str, ModelSpec]:
    """Return all models by name, except torchrecurrent cells, those of plugins last.

    Raises:
        ConfigError: A plugin does not run; the message names its file.
    """
    return {**shipped_models(), **{name: get_model(name) for name in plugins_by_name("model")}}


def all_tasks() -> Mapping[str, TaskSpec]:
    """Return all tasks by name, those of plugins last.

    Raises:
        ConfigError: A plugin does not run; the message names its file.
    """
    return {**shipped_tasks(), **{name: get_task(name) for name in plugins_by_name("task")}}


def get_model(name: str) -> ModelSpec:
    """Return the model called ``name``, in any case and spelling.

    Raises:
        ConfigError: No such model; the message names the nearest ones.
    """
    models = cell_models() if is_cell(name) else shipped_models()
    spec = models.get(find_spelling(name, models)) or (plugin_spec("model", name) if is_plugin(name) else None)
    if not isinstance(spec, ModelSpec):
        raise ConfigError(_unknown_name("model", name, models))
    return spec


def get_task(name: str) -> TaskSpec:
    """Return the task called ``name``, in any case and spelling.

    Raises:
        ConfigError: No such task; the message names the nearest ones.
    """
    key = find_spelling(name, shipped_tasks())
    spec = shipped_tasks().get(key) or (plugin_spec("task", name) if is_plugin(name) else None)
    if not isinstance(spec, TaskSpec):
        raise ConfigError(_unknown_name("task", name, shipped_tasks()))
    return spec


def _unknown_name(kind: PluginKind, name: str, shipped: Collection[str]) -> str:
    """Return one line on an unknown name of a model or task."""
    listed = f"List all with: longwave {kind}s" + (f" --family {CELLS}" if is_cell(name) else "")
    hint = "If it is your own, give its file: --plugins FILE" if is_plugin(name) else listed
    return did_you_mean(kind, name, [*shipped, *plugins_by_name(kind)], hint)


def of_family(specs: Mapping[str, Spec], family: str) -> list[Spec]:
    """Return the models or tasks of a family, in any case and spelling.

    Raises:
        ConfigError: No such family; the message names the nearest ones.
    """
    families = {spec.family for spec in specs.values()}
    members = [spec for spec in specs.values() if spec.family == find_family(family, families)]
    if not members:
        raise ConfigError(did_you_mean("family", family, families))
    return members


def metric_names() -> dict[str, str]:
    """Return the name of each task's metric, by task."""
    return {name: spec.metric.name for name, spec in all_tasks().items()}


def printed_forms() -> dict[str, tuple[str, ...]]:
    """Return the names in print of each model's forms, by model; the plain one is empty."""
    return {name: ("", *spec.printed) for name, spec in all_models().items()}
