"""What ``longwave start`` makes of a table is what pandas reads of it: any format, layout, overlap and gap."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from started_files import (
    CLASSES,
    EQUAL,
    LABELS,
    RANDOM,
    X,
    check_same_up_to_scale,
    fed_examples,
    refusal,
    start,
    write_ts,
)

import longwave as lw
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import Card, SplitRule

pytestmark = pytest.mark.usefixtures("without_estimate")


@pytest.mark.parametrize("index", [None, "when"])
def test_a_parquet_of_pandas_is_started_with_its_dates(index: str | None, tmp_path: Path) -> None:
    times = pd.date_range("2024-01-01", periods=300, freq="h")
    values = pd.DataFrame({"load": RANDOM.normal(size=300), "heat": RANDOM.normal(size=300)})
    values.set_index(times.rename(index)).to_parquet(tmp_path / "toy.parquet")
    card = start(tmp_path / "toy.parquet", "--window", "8", "--horizon", "1", "--target", "load")
    assert card["time"] == (index or "__index_level_0__") and card["layout"] == "series"
    assert (card["channels"], card["target"], card["stride"]) == (["load", "heat"], ["load"], 2)


def hours(n: int, seed: int = 2) -> pd.DataFrame:
    """Return n hours of one series."""
    values = np.random.default_rng(seed).normal(size=n)
    return pd.DataFrame({"time": pd.date_range("2024-01-01", periods=n, freq="h"), "load": values})


def windows_of(values: np.ndarray, steps: int, stride: int) -> np.ndarray:
    """Return the windows of a stretch by NumPy, (N, steps)."""
    none = np.empty((0, steps))
    return np.lib.stride_tricks.sliding_window_view(values, steps)[::stride] if len(values) >= steps else none


@pytest.mark.integration
@pytest.mark.parametrize(("options", "stride"), [([], 30), (["--stride", "1"], 1), (["--stride", "200"], 200)])
def test_windows_of_3000_hours_overlap(options: list[str], stride: int, tmp_path: Path) -> None:
    frame = hours(3000)
    frame.to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv", "--window", "120", "--horizon", "24", *options)
    assert card["stride"] == stride and "gap" not in card
    splits = [frame.load[a:b].to_numpy() for a, b in ((0, 2100), (2100, 2550), (2550, 3000))]
    wanted = np.concatenate([windows_of(part, 144, stride) for part in splits])
    check_same_up_to_scale(fed_examples("my-toy"), [row[:120, None] for row in wanted])
    assert stride != 30 or len(wanted) == 88


def test_a_card_that_says_no_stride_keeps_its_windows_apart_and_is_told_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hours(3000).to_csv(tmp_path / "data.csv", index=False)
    keys = 'files = ["data.csv"]\nlayout = "series"\ntime = "time"\nchannels = ["load"]\ntask = "forecasting"\n'
    (tmp_path / "toy.toml").write_text(keys + "horizon = 24\nwindow = 120\n")
    assert main(["tasks", "add", str(tmp_path / "toy.toml")]) == 0
    assert "Windows do not overlap; stride = 30 gives more windows of the same rows." in capsys.readouterr().out
    assert len(fed_examples("my-toy")) == 17 + 3 + 3


GAPS = {"rows that are not there": "drop", "rows without a value": "empty"}


@pytest.mark.parametrize("how", GAPS.values(), ids=GAPS)
def test_no_window_lies_across_a_gap(how: str, tmp_path: Path) -> None:
    frame, gone = hours(600), [*range(100, 110), *range(300, 301), *range(560, 590)]
    if how == "drop":
        frame = frame.drop(index=gone)
    else:
        frame.loc[gone, "load"] = np.nan
    frame.to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv", "--window", "12", "--horizon", "3", "--stride", "1")
    assert card["gap"] == 5400
    first, last = round(len(frame) * 0.7), round(len(frame) * 0.85)
    split = np.repeat([0, 1, 2], [first, last - first, len(frame) - last])
    there = frame.assign(split=split).dropna()
    stretch = (there.time.diff() > pd.Timedelta(hours=1)).cumsum()
    parts = [part.load.to_numpy() for _, part in there.groupby([stretch, "split"])]
    wanted = np.concatenate([windows_of(part, 15, 1) for part in parts])
    check_same_up_to_scale(fed_examples("my-toy"), [row[:12, None] for row in wanted])


def test_breaks_are_gaps_unless_they_would_cut_most_windows(tmp_path: Path) -> None:
    for rows, gap in ((90, 5400), (89, None)):
        hours(rows + 8).drop(index=[*range(1, 17, 2)]).to_csv(tmp_path / f"toy{rows}.csv", index=False)
        card = start(tmp_path / f"toy{rows}.csv", "--window", "9", "--horizon", "1", "--stride", "1")
        assert card.get("gap") == gap, "nine stretches, and windows of ten rows"


def test_a_gap_that_the_card_allows_is_filled_and_a_longer_one_is_not(tmp_path: Path) -> None:
    frame = hours(400)
    frame.loc[[50, 51, 200, 201, 202], "load"] = np.nan
    frame.to_csv(tmp_path / "toy.csv", index=False)
    start(tmp_path / "toy.csv", "--window", "5", "--horizon", "1", "--stride", "1")
    card = tmp_path / "toy.toml"
    card.write_text(card.read_text().replace("gap = 5400.0", 'gap = 10800\nnormalise = "none"'))
    assert main(["tasks", "add", str(card)]) == 0
    parts = [frame.load[a:b].to_numpy() for a, b in ((0, 200), (203, 280), (280, 340), (340, 400))]
    wanted = [pd.Series(row) for part in parts for row in windows_of(part, 6, 1)]
    mean = np.nanmean([row for part in parts[:2] for row in windows_of(part, 6, 1)])  # of the training split
    filled = [row.ffill().fillna(mean).to_numpy() for row in wanted]
    check_same_up_to_scale(fed_examples("my-toy"), [row[:5, None] for row in filled])


def test_working_days_are_no_gaps_and_windows_across_one_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = pd.DataFrame({"day": pd.bdate_range("2020-01-01", periods=400), "price": RANDOM.normal(size=400)})
    days.to_csv(tmp_path / "days.csv", index=False)
    assert "gap" not in start(tmp_path / "days.csv", "--window", "12", "--horizon", "1")
    frame = hours(600).drop(index=[*range(100, 130)])
    frame.to_csv(tmp_path / "toy.csv", index=False)
    capsys.readouterr()
    start(tmp_path / "toy.csv", "--window", "12", "--horizon", "3", "--stride", "1")
    assert "across a gap" not in capsys.readouterr().out
    card = tmp_path / "toy.toml"
    card.write_text(card.read_text().replace("gap = 5400.0\n", ""))
    assert main(["tasks", "add", str(card)]) == 0
    assert "14 of 528 windows span a gap in time; gap = 5400 avoids that" in capsys.readouterr().out


def repeated(name: str, time: str, **more: Any) -> pd.DataFrame:
    """Return 24 series of 8 steps, sorted by time, with other columns."""
    table = pd.DataFrame({name: np.repeat(np.arange(24), 8), time: np.tile(np.arange(8), 24)})
    table = table.assign(x=np.random.default_rng(3).normal(size=192), **more)
    return table.sort_values(time, kind="stable") if time != "none" else table.drop(columns="none")


KIND = np.array(["a", "b"])[np.repeat(np.arange(24), 8) % 2]
WORDS = np.array([f"c{k}" for k in range(24)]).repeat(8)
REPEATED: dict[str, tuple[pd.DataFrame, list[str], str]] = {
    "patient_id": (repeated("patient_id", "time", label=KIND), [], "patient_id"),
    "machine, a group where there is no other": (repeated("machine", "time", label=KIND), [], "machine"),
    "Nixtla's names": (repeated("unique_id", "ds"), ["--task", "forecasting", "--horizon", "2"], "unique_id"),
    "engineId": (repeated("engineId", "cycle", label=KIND), ["--time", "cycle"], "engineId"),
    "a unit beside the number of the row": (
        repeated("unit_id", "time", label=KIND, id=np.arange(192)), ["--channels", "x"], "unit_id",
    ),
    "a word whose times repeat": (
        repeated("none_of_all", "date", city=WORDS, label=KIND).drop(columns="none_of_all"), [], "city"
    ),
    "a unit of a site, where times repeat": (
        repeated("unit_id", "time", label=KIND).assign(site_id=lambda t: t.unit_id // 2)[
            ["site_id", "unit_id", "time", "x", "label"]
        ],
        ["--channels", "x"], "unit_id",
    ),
    "trips one after the other": (repeated("trip_id", "none", label=KIND).assign(time=np.arange(192)), [], "trip_id"),
    "trip no, without a time": (repeated("trip no", "none", label=KIND), [], "trip no"),
}  # fmt: skip


@pytest.mark.parametrize("case", REPEATED)
def test_a_repeated_identifier_is_the_series(case: str, tmp_path: Path) -> None:
    frame, options, series = REPEATED[case]
    frame.to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv", *options)
    assert (card["layout"], card["series"], card["channels"]) == ("long", series, ["x"])
    wanted = [part.x.to_numpy()[: 8 - card.get("horizon", 0), None] for _, part in frame.groupby(series)]
    check_same_up_to_scale(fed_examples("my-toy"), wanted)


NO_SERIES: dict[str, tuple[pd.DataFrame, list[str], str]] = {
    "a person of many columns": (
        pd.DataFrame(RANDOM.normal(size=(24, 6)), columns=[f"v{k}" for k in range(6)]).assign(
            label=KIND[::8], person=np.arange(24) // 2
        ),
        ["--channels", "v*"], "wide",
    ),
    "a code that comes and goes": (
        hours(90).assign(code=np.arange(90) % 4), ["--window", "5", "--horizon", "1"], "series",
    ),
    "a number that may be an identifier in each row": (
        hours(90).assign(code=np.arange(90)), ["--window", "5", "--horizon", "1"], "series",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_SERIES)
def test_what_does_not_repeat_by_row_is_no_series(case: str, tmp_path: Path) -> None:
    frame, options, layout = NO_SERIES[case]
    frame.to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv", *options)
    assert card["layout"] == layout and "series" not in card


SENSORS = pd.DataFrame(np.random.default_rng(4).normal(size=(600, 4)), columns=["s1", "s2", "s3", "s4"])
UNITS = pd.DataFrame({"unit": np.arange(600) // 30, "cycle": np.arange(600) % 30}).join(SENSORS)
UNITS = UNITS.assign(RUL=np.random.default_rng(6).permutation(600) / 8)
MONTHS = pd.DataFrame({"year": 1990 + np.arange(240) // 12, "month": np.arange(240) % 12 + 1, "value": range(240)})
SENSORS.insert(0, "time", range(600))
NUMBERED: dict[str, tuple[pd.DataFrame, list[str], list[str], dict[str, Any]]] = {
    "one series": (
        SENSORS, ["--horizon", "1"], ["--layout", "series", "--window", "8"],
        {"layout": "series", "time": "time", "channels": ["s1", "s2", "s3", "s4"]},
    ),
    "units with cycles of their own": (
        UNITS, ["--task", "regression", "--target", "RUL"], ["--layout", "long"],
        {"layout": "long", "series": "unit", "time": "cycle", "channels": ["s1", "s2", "s3", "s4"], "every_step": True},
    ),
    "one day of hours in a row": (
        SENSORS.assign(time=pd.date_range("2024-01-01", periods=600)), ["--horizon", "1"], ["--layout", "wide"],
        {"layout": "wide", "time": "time", "channels": ["s*"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NUMBERED)
def test_whether_numbered_columns_beside_rising_times_are_steps_is_asked(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, options, more, wanted = NUMBERED[case]
    frame.to_csv(tmp_path / "toy.csv", index=False)
    assert "Pass --layout long|wide|series." in refusal(capsys, "start", tmp_path / "toy.csv", *options)
    card = start(tmp_path / "toy.csv", *options, *more)
    assert {name: card.get(name) for name in ("series", *wanted)} == {"series": None, **wanted}


def test_a_window_says_that_numbered_columns_are_those_of_one_series(tmp_path: Path) -> None:
    SENSORS.to_csv(tmp_path / "toy.csv", index=False)
    assert start(tmp_path / "toy.csv", *FORECAST)["layout"] == "series"
    SENSORS.drop(columns="time").to_csv(tmp_path / "other.csv", index=False)
    assert main(["start", str(tmp_path / "other.csv"), *FORECAST]) == 0


def test_a_year_that_most_rows_share_with_the_next_is_not_taken_as_their_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    MONTHS.to_csv(tmp_path / "toy.csv", index=False)
    options = ("--window", "12", "--horizon", "1", "--target", "value")
    message = "times must increase within an example, got 1990 after 1990"
    assert message in refusal(capsys, "start", tmp_path / "toy.csv", *options, "--time", "year")
    card = start(tmp_path / "toy.csv", *options)
    assert (card["layout"], card["target"]) == ("series", ["value"]) and "time" not in card


def steps_of(*names: str, **columns: Any) -> pd.DataFrame:
    """Return one row an example, with its steps under these names, labels, and other columns before them."""
    return pd.DataFrame({**columns, **{name: X[:, k, 0] for k, name in enumerate(names)}, "label": LABELS})


V = [f"v{k}" for k in range(6)]
WIDE: dict[str, tuple[pd.DataFrame, str, dict[str, str]]] = {
    "a number for each subject": (steps_of(*V, subject=np.arange(40) // 2), "v*", {"group": "subject"}),
    "two sites, too few to split": (steps_of(*V, site=np.arange(40) % 2), "v*", {}),
    "a year": (steps_of(*V, year=2000 + np.arange(40)), "v*", {"time": "year"}),
    "a date": (steps_of(*V, date=[f"{d}" for d in pd.date_range("2024-01-01", periods=40)]), "v*", {"time": "date"}),
    "a year that is not always known": (steps_of(*V, year=["", *map(str, range(39))]), "v*", {}),
    "an id and a subject": (
        steps_of(*V, id=range(40), subject=[f"p{k // 4}" for k in range(40)]), "v*",
        {"series": "id", "group": "subject"},
    ),
    "brackets": (steps_of(*(f"acc[g]_{k}" for k in range(6))), "acc[[]g]_*", {}),
    "a word that begins like the steps": (steps_of(*V, version=["v1"] * 40), "v[0-9]*", {}),
    "months": (steps_of(*"jan feb mar apr may jun".split()), "*", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", WIDE)
def test_what_describes_an_example_in_a_row_is_no_step_of_it(case: str, tmp_path: Path) -> None:
    frame, pattern, roles = WIDE[case]
    frame.to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv", "--layout", "wide")
    assert card["channels"] == [pattern]
    assert {name: card[name] for name in ("series", "time", "group") if name in card} == roles
    assert card.get("split") == ({"by": "group"} if "group" in roles else None)
    check_same_up_to_scale(fed_examples("my-toy"), [*X[..., :1]])


def table(**columns: Any) -> pd.DataFrame:
    """Return 60 rows of one long series, with other columns."""
    return pd.DataFrame({"time": range(60), "a": RANDOM.normal(size=60), **columns})


FORECAST = ("--window", "8", "--horizon", "1")
SEPARATED = {
    "semicolons and quotes": ("toy.csv", table().to_csv(index=False, sep=";", quoting=csv.QUOTE_ALL).encode()),
    "tabs and quotes": ("toy.csv", table().to_csv(index=False, sep="\t", quoting=csv.QUOTE_ALL).encode()),
    "capitals": ("TOY.CSV.GZ", gzip.compress(table().to_csv(index=False).encode())),
}


@pytest.mark.parametrize("case", SEPARATED)
def test_a_csv_is_started_whatever_separates_its_columns(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content = SEPARATED[case]
    (tmp_path / name).write_bytes(content)
    assert start(tmp_path / name, *FORECAST)["channels"] == ["a"]
    assert "Inputs: a.\n" in capsys.readouterr().out


def test_a_tsv_that_commas_separate_says_so_in_its_card(tmp_path: Path) -> None:
    for name, sign in {"tabs.tsv": "\t", "commas.tsv": ","}.items():
        (tmp_path / name[:-4]).mkdir()
        table().to_csv(tmp_path / name[:-4] / name, index=False, sep=sign)
        assert start(tmp_path / name[:-4] / name, *FORECAST).get("delimiter", "\t") == sign


def bad(values: Any, at: int, value: str) -> list[str]:
    """Return numbers as strings, one of them replaced."""
    return [value if k == at else f"{v:.4f}" for k, v in enumerate(values)]


BAD_TABLES: dict[str, tuple[pd.DataFrame, tuple[str, ...], str]] = {
    "a dash in an input": (
        table(wind=bad(range(60), 5, "-")), FORECAST,
        "row 6, column wind: it must be a number, got '-'. Correct it, or leave it empty if it is missing. Or name the",
    ),
    "a word in the target": (
        pd.DataFrame({"v0": range(60), "v1": range(60), "v2": range(60), "outcome": bad(X.ravel()[:60], 5, "n.d.")}),
        ("--layout", "wide"), "row 6, column outcome: it must be a number, got 'n.d.'. Correct it, or leave it empty",
    ),
    "decimal commas": (
        pd.DataFrame({"time": range(60), "a": [f"{k},5" for k in range(60)]}), FORECAST,
        "no input column contains numbers; row 1 of a is '0,5'. Write decimals with a point.",
    ),
    "decimal commas in a named input": (
        pd.DataFrame({"time": range(60), "a": [f"{k},5" for k in range(60)]}), (*FORECAST, "--channels", "a"),
        "row 1, column a: it must be a number, got '0,5'. Write decimals with a point.",
    ),
    "an age before the steps": (
        pd.DataFrame(X[..., 0], columns=[f"v{k}" for k in range(6)]).assign(label=LABELS, age=np.arange(40) % 7), (),
        "'age' is not named like the other inputs, such as 'v0'. If it is not a step, leave it out: "
        "--channels 'v[0-9]*'.",
    ),
    "groups of steps": (
        table(subject=["a", "b", "c"] * 20), (*FORECAST, "--group", "subject"),
        "group subject would not be used: only many examples form groups: three or more, one of them with several",
    ),
    "a window of steps in a row": (
        pd.DataFrame(X[..., 0], columns=[f"v{k}" for k in range(6)]).assign(label=LABELS), ("--window", "3"),
        "window 3 would not be used: only one long series is cut into windows. Leave it out.",
    ),
    "a day that is not always known": (
        steps_of(*V, day=["", *map(str, range(39))]), ("--layout", "wide", "--time", "day"),
        "time day would not be used: in a table with an example in each row, each needs a time, a number or a date",
    ),
    "41 whole numbers that may be classes": (
        pd.DataFrame(np.arange(246.0).reshape(41, 6), columns=V).assign(label=range(41)), (),
        "Pass --task classification|regression|forecasting.",
    ),
    "infinity": (table(b=[np.inf, *range(59)]), FORECAST, "row 1, column b: a value must be finite"),
    "one class besides what is missing": (
        pd.DataFrame(X[..., 0], columns=[f"v{k}" for k in range(6)]).assign(label=["None", "mild"] * 20), (),
        "label: a classification needs two classes or more, got mild. NA, N/A, nan, null, None and ? count as missing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_table_with_a_mistake_is_refused_in_one_line(
    case: str, ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, options, message = BAD_TABLES[case]
    file = tmp_path / f"toy.{ending}"
    (frame.to_csv if ending == "csv" else frame.to_parquet)(file, index=False)
    assert message in refusal(capsys, "start", file, *options)
    assert [*tmp_path.glob("*.toml")] == []


def test_inputs_and_columns_and_arrays_without_a_role_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{k},{t},{100 * k + t * t},'0,{t}',{'ab'[k % 2]},val" for k in range(30) for t in range(4)]
    (tmp_path / "long.csv").write_text("\n".join(["id,t,x,y,label,split", *rows]).replace("'", '"'))
    wide = pd.DataFrame(RANDOM.normal(size=(30, 5)), columns=[f"t{k}" for k in range(5)])
    wide.assign(label=np.arange(30) % 2, remark="none yet").to_csv(tmp_path / "wide.csv", index=False)
    np.savez(tmp_path / "arrays.npz", x=X, y=LABELS, lengths=np.full(40, 6), extra=np.zeros(3))
    listed = {
        "long.csv": ("x", "y and split"),
        "wide.csv": ("t0, t1, t2, t3 and t4", "remark"),
        "arrays.npz": ("x0 and x1", "extra"),
    }
    for name, (inputs, unused) in listed.items():
        capsys.readouterr()
        assert main(["start", str(tmp_path / name)]) == 0
        assert f"\nInputs: {inputs}.\nNot used: {unused}.\n" in capsys.readouterr().out


def test_nothing_is_said_of_unused_columns_if_all_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "toy.npz", x=X, y=LABELS)
    start(tmp_path / "toy.npz")
    assert "Not used" not in capsys.readouterr().out


def repeated_labels(*labels: str) -> pd.DataFrame:
    """Return one row an example, with these labels in turn."""
    frame = pd.DataFrame(X[..., 0], columns=[f"v{k}" for k in range(6)])
    return frame.assign(outcome=[labels[k % len(labels)] for k in range(len(frame))])


@pytest.mark.parametrize("labels", [("1", "2", "3", "other"), (*map(str, range(12)), "none at all")])
def test_classes_may_be_numbers_and_strings(labels: tuple[str, ...], tmp_path: Path) -> None:
    table = pd.concat([repeated_labels(*labels)] * 3, ignore_index=True)
    table.iloc[:, :6] += RANDOM.normal(size=(len(table), 6))
    table.to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv", "--layout", "wide")
    assert card["task"] == "classification" and sorted(card["classes"]) == sorted(labels)


def test_a_series_may_be_named_by_numbers_and_strings(tmp_path: Path) -> None:
    names = np.array(["101", "102", "103", "A7"] * 6)
    frame = pd.DataFrame({"station": names.repeat(8), "day": np.tile(np.arange(8), 24)})
    frame["station"] += np.repeat(np.arange(24) // 4, 8).astype(str)
    frame = frame.assign(x=RANDOM.normal(size=192), label=KIND)
    frame.sort_values("day", kind="stable").to_csv(tmp_path / "toy.csv", index=False)
    card = start(tmp_path / "toy.csv")
    assert (card["layout"], card["series"], card["channels"]) == ("long", "station", ["x"])


def test_python_starts_what_the_command_starts(tmp_path: Path) -> None:
    np.savez(tmp_path / "toy.npz", X=X, y=LABELS)
    assert lw.start(tmp_path / "toy.npz", models=["lem"]).name == "my-toy"
    check_same_up_to_scale(fed_examples("my-toy"), [*X])
    write_ts(tmp_path / "other.ts", [*EQUAL, *CLASSES], [*X], [*LABELS])
    assert lw.start(tmp_path / "other.ts", models=["lem"]).name == "my-other"
    hours(3000).to_parquet(tmp_path / "load.parquet", index=False)
    lw.start(tmp_path / "load.parquet", models=["lem"], window=120, horizon=24, stride=60)
    assert len(fed_examples("my-load")) == 33 + 6 + 6
    np.savez(tmp_path / "two.npz", a=X, b=X)
    with pytest.raises(ConfigError, match=r"The names a, b do not determine the layout. Give inputs=\.\.\."):
        lw.start(tmp_path / "two.npz")
    (tmp_path / "none.npz").write_bytes(io.BytesIO(b"PK").getvalue())
    with pytest.raises(DataError, match="it is not an NPZ file of numbers and words"):
        lw.start(tmp_path / "none.npz")


def test_help_lists_all_keys_of_a_card_with_what_they_may_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "add", "--help"]) == 0
    text = capsys.readouterr().out
    keys = {line.strip().partition(":")[0] for line in text.splitlines() if line.startswith("    ") and line[4] != " "}
    assert keys == {*Card.model_fields} - {"split"} | {f"split.{name}" for name in SplitRule.model_fields}
    for name, field in (Card.model_fields | SplitRule.model_fields).items():
        assert field.description and (name == "split" or " ".join(field.description.split()) in " ".join(text.split()))
    assert '    layout: long, wide, series; "long" by default' in text and "    task: classification, " in text
    assert "missing: refuse, hold, mask or number" in text and "    files: list: string; needed" in text
