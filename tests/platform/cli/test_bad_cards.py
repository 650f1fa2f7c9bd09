"""Bad cards and bad files: a line that names the place and each broken rule, exit status 2, and nothing has changed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from card_files import LONG, csv, long_table, written

from longwave.platform.cli.main import main

ROWS = long_table()
GOOD = csv(ROWS)


def changed(row: int, column: int, value: str) -> bytes:
    """Return the table with another value in a row, from 1, and a column."""
    rows = [list(each) for each in ROWS]
    rows[row][column] = value
    return csv(rows)


def npz(**arrays: np.ndarray) -> bytes:
    """Return an NPZ file."""
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


X, CLASS = np.random.RandomState(0).randn(24, 5, 2), np.arange(24) % 2
NPZ = {"files": ["data.npz"], "series": None, "time": None, "inputs": "x", "target": "y", "classes": ["0", "1"]}
WIDE = {"layout": "wide", "series": None, "time": None}
SERIES = {"layout": "series", "series": None, "task": "forecasting", "target": None, "classes": None}
HEAD = "files = ['data.csv']\nchannels = 'x'\n"

CARDS: dict[str, tuple[str, str]] = {
    "no TOML": ("files = [", "toy.toml is not TOML: "),
    "no task": (HEAD, "toy.toml: task: is missing."),
    "binary": ("\x00\x01", "toy.toml is not TOML: "),
    "a list for a table": (HEAD + "task = 'regression'\nsplit = ['seed']", "toy.toml: split: must be "),
    "a key twice": (HEAD + "task = 'regression'\ntask = 'regression'", "toy.toml is not TOML: "),
    "a sweep file": (
        "name = 'toy'\ntask = 'adding'\nmodels = ['lem']\ntrials = 2",
        "toy.toml is a sweep file, not a data card. Run it with: longwave sweep run ",
    ),
    "a date for a word": (HEAD + "task = 2024-01-01", "toy.toml: task: must be 'classification', "),
}
"""Whole cards, and the message."""
KEYS: dict[str, tuple[dict[str, object], str]] = {
    "no files": ({"files": []}, "files: must not be empty"),
    "an unknown key": ({"chanels": ["x"]}, "no key 'chanels'. Did you mean channels?"),
    "an unknown key of the split": ({"split": {"bye": "seed"}}, "no key 'split.bye'. Did you mean by?"),
    "an unknown task": ({"task": "clustering"}, "task: must be 'classification', 'regression' or 'forecast"),
    "an unknown ending": ({"format": None, "files": ["data.xls"]}, "data.xls ends in none of .csv, .tsv, "),
    "an unknown format": ({"format": "xls"}, "format: must be 'csv', 'parquet', 'npz' or 'ts', got 'xls'"),
    "an unknown layout": ({"layout": "tall"}, "layout: must be 'long', 'wide' or 'series', got 'tall'"),
    "an unknown metric": ({"metric": "f1"}, "metric: must be 'accuracy', 'cross_entropy', "),
    "a metric of another task": ({"metric": "rmse"}, "metric: for classification it must be accuracy or cross_entropy"),
    "no channels": ({"channels": []}, "channels: must not be empty"),
    "a channel twice": ({"channels": ["x", "x"]}, "channels: each once, got x, x"),
    "an empty channel": ({"channels": [""]}, "channels.0: must not be empty, got ''"),
    "a number for a channel": ({"channels": [3]}, "channels.0: must be a string, got 3"),
    "the target among the channels": ({"channels": ["x", "label"]}, "target: label is also a channel"),
    "one class": ({"classes": ["a"]}, "classes: a classification needs two or more, got 1"),
    "no classes": ({"classes": None}, "classes: a classification needs the names of its classes"),
    "a class twice": ({"classes": ["a", "a"]}, "classes: each once, got a, a"),
    "classes of a regression": (
        {"task": "regression", "target": "who"},
        "classes: only valid for a classification",
    ),
    "no target": ({"target": None}, "target: a column or an array must be the target"),
    "two targets of classes": (
        {"target": ["label", "who"]},
        "target: a classification has one target column, got label, who",
    ),
    "no column of examples": ({"series": None}, "series: a long table needs the column that identifies its examples"),
    "a horizon of a class": ({"horizon": 3}, "horizon: only valid for a forecast"),
    "a forecast without a horizon": ({**SERIES, "window": 4}, "horizon: a forecast needs the number of steps ahead"),
    "a horizon of nothing": ({**SERIES, "horizon": 0, "window": 4}, "horizon: must be greater than 0, got 0"),
    "a series without a window": ({**SERIES, "horizon": 1}, "window: one long series needs the steps per example"),
    "a forecast of no channel": (
        {**SERIES, "horizon": 1, "window": 4, "target": "z"},
        "the targets of a forecast must be channels, got z",
    ),
    "a stride of a long table": ({"stride": 5}, "stride: only valid for one long series"),
    "a gap of a long table": ({"gap": 5}, "gap: only valid for one long series"),
    "no gap at all": ({**SERIES, "horizon": 1, "window": 4, "gap": 0}, "gap: must be greater than 0, got 0"),
    "a window of a long table": ({"window": 5}, "window: only valid for one long series"),
    "steps of a CSV": ({"steps": 5}, "steps: only valid for a .ts file"),
    "a split by nothing": ({"split": {"by": "luck"}}, "split.by: must be 'seed', 'group', 'time', 'column'"),
    "a split by no group": ({"split": {"by": "group"}}, "group: the split is by group: set its column"),
    "a split by no column": ({"split": {"by": "column"}}, "split.column: the split is by column: set its name"),
    "a column of no split": ({"split": {"column": "who"}}, 'split.column: requires by = "column"'),
    "a split by one file": ({"split": {"by": "file"}}, "split.by: by file needs two or three files"),
    "a split that leaves nothing": (
        {"split": {"valid": 0.5, "test": 0.5}},
        "leave nothing to train on, got 1 in total",
    ),
    "a share of more than all": ({"split": {"test": 1.5}}, "split.test: must be less than 1, got 1.5"),
    "a seed below nothing": ({"split": {"seed": -1}}, "split.seed: must be at least 0, got -1"),
    "a wide table asked at every step": (
        {**WIDE, "every_step": True},
        "every_step: a wide table or a .ts file has one",
    ),
    "what cannot be allowed": ({"allow": ["noise"]}, "allow.0: must be 'duplicates', 'groups' or 'target'"),
    "missing values by luck": ({"missing": "luck"}, "missing: must be 'refuse', 'hold' or 'mask', got 'luck'"),
    "missing values of a .ts file": (
        {"files": ["data.ts"], "series": None, "time": None, "missing": "hold"},
        "missing: only valid for a table or an NPZ",
    ),
    "a file that is not there": (
        {"files": ["gone.csv"], "format": "csv"},
        "gone.csv, which does not exist. If it was ",
    ),
}
"""Changes of a card that is good, and the message."""
FILES: dict[str, tuple[bytes, dict[str, object], str]] = {
    "an empty file": (b"", {}, "data.csv: it is empty, but must have a header and rows."),
    "a header without an end": (b"id,t,x,y,who,label", {}, "data.csv: there must be rows below the header, got none."),
    "a header alone": (csv(ROWS[:1]), {}, "data.csv: there must be rows below the header, got none."),
    "no such column": (GOOD, {"channels": ["z"]}, "data.csv: there is no column 'z'. It has id, t, x, y, who, label."),
    "columns that are not there": (
        GOOD,
        {"channels": ["x", "v"], "time": "when", "target": "kind"},
        "data.csv: there is no column 'v', 'when', 'kind'. It has id, t, x, y, who, label.",
    ),
    "a column twice": (GOOD.replace(b"y,who", b"x,who", 1), {}, "its own name in the first line, got 'x' twice."),
    "a column without a name": (GOOD.replace(b"y,who", b",who", 1), {}, "its own name in the first line, got ''."),
    "a row too long": (
        GOOD + b"s99,0,1,2,p9,a,more\n",
        {},
        "data.csv: it is not a CSV file: CSV parse error: Row #122: ",
    ),
    "a row too short": (GOOD + b"s99,0\n", {}, "Expected 6 columns, got 2: s99,0"),
    "a word for a number": (
        changed(7, 2, "high"),
        {},
        "row 7, column x: it must be a number, got 'high'. Correct it, or",
    ),
    "a comma for a point": (
        changed(7, 2, '"1,5"'),
        {},
        "row 7, column x: it must be a number, got '1,5'. Write decimals with a point.",
    ),
    "a missing number": (changed(9, 3, ""), {}, 'row 9, column y: a value is missing. Set missing to "hold"'),
    "infinity": (changed(9, 3, "inf"), {}, "row 9, column y: a value must be finite and fit single precision"),
    "a huge number": (changed(9, 3, "1e300"), {}, "row 9, column y: a value must be finite and fit single precision"),
    "an unknown class": (
        changed(1, 5, "c"),
        {},
        "row 1, column label: it must be one of the card's classes, a, b; got",
    ),
    "a missing class": (
        changed(1, 5, ""),
        {},
        "row 1, column label: the class is missing. NA, N/A, nan, null, None and ? count as missing: rename a class of",
    ),
    "two classes in one example": (
        changed(3, 5, "b"),
        {},
        "row 3, column label: it must be the same in all rows of an",
    ),
    "no word of an example": (changed(3, 0, ""), {}, "row 3, column id: its example is missing."),
    "time that goes back": (
        changed(3, 1, "0.5"),
        {},
        "row 3, column t: times must increase within an example, got 0.5",
    ),
    "no time": (changed(3, 1, "noon"), {}, "row 3, column t: a time must be a number, or a date and time like"),
    "not UTF-8": (GOOD.replace(b"label", b"l\xffbel", 1), {}, "data.csv: it is not a CSV file: 'utf-8' codec can't"),
    "Latin-1": (GOOD.replace(b"p9", b"p\xe9", 1), {}, "invalid continuation byte. Save it as UTF-8."),
    "Latin-1 far below": (
        GOOD * 1000 + b"s9,9,1,1,p\xe9,a\n",
        {"allow": ["duplicates"]},
        "invalid UTF8 data. Save it as UTF-8.",
    ),
    "bytes": (b"\x00" * 100, {}, "data.csv: it is not a CSV file: it contains NUL bytes, which UTF-8 text does not."),
    "no gz": (b"", {"files": ["data.csv.gz"]}, "data.csv.gz: it is empty, but must have a header and rows."),
    "no Parquet": (b"PAR1", {"files": ["data.parquet"]}, "data.parquet: it is not a Parquet file: "),
    "a class that nothing is of": (GOOD, {"classes": ["a", "b", "c"]}, "No training example belongs to the class c."),
    "too few examples": (
        csv(ROWS[:11]),
        {"split": {"valid": 0.01, "test": 0.01}},
        "the valid split has none of 2",
    ),
    "another delimiter": (
        GOOD.replace(b",", b";"),
        {},
        "there is no column 'id', 'x', 'y', 't', 'label'. It has id;t;x;y;who;label. If another sign separates its "
        "columns, set delimiter in the card.",
    ),
    "no word of the split": (
        GOOD,
        {"split": {"by": "column", "column": "who"}},
        "who must contain train, valid, test, got",
    ),
    "a series without validation": (
        csv([[*ROWS[0], "split"], *([*row, "test" if k % 80 < 40 else "train"] for k, row in enumerate(ROWS[1:]))]),
        {**SERIES, "time": None, "horizon": 1, "window": 3, "split": {"by": "column", "column": "split"}},
        "the valid split has none of",
    ),
    "a series of which no row is for validation": (
        csv([[*ROWS[0], "part"], *([*row, "test" if k < 40 else "train"] for k, row in enumerate(ROWS[1:]))]),
        {**SERIES, "time": None, "horizon": 1, "window": 3, "split": {"by": "column", "column": "part"}},
        "the valid split has none of 39 examples. Mark some as valid in column part.",
    ),
    "a column that names no training": (
        csv([[*ROWS[0], "part"], *([*row, "test"] for row in ROWS[1:])]),
        {"split": {"by": "column", "column": "part"}},
        "the train split has none of 24 examples. Mark some as train in column part.",
    ),
    "wide columns with another delimiter": (
        GOOD.replace(b",", b";"),
        {**WIDE, "channels": ["q*"], "task": "forecasting", "target": None, "classes": None, "horizon": 1},
        "It has id;t;x;y;who;label. If another sign separates its columns, set delimiter in the card.",
    ),
    "wide columns by no name": (GOOD, {**WIDE, "channels": ["q*"]}, "data.csv: no column matches 'q*'."),
    "an example that is shorter than the forecast": (
        GOOD + b"s99,0,1,2,a,a\ns99,1,1,2,a,a\n",
        {"task": "forecasting", "target": None, "classes": None, "horizon": 2},
        f"data.csv: row {len(ROWS)}, column x: an example needs 3 or more steps with values, got 2.",
    ),
    "a series too short": (
        csv(ROWS[:9]),
        {**SERIES, "time": None, "horizon": 9, "window": 9},
        "split needs 18 steps in a row for one",
    ),
    "no NPZ": (b"PK\x03\x04", NPZ, "data.npz: it is not an NPZ file of numbers and words: "),
    "no such array": (npz(x=X), NPZ, "data.npz: there is no array 'y'. It has x."),
    "objects": (
        npz(x=np.array([{}]), y=CLASS),
        NPZ,
        "it is not an NPZ file of numbers and words: Object arrays cannot be",
    ),
    "arrays of words": (npz(x=X.astype(str), y=CLASS), NPZ, "data.npz: x: it must hold numbers, got <U"),
    "a feature too many": (
        npz(x=X[..., :1], y=CLASS),
        NPZ,
        "x: it must be (examples, steps, 2): one feature a channel",
    ),
    "an answer too few": (npz(x=X, y=CLASS[1:]), NPZ, "y: it must have one entry an example, (24,), got (23,)."),
    "a missing target of an array": (
        npz(x=X, y=np.where(np.arange(24) == 3, np.nan, CLASS)),
        {**NPZ, "task": "regression", "classes": None},
        "data.npz: y, example 4: the target is missing.",
    ),
    "a length too long": (npz(x=X, y=CLASS, n=CLASS + 5), {**NPZ, "lengths": "n"}, "n: lengths must be whole numbers"),
}
"""Files, changes of the card, and the message."""


WHOLE: dict[str, tuple[str, list[str]]] = {
    "an empty card": ("", ["files: is missing.", "channels: is missing.", "task: is missing."]),
    "keys and values": (
        "files = ['data.csv']\nchannels = ['x']\nchanels = 1\nlayout = 'tall'\ntask = 'sorting'\nmissing = 'luck'\n"
        "split = { by = 'luck', test = 2 }",
        [
            "layout: must be 'long', 'wide' or 'series', got 'tall'.",
            "task: must be 'classification', 'regression' or 'forecasting', got 'sorting'.",
            "split.by: must be 'seed', 'group', 'time', 'column' or 'file', got 'luck'.",
            "split.test: must be less than 1, got 2.",
            "missing: must be 'refuse', 'hold' or 'mask', got 'luck'.",
            "no key 'chanels'. Did you mean channels?",
        ],
    ),
    "rules between keys": (
        "files = ['data.csv']\nchannels = ['x', 'x']\ntask = 'classification'\nwindow = 3\nhorizon = 2\nmetric = 'mae'",
        [
            "channels: each once, got x, x.",
            "window: only valid for one long series.",
            "horizon: only valid for a forecast.",
            "series: a long table needs the column that identifies its examples.",
            "classes: a classification needs the names of its classes.",
            "target: a column or an array must be the target.",
            "metric: for classification it must be accuracy or cross_entropy.",
        ],
    ),
    "a value and the rules that do not hang on it": (
        "files = ['data.csv']\nchannels = ['x']\nlayout = 'series'\ntask = 'forecasting'\nwindow = -1\ntitle = 3",
        [
            "window: must be greater than 0, got -1.",
            "title: must be a string, got 3.",
            "horizon: a forecast needs the number of steps ahead.",
        ],
    ),
    "no format, without which no rule can be checked": (
        "files = ['data.xls']\nchannels = ['x']\ntask = 'forecasting'",
        ["format: data.xls ends in none of .csv, .tsv, .parquet, .pq, .npz, .ts; set format."],
    ),
}
"""Whole cards, and all lines."""


def _refused(capsys: pytest.CaptureFixture[str], home: Path, card: Path, lines: int = 1) -> str:
    before = sorted(card.parent.iterdir())
    assert main(["tasks", "add", str(card)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == err.count("longwave: ") == lines and "Traceback" not in err
    assert not home.exists() and sorted(card.parent.iterdir()) == before
    return err


@pytest.mark.parametrize("case", CARDS)
def test_a_bad_card_is_refused_in_one_line(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = CARDS[case]
    assert message in _refused(capsys, home, written(tmp_path, GOOD, text))


@pytest.mark.parametrize("case", WHOLE)
def test_all_that_is_wrong_with_a_card_is_told_at_once_in_a_line_each(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, lines = WHOLE[case]
    card = written(tmp_path, GOOD, text)
    assert _refused(capsys, home, card, len(lines)).splitlines() == [f"longwave: {card}: {line}" for line in lines]


@pytest.mark.parametrize("case", KEYS)
def test_a_bad_key_is_refused_in_one_line(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, message = KEYS[case]
    assert message in _refused(capsys, home, written(tmp_path, GOOD, LONG, **changes))


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_refused_in_one_line(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, changes, message = FILES[case]
    assert message in _refused(capsys, home, written(tmp_path, content, {**LONG, **changes}))


def _folder(folder: Path) -> None:
    (folder / "data.csv").unlink()
    (folder / "data.csv").mkdir()


def _cut(folder: Path) -> None:
    (folder / "data.csv").rename(folder / "data.csv.gz")
    (folder / "data.csv.gz").write_bytes(gzip.compress(GOOD)[:-20])
    (folder / "toy.toml").write_text((folder / "toy.toml").read_text().replace("data.csv", "data.csv.gz"))


def _nested(folder: Path) -> None:
    (folder / "data.csv").unlink()
    table = pa.table({name: [["1"]] * 9 for name in ROWS[0]})
    pa.parquet.write_table(table, folder / "data.parquet")
    (folder / "toy.toml").write_text((folder / "toy.toml").read_text().replace("data.csv", "data.parquet"))


def _named(folder: Path) -> None:
    (folder / "toy.toml").rename(folder / "My toy.toml")


PLACES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a folder for a file": (_folder, "toy.toml", "data.csv: it must be a file that can be read, got: Is a directory."),
    "a gz cut short": (_cut, "toy.toml", "data.csv.gz: it is not a CSV file: "),
    "lists in Parquet": (_nested, "toy.toml", "column id must hold numbers or words, got list<"),
    "a card that is not there": (lambda folder: None, "none.toml", "Cannot read the data card "),
    "a CSV for a card": (
        lambda folder: None,
        "data.csv",
        "is not a data card, whose name must end in .toml. Write one with: longwave start ",
    ),
    "a folder for a card": (lambda folder: (folder / "x.toml").mkdir(), "x.toml", "Cannot read the data card "),
    "a name that is none": (
        _named,
        "My toy.toml",
        "a plugin's name has lowercase letters, digits and _, 60 at most, and begins with a letter, got 'My toy'.",
    ),
}
"""What is done to good files, the card that is given, and the message."""


@pytest.mark.parametrize("case", PLACES)
def test_what_is_no_such_file_is_refused_in_one_line(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    break_it, name, message = PLACES[case]
    break_it(written(tmp_path, GOOD, LONG).parent)
    assert message in _refused(capsys, home, tmp_path / name)
