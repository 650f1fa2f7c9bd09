"""The reader of .ts files: what was written is read, and what breaks a rule is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from raw_signals import write_ts

from longwave.tasks.base.raw import DataError
from longwave.tasks.formats.ts_files import read_ts

HEADER = ["@problemName toy", "@timeStamps false", "@univariate false", "@dimensions 2", "@equalLength true"]
HEADER += ["@seriesLength 3"]


def test_series_are_read_as_they_were_written(tmp_path: Path) -> None:
    values = np.random.RandomState(0).randn(4, 3, 2)
    write_ts(tmp_path / "a.ts", values, ["b", "a", "c", "b"], [*HEADER, "@classLabel true c b a"])
    series = read_ts(tmp_path / "a.ts", 3, 2, 3)
    assert series.values.dtype == np.float32 and np.array_equal(series.values, values.astype(np.float32))
    assert series.classes == ("a", "b", "c") and series.labels.tolist() == [1, 0, 2, 1]
    write_ts(tmp_path / "b.ts", values, [60.5, -1, 2e1, 0], ["@PROBLEMNAME x", "@TARGETLABEL TRUE"])
    series = read_ts(tmp_path / "b.ts", 3, 2)
    assert series.labels.tolist() == [[60.5], [-1.0], [20.0], [0.0]] and series.classes == ()


def test_case_blank_lines_comments_and_spaces_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text(
        "#x\n\n@EQUALLENGTH True\n@classlabel TRUE 1 2\n@Data\n\n 1, 2 ,3:4,5,6: 2 \n# end\n"
    )
    series = read_ts(tmp_path / "a.ts", 3, 2, 2)
    assert series.values.tolist() == [[[1, 4], [2, 5], [3, 6]]] and series.labels.tolist() == [1]


GOOD = "1,2,3:4,5,6:b"
FILES = {
    "no data line": (["@classLabel true a b"], "", r": there must be a line @data after the header, found none"),
    "nothing": ([], "", r": there must be a line @data after the header, found none"),
    "no series": (["@data"], "", r": @classlabel must be true and 2 classes, got nothing"),
    "no series at all": (["@classLabel true a b", "@data"], "", r": there must be series after the line @data"),
    "three classes": (["@classLabel true a b c", "@data"], GOOD, r": @classlabel must be .* 2 classes, got true a b c"),
    "no classes": (["@classLabel false", "@data"], GOOD, r": @classlabel must be true and 2 classes, got false"),
    "three dimensions": (["@dimensions 3", "@data"], GOOD, r": @dimensions must be 2, got 3"),
    "another length": (["@seriesLength 4", "@data"], GOOD, r": @serieslength must be 3, got 4"),
    "unequal lengths": (["@equalLength false", "@data"], GOOD, r": @equallength must be true, got false"),
    "time stamps": (["@timeStamps true", "@data"], GOOD, r": @timestamps must be false, got true"),
    "a dimension too few": (None, "1,2,3:b", r", line 4: a series must have 2 dimensions .* got 1 dimensions"),
    "a dimension too many": (None, "1,2,3:1,2,3:1,2,3:b", r", line 4: a series must have 2 dimensions .* got 3"),
    "a value too few": (None, "1,2,3:4,5:b", r", line 4: every dimension must have 3 values, got 2"),
    "a value too many": (None, "1,2,3,4:4,5,6:b", r", line 4: every dimension must have 3 values, got 4"),
    "a line cut short": (None, "1,2,3:4,", r", line 4: a series must have 2 dimensions and a label, got 1"),
    "a missing value": (None, "1,?,3:4,5,6:b", r", line 4: every value must be a number: .*'\?'"),
    "a word": (None, "1,x,3:4,5,6:b", r", line 4: every value must be a number: .*'x'"),
    "an empty value": (None, "1,,3:4,5,6:b", r", line 4: every value must be a number"),
    "NaN": (None, "1,NaN,3:4,5,6:b", r", line 4: every value must be finite, got nan"),
    "infinity": (None, "1,2,3:4,-inf,6:b", r", line 4: every value must be finite, got -inf"),
    "a number that is too large": (None, "1,2,3:4,-1e39,6:b", r", line 4: every value must be finite, got -inf"),
    "an unknown label": (None, "1,2,3:4,5,6:d", r", line 4: the label must be one of a, b, got 'd'"),
    "no label": (None, "1,2,3:4,5,6:", r", line 4: the label must be one of a, b, got ''"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_broken_series_file_is_refused_with_one_line_that_names_it(tmp_path: Path, what: str) -> None:
    header, line, rule = FILES[what]
    lines = ["@classLabel true a b", "@data", GOOD, line] if header is None else [*header, line]
    (tmp_path / "a.ts").write_text("\n".join(lines))
    with pytest.raises(DataError, match=rf"^{tmp_path}/a\.ts{rule}[^\n]*$"):
        read_ts(tmp_path / "a.ts", 3, 2, 2)


@pytest.mark.parametrize("label", ["", "b", "nan", "inf", "?", "1e39"])
def test_a_value_asked_that_is_no_finite_number_is_refused(tmp_path: Path, label: str) -> None:
    (tmp_path / "a.ts").write_text(f"@targetLabel true\n@data\n1,2,3:4,5,6:{label}\n")
    with pytest.raises(DataError, match=r"a\.ts, line 3: the label must be a finite number, got '[a-z0-9?]*'\.$"):
        read_ts(tmp_path / "a.ts", 3, 2)
