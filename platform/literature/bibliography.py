"""The BibTeX entries of the sources that published numbers name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("sources.bib")
ENTRY = re.compile(r"^@\w+\{(?P<key>[\w:-]+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)
ALIASES = re.compile(r"^  ids = \{(?P<keys>[^}]*)\},$", re.MULTILINE)
CITED = re.compile(r"([A-Z][\w-]+)(?: et al\.| & [A-Z][\w-]+)? (\d{4}[ab]?)")
"""``Kag & Saligrama 2021``, ``Arjovsky et al. 2016``: family name and year make the key, ``kag2021``."""
BY_NAME = re.compile(r"(coRNN|LEM|UnICORNN) paper")


def keys(source: str) -> list[str]:
    """Return the keys that one source of a published number names: ``lem, Table 1 (Arjovsky et al. 2016)``.

    The first is the paper that prints it, the others are those it is credited to. Not every key has an entry.
    """
    paper, _, rest = source.partition(", ")
    cited = [f"{name.lower()}{year}" for name, year in CITED.findall(rest)]
    return list(dict.fromkeys([paper, *cited, *(name.lower() for name in BY_NAME.findall(rest))]))


def bibliography(sources: Iterable[str]) -> str:
    """Return the BibTeX entries of the sources, each once, in the order of the file."""
    known = entries()
    cited = {known[key] for source in sources for key in keys(source) if key in known}
    return "\n".join(entry for entry in dict.fromkeys(known.values()) if entry in cited)


@cache
def entries() -> Mapping[str, str]:
    """Return all entries by key; one with other names, in its field ``ids``, stands under each of them."""
    by_key: dict[str, str] = {}
    for match in ENTRY.finditer(FILE.read_text(encoding="utf-8")):
        names = ALIASES.search(match[0])
        for key in (match["key"], *(names["keys"].split(", ") if names else ())):
            by_key[key] = match[0]
    return by_key
