"""Plugins in sweeps: trained in packs, here and on Ray; gone on with when the file is gone; readable without it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugin_files import LEAKY, SIGN, written
from ray_nodes import LOOPBACK, Nodes
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import forget_plugins
from longwave.platform.registry import get_model
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan
from longwave.platform.sweeps.run import executor
from longwave.platform.sweeps.run.driver import resume_sweep

SWEEP = """
name = "own"
task = "my-sign"
models = ["my-leaky", "gru"]
plugins = ["parts/leaky.py", "parts/sign.py"]
trials = 2
retrain = 2
seed = {seed}
[space.my-leaky]
dt = {{low = 0.1, high = 1.0}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A sweep of a model and a task of one's own."""
    written(tmp_path / "parts/leaky.py", LEAKY)
    written(tmp_path / "parts/sign.py", SIGN)
    return written(tmp_path / "own.toml", SWEEP.format(seed=0))


@pytest.fixture
def planned(file: Path, store: Store) -> Store:
    """A store with that sweep planned, in a process that knows nothing of its plugins any more."""
    store_plan(resolve(read_sweep(file)), store)
    forget_plugins()
    return store


def version_of(store: Store) -> str:
    """Return the version of the plugin's model that the sweep was planned with."""
    return read_sweep_plan(store, "own").cells[0].base.model_version


def train(store: Store, workers: Workers) -> dict[str, int]:
    """Run the sweep of the store to its end; return how many trials ended ok, by model."""
    resume_sweep(read_sweep_plan(store, "own"), store, workers, None, Console(quiet=True))
    ended = [a for a in store.planned("own") if a.status == "ok"]
    return {model: sum(a.model == model for a in ended) for model in ("my-leaky", "gru")}


@pytest.mark.integration
def test_what_is_planned_goes_on_without_its_files(planned: Store, file: Path, here: Workers) -> None:
    shutil.rmtree(file.parent / "parts")
    assert train(planned, here) == {"my-leaky": 4, "gru": 4}


def test_a_race_is_planned_with_the_plugins_of_its_search_without_their_files(
    planned: Store, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(file.parent / "parts")
    assert main(["sweep", "race", "own", "--store", planned.url]) == 0
    assert capsys.readouterr().out.startswith(
        "own-race: planned; 4 trials to train first, 4 of them in its search. The"
    )


def test_what_is_planned_goes_on_as_it_was_though_its_file_is_another_now(
    planned: Store, file: Path, here: Workers
) -> None:
    written(file.parent / "parts/leaky.py", LEAKY.replace("lerp(y, tanh", "lerp(y, 2 * tanh"))
    rule = "^The sweep 'own' was planned with model version [0-9a-f]{12} of my-leaky on my-sign, which is now [0-9a-f]"
    with pytest.raises(ConfigError, match=rule):
        store_plan(resolve(read_sweep(file)), planned)
    assert train(planned, here) == {"my-leaky": 4, "gru": 4}
    trained = planned.configs([a.id for a in planned.planned("own") if a.model == "my-leaky"])
    assert {c.model_version for c in trained.values()} == {version_of(planned)}


def test_what_is_not_here_in_any_way_is_told_before_anything_runs(
    planned: Store, file: Path, here: Workers, home: Path
) -> None:
    for gone in (file.parent / "parts", home / "plugins/kept"):
        shutil.rmtree(gone)
    with pytest.raises(ConfigError, match=r"^The (task my-sign|model my-leaky) of version .*: --plugins FILE\.$"):
        train(planned, here)
    assert not [a for a in planned.planned("own") if not a.open]


@pytest.mark.integration
@pytest.mark.usefixtures("ray_on_two_cores")
def test_rays_workers_get_the_text_with_the_packs(planned: Store, file: Path, tmp_path: Path, home: Path) -> None:
    for gone in (file.parent / "parts", home / "plugins"):
        shutil.move(gone, tmp_path / f"away-{gone.name}") if gone.name == "parts" else None
    assert train(planned, Workers(2, tmp_path / "storage")) == {"my-leaky": 4, "gru": 4}


@pytest.mark.integration
@pytest.mark.usefixtures("alone")
def test_so_does_the_single_process_that_a_sweep_begins_in(
    planned: Store, file: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = executor._follow

    def without_files(*given: Any) -> None:
        for gone in (file.parent / "parts", home / "plugins"):
            shutil.rmtree(gone, ignore_errors=True)
        follow(*given)

    monkeypatch.setattr(executor, "_follow", without_files)
    monkeypatch.setattr(executor, "SECONDS", 1000.0)
    monkeypatch.setattr(executor, "_turn_to_ray", lambda workers: pytest.fail("it goes on on Ray"))
    workers = Workers(None, tmp_path / "storage", single_first=True)
    assert train(planned, workers) == {"my-leaky": 4, "gru": 4}


@pytest.mark.integration
def test_a_row_of_a_plugin_that_is_not_here_is_read_like_any_other(
    planned: Store, file: Path, here: Workers, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    version = version_of(planned)
    train(planned, here)
    forget_plugins()
    for gone in (file.parent / "parts", home / "plugins"):
        shutil.rmtree(gone)
    own = ["--store", str(planned.engine.url)]
    assert main(["board", "my-sign", "--format", "json", *own]) == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["model"] == "my-leaky")
    assert row["title"] == f"Leaky [my-leaky {version[:6]}]"
    for line in ("board", "board my-sign", "budget my-sign", "compare my-leaky gru --task my-sign"):
        assert main([*line.split(), *own]) == 0 and row["title"] in capsys.readouterr().out, line
    for line, text in {"status own": "over, 8 of 8", "list": "over", "resume own --here": "own: 8 of 8"}.items():
        assert main(["sweep", *line.split(), *own]) == 0 and text in capsys.readouterr().out, line
    assert main(["reproduce", row["config"], *own]) == 2
    assert " is not available. Give its original file: --plugins FILE.\n" in capsys.readouterr().err
    assert main(["submit", str(tmp_path / "out.json.xz"), *own]) == 2
    rejection, end = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"reject: names: .*: No task 'my-sign'\. .* give its file: --plugins FILE", rejection)
    assert end == "longwave: No bundle was written."


@pytest.mark.integration
def test_a_bundle_of_a_plugin_is_taken_where_the_plugin_is_and_refused_in_words_where_it_is_not(
    planned: Store, file: Path, here: Workers, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(planned, here)
    forget_plugins()
    bundle, parts = tmp_path / "out.json.xz", ["--plugins", str(file.parent / "parts/leaky.py"), "--plugins"]
    parts += [str(file.parent / "parts/sign.py")]
    assert main(["submit", str(bundle), "--store", str(planned.engine.url), *parts]) == 0
    forget_plugins()
    elsewhere = ["--store", f"sqlite:///{tmp_path}/elsewhere.db"]
    assert main(["import", str(bundle), *elsewhere]) == 2
    err = capsys.readouterr().err
    assert "No task 'my-sign'" in err and "Traceback" not in err
    assert main([*parts, "import", str(bundle), *elsewhere]) == 0
    forget_plugins()
    assert main(["board", "my-sign", *elsewhere]) == 0
    assert "Leaky [my-leaky" in capsys.readouterr().out


def test_the_option_stands_anywhere_on_the_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(file.parent / "parts/leaky.py")
    for line in (["--plugins", path, "models", "my-leaky"], ["models", f"--plugins={path}", "my-leaky"]):
        forget_plugins()
        assert main(line) == 0 and "Leaky [my-leaky" in capsys.readouterr().out
    assert get_model("my-leaky").name == "my-leaky"
    for empty in (["--plugins"], ["--plugins", ""], ["--plugins="]):
        assert main(["models", *empty]) == 2
        assert capsys.readouterr().err.startswith("longwave: --plugins needs a file or a folder after it.")


@pytest.mark.slow  # two nodes of a cluster and their workers: a minute
def test_two_nodes_train_a_plugin_that_neither_has(
    file: Path, home: Path, tmp_path: Path, longwave: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    with Nodes(count=2) as nodes:
        file.write_text(SWEEP.format(seed=1).replace("trials = 2", "trials = 8\npack = 2\nepochs = 200"))
        run = [sys.executable, "-m", "longwave", "sweep", "run", str(file), "--ray", nodes.address, "--workers", "2"]
        own = ["--storage", str(tmp_path / "shared"), "--mlflow", "off", "--cpu"]
        driver = subprocess.Popen([*run, *own], env={**os.environ, **LOOPBACK})
        both = False
        while driver.poll() is None:
            both = both or nodes.busy()
            time.sleep(0.2)
        assert driver.returncode == 0
    assert both, "only one node had work"
    rows = json.loads(longwave("board", "my-sign", "--format", "json").stdout)
    assert {row["model"] for row in rows if row["n"]} >= {"my-leaky"}
