"""Several nodes: what they must have in common, what is said of one that has not, and what a lost one costs."""

from __future__ import annotations

import math
import random
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from chaos.audit import TrialRecord, audit
from chaos.sweep import ENV, Running, read_logs, read_store
from cluster_speed import measure_scaling
from hypothesis import given
from hypothesis import strategies as st
from lab import trial
from local_cluster import local_cluster
from object_store import bucket
from ray.tune import PlacementGroupFactory
from ray.tune.search import Searcher
from ray_nodes import LOOPBACK, Nodes
from tree import ROOT

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.paths import to_path
from longwave.platform.records.probe import CPU
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.on_ray import worker
from longwave.platform.sweeps.on_ray.listener import EventCallback, PackSearcher
from longwave.platform.sweeps.on_ray.nodes import KIND, SOME, matches_label, placement_of_pack, to_node
from longwave.platform.sweeps.on_ray.versions import describe_difference, versions, why_node_is_unfit
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool, Slot
from longwave.platform.sweeps.place.workers import RESTARTS, Job, Workers, parse_labels
from longwave.platform.training import environment
from longwave.platform.training.journal import VARIABLE

SWEEP = """
name = "forty-eight"
task = "adding"
variant = "N=60"
models = ["lem"]
trials = 44
retrain = 4
hidden = 8
batch = 10
steps = 10
epochs = 300
pack = 4
"""
"""48 trials in 12 packs of some seconds each."""
LABEL = st.sampled_from(["H200", "B200", "a", "a.b-c"])


@given(LABEL, st.lists(LABEL, min_size=1), st.booleans(), st.none() | LABEL)
def test_a_wish_holds_of_a_label_as_ray_reads_it(one: str, several: list[str], no: bool, label: str | None) -> None:
    sign = "!" * no
    assert matches_label(sign + one, label) == ((label == one) != no)
    assert matches_label(f"{sign}in({', '.join(several)})", label) == ((label in several) != no)


@pytest.mark.parametrize("text", ["gpu", "=a", "gpu=", "gpu=a b", "gpu=in()", "a=!!b", "g\npu=a", "é=a", "a=in(b,)"])
def test_what_is_no_label_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(ConfigError, match=f"--label is NAME=VALUE, .* got {re.escape(repr(text))}"):
        parse_labels([text])


def test_a_label_that_is_given_twice_is_refused_in_a_line() -> None:
    with pytest.raises(ConfigError, match="--label names each label once, got gpu twice. Keep one, or give gpu=in"):
        parse_labels(["gpu=A", "zone=a", "gpu=B"])


def test_labels_are_what_ray_takes() -> None:
    from ray._private.label_utils import validate_label_selector

    given = parse_labels(["gpu=H200", "zone=!a", "ray.io/accelerator-type=in(H100,H200)", "a/b=!in(c, d)"])
    assert given["ray.io/accelerator-type"] == "in(H100,H200)" and validate_label_selector(given) is None


def test_versions_that_differ_are_named_one_by_one_and_those_of_a_gpus_torch_do_not() -> None:
    here = versions()
    assert not describe_difference(here, here) and "+" not in here["torch"]
    assert here["Longwave"].startswith("0.") and set(here) >= {"Python", "torch", "triton", "numpy"}
    other = {**here, "torch": "2.0.0", "Python": "3.9"}
    message = describe_difference(other, here)
    assert (
        message == f"Python 3.9 where the driver has {here['Python']}, torch 2.0.0 where the driver has {here['torch']}"
    )
    fit = {"versions": here, "sees": True}
    assert why_node_is_unfit(fit, here, "/s") == ""
    assert why_node_is_unfit(
        {**fit, "versions": other}, here, "/s"
    ) == f"it has {message}. Install the same versions there, and " + ("restart its Ray")
    assert "it cannot see sftp://***@h/s. Share" in why_node_is_unfit(
        {**fit, "sees": False}, here, "sftp://a:secret@h/s"
    )
    assert "no Longwave that matches this driver's (No module)" in why_node_is_unfit({"lacks": "No module"}, here, "/s")


