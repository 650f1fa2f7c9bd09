"""Run the text of a plugin as modules of its own, from memory: no file is looked at again, and none beside it."""

from __future__ import annotations

import ast
import importlib
import sys
import traceback
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType

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
        text, _, origin = self.files[fullname]
        root = ".".join(fullname.split(".")[:2])
        tree = ast.parse(text, origin)
        if plugin := self.plugins.get(root):
            tree = ast.fix_missing_locations(_OwnImports(plugin, root).visit(tree))
        return compile(tree, origin, "exec", dont_inherit=True)


class _OwnImports(ast.NodeTransformer):
    """Has a plugin that imports its own package by name get its text, ``root``.

    Raises:
        ModuleNotFoundError: What is imported would be read from a file beside the plugin, which is no part of it.
    """

    def __init__(self, plugin: Plugin, root: str) -> None:
        self.plugin, self.root = plugin, root

    def visit_Import(self, node: ast.Import) -> ast.Import:
        """Bind the package's name where it would be bound: ``import acme.maps`` binds acme."""
        names = []
        for alias in node.names:
            found = self._found(alias.name)
            if found != alias.name and alias.asname is None:
                names += [ast.alias(found, f"_{self.plugin.package}"), ast.alias(self.root, self.plugin.package)]
            else:
                names.append(ast.alias(found, alias.asname))
        return ast.copy_location(ast.Import(names), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        """Leave relative imports as they are: they lead to the text already."""
        if node.level == 0 and node.module:
            node.module = self._found(node.module)
        return node

    def _found(self, name: str) -> str:
        package = self.plugin.package
        if package and f"{name}.".startswith(f"{package}."):
            return self.root + name[len(package) :]
        if _lies_beside(self.plugin, name.partition(".")[0]):
            raise ModuleNotFoundError(name=name)
        return name


def _lies_beside(plugin: Plugin, top: str) -> bool:
    """Return whether Python would read a module from beside the plugin, as where it was started in its folder."""
    origin = Path(plugin.origin)
    folder = origin if plugin.package else origin.parent
    beside = [folder / f"{top}.py", folder / top / "__init__.py"]
    if not any(path.exists() for path in beside):
        return False
    spec = find_spec(top)
    return bool(spec and spec.origin and Path(spec.origin) in beside)


_texts = _Texts()
