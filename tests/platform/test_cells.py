"""Cells of torchrecurrent among the models: found when they are asked for, and planned like any other."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from toy_cells import VERSION, installed
from tree import ROOT

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import add_plugin
from longwave.platform.plugins.plugin import is_plugin
from longwave.platform.registry import all_models, cell_models, get_model
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.training.train import unfit

MISSING = "torchrecurrent is not installed: pip install 'longwave[cells]'"


@pytest.fixture
def package() -> Iterator[None]:
    """The toys are there in torchrecurrent's place."""
    with installed(VERSION):
        yield


@pytest.fixture
def nothing() -> Iterator[None]:
    """Torchrecurrent is not installed."""
    with installed():
        yield


@pytest.mark.usefixtures("package")
def test_a_cell_is_a_model_in_any_spelling_and_no_plugin() -> None:
    spec = get_model("torchrecurrent-leaky")
    assert get_model("TorchRecurrent-Leaky") is spec and not is_plugin(spec.name) and is_plugin("my-leaky")
    assert {*cell_models()} == {f"torchrecurrent-{name}" for name in ("apart", "late", "leaky", "pair")}
    nearest = r"Did you mean torchrecurrent-late .* List all with: longwave models --family torchrecurrent$"
    with pytest.raises(ConfigError, match=rf"^No model 'torchrecurrent-latex'\. {nearest}"):
        get_model("torchrecurrent-latex")


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(
    "words", ["models torchrecurrent-lem", "models --family torchrecurrent", "check torchrecurrent-lem"]
)
def test_without_the_package_one_line_says_how_to_get_it(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err.strip() == f"longwave: {MISSING}"


@pytest.mark.usefixtures("package")
def test_the_list_of_models_names_the_family_and_has_no_line_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert out.count("torchrecurrent") == 2 and "longwave models --family torchrecurrent" in out
    assert not {*cell_models()} & {*all_models()}
    assert main(["models", "--family", "torchrecurrent"]) == 0
    assert capsys.readouterr().out.count("as in torchrecurrent 0.2.5") == 4


@pytest.mark.integration
@pytest.mark.usefixtures("package")
def test_a_cell_is_checked_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "torchrecurrent-leaky"]) == 0
    assert "model torchrecurrent-leaky: 18 rules pass; 1 does not apply." in capsys.readouterr().out


@pytest.mark.integration
@pytest.mark.skipif(find_spec("torchrecurrent") is None, reason="torchrecurrent is not installed")
def test_nothing_loads_torchrecurrent_that_does_not_ask_for_it() -> None:
    code = (
        "import sys; from longwave.platform.registry import all_models, get_model\n"
        "all_models(), get_model('lem'); assert 'torchrecurrent' not in sys.modules\n"
        "get_model('torchrecurrent-lem'); assert 'torchrecurrent' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_cell_is_planned_in_the_packages_version_and_in_packs_that_save_no_time(
    tiny: Callable[..., SweepFile],
) -> None:
    with installed("0.2.5"):
        lem, cell = resolve(tiny(models=["lem", "torchrecurrent-leaky"])).cells
        assert (cell.base.model, cell.base.model_version, cell.looped) == ("torchrecurrent-leaky", "0.2.5", True)
        assert [d.name for d in cell.space] == ["lr"] and not lem.looped
        assert unfit(cell.base) == ""
    with installed("0.2.6"):
        assert unfit(cell.base) == "with version 0.2.5 of torchrecurrent-leaky, which is now 0.2.6"
        assert resolve(tiny(models=["torchrecurrent-leaky"])).cells[0].base.id != cell.base.id
        assert (
            replace(cell.base, model_version="0.2.6").id
            == resolve(tiny(models=["torchrecurrent-leaky"])).cells[0].base.id
        )
    with installed(), pytest.raises(ConfigError, match=re.escape(MISSING)):
        resolve(tiny(models=["torchrecurrent-leaky"]))


def test_a_folder_of_plugins_may_not_take_the_packages_name(tmp_path: Path) -> None:
    folder = tmp_path / "torchrecurrent"
    folder.mkdir()
    (folder / "lem.py").write_text("MODEL = 1")
    with pytest.raises(
        ConfigError, match=r"torchrecurrent: torchrecurrent- begins the names of that package's cells\."
    ):
        add_plugin(folder)
