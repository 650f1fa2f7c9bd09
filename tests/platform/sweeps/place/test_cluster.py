"""What probes decide: how large a pack may be, which share of a GPU it takes, what is tried, what a sweep will take."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trials import present_trial

from longwave.platform.errors import ConfigError
from longwave.platform.records.probe import Probe, load_key
from longwave.platform.sweeps.place.cluster import (
    MAX_PACKS_PER_GPU,
    USABLE,
    Cluster,
    ProbeTable,
    estimate_stages,
    like_retrainings,
    parse_prices,
    total_cost,
)
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool

GIB, FREE = 2**30, 10.01
"""A GiB, and how many of them packs may fill."""
BASE = present_trial("t", "", "d", "lem", {}, {"lr": 0.1}, 8, 2, 10, "search", 0)
WIDE = replace(BASE, hidden=16)


def tried(members: int, gib: float, **more: object) -> Probe:
    """Return a probe of ``BASE`` on an A100 with a little over 10 GiB that may be filled."""
    known = {"kind": "A100", "shape": load_key(BASE), "capacity": int(FREE * GIB / USABLE), "epoch": 1.0}
    return Probe(**{**known, "members": members, "bytes": int(gib * GIB), **more})  # type: ignore[arg-type]


def test_a_load_is_equal_where_steps_take_the_same_and_differs_where_they_do_not() -> None:
    same = [
        replace(BASE, seed=9, params={"lr": 0.5}), replace(BASE, phase="retrain"), replace(BASE, epochs=99),
        replace(BASE, halving={"eta": 2, "first": 1, "cohort": "c"}), replace(BASE, drops=(3,)),
    ]  # fmt: skip
    other = [WIDE, replace(BASE, batch=4), replace(BASE, model="gru"), replace(BASE, precision="float64")]
    other += [replace(BASE, data="e"), replace(BASE, params={"lr": 0.1, "dropout": 0.1}), replace(BASE, clip=1.0)]
    assert {load_key(config) for config in same} == {load_key(BASE)}
    assert len({load_key(config) for config in [BASE, *other]}) == len(other) + 1


@given(
    fixed=st.floats(0, 5),
    each=st.floats(0.01, 4),
    low=st.integers(1, 4),
    high=st.integers(5, 12),
    ask=st.integers(1, 64),
)
def test_the_most_members_are_those_that_memory_holds_and_one_more_does_not(
    fixed: float, each: float, low: int, high: int, ask: int
) -> None:
    probed = ProbeTable([tried(n, fixed + each * n) for n in (high, low)])
    members = probed.max_members(BASE, "A100") or 0
    assert members == 1 or fixed + each * members <= FREE + 1e-6
    assert fixed + each * (members + 1) > FREE - 1e-6
    packs = round(1 / probed.share(BASE, "A100", ask))
    needs = max(fixed + each * ask, fixed + each * low)
    assert packs == 1 or packs * needs <= FREE * (1 + 1e-3), "packs beside one another have the memory they need"
    assert packs == MAX_PACKS_PER_GPU or (packs + 1) * needs > FREE * (1 - 1e-3)


def test_where_nothing_was_probed_nothing_is_known_and_a_pack_takes_a_whole_gpu() -> None:
    probed = ProbeTable([tried(1, 1.0, kind="T4"), tried(1, 1.0, shape="other")])
    assert (probed.known(BASE, "A100"), probed.max_members(BASE, "A100"), probed.epoch(BASE, "A100", 3)) == (
        False, None, None,
    )  # fmt: skip
    assert probed.share(BASE, "A100", 3) == 1.0 and probed.known(BASE, "T4")


def test_a_gpu_that_is_kept_busy_is_shared_no_further() -> None:
    assert ProbeTable([tried(1, 1.0)]).share(BASE, "A100", 1) == 0.1
    assert ProbeTable([tried(1, 1.0, busy=0.4)]).share(BASE, "A100", 1) == 0.5
    assert ProbeTable([tried(1, 1.0, busy=0.9)]).share(BASE, "A100", 1) == 1.0
    assert ProbeTable([tried(1, 0.001, busy=0.0)]).share(BASE, "A100", 1) == 1 / MAX_PACKS_PER_GPU


def test_where_memory_ran_out_half_of_the_members_are_tried_anew() -> None:
    overflow = tried(12, 0.0, fits=False)
    probed = ProbeTable([overflow])
    assert not probed.known(BASE, "A100") and probed.max_members(BASE, "A100") == 6
    cluster = Cluster(DevicePool([ClusterNode(8, 2, "A100")]), probed=probed)
    trials = [replace(BASE, seed=k) for k in range(20)]
    assert [(kind, len(pack)) for kind, pack in cluster.untried_packs(trials)] == [("A100", 1), ("A100", 6)]
    again = cluster.with_probes([overflow, tried(1, 0.5), tried(6, 1.0)])
    assert not [*again.untried_packs(trials)] and again.max_members(BASE) == 6


def test_each_load_is_tried_once_on_each_kind_of_device() -> None:
    cluster = Cluster(DevicePool([ClusterNode(8, 1, "A100"), ClusterNode(8, 1, "A100"), ClusterNode(8, 4, "T4")]))
    trials = [replace(BASE, seed=k) for k in range(3)] + [replace(WIDE, phase="retrain")]
    tried = [(kind, pack[0].hidden, len(pack)) for kind, pack in cluster.untried_packs(trials)]
    assert tried == [("A100", 8, 1), ("A100", 8, 3), ("T4", 8, 1), ("T4", 8, 3), ("A100", 16, 1), ("T4", 16, 1)]


def test_a_pack_fits_every_kind_of_gpu_and_prefers_the_one_with_the_shortest_epoch() -> None:
    slow = [tried(1, 5.0, kind="T4", epoch=4.0), tried(2, 10.0, kind="T4", epoch=8.0)]
    cluster = Cluster(
        DevicePool([ClusterNode(8, 2, "T4"), ClusterNode(8, 2, "A100")]), probed=ProbeTable([*slow, tried(1, 1.0)])
    )
    assert cluster.max_members(BASE) == 2 and cluster.max_members(WIDE) is None
    packs = {str(k): [BASE] for k in range(40)}
    assert [*cluster.gpu_shares(packs)["0"].items()] == [("A100", 0.1), ("T4", 0.5)]
    assert cluster.gpu_shares({"0": [BASE]})["0"] == {"A100": 1.0, "T4": 1.0}, "a pack alone is beside nobody"
    given = Cluster(cluster.pool, 0.25, cluster.probed)
    assert given.gpu_shares(packs)["7"] == {"A100": 0.25, "T4": 0.25}


@pytest.mark.parametrize("packs", [1, 3, 6, 7, 30])
def test_shares_of_packs_that_are_handed_out_in_chunks_are_those_of_all_at_once(packs: int) -> None:
    cluster = Cluster(DevicePool([ClusterNode(8, 4, "A100")]), probed=ProbeTable([tried(1, 1.0)]))
    every = [str(k) for k in range(packs)]
    actual: dict[str, dict[str, float]] = {}
    while rest := every[len(actual) :]:
        chunk = {key: [BASE] for key in rest[:2]}
        actual |= cluster.gpu_shares(chunk, len(actual), len(rest) - len(chunk))
    assert actual == cluster.gpu_shares({key: [BASE] for key in every})


def test_packs_on_cores_share_the_memory_of_their_machine() -> None:
    probes = [tried(1, 1.0, kind="cpu"), tried(2, 2.0, kind="cpu")]
    assert Cluster(DevicePool([ClusterNode(1)]), probed=ProbeTable(probes)).max_members(BASE) == 10
    assert Cluster(DevicePool([ClusterNode(5)]), probed=ProbeTable(probes)).max_members(BASE) == 2
    assert Cluster(DevicePool([ClusterNode(5)], 2), probed=ProbeTable(probes)).max_members(BASE) == 5
    assert Cluster(DevicePool([ClusterNode(5)]), probed=ProbeTable(probes)).gpu_shares({"p": [BASE]}) == {"p": {}}


def test_a_sweep_is_expected_to_take_what_its_packs_take_one_after_another() -> None:
    probed = ProbeTable([tried(1, 1.0, kind="cpu", epoch=2.0), tried(2, 2.0, kind="cpu", epoch=3.0)])
    cluster = Cluster(DevicePool([ClusterNode(2)]), probed=probed)
    search = {str(k): [replace(BASE, seed=10 * k + j) for j in range(2)] for k in range(3)}
    actual = estimate_stages(cluster, [search, {"again": like_retrainings([BASE], 1)}])
    assert actual.seconds == 2 * 30 + 20, "two at a time, then the third, then what was retrained"
    assert actual.held == {"cpu": 3 * 30 + 20} and not actual.unknown
    assert actual.placed == {("cpu", 1.0, 2): 3, ("cpu", 1.0, 1): 1}


def test_packs_beside_one_another_hold_their_shares_of_a_gpu() -> None:
    cluster = Cluster(DevicePool([ClusterNode(8, 1, "A100")]), probed=ProbeTable([tried(1, 2.4, epoch=6.0)]))
    actual = estimate_stages(cluster, [{str(k): [replace(BASE, seed=k)] for k in range(4)} | {"w": [WIDE]}])
    assert actual.placed == {("A100", 0.25, 1): 4, ("A100", 1.0, 1): 1} and actual.unknown == {"lem": 1}
    assert actual.held == pytest.approx({"A100": 4 * 60 * 0.25}) and actual.seconds == 60


@pytest.mark.parametrize(
    ("message", "held", "paid"),
    [
        ("2.5", {"A100": 7200.0, "cpu": 3600.0}, 7.5),
        ("A100=2.5, cpu=0", {"A100": 7200.0, "cpu": 3600.0}, 5.0),
        ("A100=2.5", {"A100": 7200.0, "cpu": 3600.0}, None),
        ("1,A100=2", {"A100": 3600.0, "T4": 3600.0}, 3.0),
        ("", {"A100": 7200.0}, None),
        ("", {}, None),
        ("2", {}, 0.0),
    ],
)
def test_device_seconds_cost_the_price_of_their_kind(message: str, held: dict[str, float], paid: float | None) -> None:
    assert total_cost(held, parse_prices(message)) == paid


@pytest.mark.parametrize("message", ["much", "A100=", "A100=-1", "A100=1e3", "=", "nan", "A100=inf", "1;2"])
def test_a_wrong_price_is_named_in_a_line(message: str) -> None:
    with pytest.raises(ConfigError, match="--price is a number for an hour of a device, 2.5 or A100=2.5,T4=0.4; got"):
        parse_prices(message)


@pytest.mark.parametrize(("message", "kind"), [("A100=2,cpu=1,A100 =3", "A100"), ("1,2", "any")])
def test_a_kind_of_device_has_one_price(message: str, kind: str) -> None:
    with pytest.raises(
        ConfigError, match=f"--price has one number for each kind, got two for {kind}: '{message}'. Keep"
    ):
        parse_prices(message)
