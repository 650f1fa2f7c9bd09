"""Names in a sweep file, in whatever case and spelling they are written."""

from __future__ import annotations

from typing import Any

import pytest

from longwave.platform.sweeps.file.reading import with_keys

PLAIN: dict[str, Any] = {
    "name": "LEM", "task": "adding", "tasks": ["adding", "copy_memory"], "variants": {"copy_memory": "T=10"},
    "models": ["lem", "tau_gru"], "space": {"tau_gru": {"lr": 0.1}}, "model": {"lem": {"hidden": 3}}, "trials": 2,
}  # fmt: skip
SPELLED: dict[str, Any] = {
    "name": "LEM", "task": "Adding", "tasks": ["ADDING", "copy-memory"], "variants": {"Copy-Memory": "T=10"},
    "models": ["LEM", "tau-GRU"], "space": {"TAU-GRU": {"lr": 0.1}}, "model": {"Lem": {"hidden": 3}}, "trials": 2,
}  # fmt: skip


@pytest.mark.parametrize("part", PLAIN)
def test_a_name_in_any_spelling_stands_for_its_key_and_nothing_else_is_changed(part: str) -> None:
    assert with_keys({part: SPELLED[part]}) == {part: PLAIN[part]}


def test_what_is_no_name_stays_as_it_is() -> None:
    content = {"task": 3, "models": [None, "no such model"]}
    assert with_keys(content) == content
