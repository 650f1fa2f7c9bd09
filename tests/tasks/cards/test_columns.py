"""Columns: what was written is read, whatever the layout of the text; what is missing is missing."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.columns import LARGEST, MISSING, read_columns

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
TABLES = st.lists(st.tuples(NUMBERS, st.none() | NUMBERS, WORDS), min_size=1, max_size=12)
FORMS = st.tuples(st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(), st.sampled_from([",", ";", "\t", "|"]))
QUICK = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(TABLES, FORMS)
def test_a_table_is_read_as_it_was_written(
    tmp_path: Path, table: list[tuple[float, float | None, str]], form: tuple[str, bool, bool, str]
) -> None:
    end, marked, packed, delimiter = form
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["x", "größe, y", "wort"])
    writer.writerows((repr(x), "" if y is None else repr(y), word) for x, y, word in table)
    content = ("\ufeff" if marked else "").encode() + text.getvalue().encode()
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    columns = read_columns(path, "csv", delimiter)
    assert columns.names == ["x", "größe, y", "wort"] and len(columns) == len(table)
    assert columns.numbers("x").tolist() == [x for x, _, _ in table]
    assert np.array_equal(
        columns.numbers("größe, y"), [np.nan if y is None else y for _, y, _ in table], equal_nan=True
    )
    stripped = [word.strip() for _, _, word in table]
    assert columns.words("wort") == ["" if word.lower() in MISSING else word for word in stripped]


@QUICK
@given(TABLES)
def test_parquet_is_read_as_a_csv_of_the_same(tmp_path: Path, table: list[tuple[float, float | None, str]]) -> None:
    x, y, words = (list(column) for column in zip(*table, strict=True))
    pa.parquet.write_table(
        pa.table({"x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float32()), "w": pa.array(words)}), tmp_path / "a"
    )
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [["x", "y", "w"], *zip(x, ["" if v is None else v for v in y], words, strict=True)]
        )
    one, other = read_columns(tmp_path / "a", "parquet"), read_columns(tmp_path / "a.csv", "csv")
    for name in "xy":
        assert np.array_equal(one.numbers(name), other.numbers(name), equal_nan=True)
    assert one.words("w") == other.words("w")


@pytest.mark.parametrize("gone", ["", " ", "NA", "n/a", "NaN", "nan", "null", "None", "?"])
def test_what_stands_for_a_missing_value_is_missing(gone: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"x,y\n1,2\n{gone},3\n")
    assert np.isnan(read_columns(tmp_path / "a.csv", "csv").numbers("x")).tolist() == [False, True]


@pytest.mark.parametrize(
    ("word", "value"), [("+1", 1.0), (" 1 ", 1.0), ("1e3", 1e3), (".5", 0.5), ("-0", 0.0), ("007", 7)]
)
def test_what_people_write_for_numbers_is_read(word: str, value: float, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"x,y\n{word},0\n")
    assert read_columns(tmp_path / "a.csv", "csv").numbers("x").tolist() == [value]


@pytest.mark.parametrize("word", ["1_000", "1,5", "0x10", "١", "one", "1 2", "true", "--1"])
def test_what_is_no_number_is_refused_with_row_and_column(word: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f'x,y\n1,0\n"{word}",0\n', encoding="utf-8")
    with pytest.raises(DataError, match="a.csv: row 2, column x: it must be a number, got"):
        read_columns(tmp_path / "a.csv", "csv").numbers("x")


def test_the_largest_number_of_single_precision_is_the_last_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"x\n{LARGEST!r}\n{LARGEST * 1.01!r}\n")
    with pytest.raises(DataError, match="row 2, column x: a value must be finite and fit single precision"):
        read_columns(tmp_path / "a.csv", "csv").numbers("x")


def test_times_are_numbers_or_seconds_between_dates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,d\n-1.5,2024-02-28\n2,2024-03-01T00:00:00.5\n3,2024-03-01T02:00:00+02:00\n")
    columns = read_columns(tmp_path / "a.csv", "csv")
    assert columns.times("n").tolist() == [-1.5, 2.0, 3.0]
    assert np.diff(columns.times("d")).tolist() == [2 * 86400 + 0.5, -0.5]
