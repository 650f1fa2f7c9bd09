"""Successive halving is decided by the whole cohort as recorded, whatever was interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cohorts import Driver, FakeStore
from packs import PackRecorder, trial

from longwave.platform.records.report import Cohort, Report, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.snapshot import take_up
from longwave.platform.training.stopping import decide_rung
from longwave.platform.training.train import train

EPOCHS, STEPS = 6, 2


def cohort(count: int = 7) -> list[TrialConfig]:
    """Return trials of which successive halving keeps the best half after epochs 1, 2 and 4; two diverge."""
    configs = [
        trial(
            seed=k, hidden=4, batch=5, epochs=EPOCHS, steps=STEPS,
            params={"lr": 1e30 if k in (2, 5) else 0.002 * 3**k, "dt": 1.0},
            halving={"eta": 2, "first": 1, "cohort": "c"},
        )
        for k in range(count)
    ]  # fmt: skip
    return configs


def undisturbed(configs: list[TrialConfig]) -> FakeStore:
    store = FakeStore(configs)
    assert train(configs, store.take, cohort=store.cohort) == "over"
    return store


@pytest.fixture(scope="module")
def whole() -> FakeStore:
    return undisturbed(cohort())


def check(store: FakeStore, whole: FakeStore) -> None:
    """Assert that a cohort ended as the undisturbed one: the same ends, the same winner, the same curves."""
    assert store.ends() == whole.ends() and store.winner() == whole.winner()
    assert store.points.keys() == whole.points.keys()
    for key, point in whole.points.items():
        np.testing.assert_allclose(store.points[key].valid, point.valid, rtol=1e-4)
    ours, theirs = ({(r.epoch, r.trial): r.stays for r in some.cohort.rungs} for some in (store, whole))
    assert ours == theirs


def test_the_cohort_these_tests_interrupt_has_every_kind_of_end_and_no_near_ties(whole: FakeStore) -> None:
    ends = [*[("diverged", 1)] * 2, ("ok", 6), *[("stopped", 1)] * 2, ("stopped", 2), ("stopped", 4)]
    assert sorted(whole.ends().values()) == ends
    for epoch in (1, 2, 4):
        scores = sorted(r.valid for r in whole.cohort.rungs if r.epoch == epoch)
        assert all(b / a > 1.001 for a, b in zip(scores, scores[1:], strict=False))


SEEDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 200))]
"""Seeds of cohorts that are each interrupted a dozen times."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cohort_interrupted_at_random_keeps_the_same_members_and_the_same_winner(
    seed: int, whole: FakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FakeStore(whole.configs)
    Driver(store, tmp_path, seed, monkeypatch).run()
    check(store, whole)


def test_two_packs_of_a_cohort_wait_for_each_other_at_each_rung(whole: FakeStore, tmp_path: Path) -> None:
    store = FakeStore(whole.configs)
    packs = [(store.configs[:3], Checkpoint(tmp_path / "a")), (store.configs[3:], Checkpoint(tmp_path / "b"))]
    (first, a), (second, b) = packs
    assert train(first, store.take, a, store.cohort) == "paused"
    assert {(r.epoch, r.stays) for r in store.cohort.rungs} == {(1, None)} and not store.points.keys() - {
        (c.id, 1) for c in first
    }
    assert train(first, store.take, a, store.cohort) == "paused"  # nothing is known that was not
    assert {r.epoch for r in store.cohort.rungs} == {1}
    assert train(second, store.take, b, store.cohort) == "paused"
    assert {r.epoch for r in store.cohort.rungs} == {1, 2}
    for _ in range(6):
        for configs, checkpoint in packs:
            if left := [c for c in configs if c in store.open]:
                train(left, store.take, checkpoint, store.cohort)
    check(store, whole)


def test_packs_that_go_on_as_one_know_each_epoch_once_and_end_as_the_cohort(whole: FakeStore, tmp_path: Path) -> None:
    store = FakeStore(whole.configs)
    parts, files = (whole.configs[:3], whole.configs[3:5], whole.configs[5:]), [tmp_path / name for name in "abc"]
    for _ in range(2):  # each saves twice where it stands
        for part, file in zip(parts, files, strict=True):
            if left := [c for c in part if c in store.open]:
                train(left, store.take, Checkpoint(file), Cohort("c", tuple(c.id for c in whole.configs), {}))
    pack = Pack(store.open, get_task("adding").load("N=20"))
    assert take_up(pack, Checkpoint(tmp_path / "joined", tuple(files)).candidates())
    assert [len(pack.valids[c.id]) for c in pack.configs] == [1] * len(store.open) and pack.done == 1
    assert not take_up(
        Pack(store.open, get_task("adding").load("N=20")), Checkpoint(files[0], (files[1],)).candidates()
    )
    epochs = len(store.points)
    assert train(store.open, store.take, Checkpoint(tmp_path / "joined", tuple(files)), store.cohort) == "over"
    assert epochs and {epoch for _, epoch in store.points} == set(range(1, EPOCHS + 1))
    check(store, whole)


@pytest.mark.parametrize("reports", range(1, 6))
@pytest.mark.parametrize("checkpointed", [True, False])
def test_survivors_alone_after_a_rung_are_not_halved_again(
    reports: int, checkpointed: bool, whole: FakeStore, tmp_path: Path
) -> None:
    store, file, message = FakeStore(whole.configs), Checkpoint(tmp_path / "pack"), []

    def emit(report: Report) -> None:
        store.take(report)
        message.append(report)
        if len(message) == reports:
            raise ConnectionError("the driver is gone")

    with pytest.raises(ConnectionError, match="the driver is gone"):
        train(store.configs, emit, file if checkpointed else None, store.cohort)
    assert train(store.open, store.take, file if checkpointed else None, store.cohort) == "over"
    check(store, whole)