def test_a_mark_is_seen_where_the_storage_is_the_same_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    ours = Workers(1, tmp_path / "a")
    same, other = Workers(1, tmp_path / "a", flag=ours.flag), Workers(1, tmp_path / "b", flag=ours.flag)
    with ours.marked_storage():
        assert same.sees_mark() and not other.sees_mark()
    assert not same.sees_mark() and not list((tmp_path / "a").iterdir())


def test_a_pack_that_comes_back_is_handed_out_again_and_while_one_is_out_the_queue_is_not_over() -> None:
    unfit: list[str] = []
    quarter, whole = {"A100": 0.25}, {"A100": 1.0}
    pool = DevicePool([ClusterNode(8, 1, "A100")])
    queue = PackSearcher(pool, lambda: False, lambda: [*unfit])
    queue.add_packs({"jobs": {"a": {"shares": quarter}, "b": {"shares": whole}}, "last": True})
    first = queue.suggest("1")
    assert (first["pack"], first["unfit"], first["slot"]["gpus"]) == ("a", [], 0.25)
    assert queue.suggest("2") is None, "no place for b"
    unfit.append("node")
    queue.requeue("a")
    queue.on_trial_complete("1")
    assert pool.used == 0
    second = queue.suggest("2")
    assert (second["pack"], second["unfit"], second["slot"]["gpus"]) == ("b", ["node"], 1.0)
    assert queue.suggest("3") is None
    queue.on_trial_complete("2")
    third = queue.suggest("3")
    assert (third["pack"], third["slot"]["gpus"]) == ("a", 0.25), "it has its share again"
    assert queue.suggest("4") is None, "a may come back"
    queue.on_trial_complete("3")
    assert queue.suggest("4") == Searcher.FINISHED


def test_a_node_offers_its_cores_and_its_gpus_by_the_name_of_their_kind() -> None:
    def actual(**resources: float) -> ClusterNode:
        return to_node({"Resources": resources})

    assert actual(CPU=8.0, GPU=2.0, **{f"{KIND}H100": 1.0}) == ClusterNode(8.0, 2, "H100")
    assert actual(CPU=8.0, GPU=1.0) == ClusterNode(8.0, 1, "GPU")
    assert actual(CPU=4.0, **{f"{KIND}H100": 1.0}) == actual(CPU=4.0) == ClusterNode(4.0)


def test_a_pack_that_is_tried_takes_a_device_of_its_kind_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[dict[str, Any]] = []

    def remote(**options: Any) -> Any:
        requested.append(options)
        return lambda tried: tried

    monkeypatch.setattr(worker.ray, "remote", remote)
    for kind, where in ((CPU, {}), ("GPU", {}), ("H100", {"zone": "a"})):
        worker._remote_probe(kind, where)
    assert [(a["num_cpus"], a["num_gpus"], a["resources"], a.get("label_selector")) for a in requested] == [
        (1, 0, {}, None), (0, 1, {}, None), (0, 1, {f"{KIND}H100": SOME}, {"zone": "a"}),
    ]  # fmt: skip
    assert all(a["max_calls"] == 1 for a in requested), "a process that ends with it"


def test_a_pack_asks_for_its_share_of_a_node_that_is_not_unfit() -> None:
    slot = asdict(Slot("H200", 0.25, 2.0))
    requested = placement_of_pack(False, {"gpu": "H200"})({"slot": slot, "unfit": ["n", "m"]})
    selector = {"gpu": "H200", "ray.io/node-id": "!in(n,m)"}
    assert requested == PlacementGroupFactory([{"CPU": 2, "GPU": 0.25}], bundle_label_selector=[selector])
    assert placement_of_pack(False, {})({"slot": asdict(Slot()), "unfit": []}) == PlacementGroupFactory([{"CPU": 1}])


@given(st.integers(1, 60), st.sampled_from([0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]), st.integers(0, 8))
def test_packs_of_more_or_less_than_a_core_fill_the_cores_that_there_are(tenths: int, cpus: float, more: int) -> None:
    fit = (tenths * 1000) // round(cpus * 10_000)
    workers = Workers(None, Path(), cpu=True, cpus=cpus)
    if not fit:
        with pytest.raises(WorkerError, match="neither a GPU nor"):
            workers.device_pool([ClusterNode(tenths / 10)])
        return
    pool = workers.device_pool([ClusterNode(tenths / 10)])
    slots = [pool.take_slot({}) for _ in range(fit + more)]
    assert pool.count == pool.packs_per_node == fit and slots == [Slot(cpus=cpus)] * fit + [None] * more
    requested = Workers(fit, Path(), "head:6379", cpu=True, cpus=cpus).device_pool([])
    assert requested.count == fit and replace(workers, count=fit).cores == math.ceil(round(fit * cpus, 6))


