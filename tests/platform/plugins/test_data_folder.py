"""Plugins of the data folder: found without being named, replaced by named ones, and stored copies of data cards."""

from __future__ import annotations

import io
import re
from pathlib import Path

import card_files
import pytest
from plugin_files import LEAKY, SIGN, written

from longwave.platform.errors import ConfigError
from longwave.platform.plugins import cards
from longwave.platform.plugins.known import add_plugin, forget_plugins, keep_plugin_text, pin_as_planned
from longwave.platform.registry import all_models, all_tasks, get_model, get_task
from longwave.tasks.cards.task import load_with_remarks


def card_in(folder: Path, **changes: str) -> Path:
    """Write a data card, ``toy.toml``, beside its data."""
    return card_files.written(folder, card_files.csv(card_files.long_table()), card_files.LONG, **changes)


def test_files_in_the_plugins_folder_of_the_data_folder_need_not_be_named(home: Path) -> None:
    written(home / "plugins/sign.py", SIGN)
    assert "my-sign" in all_tasks()
    (home / "plugins/sign.py").unlink()
    assert "my-sign" not in all_tasks()


def test_a_file_that_is_no_plugin_is_left_out_with_one_warning_and_the_others_are_there(
    home: Path, logged: io.StringIO
) -> None:
    written(home / "plugins/sign.py", SIGN)
    path = written(home / "plugins/helper.py", "x = 1\n")
    (home / "plugins/.#sign.py").symlink_to("somebody@somewhere.1234")
    (home / "plugins/gone.py").symlink_to("nowhere.py")
    (home / "plugins/folder.toml").mkdir()
    for _ in range(2):
        assert "my-sign" in all_tasks() and "lem" in all_models()
    advice = "Write one with: longwave new model NAME"
    assert logged.getvalue() == f"Left out: {path}: it does not bind MODEL or TASK. {advice}\n"


def test_a_plugin_that_is_named_replaces_that_of_the_data_folder(home: Path, tmp_path: Path) -> None:
    written(home / "plugins/leaky.py", LEAKY)
    named = add_plugin(written(tmp_path / "leaky.py", LEAKY + "\n# another\n"))
    assert all_models()["my-leaky"].version == get_model("my-leaky").version == named.version


def test_a_card_that_was_added_and_edited_is_checked_as_edited(tmp_path: Path) -> None:
    added = cards.add(card_in(tmp_path))
    edited = add_plugin(card_in(tmp_path, title="Edited"))
    assert added.version != edited.version == all_tasks()["my-toy"].version


def test_a_card_is_not_added_beside_another_task_of_its_name(home: Path, tmp_path: Path) -> None:
    other = written(home / "plugins/toy.py", SIGN.replace('"sign"', '"toy"'))
    card = card_in(tmp_path)
    with pytest.raises(ConfigError, match=f"^The task my-toy is defined twice, by {re.escape(f'{other} and {card}')}"):
        cards.add(card)
    assert [*(home / "plugins").iterdir()] == [other]


def test_a_card_that_was_planned_reads_the_same_data_after_it_was_edited(tmp_path: Path) -> None:
    card = card_in(tmp_path, title=f"Planned in {tmp_path}")
    version, data = add_plugin(card).version, load_with_remarks(card)[0].version
    keep_plugin_text("task", "my-toy")
    forget_plugins()
    card_in(tmp_path, title="Edited")
    pin_as_planned("task", "my-toy", version)
    task = get_task("my-toy")
    assert (task.version, task.load("").version) == (version, data)
    assert [path.parent for path in getattr(task.files, "paths", ())] == [tmp_path]


def test_a_card_that_was_wrong_when_it_was_read_is_refused_in_words_after_it_was_edited(tmp_path: Path) -> None:
    add_plugin(written(tmp_path / "toy.toml", "files = [\n"))
    card_in(tmp_path)
    with pytest.raises(ConfigError, match="toy.toml is not TOML: "):
        get_task("my-toy")
