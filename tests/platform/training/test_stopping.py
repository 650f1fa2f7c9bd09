"""Members that end early: successive halving, patience, and tasks that are solved."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import trained, trial

from longwave.platform.records.report import Cohort, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.training.stopping import Goal, decide_rung, has_rung, last_epoch, rungs

GOALS: tuple[Goal, ...] = ("max", "min")


def test_successive_halving_keeps_the_best_of_each_rung_inside_the_pack() -> None:
    halving = {"eta": 3, "first": 1, "cohort": "c"}
    configs = [trial(seed=k, epochs=5, halving=halving, params={"lr": 0.001 * 2**k, "dt": 1.0}) for k in range(9)]
    events, free = trained(configs), trained([replace(c, halving=None) for c in configs])
    firsts = {c.id: events.curve(c)[0][1] for c in configs}
    survivors = sorted(firsts, key=firsts.__getitem__)[:3]
    assert {r.trial for r in events.runs if r.epochs > 1} == set(survivors)
    assert sorted(r.epochs for r in events.runs) == [1] * 6 + [3, 3, 5]
    assert [r.status for r in events.runs if r.epochs == 5] == ["ok"]
    assert all("kept the best" in r.reason for r in events.runs if r.status == "stopped")
    for config in configs:
        theirs = free.curve(replace(config, halving=None))
        np.testing.assert_allclose(events.curve(config), theirs[: len(events.curve(config))], rtol=1e-4)


@pytest.mark.parametrize(
    ("first", "eta", "epochs", "expected"), [(1, 3, 30, [1, 3, 9, 27]), (5, 2, 20, [5, 10]), (9, 3, 9, [])]
)
def test_rungs_grow_by_eta_and_end_before_the_last_epoch(
    first: int, eta: int, epochs: int, expected: list[int]
) -> None:
    assert rungs(first, eta, epochs) == expected
    config = trial(epochs=epochs, halving={"eta": eta, "first": first, "cohort": "c"})
    assert [epoch for epoch in range(epochs + 1) if has_rung(config, epoch)] == expected
    assert not has_rung(replace(config, halving=None), first)


FOUR = {"a": [0.9, 0.1, 0.3, 0.5, 0.7], "b": [0.9, 0.8, 0.7, 0.65, 0.6], "c": [0.9, 0.8, 0.7, 0.6, 0.5],
        "d": [0.9, 0.85, 0.8, 0.75, 0.7]}  # fmt: skip
MEDIAN = {"pruner": {"class": "MedianPruner", "n_startup_trials": 2, "n_warmup_steps": 5}}


def test_a_pruner_sees_every_epoch_and_stops_no_trial_whose_best_one_lies_before_its_first_decision() -> None:
    known = tuple(
        Rung("c", epoch, trial, valid, None if epoch == 5 else True)
        for trial, curve in FOUR.items()
        for epoch, valid in enumerate(curve, 1)
    )
    actual = decide_rung(Cohort("c", tuple(FOUR), {}, known), MEDIAN, 5, "min")
    assert actual and {trial for trial, rung in actual[0].items() if not rung.stays} == {"d"}


def test_a_pack_reports_all_epochs_to_its_pruner() -> None:
    rule = {"pruner": {"class": "MedianPruner", "n_startup_trials": 9}, "first": 2, "every": 2, "offset": 2}
    configs = [trial(seed=k, epochs=6, halving={"cohort": "c", **rule}) for k in range(2)]
    events = trained(configs)
    for config in configs:
        shown = {rung.epoch: rung.valid for rung in events.rungs if rung.trial == config.id}
        valids = [valid for _, valid in events.curve(config)]
        assert shown == dict(enumerate(valids[:4], 1)), "epochs 2 and 4 are decided, 6 is the last one"
    assert all(rung.stays for rung in events.rungs)


@given(best=st.lists(st.floats(-1, 1), min_size=1, max_size=12), eta=st.integers(2, 4), goal=st.sampled_from(GOALS))
def test_a_rung_keeps_the_best_share_rounded_up(best: list[float], eta: int, goal: Goal) -> None:
    members = tuple(map(str, range(len(best))))
    rungs = tuple(Rung("c", 2, m, b) for m, b in zip(members, best, strict=True))
    actual = decide_rung(Cohort("c", members, {}, (*rungs, Rung("c", 1, "0", 0.0, False))), {"eta": eta}, 2, goal)
    assert actual is not None
    ranks = sorted(range(len(best)), key=lambda k: (best[k] if goal == "min" else -best[k], str(k)))
    count = math.ceil(len(best) / eta)
    assert {m for m, r in actual[0].items() if r.stays} == {str(k) for k in ranks[:count]}
    assert actual[1] == f"successive halving kept the best {count} of {len(best)} at epoch 2"


def test_a_rung_waits_for_whoever_has_no_score_and_has_not_ended() -> None:
    scores, halving = (Rung("c", 2, "a", 0.1), Rung("c", 2, "b", 0.2)), {"eta": 2}
    assert decide_rung(Cohort("c", ("a", "b", "x"), {}, scores), halving, 2, "min") is None
    actual = decide_rung(Cohort("c", ("a", "b", "x"), {"x": 1}, scores), halving, 2, "min")
    assert actual is not None and [r.stays for r in actual[0].values()] == [True, False]


def test_whoever_ended_after_its_score_was_recorded_still_competes() -> None:
    scores = (Rung("c", 2, "a", 0.1, True), Rung("c", 2, "b", 0.2))
    actual = decide_rung(Cohort("c", ("a", "b"), {"a": 3}, scores), {"eta": 2}, 2, "min")
    assert actual is not None and actual[0]["b"].stays is False


def test_a_recorded_decision_is_followed_whatever_the_scores_say() -> None:
    scores = (Rung("c", 2, "a", 0.1, False), Rung("c", 2, "b", 0.2, True), Rung("c", 2, "x", 0.3))
    actual = decide_rung(Cohort("c", ("a", "b", "x"), {}, scores), {"eta": 3}, 2, "min")
    assert actual is not None and [r.stays for r in actual[0].values()] == [False, True, False]


@given(
    curves=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=7),
    goal=st.sampled_from(GOALS),
)
def test_the_median_pruner_compares_each_trials_own_best_with_the_median_of_all(
    curves: list[list[int]], goal: Goal
) -> None:
    sign = -1 if goal == "max" else 1
    rungs = [Rung("c", e, str(k), float(v)) for k, curve in enumerate(curves) for e, v in enumerate(curve, 1)]
    members = tuple(str(k) for k in range(len(curves)))
    halving = {"pruner": {"class": "MedianPruner", "n_startup_trials": 1, "n_warmup_steps": 0}}
    actual = decide_rung(Cohort("c", members, {}, tuple(rungs)), halving, 2, goal)
    middle = median(sign * curve[1] for curve in curves)
    stays = {str(k) for k, curve in enumerate(curves) if min(sign * v for v in curve[:2]) <= middle}
    assert actual is not None and {trial for trial, rung in actual[0].items() if rung.stays} == stays


def test_a_pack_of_seven_is_halved_to_four_and_to_two() -> None:
    halving = {"eta": 2, "first": 1, "cohort": "c"}
    events = trained([trial(seed=k, epochs=4, halving=halving) for k in range(7)])
    assert sorted(r.epochs for r in events.runs) == [1] * 3 + [2] * 2 + [4] * 2


@pytest.mark.parametrize("selection", ["best", "last"])
def test_a_rung_ranks_by_what_a_trial_is_chosen_by_and_not_by_the_epoch_it_falls_on(selection: str) -> None:
    rung, configs = 6, []
    for k in range(8):
        params = {"lr": 0.01 * 2**k, "dt": 1.0}
        configs.append(trial(seed=k, epochs=rung, params=params, selection=selection))
    free = trained(configs)
    curves = [[valid for _, valid in free.curve(c)] for c in configs]
    now, best = (np.argsort(actual).tolist() for actual in ([c[-1] for c in curves], [min(c) for c in curves]))
    assert set(now[:4]) != set(best[:4])  # or the two could not be told apart
    halving = {"eta": 2, "first": rung, "cohort": "c"}
    events = trained(requested := [replace(c, epochs=rung + 1, halving=halving) for c in configs])
    survivors = {k for k, c in enumerate(requested) if events.run(c).status == "ok"}
    assert survivors == set((best if selection == "best" else now)[:4])


@pytest.mark.parametrize("selection", ["best", "last"])
def test_a_member_that_diverges_at_once_does_not_change_how_another_ends(selection: str) -> None:
    good, bad = (trial(seed=0, epochs=3, params={"lr": 0.01, "dt": dt}, selection=selection) for dt in (1.0, 1e30))
    together, alone = trained([good, bad]), trained([good])
    assert together.run(bad).status == "diverged" and together.run(bad).valid is None
    assert together.run(good).status == "ok"
    assert together.run(good).valid == pytest.approx(alone.run(good).valid, rel=1e-4)


def by_hand(valids: list[float], patience: int, goal: str) -> int:
    """Return the first epoch with ``patience`` epochs behind it that are no better than the best before them."""
    sign = 1 if goal == "max" else -1
    for epoch in range(patience + 1, len(valids) + 1):
        before, since = valids[: epoch - patience], valids[epoch - patience : epoch]
        if max(sign * v for v in since) <= max(sign * v for v in before):
            return epoch
    return 99


@given(
    valids=st.lists(st.integers(0, 5).map(float), max_size=20), patience=st.integers(1, 6),
    goal=st.sampled_from(["max", "min"]),
)  # fmt: skip
def test_patience_ends_after_as_many_epochs_without_a_better_one(valids: list[float], patience: int, goal: Any) -> None:
    config = trial(epochs=99, params={**trial().params, "patience": patience})
    assert last_epoch(config, valids, goal) == by_hand(valids, patience, goal)
    assert last_epoch(trial(epochs=99), valids, goal) == 99


@given(
    valids=st.lists(st.integers(1, 5).map(float), max_size=20), solved=st.integers(1, 5),
    goal=st.sampled_from(["max", "min"]),
)  # fmt: skip
def test_a_training_ends_after_the_third_epoch_in_a_row_that_solves_the_task(
    valids: list[float], solved: int, goal: Any
) -> None:
    config = trial(epochs=99, params={**trial().params, "solved": float(solved)})
    solves = "".join(str(int(v >= solved if goal == "max" else v <= solved)) for v in valids)
    assert last_epoch(config, valids, goal) == (solves.index("111") + 3 if "111" in solves else 99)
    both = replace(config, params={**config.params, "patience": 2.0})
    assert last_epoch(both, valids, goal) == min(last_epoch(config, valids, goal), by_hand(valids, 2, goal))


@pytest.mark.parametrize(("goal", "solved"), [("max", 99.7), ("max", 99.8), ("min", 0.0002), ("min", 0.0003)])
def test_a_score_recorded_in_float32_solves_a_task_that_it_equals(goal: Goal, solved: float) -> None:
    config = trial(epochs=9, params={**trial().params, "solved": solved})
    recorded, better = np.float32(solved), -1.0 if goal == "min" else 1.0
    worse = float(np.nextafter(recorded, np.float32(-better * math.inf)))
    assert last_epoch(config, [float(recorded)] * 5, goal) == last_epoch(config, [solved] * 5, goal) == 3
    assert last_epoch(config, [worse] * 5, goal) == 9
    known = (Rung("c", 3, "a", solved - better), Rung("c", 3, "b", solved - 2 * better))
    for score, stays in ((float(recorded), [False, False]), (worse, [True, False])):
        decision = decide_rung(Cohort("c", ("a", "b", "x"), {"x": 2}, known, {"x": score}), {"eta": 3}, 3, goal, solved)
        assert decision is not None and [rung.stays for rung in decision[0].values()] == stays


@pytest.mark.integration
def test_members_that_solve_the_task_end_ok_where_alone_they_would_and_the_others_go_on() -> None:
    free = [patient(None, k, epochs=8) for k in range(4)]
    curves = trained(free)
    threshold = sorted(valid for c in free for _, valid in curves.curve(c))[14]
    configs = [replace(c, params={**c.params, "solved": threshold}) for c in free]
    together, ends = trained(configs), []
    for config, without in zip(configs, free, strict=True):
        valids = [valid for _, valid in curves.curve(without)]
        ends.append(next((k for k in range(3, 9) if max(valids[k - 3 : k]) <= threshold), 8))
        run, alone = together.run(config), trained([config]).run(config)
        assert (run.status, run.epochs, len(together.curve(config))) == ("ok", ends[-1], ends[-1])
        assert run.best_epoch == 1 + int(np.argmin(valids[: ends[-1]]))
        assert (alone.epochs, alone.best_epoch) == (run.epochs, run.best_epoch)
        assert alone.test == pytest.approx(run.test, rel=1e-4)
    assert len(set(ends)) > 1 and min(ends) < 8


def test_members_that_solved_the_task_before_a_rung_take_places_of_those_that_go_on() -> None:
    free = [patient(None, k, epochs=8, phase="search") for k in range(6)]
    curves = trained(free)
    latest = sorted(max(valid for _, valid in curves.curve(c)[2:5]) for c in free)
    threshold = (latest[0] + latest[1]) / 2  # one trial solves the task at epoch 5 or before
    halving = {"eta": 3, "first": 5, "cohort": "c"}
    configs = [replace(c, params={**c.params, "solved": threshold}, halving=halving) for c in free]
    together = trained(configs)
    ends = sorted((r.status, r.epochs <= 5, r.reason) for r in (together.run(c) for c in configs))
    stopped = ("stopped", True, "successive halving kept the best 2 of 6 at epoch 5")
    assert ends == [("ok", False, ""), ("ok", True, ""), *[stopped] * 4]


def patient(patience: int | None, k: int, **changes: Any) -> TrialConfig:
    params = {"lr": 0.1 if k % 2 else 0.003, "dt": 1.0, **({"patience": patience} if patience else {})}
    return trial(seed=k, **{"epochs": 12, "phase": "retrain", "params": params, **changes})


@pytest.mark.integration
@pytest.mark.parametrize("selection", ["best", "last"])
def test_members_out_of_patience_end_ok_where_alone_they_would_and_the_others_go_on(selection: str) -> None:
    configs = [patient(2, k, selection=selection) for k in range(4)]
    together = trained(configs)
    free = trained([patient(None, k, selection=selection) for k in range(4)])
    ends = []
    for k, config in enumerate(configs):
        whole = free.curve(patient(None, k, selection=selection))
        ends.append(min(by_hand([valid for _, valid in whole], 2, "min"), 12))
        run, alone = together.run(config), trained([config]).run(config)
        assert (run.status, run.reason, run.epochs, len(together.curve(config))) == ("ok", "", ends[-1], ends[-1])
        np.testing.assert_allclose(together.curve(config), whole[: ends[-1]], rtol=1e-4)
        assert (alone.epochs, alone.best_epoch) == (run.epochs, run.best_epoch)
        assert alone.test == pytest.approx(run.test, rel=1e-4)
        assert run.best_epoch == (
            ends[-1] if selection == "last" else ends[-1] - 2 if ends[-1] < 12 else run.best_epoch
        )
        there = replace(config, epochs=run.best_epoch, params={**config.params, "patience": 99})
        assert trained([there]).run(there).test == pytest.approx(run.test, rel=1e-4)
    assert len(set(ends)) > 1 and min(ends) < 12


def test_a_search_trial_out_of_patience_is_not_tested_and_takes_no_place_at_a_rung() -> None:
    halving = {"eta": 2, "first": 8, "cohort": "c"}
    configs = [patient(p, k, phase="search", halving=halving) for k, p in enumerate((2, 2, 2, 99, 99, 99))]
    events = trained(configs)
    early = [events.run(c) for c in configs[:3]]
    assert all(r.status == "ok" and r.epochs <= 8 and r.test is None for r in early)
    ends = sorted((r.status, r.reason) for r in (events.run(c) for c in configs[3:]))
    assert ends == [("ok", ""), ("ok", ""), ("stopped", "successive halving kept the best 2 of 3 at epoch 8")]
