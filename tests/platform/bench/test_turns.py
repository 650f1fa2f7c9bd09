"""Times come from the fastest turns, per step, and every ratio has the right side on top."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from longwave.platform.bench import kernels, turns
from longwave.platform.bench import sweep as bench
from longwave.platform.bench.kernels import plan_benchmark, run_benchmark
from longwave.platform.bench.turns import Contender, fastest_turns


def test_the_fastest_turn_of_each_pass_counts_in_microseconds_a_step() -> None:
    turns_of_one = iter([(9.0, 9.0), (3.0, 8.0), (4.0, 5.0)])
    called = []

    def take_turn() -> tuple[float, float]:
        called.append("other")
        return 1.0, 2.0

    best = fastest_turns(
        {"one": Contender(lambda: next(turns_of_one), 1000), "other": Contender(take_turn, 500)}, 2, seconds=0.0
    )
    assert best == {"one": pytest.approx((3000.0, 5000.0)), "other": pytest.approx((2000.0, 4000.0))}
    assert len(called) == 3, "a warm-up and two turns"


def test_turns_end_when_the_seconds_have_passed_or_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def take_turn() -> tuple[float, float]:
        nonlocal calls
        calls += 1
        return 1.0, 1.0

    fastest_turns({"one": Contender(take_turn, 1)}, 1, seconds=1e9)
    assert calls == turns.MOST_TURNS + 1
    clock = iter(range(100))
    monkeypatch.setattr(turns.time, "perf_counter", lambda: float(next(clock)))
    calls = 0
    fastest_turns({"one": Contender(take_turn, 1)}, 1, seconds=4.0)
    assert calls == 6, "a warm-up, and turns that end after 1 to 5 seconds"


TIMES = {"ours": (1.0, 3.0), "gemm": (1.0, 1.0), "eager": (20.0, 20.0), "lstm": (4.0, 8.0), "rate": (1e-5, 0.0)}
"""µs per step, forward and backward."""


def test_a_line_of_a_cell_has_our_time_over_bounds_and_others_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        kernels, "fastest_turns", lambda contenders, *_: {k: TIMES[k] for k in contenders if k in TIMES}
    )
    monkeypatch.setattr(kernels, "measure_vanishing", lambda *_: None)
    monkeypatch.setattr(kernels, "_measure_pack", lambda *_: None)
    plan = plan_benchmark("cpu", ["lem"], ["5,2,1,3"], repeats=1, seconds=0.0, compile=False)
    [line] = run_benchmark(plan).lines
    assert (line.forward, line.backward) == (1.0, 3.0)
    ratios = {name: value for name, value in line.ratios.items() if name != "floor"}
    assert ratios == pytest.approx({"gemm": 4.0 / 2.0, "eager": 40.0 / 4.0, "lstm": 12.0 / 4.0})


def test_a_pack_is_over_one_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "fastest_turns", lambda *_: {"one": (100.0, 100.0), "pack": (300.0, 300.0)})
    plan = plan_benchmark("cpu", ["lem"], ["5,2,1,3"], repeats=1, seconds=0.0, compile=False)
    line = kernels._measure_pack(plan, plan.packs[0])
    assert (line.one, line.pack, line.ratio) == pytest.approx((1.0, 3.0, 3.0))


def test_an_epoch_of_a_pack_is_over_one_member_and_divided_among_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    class Valid:
        positions = 5

    class Data:
        version, valid = "0", Valid()

        def to(self, _: torch.device) -> Data:
            return self

    class Stub:
        def __init__(self, configs: list[Any], *_: object) -> None:
            self.members = len(configs)
            self.network = self.layer = self
            self.path = "cpu"

        def why(self) -> Stub:
            return self

    task = replace(bench.get_task(bench.TASK), load=lambda _: Data())  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(bench, "get_task", lambda _: task)
    monkeypatch.setattr(bench.get_model("gru").layer, "READS", Valid)
    monkeypatch.setattr(bench, "Pack", Stub)
    monkeypatch.setattr(bench, "keep_to", lambda _: None)
    monkeypatch.setattr(bench, "_epoch_ms", lambda pack: 10.0 if pack.members == 1 else 60.0)
    one, pack = bench.sweep_benchmark("gru", 4, 1)
    assert (one.ms, one.ratio, one.per_member) == (10.0, 1.0, 10.0)
    assert (pack.ms, pack.ratio, pack.per_member) == (60.0, 6.0, 15.0)