def test_without_company_the_trials_of_a_pack_are_the_cohort(whole: FakeStore) -> None:
    events = PackRecorder()
    assert train(whole.configs, events) == "over"
    assert {r.trial: (r.status, r.epochs) for r in events.runs} == whole.ends()


def test_a_rung_and_the_ends_it_decides_are_one_report() -> None:
    configs, output = cohort(), list[Report]()
    train(configs, output.append, cohort=Cohort("c", tuple(c.id for c in configs), {}))
    stopped = [r for r in output if any(run.status == "stopped" for run in r.runs)]
    assert len(stopped) >= 2
    for report in stopped:
        assert {r.trial for r in report.rungs if r.stays is False} == {
            run.trial for run in report.runs if run.status == "stopped"
        }
        assert {p.epoch for p in report.points} == {r.epoch for r in report.rungs}


@pytest.mark.parametrize(
    ("rule", "scores"),
    [({"eta": 2}, [0.125, 0.25]), ({"pruner": {"class": "MedianPruner"}, "every": 1}, [0.375, 0.25])],
)
def test_halving_compares_the_best_scores_so_far_and_a_pruner_those_of_the_epoch(
    rule: dict[str, Any], scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    halving = {"first": 1, "cohort": "c", **rule}
    pack = Pack([trial(seed=k, halving=halving) for k in range(2)], get_task("adding").load("N=20"))
    valids = iter([[0.125, 0.5], [0.375, 0.25]])
    monkeypatch.setattr(pack, "score", lambda split: torch.tensor([next(valids)]))
    for _ in range(2):
        pack.train_epoch()
        rungs = pack.close_epoch().rungs
    assert [r.valid for r in rungs] == scores


GATED = {"eta": 2, "first": 1, "cohort": "c", "gate": 0.5, "gate_most": 3}


def rung_of(valids: Sequence[float], halving: Mapping[str, Any], goal: str = "min", name: str = "c") -> set[int]:
    """Return which of some trials go on after a rung, by their places."""
    known = tuple(Rung(name, 1, f"t{k}", valid) for k, valid in enumerate(valids))
    actual = decide_rung(Cohort(name, tuple(r.trial for r in known), {}, known), halving, 1, goal)
    assert actual is not None and all(r.stays is not None for r in actual[0].values())
    return {int(trial[1:]) for trial, rung in actual[0].items() if rung.stays}


def test_scores_decide_at_a_rung_only_where_a_quarter_of_the_trials_beats_the_gate() -> None:
    learned = [0.4, 0.45, *[0.5] * 6]
    assert rung_of(learned, GATED) == rung_of(learned, {"eta": 2, "first": 1}) == {0, 1, 2, 3}
    drawn = rung_of([0.4, *[0.5] * 7], GATED)
    assert len(drawn) == 3, "one of eight is less than a quarter: three are drawn, whatever their scores"
    assert drawn == rung_of([*[0.5] * 7, 0.4], GATED)
    names = [rung_of([0.5] * 8, GATED, name=name) for name in "abcdefgh"]
    assert len({frozenset(some) for some in names}) > 4, "another cohort draws others"
    assert rung_of([0.5] * 3, GATED) == {0, 1, 2}
    assert rung_of([60, 60, 50, 40], {**GATED, "gate": 55}, "max") == {0, 1}
    assert len(rung_of([54, 54, 50, 40], {**GATED, "gate": 55}, "max")) == 3


def test_a_closed_gate_draws_others_at_each_rung() -> None:
    def draw(epoch: int) -> frozenset[str]:
        known = tuple(Rung("c", epoch, f"t{k}", 0.5) for k in range(8))
        actual = decide_rung(Cohort("c", tuple(r.trial for r in known), {}, known), GATED, epoch, "min")
        assert actual
        return frozenset(trial for trial, rung in actual[0].items() if rung.stays)

    assert len({draw(epoch) for epoch in (1, 3, 9, 27, 81)}) > 2


def test_what_a_closed_gate_did_is_said() -> None:
    known = tuple(Rung("c", 2, f"t{k}", 0.5) for k in range(8))
    actual = decide_rung(Cohort("c", tuple(r.trial for r in known), {}, known), GATED, 2, "min")
    assert actual and actual[1] == (
        "0 of 8 trials beat the constant predictor by a tenth of its error at epoch 2, too few to choose by score: "
        "3 drawn ones went on"
    )


def test_a_trial_that_has_solved_the_task_competes_at_later_rungs_with_its_score() -> None:
    halving = {**GATED, "gate": 55}
    known = tuple(Rung("c", 4, f"t{k}", valid) for k, valid in enumerate([54.0, 54.1, 54.2]))
    members = (*(r.trial for r in known), "solved", "stopped")

    def stays(ended: Cohort) -> set[str]:
        actual = decide_rung(ended, halving, 4, "max", 99.9)
        assert actual and actual[0].keys() == {r.trial for r in known}, "those that ended get no decision"
        return {trial for trial, rung in actual[0].items() if rung.stays}

    gone = {"solved": 3, "stopped": 1}
    assert len(stays(Cohort("c", members, gone, known))) == 3, "none has learned: three are drawn"
    assert stays(Cohort("c", members, gone, known, {"solved": 100.0})) == {"t2"}, "the better two of four"
    assert len(stays(Cohort("c", members, gone, known, {"solved": 99.8}))) == 3, (
        "it ended, out of patience, without solving the task"
    )
    later = {"solved": 5, "stopped": 1}
    assert len(stays(Cohort("c", members, later, known, {"solved": 100.0}))) == 3, "whatever ended first in time"
