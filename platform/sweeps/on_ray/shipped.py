"""The files of a sweep's plugins that are sent with its job, and their paths there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longwave.platform.errors import ConfigError
from longwave.platform.plugins.doors import installed
from longwave.platform.plugins.known import plugin_of
from longwave.platform.plugins.plugin import Plugin, read_plugin
from longwave.platform.sweeps.file.schema import SweepFile


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
            rule = "lies outside of the file's folder, which alone is sent"
            raise ConfigError(f"{path}: plugins: {location} {rule}. Move it there, or give it as --plugins {location}.")
        listed[location] = read_plugin(path.parent / location)
    yield from listed.items()
    named = [
        *(plugin_of("model", name) for name in file.models),
        *(plugin_of("task", name) for name in file.variant_by_task),
    ]
    for plugin in dict.fromkeys(filter(None, named)):
        if plugin not in listed.values() and plugin not in installed():
            yield f"plugins/{Path(plugin.origin).name}", plugin
