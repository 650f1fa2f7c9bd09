"""A sweep of several tasks and cells in real processes: killed and resumed, shown, boarded, carried elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from longwave.platform.cli.main import main
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan import stored
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials

pytestmark = pytest.mark.integration

DEPTH = """
name = "depth"
tasks = ["adding", "digits"]
variants = { adding = "N=20" }
models = ["unicornn", "gru"]
trials = 2
retrain = 2
epochs = 4
steps = 5
batch = 60
[recipe]
optimiser = "adamw"
[grid]
hidden = [4, 6]
[model.unicornn.grid]
layers = [1, 2]
[space.gru]
schedule = ["drops", "cosine"]
weight_decay = { low = 1e-4, high = 0.1 }
"""
CELLS = 2 * (4 + 2)
Longwave = Callable[..., subprocess.CompletedProcess[str]]
Tiny = Callable[..., SweepFile]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("depth") / "depth.toml"
    path.write_text(DEPTH)
    return path


@pytest.fixture(scope="module")
def killed(file: Path) -> tuple[str, int]:
    """A store in which the sweep was run by a process that was killed, and resumed by another; points at the kill."""
    folder = file.parent
    url, shared = f"sqlite:///{folder}/store.db", ["--here", "--mlflow", "off", "--storage", str(folder / "storage")]
    environment = {**os.environ, "LONGWAVE_HOME": str(folder / "home")}

    def points() -> int:
        with Store(url) as store:
            return store.count()["epochs"]

    command = [sys.executable, "-m", "longwave", "sweep"]
    with subprocess.Popen([*command, "run", str(file), *shared, "--store", url], env=environment) as driver:
        while driver.poll() is None and points() < 30:
            time.sleep(0.05)
        assert driver.poll() is None, "it ended before it could be killed"
        os.kill(driver.pid, signal.SIGKILL)
    at = points()
    again = [*command, "resume", "depth", *shared, "--store", url]
    done = subprocess.run(again, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "48 of 48 trials done (48 ok). See it with: longwave board" in " ".join(done.stdout.split())
    return url, at


def test_a_gridded_sweep_that_was_killed_ends_with_the_trials_of_its_plan(killed: tuple[str, int], file: Path) -> None:
    url, at = killed
    with Store(url) as store:
        assert 30 <= at < store.count()["epochs"] == CELLS * 4 * 4
        ends = {t.config.id: t.run for t in store.trials("depth") if t.run}
        assert {c.id for c in all_trials(resolve(read_sweep(file)), ends)} == set(ends) and len(ends) == CELLS * 4
        cells = Counter((a.cell, a.phase) for a in store.planned("depth"))
        assert cells == {(k, phase): 2 for k in range(CELLS) for phase in ("search", "retrain")}
        assert stored.missing_trials(stored.read_sweep_plan(store, "depth"), store) == []


def test_each_cell_is_a_row_with_its_own_search_and_says_what_it_is(killed: tuple[str, int]) -> None:
    with Store(killed[0]) as store:
        rows = [row for row in read_board(store) if row.kind == "retrained"]
        assert len(rows) == CELLS and all((row.n, row.searched) == (2, 2) for row in rows)
        shown = {(row.task, row.title, next(d for d in row.departures if "hidden" in d)) for row in rows}
        assert len(shown) == CELLS and ("digits", "UnICORNN (layers 1)", "hidden 4 (published 128)") in shown
        assert all("optimiser adamw (published adam)" in row.departures for row in rows)
        for row in rows:
            message = {d for d in row.departures if d.startswith(("weight_decay", "schedule"))}
            decay, schedule = row.params.get("weight_decay"), row.settings["schedule"]
            want = {f"weight_decay {decay:g} (published none)"} if decay is not None else set()
            assert message == want | ({f"schedule {schedule} (published drops)"} if schedule != "drops" else set())
            assert (decay is not None) == (row.model == "gru")
            actual = store.search_runs(row.config)
            configs = store.configs([r.id for r in actual])
            assert len(actual) == 2 and {c.hidden for c in configs.values()} == {row.hidden}
            assert {digest(c.options) for c in configs.values()} == {digest(row.options)}


@pytest.mark.parametrize("width", [80, 200])
def test_status_and_plan_show_cells_legibly(
    killed: tuple[str, int], file: Path, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["sweep", "status", "depth", "--store", killed[0]]) == 0
    assert main(["sweep", "plan", str(file)]) == 0
    text = capsys.readouterr().out
    assert "depth: 48 trials\n" in text and "digits unicornn (hidden 6, layers 2)" in text
    assert "depth: search on adding" in text and "depth: search on digits" in text
    assert "adding gru (hidden 4): hidden 4, batch 60, epochs 4. Protocol: hidden 4 (published 128)" in " ".join(
        text.split()
    )
    assert "Searched: schedule, weight_decay." in " ".join(text.split()) and "2 trials a cell" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width and "…" not in text


def test_status_for_programs_counts_each_cell(killed: tuple[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "status", "depth", "--store", killed[0], "--format", "json"]) == 0
    actual = json.loads(capsys.readouterr().out)
    assert actual["done"] == 48 and len(actual["cells"]) == CELLS
    assert actual["cells"]["adding unicornn (hidden 4, layers 1)"]["ok"] == 4


def test_rows_of_cells_go_to_another_store_with_their_own_searches(
    killed: tuple[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/other.db"
    assert main(["submit", str(tmp_path / "bundle.json.xz"), "--store", killed[0]]) == 0
    assert main(["import", str(tmp_path / "bundle.json.xz"), "--store", url]) == 0, capsys.readouterr()
    output = capsys.readouterr().out
    assert "48 trials imported" in output and "seeds that do not follow from the sweep" not in output
    boards = []
    for name in (killed[0], url):
        with Store(name) as store:
            actual = [r for r in read_board(store) if r.kind == "retrained"]
            boards.append(sorted((r.config, r.n, r.searched, r.mean) for r in actual))
    assert boards[0] == boards[1]


def test_winners_are_retrained_and_explained_without_torch_whatever_was_drawn(tiny: Tiny, store: Store) -> None:
    space = {"lem": {"weight_decay": {"low": 0.1, "high": 1.0}, "schedule": ["cosine"]}}
    made = stored.store_plan(resolve(tiny(models=["lem"], space=space, grid={"warmup": [1, 2]})), store)
    left = stored.missing_trials(made, store)
    store.write([], [Run(a.id, "ok", valid=float(k)) for k, a in enumerate(left)])
    store.close()
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'optuna', 'ray', 'mlflow', 'longwave.tasks']))\n"
        "from longwave.platform.storage.store import Store\n"
        "from longwave.platform.sweeps.plan import stored\n"
        "from longwave.platform.sweeps.run import driver\n"
        f"with Store({store.url!r}, create=False) as store:\n"
        "    left = stored.missing_trials(stored.read_sweep_plan(store, 'tiny'), store)\n"
        "    for trial in store.trials_by_id([a.id for a in left]):\n"
        "        print(trial.config.phase, *trial.about.departures, sep=';')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and all(line.startswith("retrain;hidden 8 (published 128);") for line in lines)
    for warmup in (1, 2):
        assert sum(f"warmup {warmup} (published none)" in line for line in lines) == 2
    assert all("schedule cosine (published drops)" in line and "weight_decay 0." in line for line in lines)
