"""Data of one's own: added, looked at, trained on and removed; begun with one command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from card_files import LONG, csv, long_table, written
from tracked import fill

from longwave.platform.cli.main import main
from longwave.platform.registry import get_task
from longwave.platform.storage.store import Store

ROWS = long_table()


@pytest.fixture
def linked_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder than that of a card's files; links to it are made in a cache of the test."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


def say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return what a command prints that succeeds."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return the line of a command that fails."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def test_a_card_that_is_added_is_a_task_and_once_more_changes_nothing(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = written(tmp_path, csv(ROWS), LONG)
    output = say(capsys, "tasks", "add", card)
    assert output.startswith("my-toy was added: 16 examples to train, 4 to validate, 4 to test, of 5 steps at most.")
    before = (home / "plugins/toy.toml").read_bytes()
    assert say(capsys, "tasks", "add", card).startswith("my-toy is there already: ")
    assert (home / "plugins/toy.toml").read_bytes() == before
    page = say(capsys, "tasks", "my-toy")
    assert "classify into 2 classes from 2 channels" in page and "majority" in page and "1-NN" in page
    [listed] = [t for t in json.loads(say(capsys, "tasks", "--format", "json")) if t["name"] == "my-toy"]
    assert listed["family"] == "your own data" and listed["missing"] == []
    assert "my-toy" in say(capsys, "data", "list")
    with Store(f"sqlite:///{home / 'longwave.db'}") as store:
        fill(store, trials=2, epochs=1)
    assert refused(capsys, "board", "my-toy") == (
        "longwave: No retrainings of my-toy are stored yet. Run a sweep with: longwave sweep run FILE\n"
    )


def test_the_place_of_ones_own_data_is_the_folder_of_its_files(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(capsys, "tasks", "add", written(tmp_path, csv(ROWS), LONG))
    assert f" is in {tmp_path}. Licence: " in say(capsys, "data", "fetch", "my-toy")
    listed = json.loads(say(capsys, "data", "list", "--format", "json"))
    assert [line["place"] for line in listed if line["task"] == "my-toy"] == [str(tmp_path)]


def test_check_names_all_that_is_wrong_with_a_card_without_signs_for_line_breaks(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = tmp_path / "toy.toml"
    card.write_text("files = 'data.csv'\n")
    line = refused(capsys, "check", card)
    assert line == f"longwave: {card}: channels: is missing. {card}: task: is missing.\n"


def test_a_task_that_is_removed_is_none_any_more_and_its_files_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = written(tmp_path, csv(ROWS), LONG)
    say(capsys, "tasks", "add", card)
    assert "Removed the task my-toy." in say(capsys, "tasks", "remove", "my-toy")
    assert "No task 'my-toy'." in refused(capsys, "tasks", "my-toy")
    assert "No task that was added 'toy'" in refused(capsys, "tasks", "remove", "toy")
    assert card.exists() and (tmp_path / "data.csv").exists()


def test_another_card_is_another_version_and_another_layout_of_the_same_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = written(tmp_path, csv(ROWS), LONG)
    say(capsys, "tasks", "add", card)
    version, data = get_task("my-toy").version, get_task("my-toy").load("").version
    card.write_text("# a note\n" + "\n".join(reversed(card.read_text().splitlines())))
    assert "is there already" in say(capsys, "tasks", "add", card)
    (tmp_path / "data.csv").write_bytes(csv([*ROWS[:-1], [*ROWS[-1][:2], "9", *ROWS[-1][3:]]]))
    assert "is there already" in say(capsys, "tasks", "add", card)
    assert get_task("my-toy").version == version
    written(tmp_path, csv(ROWS), LONG, normalise="none")
    output = say(capsys, "tasks", "add", card)
    assert f"has changed: version {get_task('my-toy').version} replaces {version}, whose rows are superseded" in output
    assert get_task("my-toy").version != version and get_task("my-toy").load("").version != data


def test_another_value_in_the_file_is_another_version_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = written(tmp_path, csv(ROWS), LONG)
    first = say(capsys, "tasks", "add", card)
    (tmp_path / "data.csv").write_bytes(csv([*ROWS[:-1], [*ROWS[-1][:2], "9", *ROWS[-1][3:]]]))
    other = say(capsys, "tasks", "add", card)
    assert first.split("Data ")[1] != other.split("Data ")[1]


def test_a_sweep_that_was_planned_on_other_data_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.cli.run.train_sweep", lambda *_: None)
    say(capsys, "tasks", "add", written(tmp_path, csv(ROWS), LONG))
    sweep = tmp_path / "s.toml"
    sweep.write_text('name = "s"\ntask = "my-toy"\nmodels = ["lem"]\ntrials = 1\n')
    run = ("sweep", "run", sweep, "--here", "--mlflow", "off")
    before = get_task("my-toy").load("").version
    say(capsys, *run)
    (tmp_path / "data.csv").write_bytes(csv([*ROWS[:-1], [*ROWS[-1][:2], "9", *ROWS[-1][3:]]]))
    after = get_task("my-toy").load("").version
    line = f"The sweep 's' was planned with data {before} of lem on my-toy, which is now {after}. Rename the sweep."
    assert line in refused(capsys, *run)


def test_a_file_that_was_moved_is_named_and_found_again(
    tmp_path: Path, linked_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(capsys, "tasks", "add", written(tmp_path, csv(ROWS), LONG))
    (tmp_path / "data.csv").rename(linked_folder / "data.csv")
    assert "my-toy" in say(capsys, "tasks", "--family", "your own data")  # a list reads no data
    line = "which does not exist. If it was moved: longwave data fetch my-toy --path FOLDER"
    assert line in say(capsys, "tasks", "my-toy")
    say(capsys, "data", "fetch", "my-toy", "--path", linked_folder)
    assert "majority" in say(capsys, "tasks", "my-toy")


def test_files_that_are_where_the_card_says_are_read_though_others_were_linked_to(
    tmp_path: Path, linked_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = written(tmp_path, csv(ROWS), LONG)
    say(capsys, "tasks", "add", card)
    (tmp_path / "data.csv").rename(linked_folder / "data.csv")
    say(capsys, "data", "fetch", "my-toy", "--path", linked_folder)
    linked = get_task("my-toy").load("").version
    say(capsys, "tasks", "remove", "my-toy")
    (tmp_path / "data.csv").write_bytes(csv(long_table(seed=1)))
    output = say(capsys, "tasks", "add", card)
    new = get_task("my-toy").load("").version
    assert new != linked and f"Data {new}" in output
    assert f" is in {tmp_path}. Licence: " in say(capsys, "data", "fetch", "my-toy")


def test_another_folder_is_refused_while_the_files_are_where_the_card_says(
    tmp_path: Path, linked_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(capsys, "tasks", "add", written(tmp_path, csv(ROWS), LONG))
    (linked_folder / "data.csv").write_bytes(csv(long_table(seed=1)))
    line = refused(capsys, "data", "fetch", "my-toy", "--path", linked_folder)
    assert line == f"longwave: my-toy reads its files in {tmp_path}. Leave out --path {linked_folder}.\n"
    assert not (tmp_path / "cache/raw").exists()


PERIOD = [["date", "demand", "price"], *([f"2024-01-{d:02}", f"{d % 7}.5", f"{d * 3 % 5}"] for d in range(1, 31))]
WIDE = [["n", *(f"v{k}" for k in range(6)), "class"]]
WIDE += [[f"{k}", *(f"{k * j % 7 + k}" for j in range(6)), "ab"[k % 2]] for k in range(20)]
STARTS: dict[str, tuple[list[list[str]], list[str], dict[str, Any]]] = {
    "a long table whose names tell all": (
        ROWS, [],
        {"layout": "long", "series": "id", "time": "t", "channels": ["x", "y"], "target": ["label"],
         "task": "classification", "classes": ["a", "b"]},
    ),
    "a group": (
        ROWS, ["--group", "who"],
        {"layout": "long", "series": "id", "time": "t", "group": "who", "channels": ["x", "y"], "target": ["label"],
         "task": "classification", "classes": ["a", "b"], "split": {"by": "group"}},
    ),
    "a forecast of one series": (
        PERIOD, ["--horizon", "1", "--window", "2"],
        {"layout": "series", "time": "date", "channels": ["demand", "price"], "task": "forecasting", "horizon": 1,
         "window": 2, "stride": 1},
    ),
    "a wide table": (
        WIDE,
        ["--channels", "v*"],
        {"layout": "wide", "channels": ["v*"], "target": ["class"], "task": "classification", "classes": ["a", "b"]},
    ),
    "a value at every step": (
        ROWS, ["--task", "regression", "--target", "y", "--channels", "x"],
        {"layout": "long", "series": "id", "time": "t", "channels": ["x"], "target": ["y"], "task": "regression",
         "every_step": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STARTS)
def test_start_writes_what_names_and_values_tell(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.cli.start._print_cost", lambda sweep, store: None)
    rows, options, card = STARTS[case]
    (tmp_path / "My data-1.csv").write_bytes(csv(rows))
    output = say(capsys, "start", tmp_path / "My data-1.csv", *options, "--models", "lem,gru", "--seeds", "2")
    assert "my-my_data_1 was added" in output
    assert tomllib.loads((tmp_path / "my_data_1.toml").read_text()) == {"files": ["My data-1.csv"], **card}
    sweep = tomllib.loads((tmp_path / "my_data_1.sweep.toml").read_text())
    settings = {"models": ["lem", "gru"], "trials": 8, "rule": 2, "retrain": 2}
    assert sweep == {"name": "my_data_1", "task": "my-my_data_1", **settings}
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert "my_data_1.toml already exists and was not changed." in refused(capsys, "start", tmp_path / "My data-1.csv")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


NOT_STARTED: dict[str, tuple[list[list[str]], list[str], str]] = {
    "no target": ([row[:5] for row in ROWS], [], "Pass --task classification|regression|forecasting, --target TARGET."),
    "no layout": ([row[2:] for row in ROWS], [], "Pass --layout long|wide|series."),
    "no horizon": (PERIOD, [], "Pass --horizon HORIZON, --window WINDOW."),
    "no such column": (ROWS, ["--target", "z"], "there is no column 'z'. It has id, t, x, y, who, label."),
    "no such task": (ROWS, ["--task", "sorting"], "task must be one of classification, regression, forecasting, got "),
    "no such model": (ROWS, ["--models", "lem,lstn"], "No model 'lstn'. Did you mean"),
    "a model twice": (ROWS, ["--models", "lem,lem"], "models: each model once, got lem, lem"),
    "no seeds": (ROWS, ["--seeds", "0"], "Invalid value for '--seeds'"),
    "what would be refused": (ROWS, ["--channels", "x", "--target", "x"], "target: x is also a channel"),
    "no numbers": (
        [[r[0], r[5]] for r in ROWS],
        ["--task", "classification"],
        "no input column contains numbers",
    ),
}


@pytest.mark.parametrize("case", NOT_STARTED)
def test_start_that_cannot_be_ends_in_one_line_and_writes_nothing(
    case: str, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, options, message = NOT_STARTED[case]
    (tmp_path / "toy.csv").write_bytes(csv(rows))
    assert message in refused(capsys, "start", tmp_path / "toy.csv", *options)
    assert [path.name for path in tmp_path.iterdir()] == ["toy.csv"] and not (home / "plugins").exists()


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_start_finds_the_delimiter(
    sign: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.cli.start._print_cost", lambda sweep, store: None)
    (tmp_path / "toy.csv").write_bytes(csv(ROWS).replace(b",", sign.encode()))
    assert "my-toy was added: 16 examples" in say(capsys, "start", tmp_path / "toy.csv")
    assert tomllib.loads((tmp_path / "toy.toml").read_text())["delimiter"] == sign


def test_start_holds_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.cli.start._print_cost", lambda sweep, store: None)
    (tmp_path / "toy.csv").write_bytes(csv([*ROWS[:3], [*ROWS[3][:2], "NA", *ROWS[3][3:]], *ROWS[4:]]))
    assert "1 of 240 values are missing; the last value is carried forward." in say(
        capsys, "start", tmp_path / "toy.csv"
    )


def test_what_would_act_on_a_terminal_is_written_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[*r[:5], r[5] if r[0] != "s1" else "\x1b[2Jc"] for r in ROWS]
    split = [
        [*r, "split" if r[0] == "id" else "train" if r[0] == "s1" else ["train", "valid", "test"][int(r[0][1:]) // 8]]
        for r in rows
    ]
    card = {**LONG, "classes": ["a", "b", "\x1b[2Jc"], "split": {"by": "column", "column": "split"}}
    output = say(capsys, "tasks", "add", written(tmp_path, csv(split), card))
    assert "belongs to the class" in output and "\x1b" not in output


def test_start_asks_on_a_terminal_what_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.cli.start._print_cost", lambda sweep, store: None)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    answers, questions = iter(["regression", "y"]), []

    def prompt(text: str) -> str:
        questions.append(text)
        return next(answers)

    monkeypatch.setattr("typer.prompt", prompt)
    (tmp_path / "toy.csv").write_bytes(csv([row[:5] for row in ROWS]))
    say(capsys, "start", tmp_path / "toy.csv")
    assert questions == [
        "What kind of task is it? [classification, regression, forecasting]",
        "Which column is the target? [id, t, x, y, who]",
    ]
    assert tomllib.loads((tmp_path / "toy.toml").read_text())["target"] == ["y"]


@pytest.mark.integration
def test_from_a_table_to_a_board_in_three_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "toy.csv").write_bytes(csv(ROWS))
    options = ["--models", "lem,gru", "--seeds", "2", "--trials", "2"]
    output = say(capsys, "start", tmp_path / "toy.csv", *options)
    assert "Expected: " in output and "core hours" in output
    say(capsys, "sweep", "run", tmp_path / "toy.sweep.toml", "--here", "--mlflow", "off")
    rows = json.loads(say(capsys, "board", "my-toy", "--format", "json"))
    assert {row["model"] for row in rows} == {"lem", "gru", "majority", "1-NN"}
    assert {row["n"] for row in rows if row["model"] in ("lem", "gru")} == {2}
