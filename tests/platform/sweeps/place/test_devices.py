"""Where packs go: by rules that a plain recount checks after each step, on machines that are only declared."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.errors import WorkerError
from longwave.platform.sweeps.place.devices import (
    PARTS,
    ClusterNode,
    DevicePool,
    Slot,
    describe_idle_gpus,
    describe_pool,
    spread_over_gpus,
    usable_nodes,
)
from longwave.platform.sweeps.place.workers import Workers

KINDS = ("A100", "T4")
MACHINES = st.lists(
    st.builds(ClusterNode, st.integers(0, 8).map(float), st.just(0), st.just("cpu"))
    | st.builds(ClusterNode, st.integers(0, 8).map(float), st.integers(1, 4), st.sampled_from(KINDS)),
    min_size=1,
    max_size=4,
)
SHARES = st.fixed_dictionaries(
    {kind: st.sampled_from([1, 1, 2, 3, 16]).map(lambda k: PARTS // k / PARTS) for kind in KINDS}
)
STEPS = st.lists(SHARES | SHARES | st.integers(0, 30), min_size=8, max_size=60)
"""A pack to place, or one of those placed that ends."""


def recounted(machines: list[ClusterNode], placed: list[Slot]) -> tuple[Counter[tuple[int, int]], Counter[int]]:
    """Return how much of each GPU and of each machine's cores is held, in exact fractions."""
    gpus, cpus = Counter[tuple[int, int]](), Counter[int]()
    for slot in placed:
        cpus[slot.node] += Fraction(str(slot.cpus))  # type: ignore[assignment]
        if slot.gpus:
            gpus[slot.node, slot.gpu] += Fraction(str(slot.gpus))  # type: ignore[assignment]
            assert machines[slot.node].kind == slot.kind and slot.gpu < machines[slot.node].gpus
    return gpus, cpus


@pytest.mark.integration
@given(machines=MACHINES, steps=STEPS, cpu=st.booleans(), limit=st.none() | st.integers(1, 6))
@settings(max_examples=150)
def test_never_more_than_fits_gpus_first_and_none_idle_while_packs_wait(
    machines: list[ClusterNode], steps: list[dict[str, float] | int], cpu: bool, limit: int | None
) -> None:
    usable = usable_nodes(machines, cpu)
    pool, placed = DevicePool(usable, limit), list[Slot]()
    gpus_there = any(m.gpus for m in machines) and not cpu
    for step in steps:
        if isinstance(step, int):
            if placed:
                pool.return_slot(placed.pop(step % len(placed)))
            continue
        gpus, cpus = recounted(usable, placed)
        fits = [
            (k, g) for k, m in enumerate(usable) for g in range(m.gpus)
            if gpus[k, g] + Fraction(str(step[m.kind])) <= 1
        ]  # fmt: skip
        cores = [k for k, m in enumerate(usable) if not m.gpus and cpus[k] + 1 <= m.cpus]
        allowed = limit is None or len(placed) < limit
        slot = pool.take_slot(step)
        assert (slot is not None) == bool(allowed and (fits or cores)), "a pack waits where there is a place for it"
        if slot:
            assert bool(slot.gpus) == gpus_there, "GPUs first, cores where there are none or none are wanted"
            assert slot.gpus in (0.0, step.get(slot.kind)) and (not fits or (slot.node, slot.gpu) in fits)
            of_kind = [key for key in fits if usable[key[0]].kind == slot.kind]
            assert all(gpus[slot.node, slot.gpu] <= gpus[key] for key in of_kind), "the emptiest is taken"
            placed.append(slot)
    gpus, cpus = recounted(usable, placed)
    assert all(held <= 1 for held in gpus.values()) and all(held <= usable[k].cpus for k, held in cpus.items())
    idle = [m.kind for k, m in enumerate(usable) for g in range(m.gpus) if not gpus[k, g]]
    assert sorted(pool.idle_gpus) == sorted(idle)


