"""Names in any case and spelling, and suggestions for wrong ones."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

GREEK = {"τ": "tau", "δ": "delta", "²": "2"}
"""Characters in printed names, as written in keys."""
SHORT_FAMILIES = {"ssm": "state space"}
"""Families of models by common abbreviation."""
SHORT_EDITS = 2
"""Largest edit distance that counts as a typing error."""
SHOWN = 3
"""Number of suggested names."""


def list_names(package: str) -> list[str]:
    """Return the names of all models or tasks from the files of the package, without importing them."""
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return sorted(file.stem for folder in folders for file in Path(folder).glob("*.py") if file.stem != "__init__")


def find_spelling(name: str, names: Collection[str]) -> str:
    """Return the known name that equals ``name`` up to case and spelling, ``psMNIST`` or ``Lorenz-96``; else
    ``name``."""
    if name in names:
        return name
    matches = (
        [candidate for candidate in names if _letters_of(candidate) == _letters_of(name)] if _letters_of(name) else []
    )
    return matches[0] if len(matches) == 1 else name


def find_by_title(name: str, titles: Mapping[str, str]) -> str:
    """Return the key, among the values of ``titles``, of the longest title that is ``name`` in any case, or with which
    it begins before a comma: ``Digits with noise, T1000``; else ``name``."""
    beginning = [title for title in titles if f"{name}, ".lower().startswith(f"{title}, ".lower())]
    return titles[max(beginning, key=len)] if beginning else name


def find_family(name: str, families: Collection[str]) -> str:
    """Return the known family that equals ``name`` up to case, spelling and abbreviation, ``ssm``; else ``name``."""
    return find_spelling(SHORT_FAMILIES.get(name.lower(), name), families)


def nearest_names(name: str, names: Iterable[str], first: Collection[str] = ()) -> list[str]:
    """Return known names that ``name`` may mean, the likeliest first; typing errors of names in ``first`` lead."""
    letters_by_name = {candidate: _letters_of(candidate) for candidate in sorted(names)}
    close = difflib.get_close_matches(_letters_of(name), letters_by_name.values(), n=2 * SHOWN)
    distances = {candidate: edit_distance(_letters_of(name), letters) for candidate, letters in letters_by_name.items()}
    largest = min(SHORT_EDITS, len(_letters_of(name)) // 2)
    likely = [
        candidate
        for candidate in letters_by_name
        if distances[candidate] <= largest or letters_by_name[candidate] in close
    ]
    return sorted(
        likely,
        key=lambda candidate: (distances[candidate] > largest, candidate not in first, distances[candidate], candidate),
    )[:SHOWN]


def edit_distance(a: str, b: str) -> int:
    """Return the Damerau-Levenshtein distance (optimal string alignment) of two texts."""
    second_last: list[int] = []
    last: list[int]
    last = [*range(len(b) + 1)]
    for i, x in enumerate(a):
        current = [i + 1]
        for j, y in enumerate(b):
            current.append(min(last[j + 1] + 1, current[j] + 1, last[j] + (x != y)))
            if second_last and j and (x, a[i - 1]) == (b[j - 1], y):
                current[-1] = min(current[-1], second_last[j - 1] + 1)
        second_last, last = last, current
    return last[-1]


def _letters_of(name: str) -> str:
    """Return only the letters and digits of a name, in lowercase."""
    return "".join(GREEK.get(sign, sign) for sign in name.lower() if sign.isalnum())
