"""Find every model, every task and what else is added as a file: one file, one bound name, no list to edit."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, TypeVar

from longwave.models.base.spec import ModelSpec
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.tasks.base.spec import TaskSpec

Spec = TypeVar("Spec", ModelSpec, TaskSpec)


class Named(Protocol):
    """What a file binds: it has the file's name."""

    @property
    def name(self) -> str:
        """Its key."""


Bound = TypeVar("Bound", bound=Named)


def collect(package: str, bound: str, kind: type[Bound]) -> dict[str, Bound]:
    """Import every file of ``package`` and return ``{file name: what it binds}``, sorted by name.

    Raises:
        TypeError: A file does not bind ``bound``, or binds one whose name is not the file's name.
        ImportError: A file does not import. It is not skipped: a missing row is worse than a stop.
    """
    folder: Any = importlib.import_module(package)
    found: dict[str, Bound] = {}
    for info in sorted(pkgutil.iter_modules(folder.__path__), key=lambda i: i.name):
        if info.ispkg:
            continue  # what the files share
        spec = getattr(importlib.import_module(f"{package}.{info.name}"), bound, None)
        if not isinstance(spec, kind) or spec.name != info.name:
            wanted = f"{bound} = {kind.__name__}(name={info.name!r}, ...)"
            raise TypeError(f"{package.rpartition('.')[2]}/{info.name}.py must bind {wanted}, got {spec!r}.")
        found[info.name] = spec
    return found


@cache
def all_models() -> Mapping[str, ModelSpec]:
    """Return every model by name."""
    return collect("longwave.models", "MODEL", ModelSpec)


@cache
def all_tasks() -> Mapping[str, TaskSpec]:
    """Return every task by name."""
    return collect("longwave.tasks", "TASK", TaskSpec)


def get_model(name: str) -> ModelSpec:
    """Return the model called ``name``.

    Raises:
        ConfigError: No such model; the message names the nearest ones.
    """
    if name not in all_models():
        raise ConfigError(did_you_mean("model", name, all_models(), "List all with: longwave models"))
    return all_models()[name]


def get_task(name: str) -> TaskSpec:
    """Return the task called ``name``.

    Raises:
        ConfigError: No such task; the message names the nearest ones.
    """
    if name not in all_tasks():
        raise ConfigError(did_you_mean("task", name, all_tasks(), "List all with: longwave tasks"))
    return all_tasks()[name]


def of_family(known: Mapping[str, Spec], family: str) -> list[Spec]:
    """Return those of ``known``, all models or all tasks, that are of ``family``.

    Raises:
        ConfigError: None is; the message names the nearest families.
    """
    found = [spec for spec in known.values() if spec.family == family]
    if not found:
        raise ConfigError(did_you_mean("family", family, {spec.family for spec in known.values()}))
    return found
