"""Import the files of a plugin, with one-line errors."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path, PurePosixPath
from types import ModuleType

from longwave.platform.errors import ConfigError, LongwaveError
from longwave.platform.plugins.kept import folder_name, folder_of, module_name
from longwave.platform.plugins.plugin import Plugin


def module_of(plugin: Plugin, file: str) -> ModuleType:
    """Return the module of one of a plugin's files, which is run once per process.

    Raises:
        ConfigError: It does not run; the message names file, line and reason.
    """
    name = module_name(plugin, file)
    if name not in sys.modules:
        folder_of(plugin)
    try:
        return importlib.import_module(name)
    except LongwaveError:
        raise
    except (Exception, SystemExit) as error:
        raise plugin_error(plugin, file, error) from None


def plugin_error(plugin: Plugin, file: str, error: BaseException, function: str = "") -> ConfigError:
    """Return a one-line error of a plugin's file, or of a function in it: place, reason, and what to do."""
    message = (str(error).strip().splitlines() or [""])[0]
    raised = f"{function} raised " if function else ""
    reason = f"{raised}{type(error).__name__}: {message}".removesuffix(": ").rstrip(".")
    if isinstance(error, FileNotFoundError) and _is_kept(plugin, str(error.filename)):
        name = Path(str(error.filename)).name
        reason = f"it reads {name}, but a plugin is its text alone. Data belong in a data card, numbers in the file"
    elif isinstance(error, ModuleNotFoundError) and error.name and (advice := _advice(plugin, error.name)):
        reason = advice
    elif isinstance(error, ModuleNotFoundError):
        reason += ". Install it here, and where packs train"
    return ConfigError(f"{plugin.where(file)}: {_line(plugin, error)}{reason}.")


def _line(plugin: Plugin, error: BaseException) -> str:
    """Return the last line of the plugin in an error's traceback, as text."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"line {frame.lineno}: " for frame in frames if _is_kept(plugin, frame.filename)]
    return lines[-1] if lines else ""


def _is_kept(plugin: Plugin, path: str) -> bool:
    """Return whether a path is in a folder of the plugin's files."""
    return folder_name(plugin) in Path(path).parts


def _advice(plugin: Plugin, module: str) -> str:
    """Return what to do if a missing module is a file beside the plugin, or one of its own."""
    short = module.removeprefix(f"{module_name(plugin)}.").partition(".")[0]
    if plugin.package:
        modules = {PurePosixPath(file).parts[0].removesuffix(".py") for file in plugin.files}
        return f"{short} is a file of its own folder: write from .{short} import ..." if short in modules else ""
    folder = Path(plugin.origin).parent
    if not any((folder / name).exists() for name in (f"{short}.py", short)):
        return ""
    return f"it imports {short}, which lies beside it. Give the folder, since a file is versioned alone: {folder}"
