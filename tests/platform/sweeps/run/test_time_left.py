"""How long a sweep still takes: closed forms, and three real sweeps of which it is known."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded_sweeps import RecordedSweep
from rich.console import Console
from small_sweeps import small

from longwave.platform.records.report import Report
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import PackAttempt, PackPart
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.rounds import round_sizes
from longwave.platform.sweeps.plan.stored import plan_trials, store_plan
from longwave.platform.sweeps.run.epoch_costs import EpochCosts
from longwave.platform.sweeps.run.progress import Progress
from longwave.platform.sweeps.run.status import running_packs, sweep_status
from longwave.platform.sweeps.run.time_left import TimeLeft, continuing_shares, read_seconds_left

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))
SLACK = 1.0
"""Seconds that matter to nobody, at the very end of a sweep."""
NOW = 1000.0
MODELS = ["lem", "gru", "lstm", "cornn", "tanh_rnn", "lipschitz_rnn", "unicornn", "tau_gru", "lru", "linoss", "mingru"]


def searching(pack: str, status: str, epochs: int, trials: int, seconds: float, cell: int = 0) -> PackPart:
    return PackPart(cell, "search", pack, status, epochs, trials, seconds)


def left(*parts: PackPart, attempts: list[PackAttempt], now: float = NOW, **changes: Any) -> float | None:
    """Return the seconds left of a small sweep, of 4 search trials of 6 epochs a model and 2 retrainings each."""
    file = small(**changes)
    return TimeLeft(file, resolve(file).cells, parts, attempts, now).seconds


def test_a_pack_takes_the_epochs_that_it_has_left_less_the_one_in_progress() -> None:
    here: dict[str, Any] = {"models": ["lem"], "retrain": 0}
    pack, begun = searching("a", "", 3, 4, 6.0), PackAttempt("a", NOW - 24, None, NOW)  # 8 s an epoch of four
    assert left(pack, attempts=[begun], **here) == pytest.approx(3 * 8)
    assert left(pack, attempts=[begun], now=NOW + 5, **here) == pytest.approx(3 * 8 - 5)
    assert left(pack, attempts=[begun], now=NOW + 500, **here) == pytest.approx(2 * 8), "at most that epoch"
    assert left(searching("a", "", 0, 4, 0.0), attempts=[begun], **here) is None, "nothing is measured yet"


def test_packs_of_a_search_with_halving_get_cheaper_as_trials_leave() -> None:
    first = searching("a", "", 1, 4, 2.5)  # 10 s an epoch of four: 6 of two, 4 of one
    here: dict[str, Any] = {"models": ["lem"], "retrain": 0, "halving": {"eta": 2, "first": 1}}
    assert left(first, attempts=[PackAttempt("a", NOW - 10, None, NOW)], **here) == pytest.approx(10 + 2 * 6 + 2 * 4)


def test_later_rounds_wait_for_all_packs_and_share_the_workers() -> None:
    packs = searching("a", "ok", 6, 4, 6.0), searching("b", "", 2, 4, 6.0, cell=1)  # 4 s and 12 s an epoch of four
    attempts = [PackAttempt("a", NOW - 24, NOW, None), PackAttempt("b", NOW - 24, None, NOW)]
    of_two = (4 * 3 / 5, 12 * 3 / 5)
    assert left(*packs, attempts=attempts) == pytest.approx(4 * 12 + max(6 * of_two[0], 6 * of_two[1]))
    alone = [PackAttempt("a", NOW - 48, NOW - 24, None), PackAttempt("b", NOW - 24, None, NOW)]
    assert left(*packs, attempts=alone) == pytest.approx(4 * 12 + 6 * (of_two[0] + of_two[1])), "one worker"


def test_what_packs_and_rounds_took_besides_epochs_is_expected_of_those_to_come() -> None:
    packs = searching("a", "ok", 6, 2, 12.0), searching("b", "ok", 6, 2, 12.0)  # 4 s an epoch of two
    attempts = [PackAttempt("a", NOW - 60, NOW - 33, None), PackAttempt("b", NOW - 31, NOW - 4, None)]
    assert left(*packs, attempts=attempts, models=["lem"]) == pytest.approx(2 + 3 + 6 * 4), "a pause, then a pack"


def test_a_race_has_two_rounds_and_a_cell_without_a_finalist_none() -> None:
    here: dict[str, Any] = {"models": ["lem"], "rule": 2, "race": {"finalists": 3, "more": 1}}
    attempts = [PackAttempt("a", NOW - 60, NOW, None)]
    of_four = searching("a", "ok", 6, 4, 15.0)  # 10 s an epoch of four: 8 of three, 6 of two
    assert left(of_four, attempts=attempts, **here) == pytest.approx(6 * (8 + 6 + 6))
    assert left(searching("a", "diverged", 6, 4, 15.0), attempts=attempts, **here) == 0.0
    heat = PackPart(0, "race", "b", "", 5, 3, 40.0 / 3)
    assert left(of_four, heat, attempts=[*attempts, PackAttempt("b", NOW, None, NOW)], **here) == pytest.approx(
        8 + 6 * (6 + 6)
    )


def test_trials_that_nothing_stops_are_as_long_as_those_so_far() -> None:
    whole = searching("a", "ok", 3, 4, 15.0)  # each was over after 3 of 6 epochs, which took 20 s
    assert left(whole, attempts=[PackAttempt("a", NOW - 60, NOW, None)], models=["lem"]) == pytest.approx(3 * 12)


def test_as_large_a_share_goes_on_as_went_on_so_far() -> None:
    parts = [
        searching("a", "stopped", 2, 4, 1.0), searching("a", "stopped", 5, 3, 1.0), searching("a", "ok", 9, 3, 1.0),
        searching("b", "", 2, 10, 1.0), searching("b", "", 4, 2, 1.0),
    ]  # fmt: skip
    shares = continuing_shares(parts, {0: 9}, ENDED, {2: 0.5, 5: 0.5, 8: 0.5})
    assert shares == {2: 1 - 4 / 12, 5: 1 - 3 / 6, 8: 1.0}, "whether ten of b go on is not decided"
    assert continuing_shares(parts[:1], {0: 9}, ENDED, {2: 0.5, 5: 0.5}) == {2: 0.0, 5: 0.5}, (
        "as planned where nobody got"
    )
    assert continuing_shares(parts, {0: 9}, ("ok",), {}) == {}


def test_the_cost_of_an_epoch_is_measured_at_each_size_that_a_pack_had() -> None:
    def share(*stretches: tuple[int, int]) -> float:
        """Return a trial's share of so many epochs of so many members, where an epoch takes 3 + 2 s a member."""
        return sum(epochs * (3 + 2 * members) / members for epochs, members in stretches)

    costs = EpochCosts(
        {
            "a": [
                searching("a", "stopped", 700, 16, share((700, 32))),
                searching("a", "diverged", 1000, 8, share((700, 32), (300, 16))),
                searching("a", "", 5000, 8, share((700, 32), (300, 16), (4000, 8))),
            ]
        }
    )
    sizes = (8, 12, 16, 20, 32)
    assert [costs.epoch(0, m) for m in sizes] == pytest.approx([3 + 2 * m for m in sizes], rel=0.01)
    assert costs.epoch(0, 1) == pytest.approx(19 * 2 / 9, rel=0.01)
    assert costs.epoch(0, 65) == pytest.approx(67 * 2, rel=0.01)
    assert costs.epoch(7, 16) == costs.epoch(0, 16), "a cell without an epoch is as fast as the others"
    assert costs.trained["a"] == pytest.approx(700 * 67 + 300 * 35 + 4000 * 19)


