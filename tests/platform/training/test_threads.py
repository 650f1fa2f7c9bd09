"""Packs that go on with another number of threads. With another number of GPUs this was not tried: none is here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from packs import PackRecorder, trained, trial

from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.environment import keep_to
from longwave.platform.training.train import train


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.integration
@pytest.mark.parametrize("model", ["lem", "lstm"])
@pytest.mark.parametrize(("first", "then"), [(1, 2), (2, 1)])
def test_a_pack_that_goes_on_with_more_threads_or_fewer_ends_as_one_that_had_one_all_along(
    first: int, then: int, model: str, tmp_path: Path
) -> None:
    configs = [trial(model, seed=k, hidden=64, batch=100) for k in range(2)]
    keep_to(1)
    whole, events, file = trained(configs), PackRecorder(), Checkpoint(tmp_path / "pack.safetensors")
    keep_to(first)
    assert torch.get_num_threads() == first
    steps = iter(range(1000))
    assert train(configs, events, file, draining=lambda: next(steps) == 8) == "paused"
    keep_to(then)
    assert train(configs, events, file) == "over"
    assert events.began[1:] == [{c.id: 1 for c in configs}], "it went on, and did not begin anew"
    for config in configs:
        expected = dict(enumerate(whole.curve(config)))
        actual = {p.epoch - 1: (p.loss, p.valid) for p in events.points if p.trial == config.id}
        assert actual.keys() == expected.keys()
        for epoch, values in expected.items():
            assert actual[epoch] == pytest.approx(values, rel=1e-4)
        assert events.run(config).valid == pytest.approx(whole.run(config).valid, rel=1e-4)
