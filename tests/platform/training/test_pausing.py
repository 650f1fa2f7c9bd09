"""Packs that pause: asked to, out of memory, resumed with fewer members; and where they say they go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packs import PackRecorder, trained, trial

from longwave.platform.records.trial import TrialConfig
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.train import train


def at(*steps: int) -> Callable[[], bool]:
    """Return what asks for a pause after these steps, counted over all calls."""
    requested = iter(range(1, 10**6))
    return lambda: next(requested) in steps


@pytest.mark.parametrize("model", ["lem", "gru", "unicornn", "tau_gru"])
def test_a_pack_asked_to_pause_goes_on_to_the_bit(model: str, tmp_path: Path) -> None:
    configs, file = [trial(model, seed=k, phase="retrain") for k in range(3)], Checkpoint(tmp_path / "pack.safetensors")
    whole, events, ask = trained(configs), PackRecorder(), at(1, 5, 8, 9, 16)
    ways = [train(configs, events, file, draining=ask) for _ in range(6)]
    assert ways == ["paused"] * 5 + ["over"]
    assert events.began == [{c.id: epochs for c in configs} for epochs in (0, 0, 0, 1, 1, 3)]
    for config in configs:
        assert list(dict.fromkeys(events.curve(config))) == whole.curve(config)
        ours, theirs = events.run(config), whole.run(config)
        assert (ours.test, ours.valid, ours.best_epoch, ours.epochs) == (
            theirs.test, theirs.valid, theirs.best_epoch, theirs.epochs)  # fmt: skip


def test_without_a_checkpoint_a_pause_starts_anew() -> None:
    config, events, ask = trial(), PackRecorder(), at(7)
    assert [train([config], events, draining=ask) for _ in range(2)] == ["paused", "over"]
    assert events.began == [{config.id: 0}] * 2 and events.curve(config)[1:] == trained([config]).curve(config)


def test_a_pack_some_of_whose_members_ended_says_of_each_where_it_stands(tmp_path: Path) -> None:
    file, bad = Checkpoint(tmp_path / "pack.safetensors"), trial(seed=9, params={"lr": 1e30, "dt": 1.0})
    configs, first, second = [trial(seed=1), bad, trial(seed=2)], PackRecorder(), PackRecorder()
    assert train(configs, first, file, draining=at(18)) == "paused"
    gone = first.run(bad).epochs
    assert gone < 3
    assert train(configs, second, file) == "over"
    assert second.began == [{configs[0].id: 3, bad.id: gone, configs[2].id: 3}]
    alone = PackRecorder()
    file_again = Checkpoint(tmp_path / "heir.safetensors", (file.path,))
    train(configs[2:], alone, file_again)
    assert alone.began == [{configs[2].id: 3}]
    np.testing.assert_allclose(alone.curve(configs[2]), second.curve(configs[2]), rtol=1e-4)


class Memory:
    """Runs out at a step, once a list of them, in packs of more than one trial."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *steps: int) -> None:
        self.steps, self.done = list(steps), 0
        real = Pack.train_epoch

        def train_epoch(pack: Pack, after_step: Callable[[], bool | None]) -> bool:
            def step() -> bool | None:
                self.done += 1
                requested = after_step()
                if self.steps and self.done >= self.steps[0] and len(pack.configs) > 1:
                    del self.steps[0]
                    raise MemoryError
                return requested

            return real(pack, step)

        monkeypatch.setattr(Pack, "train_epoch", train_epoch)


def members(count: int = 4, **changes: Any) -> list[TrialConfig]:
    return [trial(seed=k, params={"lr": 0.002 * 2**k, "dt": 1.0}, **changes) for k in range(count)]


def test_halves_of_a_pack_out_of_memory_go_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    configs = members()
    whole = trained(configs)
    memory = Memory(monkeypatch, 8)  # of five steps an epoch
    events = trained(configs, file := Checkpoint(tmp_path / "pack.safetensors"))
    assert events.began == [
        {c.id: 0 for c in configs}, {c.id: 1 for c in configs[:2]}, {c.id: 1 for c in configs[2:]}]  # fmt: skip
    assert memory.done == 8 + 2 * 12
    for config in configs:
        assert events.run(config).members == 2
        np.testing.assert_allclose(list(dict.fromkeys(events.curve(config))), whole.curve(config), rtol=1e-4)
    file.remove()
    assert not list(tmp_path.iterdir())


def test_a_split_pack_that_pauses_goes_on_in_its_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs, file, events = members(), Checkpoint(tmp_path / "pack.safetensors"), PackRecorder()
    memory = Memory(monkeypatch, 8)
    assert train(configs, events, file, draining=at(8 + 6)) == "paused"
    assert train(configs, events, file) == "over" and memory.done == 8 + 40
    assert events.began[-2:] == [{c.id: 1 for c in configs[:2]}, {c.id: 0 for c in configs[2:]}]


@pytest.mark.parametrize("steps", [(3,), (8,), (3, 4), (3, 13), (13, 14)])
def test_a_cohort_split_by_memory_keeps_whom_it_would_have_kept(
    steps: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = members(7, epochs=5, halving={"eta": 2, "first": 1, "cohort": "c"})
    whole = trained(configs)
    Memory(monkeypatch, *steps)
    events = trained(configs, Checkpoint(tmp_path / "pack.safetensors"))
    for config in configs:
        ours, theirs = events.run(config), whole.run(config)
        assert (ours.status, ours.epochs, ours.reason) == (theirs.status, theirs.epochs, theirs.reason)
