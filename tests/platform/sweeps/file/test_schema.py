"""Names in a sweep file, in whatever case and spelling they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longwave.platform.errors import ConfigError
from longwave.platform.sweeps.file.reading import check_sweep, read_sweep, with_keys

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


def test_a_table_of_a_second_search_takes_any_spelling_too() -> None:
    assert with_keys({"wider": {"space": SPELLED["space"]}}) == {"wider": {"space": PLAIN["space"]}}


@pytest.mark.parametrize("table", ["space", "model", "study", "variants", "wider.space"])
def test_two_spellings_of_one_name_are_refused_in_a_line(table: str) -> None:
    first, second = ("Adding", "adding") if table == "variants" else ("LEM", "lem")
    *outer, inner = table.split(".")
    content: dict[str, Any] = {inner: {first: {"dt": 0.5}, second: {"lr": 0.01}}}
    line = f"^two.toml: {table}: {first} and {second} are the same name. Keep one.$"
    with pytest.raises(ConfigError, match=line):
        check_sweep({**PLAIN, **({outer[0]: content} if outer else content)}, "two.toml")


def test_what_is_no_name_stays_as_it_is() -> None:
    content = {"task": 3, "models": [None, "no such model"]}
    assert with_keys(content) == content


LEARNS = 'name = "s"\ntask = "adding"\nmodels = ["lem"]\ntrials = 8\nsampler = "tpe"\n'
WIDER = "[wider]\ntrials = 4\n[wider.space.lem]\ndt = { low = 0.01, high = 3.0 }\n"


def test_a_file_whose_sampler_learns_needs_a_round_to_learn_from(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(LEARNS)
    with pytest.raises(ConfigError, match=r"s.toml: rounds: tpe learns from earlier rounds, .* Set more rounds, such"):
        read_sweep(file)
    for more in ("rounds = 4\n", WIDER):
        file.write_text(LEARNS + more)
        assert read_sweep(file).sampler == "tpe"
    stored = {"name": "s", "task": "adding", "models": ["lem"], "trials": 8, "sampler": "tpe"}
    assert check_sweep(stored, "s").rounds == 1, "an older store may have it"
