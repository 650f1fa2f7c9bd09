"""Names as people write them: any case and spelling of what is here, and what a wrong one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from pathlib import Path

GREEK = {"τ": "tau", "δ": "delta", "²": "2"}
"""Signs in printed names, as keys write them."""
SHORT_FAMILIES = {"ssm": "state space"}
"""Families of models by what people call them in short."""
SHORT_EDITS = 2
"""Letters wrong, left out, too many or swapped in what counts as a slip of the hand."""
SHOWN = 3
"""Names that are proposed."""


def list_names(package: str) -> list[str]:
    """Return the names of all models or tasks: the files of ``longwave.models`` or ``longwave.tasks``, unread."""
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return sorted(file.stem for folder in folders for file in Path(folder).glob("*.py") if file.stem != "__init__")


def find_spelling(name: str, known: Collection[str]) -> str:
    """Return the known name that ``name`` is in another case or spelling, ``psMNIST`` or ``Lorenz-96``; else itself."""
    if name in known:
        return name
    same = [each for each in known if _letters_of(each) == _letters_of(name)] if _letters_of(name) else []
    return same[0] if len(same) == 1 else name


def find_family(name: str, known: Collection[str]) -> str:
    """Return the known family that ``name`` is in another case or spelling, or in short, ``ssm``; else itself."""
    return find_spelling(SHORT_FAMILIES.get(name.lower(), name), known)


def nearest_names(name: str, known: Iterable[str], first: Collection[str] = ()) -> list[str]:
    """Return known names that ``name`` may stand for, the likeliest first: short edits of what is in ``first`` lead."""
    bare = {each: _letters_of(each) for each in sorted(known)}
    near = difflib.get_close_matches(_letters_of(name), bare.values(), n=2 * SHOWN)
    far = {each: edit_distance(_letters_of(name), letters) for each, letters in bare.items()}
    slip = min(SHORT_EDITS, len(_letters_of(name)) // 2)
    likely = [each for each in bare if far[each] <= slip or bare[each] in near]
    return sorted(likely, key=lambda each: (far[each] > slip, each not in first, far[each], each))[:SHOWN]


def edit_distance(a: str, b: str) -> int:
    """Return how many letters are to be put in, left out, changed or swapped with the next to make ``b`` of ``a``."""
    before: list[int] = []
    last: list[int]
    last = [*range(len(b) + 1)]
    for i, x in enumerate(a):
        line = [i + 1]
        for j, y in enumerate(b):
            line.append(min(last[j + 1] + 1, line[j] + 1, last[j] + (x != y)))
            if before and j and (x, a[i - 1]) == (b[j - 1], y):
                line[-1] = min(line[-1], before[j - 1] + 1)
        before, last = last, line
    return last[-1]


def _letters_of(name: str) -> str:
    """Return letters and digits alone, small."""
    return "".join(GREEK.get(sign, sign) for sign in name.lower() if sign.isalnum())
