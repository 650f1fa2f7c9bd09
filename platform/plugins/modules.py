"""Run the text of a plugin as modules of its own, from memory: no file is looked at again, and none beside it."""

from __future__ import annotations

import builtins
import importlib
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType
from typing import Any

from longwave.platform.errors import ConfigError, LongwaveError
from longwave.platform.plugins.plugin import Plugin

ROOT = "longwave_plugins"
"""Under this name are modules of plugins, ``longwave_plugins.my_0123456789ab.leaky``, where Python looks for them."""


def module_of(plugin: Plugin, file: str) -> ModuleType:
    """Return the module of one of a plugin's files; it runs once, whoever asks.

    Raises:
        ConfigError: It does not run; the message names file, line and reason.
    """
    _texts.add(plugin)
    name = _name(plugin, file)
    try:
        return importlib.import_module(name)
    except LongwaveError:
        raise
    except (Exception, SystemExit) as error:
        raise failed(plugin, file, error) from None


def failed(plugin: Plugin, file: str, error: BaseException) -> ConfigError:
    """Return in one line what went wrong in a file of a plugin, where, and what to do."""
    said = (str(error).strip().splitlines() or [""])[0]
    told = f"{type(error).__name__}: {said}".removesuffix(": ").rstrip(".")
    if isinstance(error, NameError) and error.name == "__file__":
        told = "it uses __file__, but a plugin is its text alone. Data belong in a data card, numbers in the file"
    elif isinstance(error, ModuleNotFoundError) and error.name and (beside := _beside(plugin, error.name)):
        told = beside
    elif isinstance(error, ModuleNotFoundError):
        told += ". Install it here, and where packs train"
    return ConfigError(f"{plugin.where(file)}: {_line(plugin, error)}{told}.")


def _line(plugin: Plugin, error: BaseException) -> str:
    """Return the last line of the plugin that an error passed, for people."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f"line {frame.lineno}: " for frame in frames if frame.filename.startswith(plugin.origin)]
    return own[-1] if own else ""


def _beside(plugin: Plugin, module: str) -> str:
    """Return what to do where a module that is not there is a file beside the plugin, or one of its own."""
    short = module.removeprefix(f"{_name(plugin)}.").partition(".")[0]
    if plugin.package:
        own = {PurePosixPath(file).parts[0].removesuffix(".py") for file in plugin.files}
        return f"{short} is a file of its own folder: write from .{short} import ..." if short in own else ""
    folder = Path(plugin.origin).parent
    if not any((folder / name).exists() for name in (f"{short}.py", short)):
        return ""
    return f"it uses {short}, which lies beside it, and its version is of one file: give the folder, {folder}"


def _name(plugin: Plugin, file: str = "__init__.py") -> str:
    """Return the name of a file's module."""
    parts = PurePosixPath(file).with_suffix("").parts
    return ".".join((ROOT, f"{plugin.namespace}_{plugin.version}", *(p for p in parts if p != "__init__")))


class _Texts(MetaPathFinder, InspectLoader):
    """Finds and loads the modules of plugins."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bool, str]] = {ROOT: ("", True, ROOT)}
        self.plugins: dict[str, Plugin] = {}

    def add(self, plugin: Plugin) -> None:
        """Make the files of a plugin importable."""
        if (root := _name(plugin)) in self.plugins:
            return
        self.plugins[root] = plugin
        for file, text in plugin.files.items():
            if file.endswith(".py"):
                self.files[_name(plugin, file)] = (text, file.endswith("__init__.py"), plugin.where(file))
            for folder in PurePosixPath(file).parents:
                self.files.setdefault(_name(plugin, f"{folder}/__init__.py"), ("", True, plugin.origin))
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module of a plugin is; it has no ``__file__``."""
        if name not in self.files:
            return None
        return spec_from_loader(name, self, origin=self.files[name][2], is_package=self.files[name][1])

    def get_source(self, fullname: str) -> str:
        """Return a module's text."""
        return self.files[fullname][0]

    def is_package(self, fullname: str) -> bool:
        """Return whether a module has others below it."""
        return self.files[fullname][1]

    def get_code(self, fullname: str) -> CodeType:
        """Return a module's code, whose tracebacks name the file it was read from."""
        return self.source_to_code(self.get_source(fullname), self.files[fullname][2])

    def exec_module(self, module: ModuleType) -> None:
        """Run a module, whose own imports go through ``_importing``."""
        root = ".".join(module.__name__.split(".")[:2])
        if plugin := self.plugins.get(root):
            module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _importing(plugin, root)}
        super().exec_module(module)


def _importing(plugin: Plugin, root: str) -> Any:
    """Return ``__import__`` for a plugin: its own package is its text, and a file beside it is no part of it."""

    def imported(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level == 0 and plugin.package and f"{name}.".startswith(f"{plugin.package}."):
            name = root + name[len(plugin.package) :]
            if not fromlist:
                importlib.import_module(name)
                return sys.modules[root]
        found = builtins.__import__(name, globals, locals, fromlist or (), level)
        if level == 0 and _read_beside(plugin, name.partition(".")[0]):
            raise ModuleNotFoundError(name=name)
        return found

    return imported


def _read_beside(plugin: Plugin, top: str) -> bool:
    """Return whether a module was read from a file beside the plugin, as where Python was started in its folder."""
    origin = Path(plugin.origin)
    folder, file = origin if plugin.package else origin.parent, getattr(sys.modules.get(top), "__file__", None)
    return file in (str(folder / f"{top}.py"), str(folder / top / "__init__.py"))


_texts = _Texts()
