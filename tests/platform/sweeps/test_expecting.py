"""What a sweep is expected to take: told from what is known, and tried where one asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sweeps import small

from longwave.platform.sweeps import expecting
from longwave.platform.sweeps.fleet import Fleet
from longwave.platform.sweeps.resolve import resolve
from longwave.platform.sweeps.workers import Workers


@pytest.mark.parametrize("probe", [False, True])
def test_packs_are_tried_only_where_one_asks_for_it(
    probe: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: Workers
) -> None:
    asked = []

    def tried(fleet: Fleet, *_: object) -> Fleet:
        asked.append(fleet)
        return fleet

    monkeypatch.setattr(expecting, "tried", tried)
    monkeypatch.setattr(expecting.executor, "running", lambda workers: expecting.nullcontext())
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path))
    expecting.expected(resolve(small()), here, None, probe, lambda line: None)
    assert len(asked) == probe
