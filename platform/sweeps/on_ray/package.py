"""The folder that a Ray job gets: this Longwave, laid out as in its wheel, a sweep file, and other shipped files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from longwave import files
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.discovery import installed
from longwave.platform.plugins.known import plugin_of
from longwave.platform.plugins.plugin import Plugin, read_plugin
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.on_ray.versions import ROOT

PARTS = ("dashboard", "models", "platform", "tasks")
ADDED = ("models", "tasks", "raw")
"""Subfolders of a shipped folder that go into the package: models, tasks, and raw files of data sets."""


def lay_out_package(
    folder: Path, file: Path, name: str, ship: Path | None, package: bool = True, texts: Mapping[str, str] | None = None
) -> None:
    """Write what a job needs into an empty folder, in which it starts and from which it imports.

    Ray would install a wheel with its dependencies from an index; a package in the folder needs no pip and no network.

    Args:
        folder: The empty folder.
        file: The sweep file; it becomes ``NAME.toml``.
        name: The sweep's name.
        ship: A folder: ``models/``, ``tasks/`` and ``raw/`` are added to the package, all else goes next to the file.
        package: Whether to ship this Longwave.
        texts: Further files next to the sweep's, by relative path: plugins.

    Raises:
        ConfigError: A shipped file would replace one of Longwave's.
    """
    if package:
        for part in PARTS:
            shutil.copytree(ROOT / part, folder / "longwave" / part, ignore=shutil.ignore_patterns("__pycache__"))
        for path in Path(files.__file__).parent.glob("*.py*"):
            if path.is_file():
                shutil.copy(path, folder / "longwave")
        facts = folder / f"longwave-{metadata.version('longwave')}.dist-info/METADATA"
        facts.parent.mkdir()
        facts.write_text(f"Metadata-Version: 2.1\nName: longwave\nVersion: {metadata.version('longwave')}\n")
    for path in sorted(ship.rglob("*")) if ship else ():
        location = path.relative_to(ship)  # type: ignore[arg-type]
        if not path.is_file() or "__pycache__" in location.parts:
            continue
        in_package = package and location.parts[0] in ADDED
        target = folder / "longwave" / location if in_package else folder / location
        if target.exists() or location.parts[0] == "longwave":
            raise ConfigError(f"--ship {ship}: {location} would replace one of Longwave's own files. Rename it.")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for path_in_job, text in (texts or {}).items():
        (folder / path_in_job).parent.mkdir(parents=True, exist_ok=True)
        (folder / path_in_job).write_text(text, encoding="utf-8")
    if (target := folder / f"{name}.toml").exists():
        raise ConfigError(f"--ship {ship}: {target.name} has the sweep file's name. Rename it.")
    shutil.copy(file, target)


def shipped_plugins(path: Path, file: SweepFile) -> tuple[dict[str, str], list[str]]:
    """Return the files of a sweep's plugins by path relative to its file, and options for plugins it does not name.

    Plugins of installed packages are left out: they are installed where packs train.

    Args:
        path: The sweep file, whose plugins are loaded.
        file: Its content.

    Raises:
        ConfigError: It names a plugin outside of its folder.
    """
    texts, options = dict[str, str](), list[str]()
    for location, plugin in _locate_plugins(path, file):
        options += [] if location in file.plugins else ["--plugins", location]
        texts |= {f"{location}/{inner}" if plugin.package else location: text for inner, text in plugin.files.items()}
    return texts, options


def _locate_plugins(path: Path, file: SweepFile) -> Iterator[tuple[str, Plugin]]:
    """Yield the sweep's plugins with their relative paths: those of the file, else in the folder ``plugins``."""
    listed = {}
    for location in file.plugins:
        if Path(location).is_absolute() or ".." in Path(location).parts:
            rule = "is outside the sweep file's folder, and only that folder is sent"
            raise ConfigError(f"{path}: plugins: {location} {rule}. Move it there, or give it as --plugins {location}.")
        if Path(location) == Path():
            rule = "is the sweep file's folder, which has another name in the job"
            advice = f"Move its Python files to a folder {path.absolute().parent.name} in it, and name that"
            raise ConfigError(f"{path}: plugins: {location} {rule}. {advice}.")
        listed[location] = read_plugin(path.parent / location)
    yield from listed.items()
    named = [
        *(plugin_of("model", name) for name in file.models),
        *(plugin_of("task", name) for name in file.variant_by_task),
    ]
    for plugin in dict.fromkeys(filter(None, named)):
        if plugin not in listed.values() and plugin not in installed():
            yield f"plugins/{Path(plugin.origin).name}", plugin
