"""Copies of plugins in the data folder, one folder a version, and the package in which Python finds them as modules.

``longwave.platform.plugins.kept.my_0123456789ab.leaky`` is ``plugins/kept/my_0123456789ab/leaky.py``. So tracebacks,
debuggers, ``inspect`` and pickles meet ordinary files, which stay what they were when the plugin's own change.
"""

from __future__ import annotations

import ast
import atexit
import importlib
import json
import shutil
import sys
import tempfile
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path, PurePosixPath
from types import CodeType
from typing import Any

from longwave.files import atomic_file, own_folder
from longwave.platform.plugins.discovery import folder
from longwave.platform.plugins.own_imports import OwnImports
from longwave.platform.plugins.plugin import Plugin

ABOUT = "plugin.json"
"""File beside a plugin's own that says what they are: ``Plugin.to_dict`` with names of files in place of texts."""
__path__ = [str(folder() / "kept")]
_in_use: dict[str, Plugin] = {}


def keep_plugin(plugin: Plugin) -> Path:
    """Write a plugin's files to the folder of its version, unless they are there as they were read, and return it.

    Processes may do so at once: each file appears whole, and all write the same.

    Raises:
        OSError: Nothing can be written there.
    """
    return _keep(plugin, folder() / "kept")


def folder_of(plugin: Plugin) -> Path:
    """Return a folder with the plugin's files: that of ``keep_plugin``, or a temporary one where it cannot write."""
    try:
        directory = keep_plugin(plugin)
    except OSError:
        directory = _keep(plugin, _temporary_folder())
    _in_use[directory.name] = plugin
    __path__[:] = dict.fromkeys((str(directory.parent), *__path__))
    importlib.invalidate_caches()
    return directory


def kept_plugin(namespace: str, version: str) -> Plugin | None:
    """Return the plugin that was kept under a namespace and a version; None if there is none, or it is damaged."""
    plugin = _read(folder() / "kept" / f"{namespace}_{version}")
    return plugin if plugin and (plugin.namespace, plugin.version) == (namespace, version) else None


def module_name(plugin: Plugin, file: str = "__init__.py") -> str:
    """Return the name of the module that one of a plugin's files is."""
    parts = PurePosixPath(file).with_suffix("").parts
    return ".".join((__name__, folder_name(plugin), *(part for part in parts if part != "__init__")))


def folder_name(plugin: Plugin) -> str:
    """Return the name of the folder that holds a plugin's files."""
    return f"{plugin.namespace}_{plugin.version}"


def _keep(plugin: Plugin, root: Path) -> Path:
    directory = root / folder_name(plugin)
    if _read(directory) != plugin:
        about = json.dumps({**plugin.to_dict(), "files": [*plugin.files]})
        for file, text in {**plugin.files, ABOUT: about}.items():
            own_folder((directory / file).parent)
            with atomic_file(directory / file, private=True) as partial:
                partial.write_text(text, encoding="utf-8")
    return directory


def _read(directory: Path) -> Plugin | None:
    try:
        about: dict[str, Any] = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
        files = {file: (directory / file).read_text(encoding="utf-8") for file in about["files"]}
        return Plugin.from_dict({**about, "files": files})
    except (OSError, ValueError, TypeError, KeyError):
        return None


@cache
def _temporary_folder() -> Path:
    """Make a folder that vanishes with this process."""
    made = Path(tempfile.mkdtemp(prefix="longwave-plugins-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class _KeptLoader(SourceFileLoader):
    """Compiles a kept file, whose imports of its own package lead to the files kept with it."""

    def get_code(self, fullname: str) -> CodeType:
        """Return a module's code: never from ``__pycache__``, for what may be imported hangs on the plugin's origin.

        Raises:
            ImportError: It is not a file of the version in its folder's name.
        """
        path = Path(self.get_filename(fullname))
        name = fullname.removeprefix(f"{__name__}.").partition(".")[0]
        directory = next(parent for parent in path.parents if parent.name == name)
        plugin, text = _in_use.get(name) or _read(directory), path.read_text(encoding="utf-8")
        own = (
            plugin and folder_name(plugin) == name and plugin.files.get(path.relative_to(directory).as_posix()) == text
        )
        if not plugin or not own:
            raise ImportError(f"{path} was changed since it was stored. Give the original plugin: --plugins FILE")
        tree = OwnImports(plugin, f"{__name__}.{name}").visit(ast.parse(text, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _finder(entry: str) -> FileFinder:
    """Return the finder of a folder of kept files; ImportError for all others, which Python's own finders serve."""
    if not any(map(Path(entry).is_relative_to, __path__)):
        raise ImportError
    return FileFinder(entry, (_KeptLoader, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _finder)
