"""Columns of a CSV or Parquet file, as numbers, strings or times; other values are refused with row and column."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]

from longwave.tasks.base.raw import DataError, open_bytes

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
"""Strings for a missing value, in lower case."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LARGEST = float(np.finfo(np.float32).max)
"""Largest value: inputs are in single precision."""
NO_ROWS = "there must be rows below the header, got none."
PIECE = 2**16
"""Bytes of a file that are searched for NUL bytes."""
LONGEST_ROW = 2**26
"""Largest row of a CSV in bytes; pyarrow reads this many at a time."""
UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""Names of columns of a Parquet file that pandas made of an index without a name."""
DAY = re.compile(r"(19|20)\d{6}", re.ASCII)
"""Matches a date like 20240531."""


@dataclass(frozen=True)
class Columns:
    """A table. Its first row below the header is row 1.

    Attributes:
        path: Of the file.
        table: Strings of a CSV, or the content of a Parquet file.
    """

    path: Path
    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.table.column_names)

    @property
    def dates(self) -> list[str]:
        """Names of the columns that are dates, or dates and times, in Parquet."""
        kinds = zip(self.names, self.table.schema.types, strict=True)
        return [name for name, kind in kinds if pa.types.is_timestamp(kind) or pa.types.is_date(kind)]

    def at(self, row: int, name: str) -> str:
        """Return the position of a value in words; ``row`` counts from 0."""
        return f"{self.path}: row {row + 1}, column {name}"

    def check(self, names: Sequence[str]) -> None:
        """Check that all these columns exist, and that there are rows.

        Raises:
            DataError: One does not, or there are no rows.
        """
        own = set(self.names)
        if absent := [name for name in dict.fromkeys(names) if name not in own]:
            none = f"there is no column {', '.join(map(repr, absent))}"
            raise DataError(f"{self.path}: {none}. It has {_shorten(self.names)}.")
        if not len(self):
            raise DataError(f"{self.path}: {NO_ROWS}")

    def words(self, name: str) -> list[str]:
        """Return a column as stripped strings; missing ones are empty.

        Raises:
            DataError: It contains lists, bytes or the like.
        """
        column = self.table.column(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_floating(kind):
            values = column.to_pylist()
            return ["" if v is None or v != v else write_number(v) for v in values]
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise DataError(f"{self.path}: column {name} must hold numbers or words, got {kind}.")
        cells = [("" if v is None else str(v).strip()) for v in column.to_pylist()]
        if pa.types.is_boolean(kind):
            return [word.lower() for word in cells]
        return ["" if word.lower() in MISSING else word for word in cells]

    def numbers(self, name: str) -> np.ndarray:
        """Return a column as (rows,) float64, NaN where a value is missing.

        Raises:
            DataError: A value is not a number, infinite, or too large for single precision.
        """
        column = self.table.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
            values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False).copy()
            missing = np.isnan(values)
        else:
            words = self.words(name)
            missing = np.array([not word for word in words], bool)
            values = np.full(len(words), np.nan)
            values[~missing] = self._parsed(name, words, missing)
        for row in np.flatnonzero(~missing & ~(np.abs(values) <= LARGEST)).tolist():
            rule = "a value must be finite and fit single precision, 3.4e38"
            raise DataError(f"{self.at(row, name)}: {rule}, got {values[row]:g}.")
        return cast("np.ndarray", values)

    def times(self, name: str) -> np.ndarray:
        """Return a column of numbers, or of dates and times by ISO 8601, as (rows,) float64: numbers, or seconds.

        Numbers like 20240531 in every row are dates.

        Raises:
            DataError: A time is missing or invalid.
        """
        import pandas as pd

        words = self.words(name)
        numbers = [NUMBER.fullmatch(word) is not None for word in words]
        days = all(DAY.fullmatch(word) for word in words)
        if all(numbers) and not days:
            return np.array(words, np.float64)
        form = "%Y%m%d" if days else "ISO8601"
        dates = pd.to_datetime(pd.Series(words, dtype=object), format=form, utc=True, errors="coerce")
        if days and dates.isna().any():
            return np.array(words, np.float64)
        wrong = dates.isna().to_numpy() if days or not numbers[0] else ~np.array(numbers)
        for row in np.flatnonzero(wrong).tolist():
            rule = "a time must be a number, or a date and time like 2024-05-31T12:00"
            raise DataError(f"{self.at(row, name)}: {rule}, got {words[row]!r}.")
        start = pd.Timestamp("1970-01-01", tz="UTC")
        return ((dates - start) / pd.Timedelta(seconds=1)).to_numpy(np.float64)

    def _parsed(self, name: str, words: list[str], missing: np.ndarray) -> np.ndarray:
        """Return the non-missing strings as float64."""
        try:
            return np.asarray(pc.cast(pa.array([word for word in words if word]), pa.float64()))
        except pa.ArrowInvalid:  # Arrow does not parse all numbers: +1
            pass
        for row in np.flatnonzero(~missing).tolist():
            if not NUMBER.fullmatch(words[row]):
                comma = "Write decimals with a point."
                step = comma if has_decimal_comma(words[row]) else "Correct it, or leave it empty if it is missing."
                raise DataError(f"{self.at(row, name)}: it must be a number, got {words[row]!r:.80}. {step}")
        return np.array([float(word) for word in words if word])


def read_columns(path: Path, kind: str, delimiter: str = ",") -> Columns:
    """Return the columns of a file.

    Raises:
        DataError: It cannot be read: a folder, empty, truncated, with rows of different lengths, or not UTF-8.
    """
    open_bytes(path).close()
    try:
        table = _read_parquet(path) if kind == "parquet" else _read_csv(path, delimiter)
    except (pa.ArrowException, OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        raise DataError(
            f"{path}: it is not a {'Parquet' if kind == 'parquet' else 'CSV'} file: {_describe_error(error)}"
        ) from None
    for name, times in Counter(table.column_names).items():
        if times > 1 or not name:
            rule = "each column needs its own name in the first line"
            raise DataError(f"{path}: {rule}, got {name!r}{' twice' if name else ''}.")
    return Columns(path, table)


def read_header(path: Path, delimiter: str = ",") -> list[str]:
    """Return the names in the first line of a CSV, unchanged.

    Raises:
        DataError: It cannot be read, is empty, or has no first line.
    """
    open_bytes(path).close()
    try:
        with _open_csv(path) as file:
            head: bytes = file.read(PIECE)
            if not head.strip():
                raise DataError(f"{path}: it is empty, but must have a header and rows.")
            if b"\0" in head:
                raise ValueError("it contains NUL bytes, which UTF-8 text does not")
            if len(head) < PIECE and len(head.splitlines()) == 1:  # pyarrow needs a line's end
                raise DataError(f"{path}: {NO_ROWS}")
            file.seek(0)
            text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            first = next(csv.reader(text, delimiter=delimiter, strict=True))
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        raise DataError(f"{path}: it is not a CSV file: {_describe_error(error)}") from None
    return [name.strip() for name in first or [""]]


def write_number(value: float) -> str:
    """Return a number as a string, whole ones without a decimal point."""
    return str(int(value)) if value.is_integer() else repr(value)


def are_numbers(words: Collection[str]) -> bool:
    """Return whether there are values and all of them are numbers."""
    present = [word for word in words if word]
    return bool(present) and all(NUMBER.fullmatch(word) for word in present)


def mostly_numbers(words: Collection[str]) -> bool:
    """Return whether more than half of the values are numbers; the others of a column of numbers are mistakes."""
    present = [word for word in words if word]
    return 2 * sum(NUMBER.fullmatch(word) is not None for word in present) > len(present)


def cut_number(name: str) -> str:
    """Return a name without the number at its end: that of the steps of a wide table."""
    return re.sub(r"\d+$", "", name)


def has_decimal_comma(word: str) -> bool:
    """Return whether a string is a number, but for its decimal comma."""
    return word.count(",") == 1 and NUMBER.fullmatch(word.replace(",", ".")) is not None


def _read_parquet(path: Path) -> pa.Table:
    """Return a table without the row numbers that pandas stores of a filtered or sorted data frame."""
    table = pa.parquet.read_table(path)
    indices = [field for field in table.schema if UNNAMED_INDEX.fullmatch(field.name)]
    return table.drop_columns(
        [index.name for index in indices if pa.types.is_integer(index.type) or pa.types.is_floating(index.type)]
    )


def _read_csv(path: Path, delimiter: str) -> pa.Table:
    """Return a table of strings."""
    names = read_header(path, delimiter)
    if len(set(names)) < len(names) or "" in names:
        return pa.table([pa.array([], pa.string())] * len(names), names=names)
    types, several = dict.fromkeys(names, pa.large_string()), len(names) > 1
    with _open_csv(path) as file:
        table = pa.csv.read_csv(
            file,
            read_options=pa.csv.ReadOptions(
                use_threads=False, column_names=names, skip_rows_after_names=1, block_size=LONGEST_ROW
            ),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=several),
            convert_options=pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    if several:
        return table
    words = table.column(0).to_pylist()  # an empty line is a missing value, but for those at the end
    return table.slice(0, max((k + 1 for k, word in enumerate(words) if word.strip()), default=0))


def _open_csv(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _describe_error(error: Exception) -> str:
    """Return what is wrong with a file, in one line, and what to do if it is not UTF-8."""
    reason = " ".join(str(error).split()).rstrip(".")
    encoded = isinstance(error, UnicodeDecodeError) or "invalid UTF8" in reason
    return f"{reason:.160}." + " Save it as UTF-8." * encoded


def _shorten(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