def test_first_epochs_of_a_size_that_are_slow_say_little() -> None:
    known = {"a": [searching("a", "ok", 60, 8, 60.0)]}  # 8 s an epoch of eight
    slow = [searching("b", "", 2, 3, 10.0)]  # 15 s an epoch of three, where 8 · 4 / 9 are expected
    assert EpochCosts({**known, "b": slow}).epoch(0, 3) == pytest.approx((2 * 15 + 10 * 8 * 4 / 9) / 12)


@pytest.mark.parametrize(
    ("file", "sizes"),
    [({}, [4]), ({"trials": 7, "rounds": 5}, [1, 1, 1, 2, 2]), ({"trials": 2, "rounds": 2}, [1, 1])],
)
def test_rounds_of_a_search_are_as_large_as_they_are_planned(file: dict[str, Any], sizes: list[int]) -> None:
    assert round_sizes(small(**file)) == sizes


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_time_left_of_a_real_sweep_is_within_half_of_the_truth_from_the_third_minute_on(path: Path) -> None:
    went = RecordedSweep.read(path)
    file = small(**{**went.file, "models": MODELS[: went.file["models"]]})
    cells = resolve(file).cells
    far = dict[float, float]()
    for moment in range(180, int(went.end), 10):
        now = float(moment)
        actual = TimeLeft(file, cells, went.parts(now), went.attempts(now), now).seconds
        assert actual is not None
        truth = went.end - now
        if not truth / 1.5 - SLACK <= actual <= truth * 1.5 + SLACK:
            far[now] = round(actual / truth, 2)
    assert not far


def test_who_runs_a_sweep_who_asks_for_it_and_the_packs_of_the_lab_are_told_the_same(
    any_store_url: str, open_store: Callable[[str], Store]
) -> None:
    store = open_store(any_store_url)
    sweep = store_plan(resolve(small(models=["lem"], retrain=0)), store)
    ids = [a.id for a in plan_trials(sweep, store)]
    configs = list(store.configs(ids).values())
    assert sweep_status(store, "tiny").left is None, "nobody runs it"
    with Leases(store, "tiny") as leases:
        leases.take(ids)
        store.assign({"a": configs})
        leases.write(Report(began=dict.fromkeys(ids, 0)))
        assert sweep_status(store, "tiny").left is None, "no epoch yet"
        now = time.time()
        curves = [Point(trial, e, 0.1, 0.1, 25.0 * e, now) for trial in ids for e in range(1, 5)]
        leases.write(Report(curves, [Run(ids[0], "diverged", "nan", 4, seconds=100.0)]))
        shown = Progress(sweep, Console(file=io.StringIO()), lambda: read_seconds_left(store, sweep))
        shown.estimate_time_left()
        [pack], [attempt] = running_packs(store, "tiny"), store.pack_attempts("tiny", now - 60)
        told = sweep_status(store, "tiny").left
    assert (attempt.pack, attempt.ended, attempt.reported) == ("a", None, pytest.approx(now))
    assert told == pytest.approx(2 * 100 * 4 / 5, abs=5), "100 s an epoch of four, two epochs of three are left"
    assert pack.left == pytest.approx(told, abs=5) and shown._left == pytest.approx(told, abs=5)
    assert "about 2 min" in shown._describe_time_left()
