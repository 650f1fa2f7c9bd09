"""Mutants: one change in a file, drawn from cosmic-ray's operators or listed by hand."""

from __future__ import annotations

import ast
import hashlib
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, zip_longest
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from tree import ROOT

FOLDERS = (
    "platform/training", "platform/sweeps", "platform/exchange", "platform/storage", "platform/statistics",
    "platform/boards", "platform/literature", "models/kernels/compiler", "tasks", "tasks/cards", "tasks/trivial",
)  # fmt: skip
"""Folders that are drawn from; a file in several of them belongs to the deepest."""
SEED, A_FOLDER = 36, 43
"""Seed of the draw, and number of mutants per folder."""


@dataclass(frozen=True)
class Mutant:
    """One change in a file.

    Attributes:
        folder, file: One of ``FOLDERS``, and a file in it.
        line: Its line.
        before, after: The lines that differ, joined into one.
        text: The whole file, broken.
        first: Name of the test file to run first; empty for the one named after it.
    """

    folder: str
    file: str
    line: int
    before: str
    after: str
    text: str
    first: str = ""

    @property
    def id(self) -> str:
        """Its id, which depends on the whole file."""
        return _digest(self.file, self.text)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} → {self.after}"


def draw_mutants(folder: str, count: int = A_FOLDER) -> list[Mutant]:
    """Return up to ``count`` mutants of a folder: one of each module, then a second of each, and so on."""
    paths = [str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py")]
    others = tuple(f"{other}/" for other in FOLDERS if other.startswith(f"{folder}/"))
    modules = sorted((p for p in paths if not p.startswith(others)), key=lambda p: _digest(SEED, p))
    turns = zip_longest(*(_mutants(folder, module) for module in modules))
    return list(islice((mutant for turn in turns for mutant in turn if mutant), count))


def list_mutants(folder: str, path: Path) -> list[Mutant]:
    """Return the mutants that a file lists: ``[[mutant]]`` with ``file``, ``line``, its ``broken`` replacement, and
    ``first``.

    Raises:
        ValueError: The line does not occur in the file exactly once.
    """
    mutants = []
    for one in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
        source = (ROOT / one["file"]).read_text(encoding="utf-8")
        if (times := source.count(one["line"])) != 1:
            raise ValueError(f"{one['file']} contains {one['line']!r} {times} times, not once: change {path.name}.")
        text = source.replace(one["line"], one["broken"])
        number = source[: source.index(one["line"])].count("\n") + 1
        mutants.append(Mutant(folder, one["file"], number, *_changed(source, text), text, one.get("first", "")))
    return mutants


def _mutants(folder: str, module: str) -> Iterator[Mutant]:
    """Yield one mutant per operator position of a module, in random order."""
    source = (ROOT / module).read_text(encoding="utf-8")
    nodes, by_position = list(ast_nodes(get_ast(source))), dict[tuple[int, int], list[tuple[str, int]]]()
    for name in operator_names():
        if not (operator := get_operator(name)).arguments():
            positions = (position for node in nodes for position in operator().mutation_positions(node))
            for occurrence, (start, _) in enumerate(positions):
                by_position.setdefault(start, []).append((name, occurrence))
    for at in sorted(by_position, key=lambda at: _digest(SEED, module, at)):
        name, occurrence = min(by_position[at], key=lambda one: _digest(SEED, module, at, one))
        try:
            text = mutate_code(source, get_operator(name)(), occurrence)
        except AttributeError:  # cosmic-ray fails at a dotted name among several exceptions
            continue
        if text is not None and _does_another_thing(source, text):
            yield Mutant(folder, module, at[0], *_changed(source, text), text)


def _does_another_thing(source: str, text: str) -> bool:
    """Return whether a mutant differs by more than the operator in a type annotation, which has no effect."""
    try:
        with warnings.catch_warnings(action="error", category=SyntaxWarning):
            compile(text, "mutant", "exec")
    except SyntaxError:  # every import fails, which shows nothing
        return False
    return _with_plain_types(source) != _with_plain_types(text)


def _with_plain_types(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for types in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for joined in (part for part in (ast.walk(types) if types else ()) if isinstance(part, ast.BinOp)):
                joined.op = ast.BitOr()
    return ast.dump(tree)


def _changed(source: str, text: str) -> tuple[str, str]:
    """Return the lines that differ, joined into one, for both texts."""
    old, new = source.splitlines(), text.splitlines()
    steps = [step for step in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if step[0] != "equal"]
    before = [line for _, start, stop, _, _ in steps for line in old[start:stop]]
    after = [line for _, _, _, start, stop in steps for line in new[start:stop]]
    return " ".join(" ".join(before).split()), " ".join(" ".join(after).split())


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
