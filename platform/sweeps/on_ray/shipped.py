"""What of a sweep's plugins goes along with its job, and where it lies there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longwave.platform.errors import ConfigError
from longwave.platform.plugins.discovery import installed
from longwave.platform.plugins.known import plugin_of
from longwave.platform.plugins.plugin import Plugin, read_plugin
from longwave.platform.sweeps.file.schema import SweepFile


def shipped_plugins(path: Path, file: SweepFile) -> tuple[dict[str, str], list[str]]:
    """Return the texts of a sweep's plugins by their places beside its file, and the options that bring in more.

    Those of installed packages are left out: where packs train they are installed, as all else is.

    Args:
        path: The sweep file, whose plugins are brought in.
        file: What it says.

    Raises:
        ConfigError: It names a plugin outside of its folder.
    """
    texts, options = dict[str, str](), list[str]()
    for place, plugin in _places(path, file):
        options += [] if place in file.plugins else ["--plugins", place]
        texts |= {f"{place}/{inner}" if plugin.package else place: text for inner, text in plugin.files.items()}
    return texts, options


def _places(path: Path, file: SweepFile) -> Iterator[tuple[str, Plugin]]:
    """Yield the sweep's plugins with their places: as the file says, else in a folder of their own."""
    told = {}
    for place in file.plugins:
        if Path(place).is_absolute() or ".." in Path(place).parts:
            rule = "lies outside of the file's folder, which alone is sent"
            raise ConfigError(f"{path}: plugins: {place} {rule}. Move it there, or give it as --plugins {place}.")
        told[place] = read_plugin(path.parent / place)
    yield from told.items()
    named = [*(plugin_of("model", name) for name in file.models), *(plugin_of("task", name) for name in file.places)]
    for plugin in dict.fromkeys(filter(None, named)):
        if plugin not in told.values() and plugin not in installed():
            yield f"plugins/{Path(plugin.origin).name}", plugin
