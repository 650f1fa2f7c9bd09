"""Which plugins there are, by the names they bind: found at any door, kept, pinned to the version planned. None is run.

What a process was given, has pinned and has used is the process's own: as what Python has imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from longwave.files import atomic_file, own_folder
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.doors import folder, installed, registered
from longwave.platform.plugins.plugin import Plugin, PluginKind, is_plugin, read_plugin

_given: list[Plugin] = []
_pinned: dict[tuple[PluginKind, str], Plugin] = {}
_used: dict[str, Plugin] = {}


def add_plugin(path: Path) -> Plugin:
    """Take the plugin that a file or a folder is, for this process, and return it. Nothing of it is run yet.

    Raises:
        ConfigError: It is none, or binds a name that another plugin binds; the message names both.
    """
    plugin = read_plugin(path)
    if plugin not in _given:
        _named([*_found(), plugin])
        _given.append(plugin)
    return plugin


def forget_plugins() -> None:
    """Have nothing given, pinned or used any more."""
    for known in (_given, _pinned, _used):
        known.clear()


def plugins_by_name(kind: PluginKind) -> dict[str, Plugin]:
    """Return the plugins that bind models, or tasks, by full name.

    Raises:
        ConfigError: A plugin cannot be read, or two bind one name.
    """
    found = {**_named(_found()), **_pinned}
    return {name: plugin for (of, name), plugin in sorted(found.items()) if of == kind}


def plugin_of(kind: PluginKind, name: str) -> Plugin | None:
    """Return the plugin that binds a full name, the pinned one before any other; None if none does.

    Raises:
        ConfigError: As ``plugins_by_name``.
    """
    found = (plugin for plugin in _given if (kind, name) in plugin.bound)
    return _pinned.get((kind, name)) or next(found, None) or plugins_by_name(kind).get(name)


def note_used(plugin: Plugin) -> None:
    """Note that a plugin is needed wherever this process's packs train."""
    _used[plugin.version] = plugin


def used_plugins() -> list[Plugin]:
    """Return the plugins that this process's packs need."""
    return [*_used.values()]


def pin_plugins(plugins: Iterable[Plugin]) -> None:
    """Have these plugins from now on, whatever else binds their names."""
    for plugin in plugins:
        _pinned.update(dict.fromkeys(plugin.bound, plugin))


def pin_as_planned(kind: PluginKind, name: str, version: str) -> None:
    """Have a name stand for what it was when a trial was planned: as it is here, or as it was kept.

    Raises:
        ConfigError: It is not here in that version; the message says what to do.
    """
    if not is_plugin(name):
        return
    here = plugin_of(kind, name)
    wanted = here if here and here.version == version else _kept(version)
    if wanted is None or (kind, name) not in wanted.bound:
        other = f", only version {here.version}" if here else ""
        told = "Give it as it was then: --plugins FILE"
        raise ConfigError(f"The {kind} {name} of version {version} is not here{other}. {told}.")
    pin_plugins([wanted])
    note_used(wanted)


def keep_plugin_text(kind: PluginKind, name: str) -> None:
    """Keep the text of a plugin in the data folder, so that what is planned with it goes on without its file."""
    if not is_plugin(name) or (plugin := plugin_of(kind, name)) is None:
        return
    path = _place(plugin.version)
    own_folder(path.parent)
    with atomic_file(path, private=True) as partial:
        partial.write_text(json.dumps(plugin.to_dict()), encoding="utf-8")


def card_path(plugin: Plugin) -> Path:
    """Return where a data card can be read: where it was, or if it is not there as it was then, a copy."""
    place, (text,) = Path(plugin.origin), plugin.files.values()
    try:
        if place.read_text(encoding="utf-8-sig") == text:
            return place
    except (OSError, ValueError):
        pass
    copy = _place(plugin.version).parent / plugin.version / place.name
    own_folder(copy.parent)
    with atomic_file(copy, private=True) as partial:
        partial.write_text(text, encoding="utf-8")
    return copy


def _found() -> list[Plugin]:
    return [*_given, *registered(), *installed()]


def _named(plugins: Iterable[Plugin]) -> dict[tuple[PluginKind, str], Plugin]:
    """Return plugins by what they bind.

    Raises:
        ConfigError: Two bind one name, and are not the same.
    """
    found: dict[tuple[PluginKind, str], Plugin] = {}
    for plugin in plugins:
        for (kind, name), file in plugin.bound.items():
            other = found.setdefault((kind, name), plugin)
            if other.version != plugin.version:
                where = f"{other.where(other.bound[kind, name])} and {plugin.where(file)}"
                raise ConfigError(f"The {kind} {name} is bound by {where}. Rename a file, or leave one out.")
    return found


def _place(version: str) -> Path:
    return folder() / "kept" / f"{version}.json"


def _kept(version: str) -> Plugin | None:
    """Return the plugin that was kept under a version; None if there is none, or it is damaged."""
    try:
        found = Plugin.from_dict(json.loads(_place(version).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if found.version == version else None
