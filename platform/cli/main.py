"""The ``longwave`` command: its options and commands, and one line per error, or per broken rule of a card."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Any

import typer

from longwave.platform.cli.app import CommandGroup, LazyCommand
from longwave.platform.cli.commands import COMMANDS, DEFAULTS, GROUPS
from longwave.platform.errors import ConfigError, Interrupted, LongwaveError, StoreUnavailable
from longwave.platform.paths import check_home
from longwave.platform.redaction import redacted
from longwave.platform.render.harmless import one_line
from longwave.platform.variables import check_variables

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
GARBAGE = 5_000
"""Threshold of Python's garbage collection: the default of 700 adds a tenth to the time of importing torch."""
LONGEST = 4096
"""Maximal length of an argument, that of a path."""


PluginsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugins",
        metavar="FILE|FOLDER",
        help="Models and tasks of your own, named my-FILE or FOLDER-FILE; may be repeated, anywhere in the command.",
    ),
]


def _print_version(requested: bool) -> None:
    """Print the version, and exit."""
    if requested:
        typer.echo(f"longwave {version_of('longwave')}")
        raise typer.Exit


def start(
    plugins: PluginsOption = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compare long-memory sequence models: run sweeps, rank the results, reproduce any row with one command.

    Tables fit the terminal; set COLUMNS for another width. In a pipe without COLUMNS, tables are complete, one line per
    row. Names of shipped models and tasks may have any case: LEM, psMNIST, Lorenz-96.
    """
    if plugins:  # ``_plugins_first`` has moved them to the front
        from longwave.platform.plugins.known import add_plugin

        for path in plugins:
            add_plugin(path)


def _make_application() -> Any:
    """Return the group of all commands."""
    root = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(start)
    application: Any = typer.main.get_command(root)
    for name, help in GROUPS.items():
        application.add_command(CommandGroup(name, help, DEFAULTS.get(name, "")))
    for words, (target, help) in COMMANDS.items():
        *group, name = words.split()
        (application.commands[group[0]] if group else application).add_command(LazyCommand(name, target, help))
    return application


EXTRAS = {
    "ray": "cluster",
    "streamlit": "lab", "starlette": "lab", "altair": "lab", "vl_convert": "lab", "matplotlib": "lab",
    "scikit_posthocs": "lab", "statsmodels": "lab",
    "mlflow": "mlflow",
    "psycopg": "postgres",
}  # fmt: skip
"""Extras that install the packages that only some commands need."""
app = _make_application()


def run_command() -> int:
    """Run the command of this process as ``main`` does, and prepare a fast exit; return the exit status."""
    gc.set_threshold(GARBAGE)
    _open_streams()
    status = main()
    if "triton" not in sys.modules:  # with frozen objects its binding prints thirty lines of leak warnings at exit
        gc.freeze()  # otherwise the final collection over all imports takes up to 1.5 s
    return status


def _open_streams() -> None:
    """Let any text be written: signs that an encoding lacks are escaped, and a closed stream takes everything."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(arguments: list[str] | None = None, command: Callable[..., Any] | None = None) -> int:
    """Run one command and return its exit status: 0, 2 for bad input, 128 plus the number of a signal.

    Args:
        arguments: Arguments; by default those of the process.
        command: The command to run; by default ``longwave``.
    """
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        _check_arguments(arguments)
        check_variables()
        check_home()
        name = None if command else "longwave"
        result: Any = (command or app)(_plugins_first(arguments), prog_name=name, standalone_mode=False)
        if result == INTERRUPTED:
            typer.echo("Interrupted. Finished work is kept; run the same command to continue.", err=True)
        return result if isinstance(result, int) else 0
    except Interrupted as error:
        typer.echo(str(error), err=True)
        return error.status
    except StoreUnavailable as error:
        lines = [f"{error}. Run the command again once that has changed."]
    except (LongwaveError, _data_error()) as error:
        lines = getattr(error, "lines", [str(error)])
    except ModuleNotFoundError as error:
        if not (extra := EXTRAS.get((error.name or "").partition(".")[0])):
            raise
        lines = [f"{error.name} is not installed. Install it with: pip install 'longwave[{extra}]'"]
    except OSError as error:
        lines = [f"{error.strerror or error}: {error.filename}." if error.filename else f"{error.strerror or error}."]
    except Exception as error:
        # Click's usage errors: a wrong option, a missing argument. Typer no longer exports their base class.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message().replace("Value error, ", "")  # Pydantic's
        if message.startswith("Usage:"):
            typer.echo(message)
            return 2
        message = message.rstrip(".")
        if "should be" in message and (value := _value_of(error, arguments or [])) is not None:
            message += f", got {value!r}"
        lines = [f"{message}{'' if message.endswith('?') else '.'} Try: {_command_of(error)} --help"]
    for line in lines:
        typer.echo(f"longwave: {one_line(redacted(line))}", err=True)
    return 2


def _value_of(error: Exception, arguments: Sequence[str]) -> str | None:
    """Return the last value of the option that an error is about; None if it is about something else."""
    value = None
    for option in getattr(getattr(error, "param", None), "opts", ()):
        for word, following in zip(arguments, [*arguments[1:], None], strict=True):
            if word == option:
                value = following
            elif word.startswith(f"{option}="):
                value = word.partition("=")[2]
    return value


def _check_arguments(arguments: list[str]) -> None:
    """Raise ConfigError for arguments that are not valid text, which would otherwise fail deep inside a library."""
    for text in arguments:
        if len(text) > LONGEST:
            raise ConfigError(f"An argument has at most {LONGEST} characters, got {len(text)}: {text[:40]}…")
        if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
            raise ConfigError(f"An argument must be UTF-8 text without NUL, got {text[:40]!r}.")


def _plugins_first(arguments: list[str]) -> list[str]:
    """Return the arguments with ``--plugins`` options moved to the front, where the parser expects them."""
    options, others, remaining = list[str](), list[str](), iter(arguments)
    for text in remaining:
        if text == "--":
            others += [text, *remaining]
        elif text == "--plugins" or text.startswith("--plugins="):
            path = text.partition("=")[2] if "=" in text else next(remaining, "")
            if not path:
                raise ConfigError("--plugins needs a file or a folder after it.")
            options += ["--plugins", path]
        else:
            others.append(text)
    return options + others


def _data_error() -> type[Exception]:
    """Return DataError; it is imported only after an error, because it imports NumPy."""
    from longwave.tasks.base.raw import DataError

    return DataError


def _command_of(error: Any) -> str:
    """Return the command whose usage is wrong."""
    return str(getattr(getattr(error, "ctx", None), "command_path", "longwave"))
