"""What goes along with a sweep that is sent to a cluster: its plugins' texts, which are the same plugins there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from plugin_files import LEAKY, SIGN, written

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import add_plugin, forget_plugins
from longwave.platform.registry import get_model, get_task
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.on_ray.package import lay_out_package, shipped_plugins

SWEEP = """
name = "sent"
task = "my-sign"
models = ["nets-leaky"]
plugins = "own/sign.py"
trials = 2
"""


def test_a_sweep_that_is_sent_has_the_same_plugins_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "here/sent.toml", SWEEP)
    written(tmp_path / "here/own/sign.py", SIGN)
    written(tmp_path / "nets/helper.py", "from torch import tanh\n")
    own = "import Tensor, lerp\n\nfrom nets.helper import tanh\n"
    add_plugin(written(tmp_path / "nets/leaky.py", LEAKY.replace("import Tensor, lerp, tanh\n", own)).parent)
    checked = read_sweep(file)
    texts, options = shipped_plugins(file, checked)
    assert options == ["--plugins", "plugins/nets"] and {*texts} == {
        "own/sign.py", "plugins/nets/leaky.py", "plugins/nets/helper.py",
    }  # fmt: skip
    (there := tmp_path / "there").mkdir()
    lay_out_package(there, file, "sent", None, False, texts)
    wanted = {get_model("nets-leaky").version, get_task("my-sign").version}
    forget_plugins()
    monkeypatch.chdir(there)
    assert main(["sweep", "plan", "sent.toml", "--format", "json", *options]) == 0
    output = capsys.readouterr().out
    versions = set(re.findall(r'"(?:model|task)_version": "(\w+)"', output))
    assert versions == wanted


def test_a_plugin_outside_of_the_sweeps_folder_is_not_sent(tmp_path: Path) -> None:
    written(tmp_path / "sign.py", SIGN)
    file = written(tmp_path / "here/sent.toml", SWEEP.replace("own/", "../").replace("nets-leaky", "gru"))
    checked = read_sweep(file)
    with pytest.raises(
        ConfigError, match=r"plugins: \.\./sign\.py is outside the sweep file's folder, and only that folder is sent"
    ):
        shipped_plugins(file, checked)


def test_the_sweeps_own_folder_is_not_sent_as_a_plugin_for_its_name_differs_there(tmp_path: Path) -> None:
    written(tmp_path / "nets/leaky.py", LEAKY)
    written(tmp_path / "nets/sign.py", SIGN)
    file = written(tmp_path / "nets/sent.toml", SWEEP.replace("own/sign.py", "./").replace("my-sign", "nets-sign"))
    rule = (
        r"plugins: \./ is the sweep file's folder, which has another name in the job\. Move .* to a folder nets in it"
    )
    checked = read_sweep(file)
    with pytest.raises(ConfigError, match=rule):
        shipped_plugins(file, checked)
