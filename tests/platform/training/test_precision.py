"""A precision that this machine cannot compute in is refused, and trains nothing."""

from __future__ import annotations

import pytest
from packs import PackRecorder, trial

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.registry import get_task
from longwave.platform.training.pack import Pack
from longwave.platform.training.train import train


@pytest.mark.parametrize("model", ["lem", "gru"])
def test_values_in_bfloat16_are_refused_on_a_processor_in_one_line(model: str) -> None:
    config = trial(model, "digits", 0, precision="bfloat16")
    why = "precision bfloat16: only Triton's loops, on a GPU, store values in bfloat16. Use float32."
    with pytest.raises(ConfigError) as refused:
        Pack([config], get_task(config.task).load(config.variant))
    assert str(refused.value) == why
    events = PackRecorder()
    with pytest.raises(WorkerError, match=f"^A worker cannot train its trials: {why}$"):
        train([config], events)
    assert not events.runs and not events.points


def test_a_precision_is_part_of_a_trial_s_identity_and_the_default_is_not() -> None:
    ids = [
        trial("lem", "digits", 0, **requested).id
        for requested in ({}, {"precision": "float32"}, {"precision": "bfloat16"})
    ]
    assert ids[0] == ids[1] != ids[2]