@pytest.mark.parametrize("refused", [True, False])
def test_a_pack_that_its_node_refuses_or_died_of_goes_to_another_and_has_not_ended(refused: bool) -> None:
    output: list[dict[str, object]] = []
    queue = PackSearcher(DevicePool([ClusterNode(1)]), lambda: False, lambda: [])
    queue.add_packs({"jobs": {"a": {"shares": {}}}, "last": True})
    nodes, trial = Mock(), Mock(trial_id="1", config=queue.suggest("1"))
    listener = EventCallback(output.append, queue, nodes)
    if refused:
        listener.on_trial_result(1, [], trial, {"refusal": "why", "node": "n"})
        listener.on_trial_complete(1, [], trial)
        nodes.refuse_node.assert_called_once_with("n", "why")
    else:
        listener.on_trial_error(1, [], trial)
    assert queue.packs == {"a": {"cpu": 1.0}} and not output


@pytest.mark.parametrize("driver", [{}, versions()], ids=["the driver's own", "another that fits"])
def test_a_pack_is_trained_on_a_machine_that_fits(
    driver: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output: list[dict[str, object]] = []
    monkeypatch.setattr(worker.tune, "report", output.append)
    monkeypatch.setattr(worker, "train_job", lambda *_: "over")
    monkeypatch.setattr(worker, "discard_output", lambda: None)
    monkeypatch.setattr(environment, "keep_to", lambda cores: None)
    workers = Workers(1, tmp_path)
    config = {"pack": "a", "slot": {"cpus": 1.0}, "job": Mock(job=Job([trial("lem", 0)]).to_dict())}
    with workers.marked_storage() if driver else nullcontext():  # one machine needs no mark
        worker.train_pack(config, str(tmp_path), workers.flag, driver, [], {})
    assert [message.get("how") for message in output] == ["over"]


def other_source(folder: Path) -> Path:
    """Return a folder with a Longwave in which a line differs."""
    for part in ("dashboard", "models", "platform", "tasks"):
        shutil.copytree(ROOT / part, folder / "longwave" / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (ROOT / "infra/package").glob("*.py"):
        shutil.copy(file, folder / "longwave")
    with (folder / "longwave/models/lem.py").open("a") as file:
        file.write("# another\n")
    return folder


@pytest.mark.slow  # five nodes start
@pytest.mark.usefixtures("alone")
def test_of_a_node_without_the_package_or_with_another_or_without_the_storage_a_line_says_so_and_no_trial_fails(
    tmp_path: Path, longwave: Callable[..., object]
) -> None:
    nothing, file = tmp_path / "nothing/longwave", tmp_path / "tiny.toml"
    nothing.mkdir(parents=True)
    (nothing / "__init__.py").write_text("raise ImportError('none here')\n")
    file.write_text(SWEEP.replace("44", "6").replace("60\npack", "5\npack"))
    with bucket() as url, local_cluster({"OMP_NUM_THREADS": "1"}) as nodes:
        nodes.add(env={"PYTHONPATH": str(nothing.parent)}, labels={"kind": "good"})
        nodes.add(env={"PYTHONPATH": str(other_source(tmp_path / "other"))}, labels={"kind": "good"})
        nodes.add(env={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, labels={"kind": "good"})
        nodes.add(labels={"kind": "bad"})  # fit, and not asked for
        nodes.add(labels={"kind": "good"})
        command = ("sweep", "run", file, "--ray", nodes.address, "--workers", 5, "--storage", url, "--mlflow", "off")
        done = longwave(*command, "--label", "kind=good", "--cpus", 0.5)
    assert done.returncode == 0 and "10 of 10 trials done (10 ok)" in done.stdout, done.stdout + done.stderr  # type: ignore[attr-defined]
    output = re.findall(r"node \S+ \(\w{6}\) gets no packs: (.*)", done.stdout)  # type: ignore[attr-defined]
    assert len(output) == 3, output
    for line in (
        "no Longwave that matches .*none here",
        "it has Longwave [0-9.]+ .* where the driver",
        "it cannot see s3://",
    ):
        assert any(re.match(line, text) for text in output), output


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, TrialRecord]]:
    """A sweep file of 48 trials, and what it gives on one machine without any fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "sweep.toml").write_text(SWEEP)
    whole = Running(folder / "whole", folder / "sweep.toml", ("--here", "--workers", "2"))
    whole.finish()
    with Store(whole.url) as store:
        expected = read_store(store)
    assert len(expected) == 48 and not whole.broken
    return folder / "sweep.toml", expected


@pytest.mark.slow  # two nodes and a sweep of 48 trials on two cores: minutes
@pytest.mark.parametrize("kept", ["in a folder", "in an object store"])
def test_48_trials_on_two_nodes_of_which_one_is_killed_at_work_are_trained_once_each_from_checkpoints(
    kept: str, undisturbed: tuple[Path, dict[str, TrialRecord]], tmp_path: Path
) -> None:
    def with_one() -> set[str]:
        return {file.name.partition(".")[0] for file in there.rglob("*.safetensors")}

    file, expected = undisturbed
    epochs = sum(len(message.curve) for message in expected.values())
    with bucket() as url:
        there = to_path(url) / "kept" if kept == "in an object store" else tmp_path / "lost/storage"
        sweep = Running(tmp_path / "lost", file, (), env=LOOPBACK, storage=there, epochs=epochs)  # type: ignore[arg-type]
        with Nodes({**ENV, VARIABLE: str(sweep.journal)}, count=2) as nodes:
            sweep.options = ("--ray", nodes.address, "--workers", "2")
            driver = sweep.start()
            assert not sweep.over_at(driver, 0.3, random.Random(kept).uniform(0, 1))
            assert not sweep.over_before(driver, lambda: nodes.busy() and len(with_one()) == 2)
            nodes.lose(replaced=False)
            sweep.finish(driver)
        actual = audit(sweep.final_state(expected))
    assert actual.clean and actual.trials == 48, actual
    taken_up = [line["began"] for log in read_logs(sweep.journal).values() for line in log if line.get("began")]
    assert max(taken_up, default=0) > 0, "no pack of the lost node went on from a checkpoint"


@pytest.mark.slow  # a node after another starts and dies
def test_nodes_whose_deaths_are_known_after_their_connections_break_count_against_no_pack(tmp_path: Path) -> None:
    """Ray's default waits a second to hear of a death; here one is heard of after three, once more than is allowed."""
    file = tmp_path / "sweep.toml"
    changes = {"trials = 44": "trials = 1", "retrain = 4": "retrain = 1", "steps = 10": "steps = 9000", "= 300": "= 1"}
    file.write_text(re.sub("|".join(changes), lambda match: changes[match[0]], SWEEP))
    sweep = Running(tmp_path / "lost", file, (), env=LOOPBACK, epochs=2)
    with Nodes({**ENV, VARIABLE: str(sweep.journal)}) as nodes:
        sweep.options = ("--ray", nodes.address, "--workers", "1")
        driver = sweep.start()
        for _ in range(RESTARTS + 1):
            assert not sweep.over_before(driver, nodes.busy)
            nodes.lose_late(3)
            assert not sweep.sessions(), "an epoch has ended, so that earlier deaths no longer count"
        sweep.finish(driver)
    with Store(sweep.url) as store:
        assert [t.status for t in store.trials("forty-eight")] == ["ok", "ok"], sweep.last_output()


@pytest.mark.slow  # two nodes train the same packs three times
@pytest.mark.usefixtures("alone")
def test_a_benchmark_of_two_nodes_trains_all_packs_on_one_and_on_both() -> None:
    first, both, second = measure_scaling("lem", packs=2, members=2, epochs=1)
    assert [line.nodes for line in (first, both, second)] == [1, 2, 1]
    assert both.ratio == pytest.approx((first.seconds + second.seconds) / 2 / both.seconds)
    assert both.hourly == pytest.approx(3600 * 4 / both.seconds)
    assert all(0 < line.share < 1.1 and line.each > 0 for line in (first, both, second))
