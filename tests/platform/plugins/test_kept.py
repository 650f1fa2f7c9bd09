"""Kept copies of plugins: ordinary files to Python, whole and as they were read, whoever writes or changes them."""

from __future__ import annotations

import inspect
import json
import pickle
import pydoc
import stat
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from plugin_files import LEAKY, written

from longwave.platform.errors import ConfigError
from longwave.platform.plugins import kept
from longwave.platform.plugins.kept import keep_plugin, kept_plugin
from longwave.platform.plugins.known import add_plugin
from longwave.platform.plugins.modules import module_of
from longwave.platform.plugins.plugin import Plugin, read_plugin

FAILING = "\n\ndef fail():\n    return 1 / 0  # here\n\n\nMODEL = 1\n"


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """A plugin of a text of its own, so that no test before has imported it."""
    return read_plugin(written(tmp_path / "leaky.py", f"{LEAKY}\nOF = {str(tmp_path)!r}\n"))


@pytest.fixture
def folder(plugin: Plugin, home: Path) -> Path:
    """Where that plugin is kept, once it is."""
    return home / f"plugins/kept/my_{plugin.version}"


def test_a_module_is_a_file_that_inspection_finds_and_holds_what_was_read(plugin: Plugin, folder: Path) -> None:
    leaky = module_of(plugin, "leaky.py").Leaky
    assert inspect.getsourcefile(leaky) == str(folder / "leaky.py")
    assert inspect.getsource(leaky) in LEAKY and inspect.getsource(leaky).startswith("class Leaky(")
    assert inspect.getsource(inspect.getmodule(leaky.step) or kept) == plugin.files["leaky.py"]
    assert pydoc.locate(f"{leaky.__module__}.Leaky") is leaky
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}, "nor is there a __pycache__"


def test_a_traceback_shows_the_line_that_failed(tmp_path: Path) -> None:
    plugin = read_plugin(written(tmp_path / "bad.py", FAILING))
    with pytest.raises(ZeroDivisionError, match="by zero") as caught:
        module_of(plugin, "bad.py").fail()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.line, last.lineno) == ("return 1 / 0  # here", 4)


@pytest.mark.integration  # another process imports Longwave
def test_what_is_pickled_here_is_unpickled_by_a_process_that_knows_nothing_of_the_plugin(
    plugin: Plugin, folder: Path
) -> None:
    pickled = pickle.dumps(module_of(plugin, "leaky.py").DT), pickle.dumps(module_of(plugin, "leaky.py").Leaky)
    script = "import pickle, sys; print(*(pickle.loads(part) for part in pickle.load(sys.stdin.buffer)))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=pickle.dumps(pickled), capture_output=True)
    assert f"kept.my_{plugin.version}.leaky.Leaky" in done.stdout.decode(), done.stderr.decode()
    written(folder / "leaky.py", LEAKY.replace("lerp(y, tanh", "lerp(y, 2 * tanh"))
    done = subprocess.run(command, input=pickle.dumps(pickled), capture_output=True)
    assert b"leaky.py was changed since it was stored. Give the original plugin: --plugins FILE" in done.stderr


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: written(folder / "leaky.py", LEAKY.replace("lerp(y, tanh", "lerp(y, 2 * tanh")),
        lambda folder: (folder / "leaky.py").write_bytes(b"\xff"),
        lambda folder: (folder / "leaky.py").unlink(),
        lambda folder: written(folder / "plugin.json", "[]"),
        lambda folder: (folder / "plugin.json").unlink(),
    ],
)
def test_a_kept_file_that_is_not_as_it_was_is_never_run_and_written_anew(
    plugin: Plugin, folder: Path, damage: object
) -> None:
    assert kept_plugin("my", plugin.version) is None
    assert keep_plugin(plugin) == folder and kept_plugin("my", plugin.version) == plugin
    assert callable(damage)
    damage(folder)
    assert kept_plugin("my", plugin.version) is None
    assert module_of(plugin, "leaky.py").OF in plugin.files["leaky.py"]
    assert kept_plugin("my", plugin.version) == plugin


def test_a_kept_file_is_compared_again_when_it_is_run(
    plugin: Plugin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_plugin(plugin)
    monkeypatch.setattr(kept, "_keep", lambda plugin, root: written(folder / "leaky.py", "MODEL = 1\n").parent)
    with pytest.raises(
        ConfigError,
        match=r"leaky\.py: ImportError: .*leaky\.py was changed since it was stored\. Give the original plugin",
    ):
        module_of(plugin, "leaky.py")


def test_copies_of_one_text_in_two_namespaces_are_kept_apart(tmp_path: Path) -> None:
    plugins = [read_plugin(written(tmp_path / name / "leaky.py", LEAKY).parent) for name in ("ours", "theirs")]
    for plugin in plugins:
        keep_plugin(plugin)
    assert [kept_plugin(plugin.namespace, plugin.version) for plugin in plugins] == plugins


def test_where_nothing_can_be_written_a_plugin_runs_from_a_folder_of_the_process(
    plugin: Plugin, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(home.parent / "a file", "")
    monkeypatch.setenv("LONGWAVE_HOME", str(home.parent / "a file"))
    module = module_of(plugin, "leaky.py")
    assert module.__file__ and Path(module.__file__).is_relative_to(kept._temporary_folder())
    with pytest.raises(OSError, match="Not a directory"):
        keep_plugin(plugin)


@pytest.mark.integration  # two processes import Longwave
def test_two_processes_keep_and_run_one_plugin_at_once(plugin: Plugin, folder: Path) -> None:
    script = (
        "import json, sys; from longwave.platform.plugins.modules import module_of\n"
        "from longwave.platform.plugins.plugin import Plugin\n"
        "print(module_of(Plugin.from_dict(json.loads(sys.argv[1])), 'leaky.py').MODEL.name)"
    )
    command = [sys.executable, "-c", script, json.dumps(plugin.to_dict())]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["leaky\n"] * 2
    assert sorted(file.name for file in folder.iterdir()) == ["leaky.py", "plugin.json"]
    assert kept_plugin("my", plugin.version) == plugin == add_plugin(Path(plugin.origin))
