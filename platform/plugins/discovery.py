"""Plugins that are found without being named: in installed packages, and in the data folder."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from longwave.platform.errors import ConfigError
from longwave.platform.paths import home
from longwave.platform.plugins.plugin import Plugin, read_plugin, text_of, texts_of
from longwave.platform.redaction import make_logger

LOG = make_logger(__name__)
GROUPS = ("longwave.models", "longwave.tasks")
"""Entry points of a package: ``leaky = "acme_rnns.leaky"`` names a module that binds MODEL or TASK."""


def registered() -> Iterator[Plugin]:
    """Yield the plugins of the data folder: one per file in ``plugins/``, Python or a data card. Hidden files are left
    out, and so are files that are not plugins, with a warning.
    """
    paths: list[Path] = []
    with suppress(
        PermissionError
    ):  # without read permission there are no plugins, but stored results can still be shown
        paths = sorted(folder().glob("*"))
    for path in paths:
        if path.suffix in (".py", ".toml") and not path.name.startswith(".") and path.is_file():
            facts = path.stat()
            if plugin := _read(path, facts.st_mtime_ns, facts.st_size):
                yield plugin


def folder() -> Path:
    """Return the folder of registered plugins."""
    return home() / "plugins"


@cache
def _read(path: Path, changed: int, size: int) -> Plugin | None:
    """Return the plugin in a file, cached until the file changes; None after a warning if it is not a plugin."""
    try:
        return read_plugin(path)
    except ConfigError as error:
        LOG.warning("Left out: %s", error)
        return None


def installed() -> list[Plugin]:
    """Return the plugins of installed packages, one per package, with the distribution's name as namespace.

    Raises:
        ConfigError: An entry point has no module; the message names it.
    """
    return _installed(tuple(sys.path))


@cache
def _installed(paths: tuple[str, ...]) -> list[Plugin]:
    """Return the plugins of the packages on these paths, read once per process."""
    packages: dict[tuple[str, str], dict[str, str]] = {}
    for group in GROUPS:
        for point in metadata.entry_points(group=group):
            namespace = re.sub(r"[^a-z0-9]+", "_", (point.dist.name if point.dist else point.module).lower())
            packages.setdefault((namespace, point.module.partition(".")[0]), {})[point.name] = point.module
    return [_of_package(namespace, package, points) for (namespace, package), points in packages.items()]


def _of_package(namespace: str, package: str, points: dict[str, str]) -> Plugin:
    """Return a package as a plugin, with its entry points and their modules."""
    spec = find_spec(package)
    if spec is None or not (spec.submodule_search_locations or spec.origin):
        raise ConfigError(f"{namespace}: its entry points name {package}, which is not installed. Install it again.")
    if spec.submodule_search_locations:
        origin = Path([*spec.submodule_search_locations][0])
        files = texts_of(origin)
    else:
        origin = Path(str(spec.origin))
        files = {origin.name: text_of(origin)}
    modules = []
    for name, module in points.items():
        module_path = module.partition(".")[2] or package
        file = f"{module_path.replace('.', '/')}.py"
        if file not in files or PurePosixPath(file).stem != name:
            rule = f"must name a module {name}.py that binds MODEL or TASK"
            raise ConfigError(f"{namespace}: the entry point {name} = {module!r} {rule}.")
        modules.append(file)
    plugin = Plugin(namespace, files, tuple(sorted(modules)), package, str(origin))
    for file in plugin.entries:
        if file not in plugin.bound.values():
            raise ConfigError(f"{plugin.where(file)}: it does not bind MODEL or TASK, and an entry point names it.")
    return plugin
