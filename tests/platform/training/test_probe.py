"""A pack that is tried: what is read of its device, on this machine's cores and by a reader that is put in."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest
import torch

from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import search_trials
from longwave.platform.training import environment
from longwave.platform.training import probe as probing
from longwave.platform.training.pack import Pack
from longwave.platform.training.probe import STEPS, WARM, CoreGauge, probe
from longwave.platform.training.train import train

Tiny = Callable[..., SweepFile]
NAMES = (
    "NVIDIA A100-SXM4-80GB", "NVIDIA H200", "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-16GB", "Tesla T4",
    "NVIDIA GeForce RTX 4090", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX 6000 Ada Generation",
    "NVIDIA L40S", "NVIDIA GB200", "Quadro RTX 8000", "NVIDIA TITAN V",
)  # fmt: skip

PRINT_PEAK = """
import torch
from longwave.platform.training.probe import CoreGauge

gauge = CoreGauge()
torch.ones(2**27)  # an earlier peak, of another pack
gauge.start()
held = torch.ones(2**28 // 4)
del held
print(gauge.peak())
"""
"""Prints the bytes of which a process takes 2^28 after an earlier, larger peak."""


class Read:
    """A device that tells given numbers and writes down what it is asked."""

    def __init__(self) -> None:
        self.requested: list[str] = []

    def capacity(self) -> int:
        return 1000

    def start(self) -> None:
        self.requested.append("start")

    def wait(self) -> None:
        self.requested.append("wait")

    def peak(self) -> int:
        self.requested.append("peak")
        return 300

    def busy(self) -> float | None:
        self.requested.append("busy")
        return 0.25


@pytest.fixture
def trials(tiny: Tiny) -> list[TrialConfig]:
    return search_trials(resolve(tiny(models=["lem"], steps=40)), {})[0]


def test_a_probe_tells_what_its_reader_read(trials: list[TrialConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "SECONDS", 0.0)
    read = Read()
    actual = probe(trials, "A100", read)
    assert (actual.kind, actual.members, actual.bytes, actual.capacity, actual.busy) == ("A100", 4, 300, 1000, 0.25)
    steps = WARM + STEPS
    assert read.requested == ["start", *["wait"] * steps, "busy", "wait", "peak"] and actual.fits
    assert actual.epoch > 40 * actual.step > 0, "an epoch has all its steps, and a validation"


def test_a_quick_probe_trains_two_steps_of_which_the_second_counts(
    trials: list[TrialConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "QUICK_SECONDS", 0.0)
    read, count = Read(), [0]

    def wait() -> None:
        count[0] += 1
        time.sleep(0.9 if count[0] == 1 else 0.01)

    monkeypatch.setattr(read, "wait", wait)
    assert 0.01 <= probe(trials[:1], "A100", read, quick=True).step < 0.2
    assert count[0] == 2 + 1, "and once after the validation"


@pytest.mark.integration
def test_a_step_is_timed_after_the_first_ones_in_which_loops_are_compiled(
    trials: list[TrialConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "SECONDS", 0.0)
    read, count = Read(), [0]

    def wait() -> None:
        count[0] += 1
        time.sleep(0.9 if count[0] <= WARM else 0.01)

    monkeypatch.setattr(read, "wait", wait)
    assert 0.01 <= probe(trials[:1], "A100", read).step < 0.2


def test_a_pack_that_memory_runs_out_for_does_not_fit_and_any_other_error_is_raised(
    trials: list[TrialConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(error: Exception) -> None:
        def run(*_: object) -> bool:
            raise error

        monkeypatch.setattr(Pack, "train_epoch", run)

    fail(torch.OutOfMemoryError("CUDA out of memory"))
    actual = probe(trials, "A100", Read())
    assert (actual.fits, actual.bytes, actual.capacity, actual.epoch) == (False, 1000, 1000, 0.0)
    fail(ValueError("something else"))
    with pytest.raises(ValueError, match="something else"):
        probe(trials, "A100", Read())


@pytest.mark.integration
def test_a_probe_changes_nothing_of_a_training(trials: list[TrialConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    def curve() -> list[tuple[str, int, float, float]]:
        actual = []
        train(trials, lambda report: actual.extend((p.trial, p.epoch, p.loss, p.valid) for p in report.points))
        return actual

    monkeypatch.setattr(probing, "SECONDS", 0.0)
    before = curve()
    probe(trials, "cpu")
    assert curve() == before


@pytest.mark.integration
def test_the_growth_of_this_process_is_the_memory_that_a_pack_takes_on_cores() -> None:
    # In a process of its own: in this one, memory of earlier tests may be freed while the pack's is counted.
    done = subprocess.run([sys.executable, "-c", PRINT_PEAK], capture_output=True, text=True, check=True)
    assert 0.95 * 2**28 < int(done.stdout) < 1.2 * 2**28
    gauge = CoreGauge()
    assert gauge.capacity() > 2**28 and gauge.busy() is None


@pytest.mark.integration
def test_memory_that_runs_out_in_training_is_told_with_the_members_that_did_not_fit(
    trials: list[TrialConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Pack.train_epoch

    def run(pack: Pack, *rest: object) -> bool:
        if len(pack.configs) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(pack, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Pack, "train_epoch", run)
    reports = []
    assert train(trials, reports.append) == "over"
    message = [probe.members for report in reports for probe in report.probes]
    assert message == [4, 2, 2] and not any(probe.fits for report in reports for probe in report.probes)
    assert [run.status for report in reports for run in report.runs] == ["ok"] * 4


@pytest.mark.integration
def test_a_kind_of_gpu_is_named_as_ray_names_it() -> None:
    code = (
        "import sys; from ray._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager as ray\n"
        "print(*map(ray._gpu_name_to_accelerator_type, sys.argv[1:]), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code, *NAMES], capture_output=True, text=True, check=True)
    assert [environment.kind_of(name) for name in NAMES] == done.stdout.splitlines()
