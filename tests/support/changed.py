"""A pytest plugin for ``--changed``: it runs the tests of what changed since the last tag, nearest to the change first.

A test is one import away from what it imports and from the module that its file is named after, two from what these
import, and so on. A file that is not Python counts as imported by the Python files of its folder and by those that name
it. Without a tag, everything counts as changed.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest
from tree import FOLDERS, PROGRAMS, ROOT, imports, list_programs, modules, python_files

BELOW = ("conftest.py", "requirements.lock")
"""Files that all tests below them use."""


def git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def changed_files() -> set[Path]:
    """Return the files, tracked by git or new, that differ from those of the last tag."""
    tags = git("tag", "--merged", "HEAD", "--sort=-creatordate")
    before = tags[0] if tags else git("hash-object", "-t", "tree", "/dev/null")[0]
    names = git("diff", "--name-only", before) + git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names}


def used_files(changed: set[Path]) -> Mapping[Path, set[Path]]:
    """Return which files each Python file of the package and of the tests imports, names or is named after."""
    files_by_name = modules() | list_programs()
    packages = {name for name, path in modules().items() if path.stem == "__init__"}
    users: dict[Path, set[Path]] = {}
    for path in python_files(*FOLDERS, *PROGRAMS, "infra/package", "tests"):
        words = set(re.findall(r"[\"']([^\"'\s]+)[\"']", path.read_text()))
        names = imports(path) | {word for word in words if word.startswith("longwave.")}
        used = {
            files_by_name[name] for name in names | {name.rpartition(".")[0] for name in names} if name in files_by_name
        }
        for package in words & packages:
            used |= set(files_by_name[package].parent.glob("*.py"))  # the registry imports all of them
        if path.name.startswith("test_"):
            used.add(ROOT / path.relative_to(ROOT / "tests").with_name(path.name.removeprefix("test_")))
        users[path] = used | {other for other in changed if _reads(path, words, other)}
    return users


def _reads(path: Path, words: set[str], other: Path) -> bool:
    """Return whether a Python file with these words in quotes counts as reading a file without importing it."""
    if other.name in BELOW:
        return path.name.startswith("test_") and other.parent in path.parents
    if other.suffix == ".py":
        return False
    folders = {str(folder) for folder in other.relative_to(ROOT).parents if len(folder.parts) > 1}
    return path.parent == other.parent or any(word.endswith(other.name) for word in words) or bool(folders & words)


def distances(changed: set[Path], used: Mapping[Path, set[Path]]) -> dict[Path, int]:
    """Return the number of imports from each file to the nearest changed one; files that use none are left out."""
    users = defaultdict(set)
    for path, used_by_path in used.items():
        for other in used_by_path:
            users[other].add(path)
    away_of = dict.fromkeys(changed, 0)
    nearest = set(changed)
    while nearest:
        away = 1 + away_of[next(iter(nearest))]
        nearest = {user for path in nearest for user in users[path]} - set(away_of)
        away_of |= dict.fromkeys(nearest, away)
    return away_of


class Changed:
    """Collects only the files in ``away``, and orders their tests by it."""

    def __init__(self, away: Mapping[Path, int]) -> None:
        self.away = away

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        return True if collection_path.name.startswith("test_") and collection_path not in self.away else None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.away[item.path])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--changed", action="store_true", help="only tests of what changed since the last tag")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("changed"):
        changed = changed_files()
        config.pluginmanager.register(Changed(distances(changed, used_files(changed))))
