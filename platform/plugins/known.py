"""Plugins by the names they bind: named by the user, discovered, or pinned to the planned version. None is run here.

Named, pinned and used plugins are state of the process, like imported modules.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from longwave.platform.errors import ConfigError
from longwave.platform.plugins.discovery import installed, registered
from longwave.platform.plugins.kept import keep_plugin, kept_plugin
from longwave.platform.plugins.plugin import Plugin, PluginKind, is_plugin, read_plugin

_given: list[Plugin] = []
_pinned: dict[tuple[PluginKind, str], Plugin] = {}
_used: dict[str, Plugin] = {}


def add_plugin(path: Path) -> Plugin:
    """Register the plugin in a file or a folder for this process and return it, without running it. It replaces what
    was read from that path before, and pinned plugins and those of the data folder that bind the same names.

    Raises:
        ConfigError: It is not a plugin, or binds a name that another plugin binds; the message names both.
    """
    plugin = read_plugin(path)
    given = [*(other for other in _given if other.origin != plugin.origin), plugin]
    by_binding([*given, *installed()])
    _given[:] = given
    for bound in plugin.bound:
        _pinned.pop(bound, None)
    return plugin


def forget_plugins() -> None:
    """Clear named, pinned and used plugins."""
    for registry in (_given, _pinned, _used):
        registry.clear()


def plugins_by_name(kind: PluginKind) -> dict[str, Plugin]:
    """Return the plugins that bind models, or tasks, by full name.

    Raises:
        ConfigError: Two plugins bind one name, or an entry point has no module.
    """
    in_data_folder, given = by_binding([*registered(), *installed()]), by_binding([*_given, *installed()])
    bound = {**in_data_folder, **given, **_pinned}
    return {name: plugin for (bound_kind, name), plugin in sorted(bound.items()) if bound_kind == kind}


def plugin_of(kind: PluginKind, name: str) -> Plugin | None:
    """Return the plugin that binds a full name, the pinned one before any other; None if none does.

    Raises:
        ConfigError: As ``plugins_by_name``.
    """
    candidates = (plugin for plugin in _given if (kind, name) in plugin.bound)
    return _pinned.get((kind, name)) or next(candidates, None) or plugins_by_name(kind).get(name)


def note_used(plugin: Plugin) -> None:
    """Record that the packs of this process need a plugin."""
    _used[plugin.version] = plugin


def used_plugins() -> list[Plugin]:
    """Return the plugins that this process's packs need."""
    return [*_used.values()]


def pin_plugins(plugins: Iterable[Plugin]) -> None:
    """Use these plugins from now on, even if others bind the same names."""
    for plugin in plugins:
        _pinned.update(dict.fromkeys(plugin.bound, plugin))


def pin_as_planned(kind: PluginKind, name: str, version: str) -> None:
    """Pin a name to the plugin version with which a trial was planned, current or stored.

    Raises:
        ConfigError: That version is not available; the message says what to do.
    """
    if not is_plugin(name):
        return
    current = plugin_of(kind, name)
    planned = current if current and current.version == version else kept_plugin(name.partition("-")[0], version)
    if planned is None or (kind, name) not in planned.bound:
        other = f", only version {current.version}" if current else ""
        raise ConfigError(
            f"The {kind} {name} of version {version} is not available{other}. Give its original file: --plugins FILE."
        )
    pin_plugins([planned])
    note_used(planned)


def keep_plugin_text(kind: PluginKind, name: str) -> None:
    """Store the text of a plugin in the data folder, so that its trials can be trained without the original file."""
    if is_plugin(name) and (plugin := plugin_of(kind, name)):
        keep_plugin(plugin)


def by_binding(plugins: Iterable[Plugin]) -> dict[tuple[PluginKind, str], Plugin]:
    """Return plugins by kind and name.

    Raises:
        ConfigError: Two different plugins bind one name.
    """
    bound: dict[tuple[PluginKind, str], Plugin] = {}
    for plugin in plugins:
        for (kind, name), file in plugin.bound.items():
            other = bound.setdefault((kind, name), plugin)
            if other.version != plugin.version:
                where = f"{other.where(other.bound[kind, name])} and {plugin.where(file)}"
                raise ConfigError(f"The {kind} {name} is defined twice, by {where}. Rename one file or leave it out.")
    return bound
