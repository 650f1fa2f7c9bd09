"""Copies of plugins in the data folder, one folder per version, and the package from which Python imports them.

``longwave.platform.plugins.kept.my_0123456789ab.leaky`` is ``plugins/kept/my_0123456789ab/leaky.py``. So tracebacks,
debuggers, ``inspect`` and pickles see ordinary files, which do not change when the original plugin does.
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
"""File beside a plugin's files that describes them: ``Plugin.to_dict`` with file names instead of texts."""
__path__ = [str(folder() / "kept")]
_in_use: dict[str, Plugin] = {}


def keep_plugin(plugin: Plugin) -> Path:
    """Write a plugin's files to the folder of its version, unless they are there already; return the folder. Concurrent
    calls are safe: files are written atomically, and all processes write the same.

    Raises:
        OSError: The folder cannot be written.
    """
    return _keep(plugin, folder() / "kept")


def folder_of(plugin: Plugin) -> Path:
    """Return a folder with the plugin's files: that of ``keep_plugin``, or a temporary one if it cannot be written."""
    try:
        directory = keep_plugin(plugin)
    except OSError:
        directory = _keep(plugin, _temporary_folder())
    _in_use[directory.name] = plugin
    __path__[:] = dict.fromkeys((str(directory.parent), *__path__))
    importlib.invalidate_caches()
    return directory


def kept_plugin(namespace: str, version: str) -> Plugin | None:
    """Return the stored plugin of a namespace and a version; None if there is none, or it is damaged."""
    plugin = _read(folder() / "kept" / f"{namespace}_{version}")
    return plugin if plugin and (plugin.namespace, plugin.version) == (namespace, version) else None


def module_name(plugin: Plugin, file: str = "__init__.py") -> str:
    """Return the module name of one of a plugin's files."""
    parts = PurePosixPath(file).with_suffix("").parts
    return ".".join((__name__, folder_name(plugin), *(part for part in parts if part != "__init__")))


def folder_name(plugin: Plugin) -> str:
    """Return the name of the folder of a plugin's files."""
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
    """Create a folder that is removed at the end of this process."""
    temporary = Path(tempfile.mkdtemp(prefix="longwave-plugins-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


class _KeptLoader(SourceFileLoader):
    """Loads a stored file, with imports of its own package redirected to the files stored with it."""

    def get_code(self, fullname: str) -> CodeType:
        """Return a module's code, never from ``__pycache__``, since allowed imports depend on the plugin's origin.

        Raises:
            ImportError: It is not a file of the version in its folder's name.
        """
        path = Path(self.get_filename(fullname))
        name = fullname.removeprefix(f"{__name__}.").partition(".")[0]
        directory = next(parent for parent in path.parents if parent.name == name)
        plugin, text = _in_use.get(name) or _read(directory), path.read_text(encoding="utf-8")
        is_unchanged = (
            plugin and folder_name(plugin) == name and plugin.files.get(path.relative_to(directory).as_posix()) == text
        )
        if not plugin or not is_unchanged:
            raise ImportError(f"{path} was changed since it was stored. Give the original plugin: --plugins FILE")
        tree = OwnImports(plugin, f"{__name__}.{name}").visit(ast.parse(text, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _finder(entry: str) -> FileFinder:
    """Return the finder of a folder of stored files; raise ImportError for other folders, left to Python's finders."""
    if not any(map(Path(entry).is_relative_to, __path__)):
        raise ImportError
    return FileFinder(entry, (_KeptLoader, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _finder)
