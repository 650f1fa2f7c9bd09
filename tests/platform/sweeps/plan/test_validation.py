"""What a plan freezes of validation: the score of a constant, and the gate that is a tenth of its error below."""

from __future__ import annotations

import pytest
from small_sweeps import small

from longwave.platform.registry import all_tasks, get_task
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.plan.validation import constant_score, gate_score
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.raw import DataError
from longwave.tasks.trivial.constant import SAMPLE

HALVING = {"eta": 2, "first": 1}


def test_the_constant_of_a_series_is_its_training_mean_and_of_classes_the_most_frequent_one() -> None:
    enso = get_task("enso")
    data = enso.load(enso.variant)
    assert data.train is not None
    mean = data.train.targets.double().flatten(0, -2).mean(0)
    by_hand = enso.metric.score(mean.expand_as(data.valid.targets).unsqueeze(0), data.valid.targets).item()
    assert constant_score(enso, data) == pytest.approx(by_hand, rel=1e-6)
    assert gate_score(enso, data) == pytest.approx(0.9 * by_hand, rel=1e-6)
    parity = get_task("parity")
    data = parity.load(parity.variant)
    training, valid = (split.targets[split.targets != NO_TARGET] for split in (data.training(SAMPLE), data.valid))
    share = (valid == training.mode().values).double().mean().item()
    assert constant_score(parity, data) == pytest.approx(100 * share) and share != pytest.approx(1 - share)
    assert gate_score(parity, data) == pytest.approx(100 - 0.9 * (100 - constant_score(parity, data)), rel=1e-6)


@pytest.mark.integration
def test_every_task_whose_data_are_here_has_a_constant_score_no_better_than_perfect() -> None:
    scored = 0
    for name, task in all_tasks().items():
        try:
            data = task.load(task.variant)
        except DataError:
            continue
        score = constant_score(task, data)
        assert (0 <= score <= 100) if task.metric.unit == "%" else score > 0, name
        scored += 1
    assert scored > 20


def gated(**changes: object) -> Sweep:
    return resolve(small(**{"models": ["lem"], "trials": 6, "rule": 2, "halving": HALVING, **changes}))


def test_under_rule_2_the_round_of_a_cell_is_one_cohort_with_a_gate_also_in_several_packs() -> None:
    for pack in ("auto", 2):
        sweep = gated(pack=pack)
        [halving] = {tuple(sorted((c.halving or {}).items())) for c in all_trials(sweep, {})}
        assert dict(halving) == {
            "eta": 2, "first": 1, "cohort": dict(halving)["cohort"], "gate": sweep.cells[0].gate, "gate_most": 12,
        }  # fmt: skip
    assert gated(pack=2).file.joint_packs and gated().file.joint_packs and not gated(rule=1).file.joint_packs


def test_a_gate_can_be_left_out_and_rule_1_has_none() -> None:
    for changes in ({"halving": {**HALVING, "gate": False}}, {"rule": 1}):
        sweep = gated(**changes)
        assert sweep.cells[0].gate is None and all("gate" not in (c.halving or {}) for c in all_trials(sweep, {}))


def test_a_plan_with_gates_is_read_back_as_it_was() -> None:
    sweep = gated()
    assert Sweep.from_dict(sweep.file, sweep.to_dict()) == sweep
