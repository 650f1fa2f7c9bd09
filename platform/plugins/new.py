"""Templates for the first file of a model or task: commented and complete."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from string import Template

from longwave.files import atomic_file
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.plugin import WORD, WORD_RULE, PluginKind


def write_new(kind: PluginKind, name: str, folder: Path) -> Path:
    """Write ``NAME.py`` into a folder, which is created if needed, and return its path.

    Raises:
        ConfigError: The name is not valid for a plugin, the file exists already, or a file is in the folder's place.
    """
    if not WORD.fullmatch(name):
        raise ConfigError(f"The name of a {kind} {WORD_RULE}, got {name!r}. Choose another.")
    path = folder / f"{name}.py"
    if path.exists() or path.is_symlink():
        raise ConfigError(f"{path} already exists. Choose another name, or another folder: --to FOLDER")
    text = (resources.files("longwave.platform.plugins") / f"{kind}.txt").read_text(encoding="utf-8")
    title = "".join(part.capitalize() for part in name.split("_"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(f"{folder} is not a folder. Choose another: --to FOLDER") from None
    with atomic_file(path) as partial:
        partial.write_text(Template(text).substitute(name=name, title=title), encoding="utf-8")
    return path
