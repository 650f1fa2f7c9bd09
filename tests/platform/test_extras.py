"""Packages of extras load only where they are used; where one is missing a line names the extra that brings it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tree import ROOT

from longwave.platform.cli.main import EXTRAS, main
from longwave.platform.editions.shipped import read_shipped
from longwave.platform.errors import WorkerError
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import executor

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = """
import sys
sys.modules.update(dict.fromkeys(%r))
import longwave as lw, longwave.platform.paths as paths
from longwave.platform.sweeps.run import executor
from longwave.platform.cli.main import main
import importlib.util
found = importlib.util.find_spec
absent = lambda name, *rest: None if name in %r else found(name, *rest)
executor.HAS_RAY, paths.find_spec = False, absent
%s
"""
SWEEP = """
name = "s"
task = "adding"
variant = "N=20"
models = ["gru"]
trials = 1
retrain = 1
epochs = 1
steps = 2
batch = 4
"""


def in_core(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python that has no package of an extra."""
    code = CORE % (sorted(EXTRAS), sorted(EXTRAS), program)
    environment = {"LONGWAVE_HOME": str(folder), "PATH": "/usr/bin:/bin", "COLUMNS": "100"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_each_package_of_an_extra_is_named_with_it() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS.values()) == {"cluster", "lab", "mlflow", "postgres"}
    assert extras["all"] == [f"longwave[{','.join(sorted(set(EXTRAS.values())))}]"]
    for package, extra in EXTRAS.items():
        assert any(line.replace("-", "_").startswith(package) for line in extras[extra]), package
        assert not any(line.replace("-", "_").startswith(package) for line in PROJECT["dependencies"]), package


@pytest.mark.integration
def test_a_sweep_and_its_board_need_no_package_of_an_extra(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SWEEP)
    ran = in_core(
        tmp_path, f"sys.exit(main(['sweep', 'run', {str(tmp_path / 's.toml')!r}]) or main(['board', 'adding']))"
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("one process trains all packs, as Ray is not installed") == 1 and "GRU" in ran.stdout


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "extra"),
    [(["publish", "edition"], "lab"), (["board", "--store", "postgresql://localhost/x"], "postgres")],
)
def test_a_command_that_needs_one_names_the_extra(tmp_path: Path, words: list[str], extra: str) -> None:
    (tmp_path / "s.toml").write_text(SWEEP)
    assert in_core(tmp_path, f"main(['sweep', 'run', {str(tmp_path / 's.toml')!r}, '--here'])").returncode == 0
    ran = in_core(tmp_path, f"sys.exit(main({words!r}))")
    assert ran.returncode == 2 and "Traceback" not in ran.stderr
    assert f"Install it with: pip install 'longwave[{extra}]'" in ran.stderr and ran.stderr.count("\n") == 1


def test_several_workers_without_ray_are_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "HAS_RAY", False)
    with (
        pytest.raises(WorkerError, match=r"^Several workers need Ray.*pip install 'longwave\[cluster\]'$"),
        executor.running_workers(Workers(2, tmp_path)),
    ):
        pass


@pytest.mark.integration
def test_without_a_store_boards_and_comparisons_are_those_of_the_editions_that_ship(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path))
    monkeypatch.delenv("LONGWAVE_STORE", raising=False)
    assert main(["board"]) == 0
    shown = capsys.readouterr()
    boards = {(row["task"], row["variant"]) for row in read_shipped()[2].rows}
    assert f"of {len(boards)} boards separate networks" in shown.out and "Karate club" not in shown.out
    assert "below is edition 2, which ships with the package. Boards of edition 1 are shown by name" in shown.err
    assert main(["board", "parity"]) == 0
    shown = capsys.readouterr()
    assert "Parity: accuracy [%] ↑" in shown.out and "Parity, test set 2: accuracy [%] ↑" in shown.out
    assert "below is what the editions that ship with the package have" in shown.err
    assert main(["board", "pdigits"]) == 0 and capsys.readouterr().out.count("\nPermuted digits: accuracy") == 1
    assert main(["compare", "lem", "gru", "--task", "digits"]) == 0
    shown = capsys.readouterr()
    assert "LEM and GRU are not significantly different on Sequential digits" in " ".join(shown.out.split())
    assert "below is what the editions that ship" in shown.err
    assert main(["compare", "lem", "gru", "--task", "copy_memory"]) == 2
    assert main(["board", "copy_memory"]) == 2 and "No board 'copy_memory'" in capsys.readouterr().err
    assert main(["board", "--store", f"sqlite:///{tmp_path}/none.db"]) == 2
    assert "There is no store at" in capsys.readouterr().err
