"""Whether the files of an edition say what its board.json says: each is made again and compared."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

from longwave.platform.boards.row import Row
from longwave.platform.editions.changes import Change
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.figures import CURVES, Curves, epochs
from longwave.platform.editions.files import FIGURE, PAGE, tables, texts
from longwave.platform.editions.results import CLOSE
from longwave.platform.exchange import limits
from longwave.platform.exchange.bundle import File
from longwave.platform.exchange.inspection import Objection

CHECK = "edition"
SUFFIXES = (".html", ".json", ".md", ".bib", ".svg")
DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.DOTALL)
"""What a page shows is drawn by its script from this."""
BROKEN = (AttributeError, IndexError, KeyError, OSError, TypeError, ValueError)
"""What files of a wrong form raise."""


def edited(folder: Path, made: Edition, file: File, commit: str) -> Iterator[Objection]:
    """Yield, for each file of an edition that says other than its board.json, that it was edited.

    A page of other code cannot be made again to the letter: what it shows is compared by value, and it is noted that
    its text is another one.

    Args:
        folder: The edition's.
        made: What its board.json says, which its results give.
        file: These results.
        commit: Of the code that compares.
    """
    try:
        told = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.suffix in SUFFIXES}
        rows = [_row(entry) for entry in made.rows]
        known = json.loads(told["changes.json"])
        changes = [Change(**change) for change in known["changes"]]
        here = texts(made, rows, known["previous"], changes, "", _epochs(file), told.get(FIGURE))
        yield from _tables(folder, made)
        yield from _json("board.json", told["board.json"], here["board.json"])
        yield from _json("changes.json", told["changes.json"], here["changes.json"])
        same = _cut(told[PAGE]) == _cut(here[PAGE])  # the same code wrote it
        for name in sorted(name for name in {*told, *here} if name.endswith(".svg") and (same or name == FIGURE)):
            yield from _figures(name, told.get(name, ""), here.get(name, ""))
        yield from _page(told[PAGE], here[PAGE], made, commit)
        if same:
            for name in ("CHANGES.md", "sources.bib"):
                if told.get(name) != here[name]:
                    yield Objection(CHECK, "reject", f"{name} is not what its board.json gives: it was edited.")
    except BROKEN as error:
        said = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read: {error}"
        yield Objection(CHECK, "reject", f"the edition {said}: a file of it was edited.".replace("\n", " "))


def _row(entry: Mapping[str, Any]) -> Row:
    """Return a row given what programs are told of it."""
    return Row(**{field.name: entry[field.name] for field in fields(Row) if field.name in entry})


def _page(told: str, here: str, made: Edition, commit: str) -> Iterator[Objection]:
    """Compare a page with the one made here: its data, and all that is around them."""
    shown, ours = _data(told), _data(here)
    same = _cut(told) == _cut(here)
    if not same:  # by other code, perhaps: the values that every version shows
        names = made.rows[0].keys() if made.rows else ()
        shown, ours = (_values(data, names) for data in (shown, ours))
    if place := _differs(shown, ours):
        yield Objection(CHECK, "reject", f"{PAGE} shows another {place} than its board.json: it was edited.")
    elif not same:
        by = "this code" if commit == made.commit != "unknown" else f"commit {made.commit[:12]}, here is {commit[:12]}"
        text = f"{PAGE} shows the numbers of its board.json in a page unlike the one made here; it was written by {by}."
        yield Objection(CHECK, "flag" if by == "this code" else "note", text)


def _cut(page: str) -> str:
    return DATA.sub(r"\1\3", page)


def _data(page: str) -> Any:
    found = DATA.findall(page)
    if len(found) != 1:
        raise ValueError(f"{PAGE} has {len(found)} blocks of data")
    return json.loads(found[0][1])


def _values(data: Any, names: Any) -> dict[str, Any]:
    """Return of a page's data the values that stand in board.json, too, whatever version shows them."""
    rows = [{name: line[name] for name in sorted({*line} & {*names})} for line in data["rows"]]
    return {"rows": rows, **{name: data[name] for name in ("id", "sha256", "title", "created", "commit", "counts")}}


def _json(name: str, told: str, here: str) -> Iterator[Objection]:
    if place := _differs(json.loads(told), json.loads(here)):
        yield Objection(CHECK, "reject", f"{name} tells another {place} than its rows give: it was edited.")


def _epochs(file: File) -> Curves:
    """Return the epochs of the retrainings in an edition's results."""
    return epochs(point for entry in file.content.trials for point in entry.points)


def _figures(name: str, told: str, here: str) -> Iterator[Objection]:
    """Compare what stands in a figure; where its lines are another library drew it, but for curves, which are ours."""
    words = [re.findall(r"<text[^>]*>(.*?)</text>", figure, re.DOTALL) for figure in (told, here)]
    if bool(told) != bool(here) or words[0] != words[1]:
        yield Objection(CHECK, "reject", f"{name} shows other models or numbers than board.json: it was edited.")
    elif told != here and name.endswith(CURVES):
        yield Objection(CHECK, "reject", f"{name} shows other curves than its results: it was edited.")
    elif told != here:
        yield Objection(CHECK, "note", f"{name} is drawn in another way than here; its texts are the same.")


def _tables(folder: Path, made: Edition) -> Iterator[Objection]:
    """Compare the tables, by value; an older edition has fewer columns."""
    import pandas as pd
    from pyarrow import ArrowException, parquet  # type: ignore[import-untyped]

    for name, ours in tables(made).items():
        try:
            head = parquet.read_metadata(folder / name)
            size = sum(head.row_group(k).total_byte_size for k in range(head.num_row_groups))
            if head.num_rows != len(ours) or size > limits.BYTES:
                yield Objection(CHECK, "reject", f"{name} has {head.num_rows} rows, board.json gives {len(ours)}.")
                continue
            told = pd.read_parquet(folder / name)
        except ArrowException as error:
            said = str(error).partition("\n")[0]
            yield Objection(CHECK, "reject", f"{name} cannot be read: {said}")
            continue
        known = {column for row in made.rows for column in row} | {*ours}
        if unknown := sorted(set(map(str, told.columns)) - known):
            yield Objection(CHECK, "reject", f"{name} has a column {unknown[0]!r} of its own: it was edited.")
        for column in ours.columns.intersection(told.columns):
            pairs = zip(told[column].tolist(), ours[column].tolist(), strict=True)
            if not all(_equal(*pair) for pair in pairs):
                yield Objection(CHECK, "reject", f"{name} has another {column} than board.json: it was edited.")
                break


def _differs(told: Any, here: Any, place: str = "") -> str:
    """Return where JSON data first differ, ``rows.3.median``; empty where they are equal."""
    if isinstance(told, Mapping) and isinstance(here, Mapping):
        pairs = [(name, told.get(name, _ABSENT), here.get(name, _ABSENT)) for name in sorted({*told, *here})]
    elif isinstance(told, list) and isinstance(here, list):
        pairs = [(str(k), *pair) for k, pair in enumerate(zip_longest(told, here, fillvalue=_ABSENT))]
    else:
        return "" if _equal(told, here) else place or "form"
    inner = (_differs(one, other, f"{place}.{name}".removeprefix(".")) for name, one, other in pairs)
    return next(filter(None, inner), "")


def _equal(told: Any, here: Any) -> bool:
    """Return whether two values are one; two that are missing are."""
    numbers = isinstance(told, float) and isinstance(here, int | float)
    return bool(numbers and math.isclose(told, here, rel_tol=CLOSE)) or repr(told) == repr(here)


_ABSENT = object()
