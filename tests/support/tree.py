"""The root of the tree, its files, and their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("platform", "models", "tasks", "dashboard")
PROGRAMS = ("tests/support", "infra/tools", "infra/benchmarks")
"""Folders whose files tests and programs import by their bare names."""


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def modules() -> dict[str, Path]:
    """Return every file of the package by its module name."""
    parts = {path: ("longwave", *path.relative_to(ROOT).with_suffix("").parts) for path in python_files(*FOLDERS)}
    return {".".join(names).removesuffix(".__init__"): path for path, names in parts.items()}


@cache
def imports(path: Path) -> set[str]:
    """Return every module that a file imports, also inside functions and only for annotations."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports."
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names
