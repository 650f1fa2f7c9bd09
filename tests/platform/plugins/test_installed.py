"""Plugins of installed packages: found by their entry points, run from their text, in the distribution's namespace."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from plugin_files import LEAKY, SIGN, written

from longwave.models.base.spec import Sizes
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import pin_plugins, plugins_by_name
from longwave.platform.plugins.plugin import Plugin
from longwave.platform.registry import get_model, get_task

POINTS = """[longwave.models]
leaky = acme_nets.cells.leaky
[longwave.tasks]
sign = acme_nets.sign
"""
MAPS = "from torch import tanh\n\nWHERE = __name__\n"
OWN = "import Tensor, lerp\n\nimport acme_nets.maps\nfrom acme_nets import VERSION\nfrom acme_nets.maps import tanh\n"


def install(site: Path, points: str = POINTS) -> Path:
    """Lay out a package as pip does, with its .dist-info."""
    written(site / "acme_nets/__init__.py", "VERSION = 3\n")
    written(site / "acme_nets/maps.py", MAPS)
    written(site / "acme_nets/sign.py", SIGN)
    uses = "\nassert acme_nets.maps.tanh is tanh and VERSION == 3\n"
    written(site / "acme_nets/cells/leaky.py", LEAKY.replace("import Tensor, lerp, tanh\n", OWN) + uses)
    written(site / "acme_nets-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: Acme-Nets\nVersion: 1.0\n")
    written(site / "acme_nets-1.0.dist-info/entry_points.txt", points)
    return site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the package, where Python looks."""
    monkeypatch.syspath_prepend(str(install(tmp_path / "site")))
    return tmp_path / "site"


def test_a_packages_models_and_tasks_are_in_its_distributions_namespace(site: Path) -> None:
    assert [*plugins_by_name("model")] == ["acme_nets-leaky"] and [*plugins_by_name("task")] == ["acme_nets-sign"]
    assert get_model("acme_nets-leaky").build(Sizes(1, 4, 1, 5)).dt == 0.5
    assert get_task("acme_nets-sign").load("").valid.positions == 12
    assert get_model("acme_nets-leaky").version == get_task("acme_nets-sign").version
    assert "acme_nets" not in sys.modules, "the package itself was run, not the text that has the version"


def test_a_packages_text_runs_where_the_package_is_not(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(site / "acme_nets/maps.py", MAPS + "# run nowhere before\n")
    plugin = Plugin.from_dict(json.loads(json.dumps(plugins_by_name("model")["acme_nets-leaky"].to_dict())))
    assert {*plugin.files} == {"__init__.py", "maps.py", "sign.py", "cells/leaky.py"}
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(site)])
    assert "acme_nets-leaky" not in plugins_by_name("model")
    pin_plugins([plugin])
    assert get_model("acme_nets-leaky").version == plugin.version
    assert get_model("acme_nets-leaky").build(Sizes(1, 4, 1, 5)).dt == 0.5


def test_another_text_of_an_installed_package_stands_for_what_was_planned(site: Path) -> None:
    now = plugins_by_name("model")["acme_nets-leaky"]
    before = Plugin.from_dict({**now.to_dict(), "files": {**now.files, "maps.py": MAPS + "# as it was\n"}})
    pin_plugins([before])
    assert get_model("acme_nets-leaky").version == before.version != now.version


@pytest.mark.parametrize(
    ("points", "rule"),
    [
        ("[longwave.models]\nleaky = acme_nets.cells.gone\n", "must name a module leaky.py that binds MODEL or TASK"),
        ("[longwave.models]\nlem = acme_nets.cells.leaky\n", "must name a module lem.py that binds MODEL or TASK"),
        ("[longwave.tasks]\nmaps = acme_nets.maps\n", "maps.py: it does not bind MODEL or TASK, and an entry point"),
        ("[longwave.models]\nleaky = gone_.leaky\n", "its entry points name gone_, which is not installed"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(
    points: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", points)))
    with pytest.raises(ConfigError, match=re.escape(rule)):
        plugins_by_name("model")
    assert get_model("lem").name == "lem"
