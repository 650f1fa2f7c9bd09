"""Names in any case and spelling, what a wrong one may have meant, and what a shell completes."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from boards import keep, retrained
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.about import write_catalogue
from longwave.platform.cli.main import app, main
from longwave.platform.errors import did_you_mean
from longwave.platform.names import edit_distance, find_by_title, find_spelling, list_names, nearest_names
from longwave.platform.registry import all_models, all_tasks, get_model, get_task
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep

WORD = st.text("abcx_", max_size=6)


def test_names_are_those_of_the_registry_and_cost_no_import() -> None:
    assert list_names("longwave.models") == sorted(all_models()) and list_names("longwave.tasks") == sorted(all_tasks())
    assert list_names("longwave.nothing") == []


@pytest.mark.parametrize(
    ("given", "meant"),
    [("LEM", "lem"), ("τ-GRU", "tau_gru"), ("chrono LSTM", "chrono_lstm"), ("G²", "g2")],
)
def test_a_model_is_found_under_any_spelling(given: str, meant: str) -> None:
    assert find_spelling(given, list_names("longwave.models")) == meant == get_model(given).name


@pytest.mark.parametrize(("given", "meant"), [("psMNIST", "psmnist"), ("Lorenz-96", "lorenz96"), ("ENSO", "enso")])
def test_a_task_is_found_under_any_spelling(given: str, meant: str) -> None:
    assert find_spelling(given, list_names("longwave.tasks")) == meant == get_task(given).name


def test_a_task_is_found_under_its_title_and_under_the_names_of_its_boards() -> None:
    titles = {"Noise": "n", "Noise, free run": "n_free", "Digits": "digits"}
    for name, key in {
        "Noise": "n", "noise, h=25": "n", "Noise, free run": "n_free", "NOISE, free run, test set 2": "n_free",
        "Noises": "Noises", "Nois": "Nois", "digits, x": "digits",
    }.items():  # fmt: skip
        assert find_by_title(name, titles) == key


def test_a_name_that_two_have_or_nobody_has_stays_as_it_is() -> None:
    assert find_spelling("a-b", ["a_b", "ab"]) == "a-b" and find_spelling("a_b", ["a_b", "ab"]) == "a_b"
    assert find_spelling("x", ["y"]) == "x" and find_spelling("--", ["", "y"]) == "--"


def test_a_sweep_file_names_models_and_tasks_in_any_case() -> None:
    tables = {"space": {"Lem": {"dt": 0.5}}, "model": {"GRU": {"hidden": 4}}}
    file = check_sweep({"name": "x", "task": "Adding", "models": ["LEM", "gru"], "trials": 1, **tables}, "x.toml")
    assert (file.task, file.models, [*file.space], [*file.model]) == ("adding", ["lem", "gru"], ["lem"], ["gru"])
    several = {"name": "x", "tasks": ["ENSO", "adding"], "variants": {"ADDING": "N=20"}, "models": ["lem"], "trials": 1}
    assert check_sweep(several, "x.toml").variant_by_task == {"enso": "", "adding": "N=20"}


@given(WORD, WORD)
def test_edits_are_the_fewest_of_all_ways(a: str, b: str) -> None:
    @cache
    def fewest(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = [fewest(i - 1, j) + 1, fewest(i, j - 1) + 1, fewest(i - 1, j - 1) + (a[i - 1] != b[j - 1])]
        if i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
            ways.append(fewest(i - 2, j - 2) + 1)
        return min(ways)

    assert edit_distance(a, b) == fewest(len(a), len(b)) == edit_distance(b, a)


def test_short_edits_of_what_has_results_come_first() -> None:
    known = ["smnist", "psmnist", "mnist98", "adding"]
    assert (
        nearest_names("pmnist", known)[0] == "psmnist"
        and nearest_names("pmnist", known, first=["smnist"])[0] == "smnist"
    )
    assert nearest_names("psmnist", ["psmnist", "mnist98"], first=["mnist98"])[0] == "psmnist", "far ones do not"
    assert nearest_names("qqqqqq", known) == [] and nearest_names("", known) == []
    assert did_you_mean("task", "pmnist", known, first=["smnist"]).startswith(
        "No task 'pmnist'. Did you mean smnist or"
    )
    assert did_you_mean("task", "q", []) == "No task 'q'. Known: none."
    long = ["a" * 140, "b" * 140, "c" * 140]
    assert did_you_mean("task", "q", long) == f"No task 'q'. Known: {long[0]}, {long[1]} and 1 more."
    assert did_you_mean("task", "q", ["a" * 999, "b"]) == f"No task 'q'. Known: {'a' * 999} and 1 more."


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with one sweep and rows on the adding problem."""
    url = f"sqlite:///{tmp_path}/s.db"
    monkeypatch.setenv("LONGWAVE_STORE", url)
    about = {"task": "adding", "variant": "N=20", "task_version": get_task("adding").version}
    with Store(url) as known:
        known.add_sweep("nightly", {})
        keep(
            known,
            *(retrained(m, [0.1, 0.2], **about, model_version=get_model(m).version) for m in ("lem", "gru")),
            sweep="nightly",
        )
        write_catalogue(known)
    return url


def test_commands_take_names_in_any_case(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("board ADDING", "board adding --models Lem,GRU", "compare LEM Gru --task Adding"):
        assert main([*line.split(), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out), line
    for line in (["board", "Adding problem, N=20"], ["compare", "lem", "gru", "--task", "adding PROBLEM"]):
        assert main([*line, "--format", "json"]) == 0
        assert '"adding"' in capsys.readouterr().out, line
    assert main(["board", "addin"]) == 2
    assert "No task 'addin'. Did you mean adding?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("board psmn", ["psmnist"]),
        ("board psMN", ["psMNist"]),
        ("models LEM", ["LEM"]),
        ("sweep status ", ["nightly"]),
        ("sweep resume night", ["nightly"]),
        ("compare gr", ["gru"]),
        ("sweep re", ["resume", "retry"]),
        ("data fetch eigen", ["eigenworms"]),
    ],
)
def test_a_shell_completes_commands_and_names(
    line: str, expected: list[str], store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"longwave {line}"
    monkeypatch.setenv("_LONGWAVE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit, match="0"):
        main([])
    completed = capsys.readouterr().out.split()
    assert set(expected) <= set(completed) and all(
        name.lower().startswith(line.split(" ")[-1].lower()) for name in completed
    )


def test_completion_says_nothing_where_there_is_no_store(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    for name, value in {
        "_LONGWAVE_COMPLETE": "complete_bash",
        "COMP_WORDS": "longwave sweep watch ",
        "COMP_CWORD": "3",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert capsys.readouterr().out.strip() == "" and not (home / "longwave.db").exists()


def test_completion_can_be_installed_and_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"longwave \d+\.\d+\.\d+\n", capsys.readouterr().out)
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "--install-completion" in out and "COLUMNS" in out and "--version" in out


def commands(command: object, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return every command and group."""
    below = getattr(command, "commands", {})
    return [words, *(line for name, each in below.items() for line in commands(each, (*words, name)))]


def test_h_is_help_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    command = app
    for words in commands(command):
        codes = [command.main([*words, sign], "longwave", standalone_mode=False) for sign in ("-h", "--help")]
        short, long = capsys.readouterr().out.split("Usage: ")[1:]
        assert codes == [0, 0] and short == long and short.startswith(" ".join(["longwave", *words])), words
