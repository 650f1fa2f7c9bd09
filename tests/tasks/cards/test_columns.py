"""Columns: what was written is read, whatever the layout of the text; what is missing is missing."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.columns import LARGEST, MISSING, has_decimal_comma, read_columns

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


def test_numbers_like_20240531_in_every_row_are_dates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("d,n,m\n20240228,20240228,20240228\n20240301,20241399,7\n")
    columns = read_columns(tmp_path / "a.csv", "csv")
    assert np.diff(columns.times("d")).tolist() == [2 * 86400]
    assert (columns.times("n").tolist(), columns.times("m").tolist()) == ([20240228, 20241399], [20240228, 7])


def test_rows_and_headers_of_any_length_are_read(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(2, 60_000))
    lines = [",".join(f"step{k}" for k in range(60_000)), *(",".join(map(repr, row)) for row in values.tolist())]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert min(map(len, lines)) > 2**18 and len(lines[1]) > 2**20
    columns = read_columns(tmp_path / "a.csv", "csv")
    assert columns.names[-1] == "step59999"
    assert columns.numbers("step0").tolist() == values[:, 0].tolist()
    assert columns.numbers("step59999").tolist() == values[:, -1].tolist()


@pytest.mark.parametrize("names", [["t", "flow\n(l/s)", "wort"], ["a\r\nb", "c\n\nd", "e"], ["one\nof one"]])
def test_a_header_with_line_breaks_is_read_as_it_was_written(names: list[str], tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([names, ["1"] * len(names), ["2\n2"] * len(names)])
    columns = read_columns(tmp_path / "a.csv", "csv")
    assert {name: columns.words(name) for name in columns.names} == dict.fromkeys(names, ["1", "2\n2"])


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_an_empty_line_of_one_column_is_a_missing_value_but_at_the_end(end: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"value\n1\n\n3{end}")
    numbers = read_columns(tmp_path / "a.csv", "csv").numbers("value")
    assert np.array_equal(numbers, [1, np.nan, 3], equal_nan=True)


def test_row_numbers_that_pandas_stores_of_a_filtered_frame_are_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}).iloc[[0, 2, 1]]
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename_axis("step").to_parquet(tmp_path / "b.parquet")
    assert "__index_level_0__" in pa.parquet.read_schema(tmp_path / "a.parquet").names
    assert read_columns(tmp_path / "a.parquet", "parquet").names == ["x"]
    assert read_columns(tmp_path / "b.parquet", "parquet").names == ["x", "step"]


def test_whole_numbers_beyond_float64_are_rounded(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"x": [1_700_000_000_000_000_007]}), tmp_path / "a.parquet")
    assert read_columns(tmp_path / "a.parquet", "parquet").numbers("x").tolist() == [1.7e18]


def test_a_damaged_gz_is_refused_in_one_line(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(("x,y\n" + "1.25,2.5\n" * 50_000).encode()))
    content[len(content) // 2 : len(content) // 2 + 8] = b"\xff" * 8
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.csv\.gz: it is not a CSV file: [^\n]+$"):
        read_columns(tmp_path / "a.csv.gz", "csv")


def test_a_number_with_a_decimal_comma_is_neither_a_word_nor_a_list() -> None:
    words = ("0,5", "-1,5e3", "a,b", "1,234,5", "5", "0.5", ",")
    assert [has_decimal_comma(word) for word in words] == [True, True, False, False, False, False, False]
