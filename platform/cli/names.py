"""Names on the command line: completed by the shell, and taken in any case and spelling.

Nothing heavy is imported at its top: what is completed is looked up while the user waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from longwave.platform.names import find_spelling, list_names

TASKS, MODELS = "longwave.tasks", "longwave.models"


def task_key(given: str | Sequence[str] | None) -> str | list[str] | None:
    """Return the keys of tasks that a user has named; what is none stays as it is."""
    return _list_keys(given, TASKS)


def model_key(given: str | Sequence[str] | None) -> str | list[str] | None:
    """Return the keys of models that a user has named; what is none, such as a row's name, stays as it is."""
    return _list_keys(given, MODELS)


def model_keys(listed: str) -> tuple[str, ...]:
    """Return the keys of models in a list separated by commas."""
    known = list_names(MODELS)
    return tuple(find_spelling(name.strip(), known) for name in listed.split(",") if name.strip())


def a_task(incomplete: str) -> list[str]:
    """Complete the name of a task."""
    return _names_beginning(list_names(TASKS), incomplete)


def a_model(incomplete: str) -> list[str]:
    """Complete the name of a model."""
    return _names_beginning(list_names(MODELS), incomplete)


def a_sweep(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the name of a sweep of the store that the command line names, or of the usual one."""
    from longwave.platform.errors import LongwaveError
    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store

    with (
        suppress(LongwaveError, OSError),
        Store(store_url(context.params.get("store")), False, read_only=True) as known,
    ):
        return _names_beginning(known.sweeps(), incomplete)
    return []


NameArgument = Annotated[str, typer.Argument(help="Name of a sweep in the store.", autocompletion=a_sweep)]


def _list_keys(given: str | Sequence[str] | None, package: str) -> str | list[str] | None:
    if not given:
        return given if given is None or isinstance(given, str) else list(given)
    known = list_names(package)
    return find_spelling(given, known) if isinstance(given, str) else [find_spelling(name, known) for name in given]


def _names_beginning(known: Sequence[str], incomplete: str) -> list[str]:
    """Return the names that begin so in any case, as far as they are typed in the user's: shells compare letters."""
    return [incomplete + name[len(incomplete) :] for name in known if name.lower().startswith(incomplete.lower())]
