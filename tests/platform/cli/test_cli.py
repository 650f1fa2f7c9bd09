"""The command line as a user meets it: in a process of its own, with its exit codes and its one-line errors."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longwave.platform.cli.app import LazyCommand
from longwave.platform.cli.main import app, main
from longwave.platform.cli.options import RunOptions
from longwave.platform.registry import all_models, all_tasks, shipped_models, shipped_tasks
from longwave.platform.storage.store import Store
from longwave.platform.training import train as train_module

Command = Callable[..., subprocess.CompletedProcess[str]]
DYNAMICS = ("enso", "fitzhugh_nagumo", "lorenz96", "mackey_glass")
SWEEP = """
name = "tiny"
task = "adding"
variant = "N=20"
models = ["lem"]
trials = 2
retrain = 2
hidden = 8
batch = 10
steps = 5
epochs = 3
"""
COMMANDS = [
    "models",
    "tasks",
    "board",
    "compare",
    "budget",
    "dashboard",
    "doctor",
    "bench sweep",
    "bench board",
    "bench kernels",
]
COMMANDS += ["mlflow sync", "sweep plan", "sweep run", "sweep resume", "sweep status", "data fetch", "data list"]
COMMANDS += [
    "reproduce",
    "diff",
    "publish",
    "methods",
    "sweep submit",
    "sweep logs",
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SWEEP)
    return path


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail; return its one line."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1, captured
    return captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    assert f"Example: longwave {command}" in re.sub(r"\s+", " ", capsys.readouterr().out)


def every_command(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, LazyCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, LazyCommand):
            yield " ".join((*words, name)), command
        else:
            yield from every_command(command, (*words, name))


def test_what_a_groups_help_says_of_a_command_is_the_first_sentence_of_its_own() -> None:
    commands = dict(every_command(app))
    assert {*COMMANDS} - {"tasks"} <= {*commands} and len(commands) > 40
    for name, command in commands.items():
        assert command.get_short_help_str(1000) == command.load().get_short_help_str(1000), name


def test_a_groups_help_shows_whole_sentences_also_at_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group, *sentences in (
        ([], "settings, seeds, scores, environment, cost and commands.", "folders, store."),
        (["sweep"], "its cost so far and the time left.", "Queue the failed trials of a sweep again."),
    ):
        main(group)
        shown = capsys.readouterr().out
        assert "..." not in shown.partition("Commands:")[2] and max(map(len, shown.splitlines())) <= 80
        assert all(sentence in re.sub(r"\s+", " ", shown) for sentence in sentences)


def test_the_options_that_a_job_is_sent_with_are_those_that_were_given() -> None:
    options = RunOptions(workers=8, gpus=0.25, label=["gpu=H200", "zone=!a"], keep_weights=True, storage="s3://a/b c")
    options = replace(options, stall=60.0, stall_kill=True, tracker=["wandb"])
    words = options.words()
    assert words == [
        "--workers", "8", "--gpus", "0.25", "--label", "gpu=H200", "--label", "zone=!a", "--storage", "s3://a/b c",
        "--tracker", "wandb", "--keep-weights", "--stall", "60.0", "--stall-kill",
    ]  # fmt: skip
    context = app.commands["sweep"].commands["run"].make_context("run", ["FILE", *words])
    given = {name: value for name, value in context.params.items() if name != "file"}
    assert RunOptions(**given) == options and RunOptions().words() == []


@pytest.mark.integration
def test_a_sweep_from_plan_to_board(
    longwave: Command, file: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    plan, ids = printed("sweep", "plan", str(file)), json.loads(printed("sweep", "plan", str(file), "--format", "json"))
    assert "2 trials a model: random search, then" in plan and len(ids) == 2 and all(c["id"] in plan for c in ids)
    assert not home.exists(), "planning must write nothing"
    run = longwave("sweep", "run", file, "--here", "--mlflow", "off")
    assert run.returncode == 0, run.stderr
    assert "tiny: 4 of 4 trials done (4 ok). See it with: longwave board adding" in run.stdout
    status = json.loads(printed("sweep", "status", "tiny", "--format", "json"))
    counts = {"planned": 0, "running": 0, "done": 4, "ok": 4, "diverged": 0, "stopped": 0, "failed": 0}
    assert counts.items() <= status.items() and (status["state"], status["epochs"]) == ("over", status["expected"])
    rows = json.loads(printed("board", "adding", "--format", "json"))
    row = next(r for r in rows if not r["trivial"])
    assert [(r["model"], r["n"], r["rank_low"]) for r in rows if r["trivial"]] == [("mean", 0, None)]
    assert (row["model"], row["n"], row["searched"], row["metric"]) == ("lem", 2, 2, "mse")
    assert {c["id"] for c in ids}.isdisjoint(row["trials"])
    assert all("lem" in printed("board", "--format", f).lower() for f in ("table", "csv", "markdown", "latex"))
    again = longwave("sweep", "resume", "tiny", "--here", "--mlflow", "off")
    assert again.returncode == 0 and " over." not in again.stdout


@pytest.mark.integration
def test_a_sweep_without_retrainings_names_no_board_and_that_of_its_store_says_what_is_missing(
    longwave: Command, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SWEEP.replace("retrain = 2", "retrain = 0"))
    said = " ".join(longwave("sweep", "run", file, "--here", "--mlflow", "off").stdout.split())
    assert "(2 ok). No board shows it, as nothing was retrained. See it with: longwave sweep status tiny" in said
    for task in ([], ["adding"]):
        missing = "No retrainings of adding are stored yet" if task else "No retrainings are stored yet"
        assert failed(capsys, "board", *task) == f"longwave: {missing}. Run a sweep with: longwave sweep run FILE\n"


@pytest.mark.integration
@pytest.mark.parametrize(("broken", "status"), [("search", 1), ("retrain", 0)])
def test_a_sweep_whose_trials_all_fail_ends_with_status_1_and_says_how_to_go_on(
    broken: str, status: int, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train = train_module._train

    def fail_in_phase(configs: Sequence[Any], *rest: Any) -> Any:
        if configs[0].phase == broken:
            raise OSError("No space left on device")
        return train(configs, *rest)

    monkeypatch.setattr(train_module, "_train", fail_in_phase)
    store = f"--store sqlite:///{file.parent}/f.db"
    assert main(["sweep", "run", str(file), "--here", "--mlflow", "off", *store.split()]) == status
    said = " ".join(capsys.readouterr().out.split())
    again = f"Queue them again with: longwave sweep retry tiny {store}"
    assert f"2 failed; see why with: longwave sweep status tiny {store}. {again}" in said


@pytest.mark.integration
def test_ctrl_c_says_how_to_go_on_and_resume_does(
    longwave: Command, file: Path, open_store: Callable[[str], Store]
) -> None:
    file.write_text(SWEEP.replace("epochs = 3", "epochs = 30"))
    url, shared = f"sqlite:///{file.parent}/c.db", ["--here", "--mlflow", "off", "--store"]
    command = [sys.executable, "-m", "longwave", "sweep", "run", str(file), *shared, url]
    store = open_store(url)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        while driver.poll() is None and not store.curves([t.config.id for t in store.trials("tiny")]):
            time.sleep(0.02)
        driver.send_signal(signal.SIGINT)
        _, err = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert err == f"SIGINT: finished trials are kept. Resume the sweep with: longwave sweep resume tiny --store {url}\n"
    assert "4 of 4 trials done (4 ok)" in longwave("sweep", "resume", "tiny", *shared, url).stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("lem", "lemm"), "No model 'lemm'. Did you mean lem"),
        (('task = "adding"', 'task = "ading"'), "No task 'ading'. Did you mean adding"),
        ((SWEEP, ""), "the keys task, name, models, trials are missing"),
        (("trials = 2", ""), "trials: is missing"),
        (('"tiny"', '"ti ny"'), "name: must be 1 to 80 letters, digits, dots, hyphens and underscores, the first a "),
        (("trials = 2", "trials = -1"), "trials: must be at least 0, got -1"),
        (("hidden", "hiden"), "No key 'hiden'. Did you mean hidden"),
        (("models", "modles"), "No key 'modles'. Did you mean models"),
        (("epochs = 3", 'epochs = "3"'), "epochs: must be a whole number, got '3'"),
        (("epochs = 3", "epochs = 3\n[space.lem]\ndt = -0.5"), "Δt (dt) must be a finite number > 0, got -0.5"),
        (("epochs = 3", "epochs = 3\n[space.lem]\ndt = {low = 2, high = 1}"), "low must not exceed high"),
        (("name", "name = ["), "is not TOML"),
    ],
)
def test_a_wrong_sweep_file_is_one_line_and_exit_code_2_and_changes_nothing(
    change: tuple[str, str], message: str, file: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(SWEEP.replace(*change))
    for verb in ("plan", "run"):
        assert message in failed(capsys, "sweep", verb, str(file))
    assert not home.exists()


def test_a_wrong_store_is_one_line_and_exit_code_2_and_nothing_is_trained(
    file: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / "note.db"
    note.write_text("not a database, but longer than a header of SQLite is; " * 20)
    for url, message in {
        "gibberish": "A store is sqlite:///file.db or postgresql://..., got gibberish.",
        f"sqlite:///{note}": "file is not a SQLite database",
        f"sqlite:///{tmp_path}/no/such/folder/x.db": "There is no folder",
    }.items():
        assert message in failed(capsys, "sweep", "run", str(file), "--store", url)
    assert note.read_text().startswith("not a database") and not (home / "sweeps").exists()


def test_wrong_words_are_one_line_that_says_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such option" in (line := failed(capsys, "board", "--frmat", "csv")) and "longwave board --help" in line
    assert "Missing argument 'file'" in failed(capsys, "sweep", "plan")
    assert "Invalid value for '--seed'" in failed(capsys, "reproduce", "3f9c", "--seed", "-1")
    assert "No such command 'bord'. Did you mean 'board', 'dashboard'? Try: longwave --help" in failed(capsys, "bord")
    assert "'--format': 'yaml' is not one of" in failed(capsys, "board", "--format", "yaml")
    assert "No model 'lme'. Did you mean lem" in failed(capsys, "models", "lme")
    assert "No task 'digit'. Did you mean digits" in failed(capsys, "tasks", "digit")


@pytest.mark.parametrize("group", [[], ["sweep"], ["bench"], ["mlflow"], ["data"]])
def test_a_command_without_words_shows_its_help(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(group) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith(f"Usage: {' '.join(['longwave', *group])} [OPTIONS]") and captured.err == ""


def test_looking_before_anything_ran_says_what_to_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["budget"],
        ["compare", "lem", "gru", "--trust", "0123456789"],
        ["sweep", "status", "demo"],
        ["sweep", "resume", "demo"],
    ):
        assert "Make one with: longwave sweep run FILE" in failed(capsys, *command)
    assert not (home / "longwave.db").exists()


@pytest.mark.integration
def test_unknown_sweeps_and_tasks_without_results_are_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "run", str(file), "--here", "--mlflow", "off"]) == 0
    capsys.readouterr()
    assert "No sweep 'tini'. Did you mean tiny" in failed(capsys, "sweep", "resume", "tini")
    assert "No retrainings of digits are stored yet" in failed(capsys, "board", "digits")
    assert "No task 'addding'. Did you mean adding" in failed(capsys, "board", "addding")
    file.write_text(SWEEP.replace("trials = 2", "trials = 3"))
    assert "The store already has a sweep 'tiny' with another trials" in failed(
        capsys, "sweep", "run", str(file), "--here"
    )


def test_a_model_shows_the_plan_of_its_fused_loop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "lem", "--kernel"]) == 0
    shown = capsys.readouterr().out
    assert "# block 1: 3 sums over before[0]" in shown and "static void back(" in shown
    assert "# before, after: the states before and after a step (0: y, 1: z)." in shown
    assert "# kept: 4 rows of d numbers that a step saves, first the drive's 4." in shown
    assert "--kernel prints the plan of a loop and --task search ranges. Give one" in failed(
        capsys, "models", "lem", "--kernel", "--task", "adding"
    )


@pytest.mark.integration
def test_lists_are_json_objects_with_names(capsys: pytest.CaptureFixture[str]) -> None:
    for command, expected in (("models", "lem"), ("tasks", "fitzhugh_nagumo")):
        assert main([command, "--format", "json"]) == 0
        assert expected in [entry["name"] for entry in json.loads(capsys.readouterr().out)]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("command", "family", "wanted", "pages"),
    [
        ("models", "delay", {"simple_delay_gru", "tau_gru"}, ["simple_delay_gru", "tau_gru"]),
        ("tasks", "dynamics", {*DYNAMICS, *(f"{name}_free" for name in DYNAMICS)}, ["enso_free"]),  # others take longer
        ("tasks", "speech", {"google12", "timit"}, []),  # a page needs their data
    ],
)
def test_a_family_is_listed_alone_and_named_in_the_list_and_on_the_page(
    command: str, family: str, wanted: set[str], pages: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--family", family, "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {(entry["name"], entry["family"]) for entry in listed} == {(name, family) for name in wanted}
    assert main([command, "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {line["name"] for line in lines if line["family"] == family} == wanted
    assert len(lines) == len(all_models() if command == "models" else all_tasks())
    for name in pages:
        assert main([command, name]) == 0
        assert f"), {family}\n" in capsys.readouterr().out


@pytest.mark.integration
def test_a_family_is_found_by_another_spelling_and_state_space_models_by_ssm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = []
    for family in ("state space", "State-Space", "ssm", "SSM"):
        assert main(["models", "--family", family, "--format", "json"]) == 0
        listed.append(capsys.readouterr().out)
    assert {"lru", "s5", "linoss"} <= {entry["name"] for entry in json.loads(listed[0])}
    assert listed == listed[:1] * 4


def test_an_unknown_family_or_a_family_beside_a_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No family 'dely'. Did you mean delay?" in failed(capsys, "models", "--family", "dely")
    assert "No family 'oscillator'. Known: arithmetic, dynamics," in failed(capsys, "tasks", "--family", "oscillator")
    assert "Give one of them." in failed(capsys, "tasks", "digits", "--family", "images")


def test_families_of_tasks_are_few_have_several_tasks_and_are_none_of_models() -> None:
    of_tasks = Counter(all_tasks()[name].family for name in shipped_tasks())
    assert len(of_tasks) <= 10 and min(of_tasks.values()) >= 2
    assert not set(of_tasks) & {all_models()[name].family for name in shipped_models()}


@pytest.mark.integration
@pytest.mark.usefixtures("unlimited_doctor")
def test_the_doctor_finds_this_installation_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("longwave.platform.doctor.SECONDS", 120.0)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "broken" not in out and f"{len(all_models())} models, {len(all_tasks())} tasks" in out


@pytest.mark.integration
def test_bench_sweep_gives_the_ratio_of_a_pack_to_one_member(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "sweep", "--members", "2", "--repeats", "1", "--trials", "0", "--format", "json"]) == 0
    one, two = json.loads(capsys.readouterr().out)["epoch"]
    assert {"name", "shape", "path", "ms", "ratio"} <= set(one) and one["ratio"] == 1.0
    assert two["ratio"] == pytest.approx(two["ms"] / one["ms"]) and "M=2 T=1000" in two["shape"]


@pytest.mark.integration
@pytest.mark.parametrize("how", ["PYTHONIOENCODING=latin-1 {} published adding", "{} published adding >&-"])
def test_any_text_is_written_to_any_stream(how: str) -> None:
    command = how.format(f"{sys.executable} -m longwave")
    ended = subprocess.run(["bash", "-c", command], capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
