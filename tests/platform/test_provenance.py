"""What each run says of where it came from: code, what differs from its commit, machine, kernel path, energy."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa
import torch
from trials import present_trial

from longwave.platform.about import about
from longwave.platform.records.identity import digest
from longwave.platform.records.report import Cohort
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.storage.schema import EnvironmentRow, PatchRow
from longwave.platform.storage.store import Store
from longwave.platform.training import energy, environment
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.energy import Meter
from longwave.platform.training.pack import Pack
from longwave.platform.training.snapshot import restore, snapshot
from longwave.platform.training.train import train

Git = Callable[..., str]


def trial(seed: int = 1, **changes: Any) -> TrialConfig:
    task = get_task("adding").load("N=20").version
    config = present_trial("adding", "N=20", task, "gru", {}, {"lr": 0.01}, 8, 10, 3, "retrain", seed, steps=5)
    return replace(config, **changes)


@pytest.fixture
def fresh_facts() -> Iterator[None]:
    """Facts of a process are looked up once; look them up anew, before and after."""
    for cached in (environment._lasting, environment.patch):
        cached.cache_clear()
    yield
    for cached in (environment._lasting, environment.patch):
        cached.cache_clear()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_facts: None) -> Git:
    """A real repository in place of ours, with one commit: calling it runs git there."""
    root = tmp_path / "checkout"

    def git(*command: str, at: Path = root) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *who, *command], cwd=at, capture_output=True, text=True, check=True)
        return done.stdout

    for name in ("models/lem.py", "tasks/adding.py", "platform/training/pack.py", "README.md", "requirements.lock"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\nx = 1\n")
    (root / ".gitignore").write_text("*.log\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    monkeypatch.setattr(environment, "ROOT", root)
    return git


def test_a_run_says_code_lock_device_kernel_precision_and_threads() -> None:
    ends: list[Run] = []
    train([trial(precision="float64")], lambda report: ends.extend(report.runs))
    facts = ends[0].environment
    assert {"commit", "dirty", "lock", "device", "threads", "kernel", "torch", "python", "system"} <= set(facts)
    assert facts["kernel"] != "unknown" and facts["precision"] == "float64"
    assert all(isinstance(value, str) for value in facts.values())


def test_a_clean_checkout_is_its_commit(checkout: Git) -> None:
    facts = environment.describe()
    assert (facts["commit"], facts["dirty"]) == (checkout("rev-parse", "HEAD").strip(), "false")
    assert "diff" not in facts and environment.patch() == ""


def test_the_patch_turns_the_commit_into_the_code_that_ran(checkout: Git, tmp_path: Path) -> None:
    root = environment.ROOT
    (root / "models/lem.py").write_text("# models/lem.py\nx = 'τ'\n")
    (root / "models/mine.py").write_text("new = True\n")
    (root / "tasks/staged.py").write_text("staged = True\n")
    (root / "platform/training/pack.py").unlink()
    (root / "models/noise.log").write_text("ignored\n")
    (root / "README.md").write_text("no code\n")
    checkout("add", "tasks/staged.py")
    checkout("config", "diff.noprefix", "true")
    checkout("config", "color.ui", "always")
    before = checkout("status", "--porcelain")
    facts, patch = environment.describe(), environment.patch() or ""
    assert checkout("status", "--porcelain") == before, "the checkout's own index was touched"
    assert facts["dirty"] == "true" and facts["diff"] == digest({"patch": patch})
    other = tmp_path / "other"
    checkout("clone", "-q", str(root), str(other))
    (tmp_path / "patch").write_text(patch, encoding="utf-8")
    checkout("apply", str(tmp_path / "patch"), at=other)
    for folder in environment.CODE:
        there = {p.name: p.read_text() for p in (other / folder).glob("*.py")}
        assert there == {p.name: p.read_text() for p in (root / folder).glob("*.py")}
    assert "no code" not in patch and "ignored" not in patch


def test_a_change_outside_the_code_is_not_dirty(checkout: Git) -> None:
    (environment.ROOT / "README.md").write_text("no code\n")
    (trusted := environment.ROOT / "platform/boards/trust.txt").parent.mkdir()
    trusted.write_text("grows while an edition is trained\n")
    assert environment.describe()["dirty"] == "false"


def test_inside_a_hook_git_still_speaks_of_our_checkout(
    checkout: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = checkout("rev-parse", "HEAD").strip()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert environment.describe()["commit"] == commit


def test_a_long_patch_is_cut_and_still_told_from_another(checkout: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "PATCH", 60)
    patches = []
    for end in ("one", "two"):
        (environment.ROOT / "models/mine.py").write_text("x = 1\n" * 200 + end)
        environment.patch.cache_clear()
        patches.append(environment.patch() or "")
    assert patches[0] != patches[1] and patches[0][:60] == patches[1][:60]
    assert all("Cut here: " in text and len(text) < 250 for text in patches)


def test_without_git_code_is_unknown_and_never_called_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_facts: None
) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    facts = environment.describe()
    assert (facts["commit"], facts["dirty"]) == ("unknown", "unknown") and "diff" not in facts
    assert facts["lock"].startswith("installed ")


def test_the_lock_is_the_hash_of_its_file(checkout: Git) -> None:
    import hashlib

    content = (environment.ROOT / "requirements.lock").read_bytes()
    assert environment.describe()["lock"] == f"requirements.lock {hashlib.sha256(content).hexdigest()[:16]}"


def test_the_store_keeps_a_patch_once_and_every_run_names_it(any_store_url: str) -> None:
    patch = "diff --git a/models/lem.py b/models/lem.py\n" * 100
    facts = {"commit": "c", "diff": digest({"patch": patch})}
    configs = [trial(seed) for seed in range(4)]
    environments = [{**facts, "kernel": f"{k % 2}"} for k in range(4)]
    runs = [
        Run(c.id, "ok", valid=1.0, test=1.0, environment=environment, patch=patch)
        for c, environment in zip(configs, environments, strict=True)
    ]
    with Store(any_store_url) as store:
        store.add_trials(None, configs, [about(c) for c in configs])
        store.write([], runs[:2])
        store.write([], runs)
        stored = store.retrainings("adding")
        assert all(t.run and t.run.patch == "" for t in stored)
        assert store.rows(configs[0].row[:5]) == store.rows(configs[0].row) == stored
        assert store.patches([facts["diff"]]) == {facts["diff"]: patch}
        with store.reading() as connection:
            assert len(connection.execute(sa.select(EnvironmentRow.id)).all()) == 2
            assert connection.scalars(sa.select(PatchRow.text)).all() == [patch]


class Counter:
    """A meter that says 12 J a lap."""

    def __init__(self, device: object = None) -> None:
        self.laps = 0

    def lap(self) -> float:
        self.laps += 1
        return 12.0


def joules(run: Run) -> float:
    assert run.joules is not None
    return run.joules


def test_members_share_the_energy_of_their_pack_and_all_of_it_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longwave.platform.training.pack.Meter", Counter)
    configs = [trial(k, phase="search", halving={"eta": 3, "first": 1, "cohort": ""}) for k in range(3)]
    pack = Pack(configs, get_task("adding").load("N=20"))
    ends: list[Run] = []
    while pack.configs and pack.epoch <= 3:
        pack.train_epoch()
        report = pack.close_epoch()
        halved = pack.halve(Cohort("", tuple(c.id for c in configs), {}).after(report))
        assert halved is not None
        ends += [*report.runs, *halved.runs]
    ends += pack.close().runs
    assert sorted(map(joules, ends)) == [4.0, 4.0, 4.0 + 12 + 12]
    assert sum(map(joules, ends)) == 12.0 * pack.meter.laps  # type: ignore[attr-defined]


def test_a_restored_pack_goes_on_counting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("longwave.platform.training.pack.Meter", Counter)
    data, configs = get_task("adding").load("N=20"), [trial(1), trial(2)]
    first, second = Pack(configs, data), Pack(configs, data)
    first.train_epoch()
    first.close_epoch()
    checkpoint = Checkpoint(tmp_path / "pack.safetensors")
    checkpoint.save(snapshot(first))
    saved = next(checkpoint.candidates(), None)
    assert saved and restore(second, saved)
    assert second.joules.tolist() == [12.0, 12.0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\nmodel name\t: B\n",
         "AMD EPYC (family 26, model 2)"),
        ("model name\t: ARMv8 Processor rev 1 (v8l)\n", "ARMv8 Processor rev 1 (v8l)"),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", platform.processor() or platform.machine()),
        (None, platform.processor() or platform.machine()),
    ],
)  # fmt: skip
def test_generations_of_processors_of_one_name_differ_by_family_and_model(
    text: str | None, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    assert environment.processor_name(file) == f"{name}, {os.cpu_count()} cores"


def test_on_a_processor_nothing_is_said_of_energy_and_nothing_fails() -> None:
    assert math.isnan(Meter(torch.device("cpu")).lap())
    pack = Pack([trial()], get_task("adding").load("N=20"), "cpu")
    pack.train_epoch()
    pack.close_epoch()
    assert pack.close().runs[0].joules is None


@dataclass
class Device:
    """Stands for what torch says of a GPU."""

    uuid: str


class Refused(Exception):
    """Stands for pynvml.NVMLError."""


def nvml(counter: Iterator[int], processes: int = 1, refuses: str = "") -> ModuleType:
    """Stand in for pynvml, which no test machine without an NVIDIA GPU can initialise."""

    def answer(name: str, value: Callable[[], Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            if name == refuses:
                raise Refused(name)
            assert name != "nvmlDeviceGetHandleByUUID" or arguments == ("GPU-12-34",)
            return value()

        return call

    answers: dict[str, Callable[[], Any]] = {
        "nvmlInit": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "580.1",
        "nvmlDeviceGetHandleByUUID": lambda: "gpu",
        "nvmlDeviceGetComputeRunningProcesses": lambda: [0] * processes,
        "nvmlDeviceGetTotalEnergyConsumption": lambda: next(counter),
    }
    module = ModuleType("pynvml")
    vars(module).update(NVMLError=Refused, **{name: answer(name, value) for name, value in answers.items()})
    return module


@pytest.fixture
def with_nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    def use(**how: Any) -> None:
        energy._nvml.cache_clear()
        monkeypatch.setitem(__import__("sys").modules, "pynvml", nvml(iter(range(0, 10**6, 2500)), **how))

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: Device("12-34"))
    yield use
    energy._nvml.cache_clear()


def test_energy_is_the_difference_of_two_readings_in_joules(with_nvml: Callable[..., None]) -> None:
    with_nvml()
    meter = Meter(torch.device("cuda"))
    assert [meter.lap(), meter.lap()] == [2.5, 2.5] and energy.driver() == "580.1"


def test_energy_of_a_gpu_that_others_use_too_is_not_called_ours(with_nvml: Callable[..., None]) -> None:
    with_nvml(processes=2)
    assert math.isnan(Meter(torch.device("cuda")).lap())


@pytest.mark.parametrize("name", ["nvmlInit", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetTotalEnergyConsumption"])
def test_where_nvml_refuses_nothing_is_recorded_and_nothing_fails(name: str, with_nvml: Callable[..., None]) -> None:
    with_nvml(refuses=name)
    assert math.isnan(Meter(torch.device("cuda")).lap())
    assert energy.driver() == ("unknown" if name == "nvmlInit" else "580.1")


@pytest.mark.skipif(not torch.cuda.is_available() or energy._nvml() is None, reason="needs an NVIDIA GPU and NVML")
def test_a_gpu_that_works_takes_energy() -> None:
    meter, x = Meter(torch.device("cuda", 0)), torch.randn(4096, 4096, device="cuda")
    for _ in range(200):
        x = torch.tanh(x @ x)
    torch.cuda.synchronize()
    joules = meter.lap()
    assert math.isnan(joules) or joules > 0
