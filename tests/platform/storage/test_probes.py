"""Probes in the store: kept as found, each once, forgotten where memory ran out since."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from longwave.platform.records.probe import Probe
from longwave.platform.storage.probes import read_probes, write_probes
from longwave.platform.storage.store import Store


def test_probes_come_back_as_they_were_found_and_a_later_one_replaces_an_earlier(
    any_store_url: str, open_store: Callable[[str], Store]
) -> None:
    store = open_store(any_store_url)
    assert read_probes(store) == []
    one = Probe("A100", "shape", 1, 2**40, 2**41, 0.25, 3.5, 0.125)
    other = [replace(one, members=8), replace(one, kind="cpu", busy=None), replace(one, shape="more")]
    write_probes(store, [one, *other])
    assert sorted(read_probes(store), key=repr) == sorted([one, *other], key=repr)
    write_probes(store, [replace(one, epoch=4.0)])
    assert sorted(read_probes(store), key=repr) == sorted([replace(one, epoch=4.0), *other], key=repr)


def test_where_memory_ran_out_what_was_found_before_is_forgotten_of_that_load_there_alone(store: Store) -> None:
    one = Probe("A100", "shape", 1, 1, 2)
    others = [replace(one, kind="T4"), replace(one, shape="more"), replace(one, members=32, fits=False)]
    over = replace(one, members=16, fits=False)
    write_probes(store, [one, replace(one, members=8), *others])
    write_probes(store, [over])
    assert sorted(read_probes(store), key=repr) == sorted([*others, over], key=repr)
