"""Models and tasks from outside: found, named, versioned by their content, refused in one line."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plugin_files import LEAKY, SIGN, written

from longwave.models.base.spec import Sizes
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import (
    add_plugin,
    forget_plugins,
    keep_plugin_text,
    pin_as_planned,
    pin_plugins,
    plugins_by_name,
)
from longwave.platform.plugins.plugin import Plugin
from longwave.platform.registry import all_models, get_model, get_task, shipped_models, shipped_tasks


def test_a_file_is_a_model_under_the_namespace_my(tmp_path: Path) -> None:
    plugin = add_plugin(written(tmp_path / "leaky.py", LEAKY))
    spec = get_model("my-leaky")
    assert (spec.name, spec.version) == ("my-leaky", plugin.version)
    assert spec.title == f"Leaky [my-leaky {plugin.version[:6]}]"
    layer = spec.build(Sizes(2, 4, 1, 5), dt=0.25)
    assert layer(torch.randn(5, 3, 2))[0].shape == (5, 3, 4)
    assert all_models().keys() - shipped_models().keys() == {"my-leaky"}


def test_a_plugins_recurrence_is_fused_as_any_other(tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "leaky.py", LEAKY))
    assert get_model("my-leaky").build(Sizes(2, 4, 1, 5), 2).why().path == "cpu"


def test_a_folder_is_a_namespace_whose_files_share_one_version(tmp_path: Path) -> None:
    written(tmp_path / "Acme-RNNs/parts/maps.py", "from torch import tanh\n")
    maps = "import Tensor, lerp\n\nfrom .parts.maps import tanh\n"
    written(tmp_path / "Acme-RNNs/leaky.py", LEAKY.replace("import Tensor, lerp, tanh\n", maps))
    plugin = add_plugin(written(tmp_path / "Acme-RNNs/sign.py", SIGN).parent)
    assert set(plugin.files) == {"leaky.py", "sign.py", "parts/maps.py"}
    assert [*plugins_by_name("model")] == ["acme_rnns-leaky"] and [*plugins_by_name("task")] == ["acme_rnns-sign"]
    assert get_model("acme_rnns-leaky").version == get_task("acme_rnns-sign").version == plugin.version
    assert get_task("acme_rnns-sign").load("").valid.positions == 12


def test_no_shipped_name_has_a_dash_so_none_can_be_hidden() -> None:
    assert not [name for name in (*shipped_models(), *shipped_tasks()) if "-" in name]


def test_a_plugin_of_a_shipped_ones_name_leaves_it_as_it_is(tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "lem.py", LEAKY.replace('name="leaky"', 'name="lem"')))
    assert get_model("lem") is shipped_models()["lem"] and get_model("my-lem").title.startswith("Leaky")


def test_two_plugins_of_one_name_are_refused_unless_they_are_the_same(tmp_path: Path) -> None:
    first = written(tmp_path / "a/leaky.py", LEAKY)
    add_plugin(first)
    add_plugin(written(tmp_path / "b/leaky.py", LEAKY))
    other = written(tmp_path / "c/leaky.py", LEAKY + "\n")
    rule = f"The model my-leaky is defined twice, by {first} and {other}. Rename one file or leave it out."
    with pytest.raises(ConfigError, match=f"^{re.escape(rule)}$"):
        add_plugin(other)


def test_a_file_that_was_edited_replaces_what_was_read_from_it_or_pinned(tmp_path: Path) -> None:
    first = add_plugin(written(tmp_path / "leaky.py", LEAKY))
    pin_plugins([first])
    written(tmp_path / "leaky.py", LEAKY + "\n# edited\n")
    (tmp_path / "notes").mkdir()
    second = add_plugin(tmp_path / "notes/../leaky.py")
    assert first.version != second.version == get_model("my-leaky").version


@settings(max_examples=30)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30))
def test_any_other_text_is_another_version(text: str) -> None:
    one, other = (Plugin("my", {"a.py": t}, ("a.py",)) for t in ("x = 1\n", f"x = 1\n{text}"))
    assert (one.version == other.version) is (text == "")
    assert Plugin.from_dict(other.to_dict()) == other
    assert re.fullmatch("[0-9a-f]{12}", other.version)


def test_what_was_planned_goes_on_from_the_kept_text_whatever_became_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "leaky.py", LEAKY)
    version = add_plugin(path).version
    keep_plugin_text("model", "my-leaky")
    forget_plugins()
    path.unlink()
    pin_as_planned("model", "my-leaky", version)
    assert get_model("my-leaky").version == version
    forget_plugins()
    written(path, LEAKY + "\n# another\n")
    add_plugin(path)
    assert get_model("my-leaky").version != version
    pin_as_planned("model", "my-leaky", version)
    assert get_model("my-leaky").version == version


def test_what_is_in_no_version_here_is_named_with_what_to_do(tmp_path: Path) -> None:
    message = (
        r"^The model my-leaky of version 0123456789ab is not available{}\. Give its original file: --plugins FILE\.$"
    )
    with pytest.raises(ConfigError, match=message.format("")):
        pin_as_planned("model", "my-leaky", "0123456789ab")
    version = add_plugin(written(tmp_path / "leaky.py", LEAKY)).version
    with pytest.raises(ConfigError, match=message.format(f", only version {version}")):
        pin_as_planned("model", "my-leaky", "0123456789ab")


WRONG = {
    "no Python": ("x.py", "MODEL = (", r"x\.py: line 1: not valid Python: '\(' was never closed\."),
    "nothing bound": ("x.py", "X = 1", r"x\.py: it does not bind MODEL or TASK\. Write one with: "),
    "no such file": ("", "", r"Cannot read the plugin .*gone\.py: No such file or directory\."),
    "not Python's ending": ("x.txt", "MODEL = 1", r"x\.txt is not a plugin: give a Python file, a data card"),
    "a NUL": ("x.py", "MODEL = 1 \0", r"x\.py: .*not valid Python: .*null bytes\."),
    "too much": (
        "x.py",
        "#" * 2**21 + "\nMODEL = 1",
        r"x\.py is too large for a plugin, which has at most 2 MiB of tex",
    ),
    "too deep": (
        "x.py",
        "MODEL = " + "(" * 10_000 + ")" * 10_000,
        r"x\.py: .*not valid Python: too many nested parentheses\.",
    ),
    "a name with a dash": (
        "my-x.py",
        "MODEL = 1",
        r"a plugin's name has lowercase letters, digits and _, .*got 'my-x'\.",
    ),
    "a name in capitals": ("LEM.py", "MODEL = 1", r"a plugin's name has lowercase letters, .*got 'LEM'\. Rename it\."),
}
FAILS = {
    "an error at import": ("MODEL = 1\n1 / 0\n", r"x\.py: line 2: ZeroDivisionError: division by zero\."),
    "an exit": ("import sys\nMODEL = sys.exit(0)\n", r"x\.py: line 2: SystemExit: 0\."),
    "another type": (
        "MODEL = 3\n",
        r"x\.py must bind MODEL = ModelSpec\(name='x', \.\.\.\), got an object of type int\.",
    ),
    "another name": (
        LEAKY,
        r"x\.py must bind MODEL = ModelSpec\(name='x', .*got an object of type ModelSpec, named 'leaky'\.",
    ),
    "no such package": ("import nonsense_\nMODEL = 1\n", r"x\.py: line 1: .*'nonsense_'\. Install it here, and where"),
    "a file beside it": (
        "import helper\nMODEL = 1\n",
        r"it imports helper, which lies beside it. Give the folder, .*: /",
    ),
    "a folder beside it without __init__.py": (
        "from parts.maps import tanh\nMODEL = 1\n",
        r"it imports parts, which lies beside it\. Give the folder, .*: /",
    ),
    "a relative one": ("from .helper import x\nMODEL = 1\n", r"it imports helper, which lies beside it. Give the fol"),
    "data beside it": (
        "MODEL = open(__file__.replace('x.py', 'helper.py'))\n",
        r"x\.py: line 1: it reads helper\.py, but a plugin is its text alone\. Data belong in a data card, ",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_plugin_is_refused_in_one_line_and_nothing_is_run(case: str, tmp_path: Path) -> None:
    name, text, rule = WRONG[case]
    path = written(tmp_path / name, text) if name else tmp_path / "gone.py"
    with pytest.raises(ConfigError, match=rule) as caught:
        add_plugin(path)
    assert "\n" not in str(caught.value)


def test_what_is_no_file_or_too_large_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    with pytest.raises(ConfigError, match=r"x\.py is not a file\.$"):
        add_plugin(tmp_path / "x.py")
    for k in range(201):
        written(tmp_path / f"many/f{k}.py", "")
    with pytest.raises(
        ConfigError, match=r"many is too large for a plugin, which has at most 200 Python files and 2 MiB "
    ):
        add_plugin(tmp_path / "many")
    with pytest.raises(ConfigError, match=r"^/: a plugin's name has lowercase letters, digits and _, .*got ''"):
        add_plugin(Path("/"))


@pytest.mark.parametrize("name", ["a.py,b.py", "My nets"])
def test_what_is_missing_is_said_to_be_missing_whatever_its_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^Cannot read the plugin .*{name}: No such file or directory\\.$"):
        add_plugin(tmp_path / name)


def test_a_folder_may_be_named_by_two_dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "nets/leaky.py", LEAKY)
    (tmp_path / "nets/results").mkdir()
    monkeypatch.chdir(tmp_path / "nets/results")
    assert add_plugin(Path("..")).origin == str(tmp_path / "nets")
    assert [*plugins_by_name("model")] == ["nets-leaky"]


@pytest.mark.parametrize("case", FAILS)
def test_a_plugin_that_does_not_run_is_named_with_its_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, rule = FAILS[case]
    written(tmp_path / "helper.py", "x = 1\n")
    written(tmp_path / "parts/maps.py", "from torch import tanh\n")
    written(tmp_path / "torch/notes.txt", "no package, so it hides none")
    monkeypatch.delitem(sys.modules, "helper", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))  # as where Python is started in that folder
    add_plugin(written(tmp_path / "x.py", text))
    with pytest.raises(ConfigError, match=rule) as caught:
        get_model("my-x")
    assert "\n" not in str(caught.value)


def test_a_short_name_is_answered_with_the_full_one(tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "leaky.py", LEAKY))
    with pytest.raises(ConfigError, match=r"^No model 'leaky'\. Did you mean .*my-leaky"):
        get_model("leaky")
