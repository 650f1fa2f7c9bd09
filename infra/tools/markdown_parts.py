"""Parts of the documentation's generated Markdown pages: escaped text, tables, docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")
UNESCAPED, PIPE = re.compile(r"(?<!\\)\|"), r"\\|"
ATTRIBUTE = re.compile(r"^    (\w[\w, ]*): (.*)$")


def escape(text: str) -> str:
    """Return a text on one line, escaped for Markdown; text between double backticks becomes code."""
    parts = " ".join(text.split()).split("``")
    return "".join(f"`{part}`" if k % 2 else SPECIAL.sub(r"\\\1", part) for k, part in enumerate(parts))


def code(text: str) -> str:
    """Return a text as code within a line."""
    return f"`{text}`" if text else ""


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown cells; empty if it has no lines."""
    rows = [f"| {' | '.join(UNESCAPED.sub(PIPE, cell) for cell in line)} |" for line in lines]
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows]) if rows else ""


def join(*parts: str) -> str:
    """Return the parts of a page, separated by blank lines, without empty ones."""
    return "\n\n".join(filter(None, parts)) + "\n"


def contents(pages: Iterable[str], depth: int = 1, hidden: bool = False) -> str:
    """Return the table-of-contents directive for pages."""
    options = [f":maxdepth: {depth}", *([":hidden:"] if hidden else [])]
    return "\n".join(["```{toctree}", *options, "", *pages, "```"])


def flow(text: str) -> str:
    """Return a docstring's text as Markdown; indented blocks, such as equations, are kept."""
    parts = (part.strip("\n") for part in re.split(r"\n\n+", text))
    return "\n\n".join(f"```text\n{dedent(part)}\n```" if part[:1] == " " else escape(part) for part in parts)


def lead(kind: type) -> str:
    """Return a class's docstring up to its attributes, as Markdown."""
    text = (inspect.getdoc(kind) or "").partition("\nAttributes:")[0]
    return flow(text)


def attributes(kind: type) -> Mapping[str, str]:
    """Return the description of each attribute in a class's docstring, by name; several may share one."""
    descriptions: dict[str, list[str]] = {}
    description: list[str] = []
    for line in (inspect.getdoc(kind) or "").partition("\nAttributes:\n")[2].splitlines():
        if match := ATTRIBUTE.match(line):
            description = [match[2]]
            descriptions |= dict.fromkeys(match[1].split(", "), description)
        elif line.startswith("        "):
            description.append(line.strip())
        elif line.strip():
            break
    return {name: " ".join(lines) for name, lines in descriptions.items()}
