"""The ``longwave`` command. Heavy packages are imported by the commands that need them, so help is instant."""

from __future__ import annotations

import sys
from typing import Any

import typer

from longwave.platform.cli import data, editions, exchange, literature, rows, show, sweep, tools  # noqa: F401  they register
from longwave.platform.cli.app import app
from longwave.platform.errors import LongwaveError

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 2 for bad input, 130 when interrupted."""
    try:
        result: Any = app(arguments, prog_name="longwave", standalone_mode=False)
        if result == INTERRUPTED:
            typer.echo("Interrupted. What is done is kept; the same command goes on from there.", err=True)
        return result if isinstance(result, int) else 0
    except (LongwaveError, _data_error()) as error:
        message = str(error)
    except Exception as error:
        # Click's usage errors: a wrong option, a missing argument. Typer no longer exports their base class.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message().rstrip(".")
        if message.startswith("Usage:"):
            typer.echo(message)
            return 2
        message += f"{'' if message.endswith('?') else '.'} Try: {_command(error)} --help"
    typer.echo(f"longwave: {message}", err=True)
    return 2


def _data_error() -> type[Exception]:
    """Return DataError; NumPy comes with it, so it is imported only once something went wrong."""
    from longwave.tasks.base.raw import DataError

    return DataError


def _command(error: Any) -> str:
    """Return the command an error of the command line belongs to."""
    return str(getattr(getattr(error, "ctx", None), "command_path", "longwave"))


if __name__ == "__main__":
    sys.exit(main())
