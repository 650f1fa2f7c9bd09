"""The root of the tree, its files, and their imports."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("platform", "models", "tasks", "dashboard")
PROGRAMS = ("tests/support", "infra/tools", "infra/benchmarks")
"""Folders whose files tests and programs import by their bare names."""
PROGRAMS_PATH = os.pathsep.join(str(ROOT / folder) for folder in PROGRAMS)
"""PYTHONPATH of these folders."""


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def modules() -> dict[str, Path]:
    """Return every file of the package by its module name."""
    return {f"longwave.{_module_name(path, ROOT)}": path for path in python_files(*FOLDERS)}


def list_programs() -> dict[str, Path]:
    """Return every file of ``PROGRAMS`` by its module name."""
    return {_module_name(path, ROOT / folder): path for folder in PROGRAMS for path in python_files(folder)}


def _module_name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


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
