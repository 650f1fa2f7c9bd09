"""The edition that ships with the package, which ``longwave board`` shows if there is no store yet."""

from __future__ import annotations

import json
import lzma
from dataclasses import fields, replace
from pathlib import Path

from longwave.files import atomic_file
from longwave.platform.boards.row import Row
from longwave.platform.editions.edition import Edition, load

FILE = Path(__file__).with_name("edition-1.json.xz")
"""Its ``board.json``, compressed."""
FOLDER = f"infra/board/{FILE.name.partition('.')[0]}"
"""Its folder in a checkout, with the results that ``longwave import`` reads."""
OF_ROW = {field.name for field in fields(Row)}


def ship(edition: Edition, file: Path = FILE) -> None:
    """Write an edition to the package; equal editions give equal bytes."""
    text = json.dumps(edition.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    with atomic_file(file) as temporary:
        temporary.write_bytes(lzma.compress(text.encode(), preset=9))


def read_shipped() -> Edition:
    """Return the edition that ships."""
    return load(json.loads(lzma.decompress(FILE.read_bytes())), str(FILE))


def names_row(edition: Edition, name: str) -> bool:
    """Return whether ``name``, 4 digits or more, begins the name of a row of an edition, or of one of its trials."""
    names = (named for row in edition.rows for named in (row["config"], *row["trials"]))
    return len(name) >= 4 and any(named.startswith(name.lower()) for named in names)


def rows_of(edition: Edition) -> list[Row]:
    """Return the rows of an edition, with the ranks they were published with.

    A record has a median of rows that were not trained, too: their number.
    """
    rows = [Row(**{name: value for name, value in record.items() if name in OF_ROW}) for record in edition.rows]
    return [row if row.kind == "retrained" else replace(row, median=None) for row in rows]
