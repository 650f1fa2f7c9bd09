"""The editions that ship with the package, which ``longwave board`` shows if there is no store yet."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

from longwave.files import atomic_file
from longwave.platform.boards.row import Row
from longwave.platform.editions.edition import Edition, load

OF_ROW = {field.name for field in fields(Row)}


def file_of(number: int) -> Path:
    """Return the file in the package of an edition's ``board.json``, compressed."""
    return Path(__file__).with_name(f"edition-{number}.json.xz")


def folder_of(number: int) -> str:
    """Return the folder of an edition in a checkout, with the results that ``longwave import`` reads."""
    return f"infra/board/edition-{number}"


def write_shipped(edition: Edition, file: Path) -> None:
    """Write an edition to the package; equal editions give equal bytes."""
    text = json.dumps(edition.to_dict(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    with atomic_file(file) as temporary:
        temporary.write_bytes(lzma.compress(text.encode(), preset=9))


def read_shipped() -> dict[int, Edition]:
    """Return the editions that ship by their numbers, the newest first."""
    files = {int(file.name.split("-")[1].split(".")[0]): file for file in file_of(1).parent.glob("edition-*.json.xz")}
    return {
        number: load(json.loads(lzma.decompress(file.read_bytes())), str(file))
        for number, file in sorted(files.items(), reverse=True)
    }


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


def newest_rows(editions: Iterable[Edition]) -> list[Row]:
    """Return the rows of each board in the first of these editions that has it."""
    rows: list[Row] = []
    for edition in editions:
        boards = {row.place for row in rows}
        rows += [row for row in rows_of(edition) if row.place not in boards]
    return rows
