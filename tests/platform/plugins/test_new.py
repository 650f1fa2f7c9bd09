"""First files of models and tasks: refused in words that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from longwave.platform.errors import ConfigError
from longwave.platform.plugins.new import write_new


def test_a_name_that_is_not_valid_is_refused_with_what_to_do(tmp_path: Path) -> None:
    rule = "has lowercase letters, digits and _, 60 at most, and begins with a letter"
    with pytest.raises(ConfigError, match=rf"^The name of a model {rule}, got 'My net'\. Choose another\.$"):
        write_new("model", "My net", tmp_path)


@pytest.mark.parametrize("folder", ["sign.py", "sign.py/below"])
def test_a_file_in_the_place_of_the_folder_is_named_with_what_to_do(folder: str, tmp_path: Path) -> None:
    (tmp_path / "sign.py").touch()
    with pytest.raises(ConfigError, match=rf"^{tmp_path}/{folder} is not a folder\. Choose another: --to FOLDER$"):
        write_new("task", "sign", tmp_path / folder)
