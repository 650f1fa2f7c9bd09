"""What the status of a sweep says of its cost."""

from __future__ import annotations

import pytest

from longwave.platform.records.stored import SweepCost
from longwave.platform.render.sweeps import cost_lines
from longwave.platform.sweeps.run.status import SweepStatus


@pytest.mark.parametrize(
    ("state", "took"), [("over", "took"), ("running", "so far it took"), ("paused", "so far it took")]
)
def test_only_a_sweep_that_is_over_took_its_time(state: str, took: str) -> None:
    spent = SweepCost(ran=67.0, used={"cpu": 5400.0}, expected={"cpu": 3600.0, "": 1.0})
    status = SweepStatus("s", state, {}, 9, 0, None, None, {}, [], {}, spent)
    assert list(cost_lines(status, {"cpu": 2.0})) == [
        f"{took} 1 min 07 s, 1.5 core hours, cost 3.00",
        "estimated for the finished packs: 1 core hour, cost 2.00",
        "1 pack has no cost estimate",
    ]