@given(packs=st.integers(1, 40), gpus=st.integers(1, 8), needed=st.integers(1, 16))
def test_packs_are_spread_over_all_gpus_though_ray_fills_one_before_the_next(
    packs: int, gpus: int, needed: int
) -> None:
    shares = [Fraction(1, min(needed, sharing)) for sharing in spread_over_gpus(packs, gpus)]
    assert len(shares) == packs
    held, count = [Fraction()] * gpus, [0] * gpus
    for share in shares:  # as Ray: the fullest GPU that has room
        if free := [(held[g], -g) for g in range(gpus) if held[g] + share <= 1]:
            g = -max(free)[1]
            held[g], count[g] = held[g] + share, count[g] + 1
    assert sum(n > 0 for n in count) == min(packs, gpus) and max(count) <= min(needed, -(-packs // gpus))
    assert max(count) - min(count) <= 1 and (sum(count) == packs or max(count) == needed)


def test_the_first_kind_is_preferred_and_the_next_taken_when_it_is_full() -> None:
    pool = DevicePool([ClusterNode(8, 1, "T4"), ClusterNode(8, 1, "A100")])
    wanted = {"A100": 0.5, "T4": 1.0}
    kinds = [slot and slot.kind for slot in (pool.take_slot(wanted) for _ in range(4))]
    assert kinds == ["A100", "A100", "T4", None] and pool.count == 2


def test_cores_never_leave_a_gpu_idle_and_a_pack_has_one_at_most() -> None:
    few, many = (
        DevicePool([ClusterNode(2, 4, "A100")]),
        DevicePool([ClusterNode(64, 2, "A100"), ClusterNode(4, 2, "A100")]),
    )
    assert [(few.take_slot({"A100": 1.0}) or Slot()).cpus for _ in range(4)] == [0.5] * 4
    assert [(many.take_slot({"A100": 0.25}) or Slot()).cpus for _ in range(16)] == [0.25] * 16
    assert (DevicePool([ClusterNode(0, 1, "A100")]).take_slot({"A100": 1.0}) or Slot()).cpus == 0.0


def test_a_pack_goes_to_the_node_with_the_most_free_cores() -> None:
    pool = DevicePool([ClusterNode(1), ClusterNode(4)])
    assert [(pool.take_slot({}) or Slot()).node for _ in range(4)] == [1, 1, 1, 0]


def test_machines_without_a_gpu_are_left_out_where_there_is_one_unless_gpus_are_declined() -> None:
    both = [ClusterNode(8), ClusterNode(4, 2, "A100"), ClusterNode(0.5)]
    assert usable_nodes(both) == [both[1]]
    assert usable_nodes(both, cpu=True) == [ClusterNode(8), ClusterNode(4)]
    assert DevicePool(usable_nodes(both, cpu=True)).count == 12 and DevicePool(usable_nodes(both)).kinds == ["A100"]


def test_what_is_left_idle_is_said_in_one_line_with_its_reason() -> None:
    pool = DevicePool([ClusterNode(4, 2, "A100"), ClusterNode(4, 1, "T4")], 2)
    halves = [{"A100": 0.5, "T4": 1.0}] * 3
    assert describe_idle_gpus(pool, halves) == "1 GPU is left idle (1 T4): 3 packs, 2 at a time"
    assert (
        describe_idle_gpus(DevicePool(pool.nodes), halves[:1])
        == "2 GPUs are left idle (1 A100, 1 T4): 1 pack, 1 at a time"
    )
    assert describe_idle_gpus(DevicePool(pool.nodes), [{"A100": 1.0, "T4": 1.0}] * 3) == ""
    assert describe_idle_gpus(DevicePool([ClusterNode(4)]), []) == "" and pool.used == 0


def test_places_are_told_in_words() -> None:
    assert describe_pool(
        DevicePool([ClusterNode(4, 2, "A100"), ClusterNode(4, 2, "A100"), ClusterNode(4, 1, "T4")])
    ) == ("4 A100, 1 T4: a pack takes a share of one")
    assert (
        describe_pool(DevicePool([ClusterNode(4, 2, "A100")], 3))
        == "2 A100: a pack takes a share of one, at most 3 packs at a time"
    )
    assert describe_pool(
        DevicePool([ClusterNode(2)])
    ) == "2 cores: 2 packs at a time" and "one pack at a time" in describe_pool(DevicePool([ClusterNode(1)]))


def test_without_a_count_the_packs_at_a_time_follow_from_what_there_is(tmp_path: Path) -> None:
    machines = [ClusterNode(16, 2, "A100"), ClusterNode(8)]
    assert Workers(None, tmp_path).device_pool(machines).count == 2
    assert Workers(None, tmp_path, cpu=True).device_pool(machines).count == 24
    assert Workers(5, tmp_path, cpu=True).device_pool(machines).count == 5
    assert Workers(None, tmp_path, here=True).device_pool(machines).count == 1
    with pytest.raises(WorkerError, match="neither a GPU nor a free core at 10.0.0.1:6379. If the cluster scales up"):
        Workers(None, tmp_path, "10.0.0.1:6379").device_pool([ClusterNode(0)])


def test_a_cluster_that_starts_machines_when_packs_wait_is_asked_for_just_what_was_said(tmp_path: Path) -> None:
    quarter = Workers(6, tmp_path, "head:6379", gpus=0.25).device_pool([ClusterNode(0)])
    assert [
        slot and slot.gpus for slot in (quarter.take_slot(quarter.whole_gpu | {"GPU": 0.25}) for _ in range(7))
    ] == ([0.25] * 6 + [None])
    assert sum(m.gpus for m in quarter.nodes) == 2
    cores = Workers(3, tmp_path, "head:6379", cpu=True).device_pool([])
    assert [slot and slot.cpus for slot in (cores.take_slot({}) for _ in range(4))] == [1.0, 1.0, 1.0, None]
