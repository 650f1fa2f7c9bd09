"""A pack trains many trials at once and changes none of them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from batches import batch_of
from cases import sequence_models
from hypothesis import given
from hypothesis import strategies as st
from packs import PackRecorder, trained, trial
from tiers import mark_long

from longwave.models.base.network import Network
from longwave.models.base.spec import Sizes
from longwave.platform.records.identity import derive_seed
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.training import pack as pack_module
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.snapshot import restore, snapshot
from longwave.platform.training.train import train
from longwave.tasks.base.data import Data


def step_losses(configs: Sequence[TrialConfig], member: TrialConfig, steps: int) -> list[float]:
    """Return the loss of ``member`` at each of the first ``steps`` steps of a pack of ``configs``."""
    task = get_task(member.task)
    pack, losses = Pack(configs, task.load(member.variant)), []
    before = torch.zeros(len(configs))

    def note() -> None:
        losses.append((pack.loss - before)[configs.index(member)].item())
        before.copy_(pack.loss)

    while len(losses) < steps:
        pack.train_epoch(note)
        pack.epoch, pack.step, pack.loss = pack.epoch + 1, 0, torch.zeros(len(configs))
        before.zero_()
    return losses[:steps]


MANY_STEPS = ("lem", "cornn", "lstm", "tau_gru", "unicornn")


@pytest.mark.parametrize(
    ("model", "steps"),
    mark_long(
        {name: (name, 10) for name in sorted(sequence_models())}
        | {f"{name}, 50 steps": (name, 50) for name in MANY_STEPS},
        "unicornn",
        "transformer",
        "mamba2",
        "rwkv7",
        "deltanet",
        "deltaproduct",
        "gated_deltanet",
        "gated_deltaproduct",
        *(f"{name}, 50 steps" for name in MANY_STEPS),
    ),
)
def test_a_trial_alone_and_in_a_pack_of_eight_gives_the_same_loss_at_each_step(model: str, steps: int) -> None:
    params = trial(model).params
    pack = [trial(model, "digits", k, batch=100, params={**params, "lr": 0.001 * (k + 1)}) for k in range(8)]
    together, alone = step_losses(pack, pack[3], steps), step_losses([pack[3]], pack[3], steps)
    np.testing.assert_allclose(together, alone, rtol=1e-4)


@pytest.mark.integration
def test_dropout_is_each_members_own_alone_in_a_pack_and_after_a_pause() -> None:
    params = {**trial("unicornn").params, "dropout": 0.3}
    pack = [trial("unicornn", "digits", k, batch=100, params={**params, "lr": 0.001 * (k + 1)}) for k in range(3)]
    together, alone = step_losses(pack, pack[1], 20), step_losses([pack[1]], pack[1], 20)
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    undropped = replace(pack[1], params={**pack[1].params, "dropout": 0.0})
    assert not np.allclose(step_losses([undropped], undropped, 20), alone, rtol=1e-3)
    first, again = Pack(pack[1:2], get_task("digits").load("")), Pack(pack[1:2], get_task("digits").load(""))
    first.train_epoch()
    first.close_epoch()
    assert restore(again, snapshot(first))
    for one in (first, again):
        one.train_epoch()
    assert torch.equal(first.loss, again.loss)


def test_every_epoch_is_trained_in_training_mode() -> None:
    pack, modes = Pack([trial()], get_task("adding").load("N=20")), []
    for _ in range(2):
        pack.train_epoch(lambda: modes.append(pack.network.training))
        pack.close_epoch()
    assert modes == [True] * 10


def test_the_members_of_a_pack_share_its_seconds_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: next(seconds), time=time.time)
    monkeypatch.setattr(pack_module, "time", clock)
    pack = Pack([trial(seed=k) for k in range(3)], get_task("adding").load("N=20"))
    pack.train_epoch()
    pack.close_epoch()
    assert pack.seconds.tolist() == pytest.approx([2.0] * 3), "five steps and a scoring, of a second each"


def test_trials_with_and_without_a_parameter_do_not_share_a_pack() -> None:
    plain = trial("unicornn")
    assert plain.shape == trial("unicornn", seed=2, params={**plain.params, "lr": 0.1}).shape
    assert plain.shape != trial("unicornn", params={**plain.params, "dropout": 0.1}).shape


def test_the_order_of_the_members_does_not_matter() -> None:
    pack = [trial(seed=k) for k in range(3)]
    np.testing.assert_allclose(trained(pack).curve(pack[0]), trained(pack[::-1]).curve(pack[0]), rtol=1e-4)


@pytest.mark.parametrize("model", sorted(sequence_models()))
def test_no_two_weights_share_the_memory_of_their_gradients(model: str) -> None:
    spec = get_model(model)
    network = Network(spec, Sizes(2, 4, 1, 6), {p.name: [p.low] for p in spec.space("")[1:]}, [1])
    network(batch_of(torch.randn(1, 6, 5, 2))).sum().backward()
    addresses = [p.grad.data_ptr() for p in network.parameters() if p.grad is not None]
    assert len(set(addresses)) == len(addresses) == len(list(network.parameters()))


def test_a_member_that_diverges_is_recorded_and_the_others_go_on_as_if_it_were_not_there() -> None:
    good, bad = trial(seed=1), trial(seed=2, params={"lr": 1e30, "dt": 1.0})
    together, alone = trained([bad, good]), trained([good])
    end = together.run(bad)
    assert (end.status, end.valid, end.test) == ("diverged", None, None)
    assert end.epochs <= 2 and f"epoch {end.epochs}" in end.reason
    assert len(together.curve(bad)) == end.epochs - 1
    assert together.run(good).status == "ok"
    np.testing.assert_allclose(together.curve(good), alone.curve(good), rtol=1e-4)


def test_of_equal_best_epochs_the_first_is_the_one_that_counts() -> None:
    still = trial(epochs=3, params={"lr": 0.0, "dt": 1.0})
    events = trained([still])
    assert len({valid for _, valid in events.curve(still)}) == 1
    assert events.run(still).best_epoch == 1


def test_a_loss_that_is_not_finite_ends_a_member_though_its_validation_is() -> None:
    real = get_task("adding").load("N=20")
    assert real.stream is not None
    stream = real.stream

    def far(seed: int, n: int) -> Any:
        fresh = stream(seed, n)
        return replace(fresh, targets=fresh.targets + 1e30)  # its square is infinite, its gradient is not

    pack = Pack([trial()], replace(real, stream=far))
    pack.train_epoch()
    output = pack.close_epoch()
    [end] = output.runs
    assert (output.points, end.status, end.best_epoch, end.valid) == ([], "diverged", None, None)
    assert end.reason.startswith("loss inf, validation ") and "inf" not in end.reason[10:]


def test_a_validation_that_is_not_finite_ends_a_member_though_its_loss_is() -> None:
    real = get_task("adding").load("N=20")
    nowhere = replace(real.valid, inputs=torch.full_like(real.valid.inputs, torch.nan))
    pack = Pack([trial()], replace(real, valid=nowhere))
    pack.train_epoch()
    output = pack.close_epoch()
    [end] = output.runs
    assert (output.points, end.status, end.valid) == ([], "diverged", None)
    assert end.reason.endswith(", validation nan at epoch 1") and "loss nan" not in end.reason


@pytest.mark.parametrize("selection", ["best", "last"])
def test_a_validation_that_is_infinitely_good_diverged_too_and_is_no_best_one(selection: str) -> None:
    pack = Pack([trial(selection=selection)], get_task("adding").load("N=20"))
    metric = replace(pack.task.metric, finish=lambda ratio: -math.inf * ratio)
    pack.task = replace(pack.task, metric=metric)
    pack.train_epoch()
    [end] = pack.close_epoch().runs
    assert (metric.goal, end.status, end.valid) == ("min", "diverged", None)


@pytest.mark.integration
def test_a_retraining_is_tested_at_its_best_validation_epoch_and_a_search_trial_never() -> None:
    config = trial(phase="retrain", epochs=12, params={"lr": 0.1, "dt": 1.0}, seed=3)
    events = trained([config])
    run, valids = events.run(config), [valid for _, valid in events.curve(config)]
    assert run.valid == min(valids) and run.best_epoch == 1 + valids.index(min(valids)) != 12
    stopped_there = replace(config, epochs=run.best_epoch)
    assert run.test == trained([stopped_there]).run(stopped_there).test
    assert trained([replace(config, phase="search")]).runs[0].test is None


def test_selection_last_tests_the_last_epoch() -> None:
    config = trial(phase="retrain", epochs=12, params={"lr": 0.1, "dt": 1.0}, selection="last", seed=3)
    events = trained([config])
    assert (events.runs[0].best_epoch, events.runs[0].valid) == (12, events.curve(config)[-1][1])
    assert events.runs[0].test != trained([replace(config, selection="best")]).runs[0].test


def test_the_search_never_touches_the_test_split() -> None:
    class Poisoned:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the search looked at test.{name}")

    real = get_task("adding").load("N=20")
    data = Data(valid=real.valid, test=Poisoned(), stream=real.stream)  # type: ignore[arg-type]
    pack = Pack([trial(epochs=2)], data)
    for _ in range(2):
        pack.train_epoch()
        pack.close_epoch()
    assert pack.close().runs[0].status == "ok"
    with pytest.raises(AssertionError, match=r"looked at test\.read_positions"):
        Pack([trial(phase="retrain")], data).close()


@pytest.mark.parametrize("interrupt", [1, 7, 13])
def test_a_pack_taken_up_from_its_checkpoint_ends_bit_equal_to_one_never_interrupted(
    interrupt: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = [trial(seed=k, phase="retrain") for k in range(3)]
    whole, file, steps = trained(configs), Checkpoint(tmp_path / "pack.safetensors"), 0
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    real_save = Checkpoint.save

    def save_then_die(self: Checkpoint, saved: object) -> None:
        nonlocal steps
        real_save(self, saved)  # type: ignore[arg-type]
        steps += 1
        if steps == interrupt:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", save_then_die)
    first = PackRecorder()
    with pytest.raises(KeyboardInterrupt):
        train(configs, first, file)
    monkeypatch.setattr(Checkpoint, "save", real_save)
    second = trained(configs, file)
    for config in configs:
        assert second.curve(config) == whole.curve(config)
        ours, theirs = second.run(config), whole.run(config)
        assert (ours.test, ours.valid, ours.best_epoch) == (theirs.test, theirs.valid, theirs.best_epoch)


def test_a_checkpoint_serves_the_trials_of_a_pack_that_are_still_open(tmp_path: Path) -> None:
    configs, data = [trial(seed=k) for k in range(3)], get_task("adding").load("N=20")
    pack, file = Pack(configs, data), Checkpoint(tmp_path / "pack.safetensors")
    for _ in range(2):
        pack.train_epoch()
        pack.close_epoch()
    file.save(snapshot(pack))
    some = Pack([configs[2], configs[0]], data)
    saved = next(file.candidates(), None)
    assert saved and restore(some, saved) and some.epoch == 3
    assert [p.trial for p in some.report.points if p.epoch == 2] == [configs[0].id, configs[2].id]
    assert torch.equal(some.parameters.values, pack.parameters.values[[2, 0]])
    assert not restore(Pack([trial(seed=9)], data), saved)


def test_a_damaged_checkpoint_is_as_good_as_none(tmp_path: Path) -> None:
    file = Checkpoint(tmp_path / "pack.safetensors")
    assert next(file.candidates(), None) is None
    pack = Pack([trial()], get_task("adding").load("N=20"))
    file.save(snapshot(pack))
    content = file.path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", content[:8] + b"x" + content[9:]):
        file.path.write_bytes(damaged)
        assert next(file.candidates(), None) is None
    assert trained([trial()], file).runs[0].status == "ok"


def test_an_error_in_training_ends_the_open_trials_as_failed_with_its_reason() -> None:
    events = trained([trial(seed=seed, variant="N=0", data="none") for seed in (1, 2)])
    assert [r.status for r in events.runs] == ["failed", "failed"]
    assert "ValueError: adding takes a variant" in events.runs[0].reason


def test_a_trial_that_fails_keeps_the_epochs_that_it_had_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    real, configs = Pack.train_epoch, [trial(seed=1), trial(seed=2)]

    def fail_in_third(self: Pack, *others: Any) -> bool:
        if self.epoch == 3:
            raise RuntimeError("no more")
        return real(self, *others)

    monkeypatch.setattr(Pack, "train_epoch", fail_in_third)
    events = trained(configs)
    for config in configs:
        run, points = events.run(config), [p for p in events.points if p.trial == config.id]
        assert (run.status, run.epochs, run.valid, len(points)) == ("failed", 2, None, 2)
        assert run.seconds == points[-1].seconds > 0


def test_a_pack_refuses_trials_of_two_shapes() -> None:
    with pytest.raises(ValueError, match="one shape, got 2 shapes"):
        Pack([trial(), trial(hidden=9)], get_task("adding").load("N=20"))


@given(st.lists(st.one_of(st.integers(), st.text()), max_size=4))
def test_derived_seeds_fit_in_31_bits_and_repeat(parts: list[object]) -> None:
    assert 0 <= derive_seed(*parts) < 2**31 and derive_seed(*parts) == derive_seed(*parts)
