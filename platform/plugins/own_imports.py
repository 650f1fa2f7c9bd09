"""Redirect a plugin's imports of its own package to its stored files, and reject imports of files outside it."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

from longwave.platform.plugins.plugin import Plugin


class OwnImports(ast.NodeTransformer):
    """Renames imports of a plugin's own package to ``root``, the package of its stored files.

    Raises:
        ModuleNotFoundError: An import would read a file beside the plugin, which is not part of it.
    """

    def __init__(self, plugin: Plugin, root: str) -> None:
        self.plugin, self.root = plugin, root

    def visit_Import(self, node: ast.Import) -> ast.Import:
        """Rename, and bind the package's name as the original import does: ``import acme.maps`` binds acme."""
        names = []
        for alias in node.names:
            renamed = self._rename(alias.name)
            if renamed != alias.name and alias.asname is None:
                names += [ast.alias(renamed, f"_{self.plugin.package}"), ast.alias(self.root, self.plugin.package)]
            else:
                names.append(ast.alias(renamed, alias.asname))
        return ast.copy_location(ast.Import(names), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        """Rename absolute imports; relative ones resolve to the stored files already."""
        if node.level == 0 and node.module:
            node.module = self._rename(node.module)
        return node

    def _rename(self, name: str) -> str:
        package = self.plugin.package
        if package and f"{name}.".startswith(f"{package}."):
            return self.root + name[len(package) :]
        if _lies_beside(self.plugin, name.partition(".")[0]):
            raise ModuleNotFoundError(name=name)
        return name


def _lies_beside(plugin: Plugin, top: str) -> bool:
    """Return whether Python would import a module from beside the plugin, as when started in its folder."""
    origin = Path(plugin.origin)
    folder = origin if plugin.package else origin.parent
    candidates = [folder / f"{top}.py", folder / top / "__init__.py", folder / top]
    if not any(path.exists() for path in candidates):
        return False
    spec = find_spec(top)
    if spec is None:
        return False
    places = [spec.origin] if spec.origin else spec.submodule_search_locations or []  # a folder without __init__.py
    return any(Path(place) in candidates for place in places)
