"""Names on the command line: completed by the shell, and accepted in any case and spelling.

Nothing heavy is imported at the top, because completion runs while the user waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from longwave.platform.errors import ConfigError
from longwave.platform.names import find_spelling, list_names

TASKS, MODELS = "longwave.tasks", "longwave.models"


def task_key(names: str | Sequence[str] | None) -> str | list[str] | None:
    """Return the keys of the named tasks; other names are unchanged."""
    return _list_keys(names, TASKS)


def model_key(names: str | Sequence[str] | None) -> str | list[str] | None:
    """Return the keys of the named models; other names, such as a row's, are unchanged."""
    return _list_keys(names, MODELS)


def split_list(option: str, text: str | None) -> list[str]:
    """Return the names that an option lists with commas between; none if it is not given.

    Raises:
        ConfigError: It is given and lists none.
    """
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if text is not None and not names:
        raise ConfigError(f"{option} lists one name or more, got {text!r}. Name one, or leave out {option}.")
    return names


def model_keys(listed: str | None) -> tuple[str, ...]:
    """Return the keys of the models that ``--models`` lists.

    Raises:
        ConfigError: It is given and lists none.
    """
    keys = list_names(MODELS)
    return tuple(find_spelling(name, keys) for name in split_list("--models", listed))


def a_task(incomplete: str) -> list[str]:
    """Complete the name of a task."""
    return _names_beginning(list_names(TASKS), incomplete)


def a_model(incomplete: str) -> list[str]:
    """Complete the name of a model."""
    return _names_beginning(list_names(MODELS), incomplete)


def a_sweep(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a sweep in the store of ``--store``, or in the default one."""
    from longwave.platform.errors import LongwaveError
    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store

    with (
        suppress(LongwaveError, OSError),
        Store(store_url(context.params.get("store")), False, read_only=True) as open_store,
    ):
        return _names_beginning(open_store.sweeps(), incomplete)
    return []


NameArgument = Annotated[str, typer.Argument(help="Name of a sweep in the store.", autocompletion=a_sweep)]


def _list_keys(names: str | Sequence[str] | None, package: str) -> str | list[str] | None:
    if not names:
        return names if names is None or isinstance(names, str) else list(names)
    keys = list_names(package)
    return find_spelling(names, keys) if isinstance(names, str) else [find_spelling(name, keys) for name in names]


def _names_beginning(names: Sequence[str], incomplete: str) -> list[str]:
    """Return the names that begin with ``incomplete`` in any case, with the typed letters kept: shells match
    exactly."""
    return [incomplete + name[len(incomplete) :] for name in names if name.lower().startswith(incomplete.lower())]
