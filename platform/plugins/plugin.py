"""A plugin: the text of a file, a folder or an installed package, read once and identified by its content."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from longwave.platform.errors import ConfigError
from longwave.platform.records.identity import digest

PluginKind = Literal["model", "task"]
BINDS: Mapping[PluginKind, str] = {"model": "MODEL", "task": "TASK"}
"""Name that a file must bind, by kind."""
OWN = "my"
"""Namespace of single files."""
CELLS = "torchrecurrent"
"""Namespace of that package's cells, which are models but not plugins."""
WORD = re.compile(r"[a-z][a-z0-9_]{0,59}")
"""A name without its namespace, to which a dash joins it; shipped models and tasks have such names too."""
WORD_RULE = "has lowercase letters, digits and _, 60 at most, and begins with a letter"
VERSION = 12
"""Number of digits of a version."""
MOST, LARGEST = 200, 2**21
"""Maximal number of files of a plugin, and of characters in all of them."""


@dataclass(frozen=True)
class Plugin:
    """The text of a file, a folder or a package.

    Attributes:
        namespace: Part before the dash in the names it binds.
        files: Texts by path, such as ``"leaky.py"`` or ``"cells/leaky.py"``.
        entries: The files that bind models or tasks; a name is such a file's stem.
        package: Package name by which its files import each other; empty for a single file.
        origin: Path from which it was read, for messages.
    """

    namespace: str
    files: Mapping[str, str]
    entries: tuple[str, ...]
    package: str = ""
    origin: str = field(default="", compare=False)

    def __hash__(self) -> int:
        return hash(self.version)

    @cached_property
    def version(self) -> str:
        """Hash of all its files, 12 hex digits: the version of its models and tasks. For a data card it is a hash of
        the card's content without the paths of the data, which have their own hash.
        """
        return digest(
            {file: card_content(text) if file.endswith(".toml") else text for file, text in self.files.items()}
        )[:VERSION]

    @cached_property
    def bound(self) -> dict[tuple[PluginKind, str], str]:
        """The file of each model and task, by kind and full name: ``{("model", "my-leaky"): "leaky.py"}``."""
        return {
            (kind, f"{self.namespace}-{PurePosixPath(file).stem}"): file
            for file in self.entries
            for kind in bindings(file, self.files[file], self.where(file))
        }

    def where(self, file: str) -> str:
        """Return the path from which a file was read, for messages."""
        return self.origin if len(self.files) == 1 else f"{self.origin}/{file}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        names = ("namespace", "package", "origin")
        texts = {name: getattr(self, name) for name in names}
        return {**texts, "files": dict(self.files), "entries": list(self.entries)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plugin:
        """Rebuild from ``to_dict``."""
        return cls(**{**data, "entries": tuple(data["entries"])})


def is_plugin(name: str) -> bool:
    """Return whether this is the name of a plugin's model or task; shipped ones have no dash."""
    return "-" in name and not is_cell(name)


def is_cell(name: str) -> bool:
    """Return whether this is the name of a torchrecurrent cell."""
    return name.lower().startswith(f"{CELLS}-")


def card_content(card: str) -> str:
    """Return a data card's content except ``files``, independent of layout; its text if it is not TOML."""
    try:
        return repr(sorted((key, value) for key, value in tomllib.loads(card).items() if key != "files"))
    except tomllib.TOMLDecodeError:
        return card


def read_plugin(path: Path) -> Plugin:
    """Return the plugin in a file or a folder. A single file is in the namespace ``my``. A folder's name is its
    namespace; all its ``.py`` files are its content, and those at its top that bind MODEL or TASK are models and tasks.

    Raises:
        ConfigError: It cannot be read, binds nothing, or has an invalid name; the message names the file.
    """
    path = Path(os.path.realpath(path)) if path.name == ".." else Path(os.path.realpath(path.parent), path.name)
    if not path.is_dir():
        text = text_of(path)
        _check_word(path.stem, path)
        plugin = Plugin(OWN, {path.name: text}, (path.name,), origin=str(path))
    else:
        _check_word(namespace := re.sub(r"[^a-z0-9]+", "_", path.name.lower()).strip("_"), path)
        files = texts_of(path)
        top = [file for file in files if "/" not in file and bindings(file, files[file], f"{path}/{file}")]
        for file in top:
            _check_word(PurePosixPath(file).stem, path / file)
        plugin = Plugin(namespace, files, tuple(top), path.name, str(path))
    if not plugin.bound:
        problem = "none of its files binds" if path.is_dir() else "it does not bind"
        raise ConfigError(f"{path}: {problem} MODEL or TASK. Write one with: longwave new model NAME")
    return plugin


def texts_of(folder: Path) -> dict[str, str]:
    """Return the text of every Python file in a folder, recursively, by path; hidden folders are left out.

    Raises:
        ConfigError: There are too many, they are too long, or one cannot be read.
    """
    texts: dict[str, str] = {}
    for path in _python_files(folder):
        texts[path.relative_to(folder).as_posix()] = text_of(path)
        if len(texts) > MOST or sum(map(len, texts.values())) > LARGEST:
            rule = f"at most {MOST} Python files and {LARGEST >> 20} MiB of them"
            raise ConfigError(f"{folder} is too large for a plugin, which has {rule}. Move it to a separate folder.")
    return dict(sorted(texts.items()))


def text_of(path: Path) -> str:
    """Return a file's text, with the same line ends on all systems.

    Raises:
        ConfigError: It is not a Python or TOML file, is too long, or cannot be read.
    """
    try:
        size = path.stat().st_size
        if path.suffix not in (".py", ".toml"):
            forms = "a Python file, a data card (.toml), or a folder of Python files"
            raise ConfigError(f"{path} is not a plugin: give {forms}.")
        if not path.is_file():
            raise ConfigError(f"{path} is not a file.")
        if size > LARGEST:
            raise ConfigError(f"{path} is too large for a plugin, which has at most {LARGEST >> 20} MiB of text.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise ConfigError(f"Cannot read the plugin {path}: {error.strerror}.") from None


def bindings(file: str, text: str, where: str) -> list[PluginKind]:
    """Return the kinds that a file binds, from its text, without running it. A data card is a task.

    Raises:
        ConfigError: It is not Python.
    """
    if file.endswith(".toml"):
        return ["task"]
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ConfigError(f"{where}: {line}not valid Python: {reason}.") from None
    assigned = {target.id for node in body for target in _targets(node) if isinstance(target, ast.Name)}
    return [kind for kind, name in BINDS.items() if name in assigned]


def _targets(node: ast.stmt) -> Sequence[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []


def _python_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        yield from (Path(parent, name) for name in sorted(files) if name.endswith(".py"))


def _check_word(word: str, path: Path) -> None:
    if not WORD.fullmatch(word):
        raise ConfigError(f"{path}: a plugin's name {WORD_RULE}, got {word!r}. Rename it.")
    if word == CELLS and path.is_dir():
        raise ConfigError(f"{path}: {CELLS}- begins the names of that package's cells. Rename it.")
