"""Sweeps whose trials cannot fit the machine are refused before anything runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from small_sweeps import small

from longwave.platform.errors import ConfigError
from longwave.platform.sweeps.place.packing import GIB, check_memory, least_bytes
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve


@pytest.mark.parametrize(("gpus", "copies"), [([], 1), (["H100"], 2)])
def test_a_trial_may_take_the_machines_memory_and_with_gpus_twice_that(
    gpus: list[str], copies: int, monkeypatch: pytest.MonkeyPatch, here: Workers
) -> None:
    sweep = resolve(small(models=["lem"], hidden=4000, batch=1000))
    least = least_bytes(sweep.cells[0])
    assert least > GIB
    monkeypatch.setattr("longwave.platform.training.environment.gpus", lambda: gpus)
    for total, fits in ((-(-least // copies), True), (least // copies - 1, False)):
        monkeypatch.setattr("psutil.virtual_memory", lambda total=total: SimpleNamespace(total=total))
        if fits:
            assert check_memory(sweep, here) is sweep
        else:
            with pytest.raises(ConfigError, match=r"hidden 4,000 with batch 1,000 and .* Make hidden or batch smaller"):
                check_memory(sweep, here)
