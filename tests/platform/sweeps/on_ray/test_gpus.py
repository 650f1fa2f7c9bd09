"""Sweeps on GPUs that Ray is told of and that no process touches: real Ray, real processes, no CUDA."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ray_nodes import LOOPBACK, Nodes
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.records.probe import Probe, load_key
from longwave.platform.storage.probes import read_probes, write_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import search_trials
from longwave.platform.sweeps.run import driver, executor
from longwave.platform.sweeps.run.recorder import ResultRecorder

Tiny = Callable[..., SweepFile]
DECLARED = "RAY_OVERRIDE_RESOURCES"
"""What a node says it has, whatever there is."""


@pytest.fixture
def slots(alone: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Slot]]:
    """Where packs were started, in a Ray of the test's own."""
    actual, start = list[Slot](), ResultRecorder.started

    def started(recorder: ResultRecorder, pack: str, slot: Slot) -> None:
        actual.append(slot)
        start(recorder, pack, slot)

    monkeypatch.setattr(ResultRecorder, "started", started)
    yield actual


def declared(cpus: int, gpus: int, kind: str) -> str:
    """Return what makes a node declare GPUs."""
    return json.dumps({"CPU": cpus, "GPU": gpus, f"accelerator_type:{kind}": 1})


@pytest.mark.integration
def test_a_sweep_goes_to_gpus_unasked_with_the_shares_that_are_known(
    slots: list[Slot], tiny: Tiny, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DECLARED, declared(1, 2, "A100"))
    file, screen = tiny(models=["lem"], retrain=0, trials=3, pack=1), io.StringIO()
    shape = load_key(search_trials(resolve(file), {})[0][0])
    write_probes(store, [Probe("A100", shape, 1, 2**20, 2**30, 0.1, 1.0, busy=0.4)])
    driver.start_sweep(file, store, Workers(None, tmp_path), None, Console(file=screen, width=200))
    actual = sorted(((p.kind, p.gpus, p.cpus) for p in slots), reverse=True)  # workers are ready in any order
    assert actual == [("A100", 1.0, 0.5), *[("A100", 0.5, 0.25)] * 2]
    spent = store.cost("tiny")
    assert spent.used["A100"] > 0 and spent.expected == {"A100": 6.0 * (1.0 + 0.5 + 0.5)}
    assert "tries" not in screen.getvalue() and "idle" not in screen.getvalue()


@pytest.mark.slow  # two packs are tried, each in a process that loads torch
def test_a_sweep_goes_to_gpus_unasked_tries_its_packs_and_says_what_it_took(
    slots: list[Slot], tiny: Tiny, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv(DECLARED, declared(2, 2, "A100"))
    workers, screen = Workers(None, tmp_path), io.StringIO()
    view = driver.start_sweep(tiny(models=["lem"], retrain=1), store, workers, None, Console(file=screen, width=200))
    assert view.counts() == "5 of 5 trials done (5 ok)"
    assert screen.getvalue().count("measuring the memory and time of 2 packs") == 1
    assert [(p.kind, p.gpus, p.cpus) for p in slots] == [("A100", 1.0, 1.0)] * 3, "one pack a GPU, then one alone"
    assert "tiny: 1 GPU is left idle (1 A100): 1 pack, 1 at a time" in screen.getvalue()
    assert {(p.kind, p.members, p.fits) for p in read_probes(store)} == {("A100", 1, True), ("A100", 4, True)}
    spent = store.cost("tiny")
    assert [*spent.used] == [*spent.expected] == ["A100"] and spent.used["A100"] > 0
    assert main(["sweep", "status", "tiny", "--store", store.url, "--price", "A100=3600"]) == 0
    message = " ".join(capsys.readouterr().out.split())
    assert f"A100 hours, cost {spent.used['A100']:.2f} estimated for the finished packs: " in message


@pytest.mark.slow  # four nodes are started
def test_packs_go_to_several_kinds_of_gpus_and_machines_without_one_wait(
    slots: list[Slot], tiny: Tiny, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LOOPBACK.items():
        monkeypatch.setenv(name, value)
    file = tiny(models=["lem"], trials=6, retrain=0, pack=1, epochs=40)
    with Nodes() as nodes:  # two of its nodes have no GPU
        nodes.all.add(env={DECLARED: declared(2, 1, "A100")})
        nodes.all.add(env={DECLARED: declared(2, 2, "T4")})
        workers = Workers(None, tmp_path, nodes.address)
        with executor.running_workers(workers):
            machines = executor.find_nodes(workers)
            driver.start_sweep(file, store, workers, None, Console(file=io.StringIO()))
    actual = sorted((m.cpus, m.gpus, m.kind) for m in machines)
    assert actual == [(0, 0, "cpu"), (1, 0, "cpu"), (2, 1, "A100"), (2, 2, "T4")]
    assert {p.kind for p in slots} == {"A100", "T4"} and all(p.gpus for p in slots) and len(slots) == 6
    assert Workers(None, tmp_path, cpu=True).device_pool(machines).count == 5


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--gpus", "0"], "--gpus must be at least 0.0001 and at most 1, got 0. A pack trains on one GPU"),
        (["--gpus", "2"], "--gpus must be at least 0.0001 and at most 1, got 2."),
        (["--gpus", "nan"], "--gpus must be at least 0.0001 and at most 1, got nan."),
        (["--gpus", "0.5", "--cpu"], "--gpus and --cpu exclude each other. Leave one out."),
    ],
)
def test_a_wrong_share_of_a_gpu_is_one_line_and_nothing_has_run(
    words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text('name = "tiny"\ntask = "adding"\nmodels = ["lem"]\ntrials = 1\n')
    assert main(["sweep", "run", str(file), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and line in captured.err and captured.err.count("\n") == 1
