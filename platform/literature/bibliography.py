"""BibTeX entries of the sources of published numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("sources.bib")
ENTRY = re.compile(r"^@\w+\{(?P<key>[\w:-]+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)
ALIASES = re.compile(r"^  ids = \{(?P<keys>[^}]*)\},$", re.MULTILINE)
CITED = re.compile(r"([A-Z][\w-]+)(?: et al\.| & [A-Z][\w-]+)? (\d{4}[ab]?)")
"""``Kag & Saligrama 2021``, ``Arjovsky et al. 2016``: the key is family name and year, ``kag2021``."""
BY_NAME = re.compile(r"(coRNN|LEM|UnICORNN) paper")


def keys(source: str) -> list[str]:
    """Return the BibTeX keys of one source of a published number: ``lem, Table 1 (Arjovsky et al. 2016)``. The first is
    the paper that prints it, the others are credited by it. Not every key has an entry.
    """
    paper, _, details = source.partition(", ")
    cited = [f"{name.lower()}{year}" for name, year in CITED.findall(details)]
    return list(dict.fromkeys([paper, *cited, *(name.lower() for name in BY_NAME.findall(details))]))


def bibliography(sources: Iterable[str]) -> str:
    """Return the BibTeX entries of the sources, each once, in the order of the file."""
    all_entries = entries()
    cited = {all_entries[key] for source in sources for key in keys(source) if key in all_entries}
    return "\n".join(entry for entry in dict.fromkeys(all_entries.values()) if entry in cited)


@cache
def entries() -> Mapping[str, str]:
    """Return all entries by key, and by their aliases in the field ``ids``."""
    by_key: dict[str, str] = {}
    for match in ENTRY.finditer(FILE.read_text(encoding="utf-8")):
        names = ALIASES.search(match[0])
        for key in (match["key"], *(names["keys"].split(", ") if names else ())):
            by_key[key] = match[0]
    return by_key
