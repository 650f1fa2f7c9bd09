"""What the functions of a plugin raise or return: one line with file and function, whatever goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from plugin_files import LEAKY, SIGN, written

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import add_plugin
from longwave.platform.registry import get_model, get_task

CHECKED = 'check_variant("sign", variant)\n'
LOADS = {
    'raise ValueError("no data")': r"line 24: load raised ValueError: no data\.",
    'raise SystemExit("no data")': r"line 24: load raised SystemExit: no data\.",
    "1 / 0": r"line 24: load raised ZeroDivisionError: division by zero\.",
    "return None": r"load must return an object of type Data, got one of type NoneType\.",
}
COUNTS = {
    "return p / 0": r"line 48: count raised ZeroDivisionError: division by zero\.",
    "raise ValueError(p)": r"line 48: count raised ValueError: 1\.",
    "return None": r"count must return an object of type Number, got one of type NoneType\.",
}


@pytest.mark.parametrize("line", LOADS)
def test_an_error_while_data_are_loaded_names_file_and_function(line: str, tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "sign.py", SIGN.replace(CHECKED, f"{CHECKED}    {line}\n")))
    with pytest.raises(ConfigError, match=rf"^{tmp_path}/sign\.py: {LOADS[line]}$"):
        get_task("my-sign").load("")


@pytest.mark.parametrize("line", COUNTS)
def test_an_error_while_parameters_are_counted_names_file_and_function(line: str, tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "leaky.py", LEAKY.replace("return d * p + d * d", f"{line}\n    return d * p")))
    with pytest.raises(ConfigError, match=rf"^{tmp_path}/leaky\.py: {COUNTS[line]}$"):
        get_model("my-leaky").parameters(1, 2, 1)


def test_a_variant_that_a_task_lacks_and_data_that_are_missing_are_no_errors_of_the_plugin(tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "sign.py", SIGN.replace(CHECKED, f"{CHECKED}    raise PermissionError(13, 'no')\n")))
    with pytest.raises(ValueError, match=r"^sign has one variant, the empty one, got 'long'\.$"):
        get_task("my-sign").load("long")
    with pytest.raises(PermissionError, match="no"):
        get_task("my-sign").load("")


def test_a_command_ends_with_that_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "sign.py", SIGN.replace(CHECKED, f'{CHECKED}    raise SystemExit("none")\n'))
    written(tmp_path / "leaky.py", LEAKY.replace("return d * p", "return p / 0 * d"))
    for kind, name in (("task", "sign"), ("model", "leaky")):
        assert main([f"{kind}s", f"my-{name}", "--plugins", str(tmp_path / f"{name}.py")]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"longwave: {tmp_path}/{name}.py: line ") and error.count("\n") == 1
