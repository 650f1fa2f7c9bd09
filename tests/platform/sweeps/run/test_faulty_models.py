"""Plugins that do harm while they train: each is said in a line, and no other trial is lost by it, or another."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from plugin_files import MISBEHAVES, misbehaving, written_sweep
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.plugins.known import forget_plugins
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan
from longwave.platform.sweeps.run import executor
from longwave.platform.sweeps.run.driver import resume_sweep

WAYS: dict[str, dict[str, Any]] = {
    "here": {"count": 1, "here": True}, "ray": {"count": 1}, "single": {"count": None, "single_first": True}
}  # fmt: skip
Ends = dict[str, list[tuple[str, str, str]]]
pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("alone")]


@pytest.fixture
def trained(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, open_store: Callable[[str], Store]
) -> Callable[..., tuple[Store, Ends, str]]:
    """Train a sweep of a plugin that does something in training, and of a GRU; check that the GRU's trials are right.

    Return the store, phase, status and reason of each of the plugin's trials by status, and what was printed.
    """

    def train(way: str, *lines: str) -> tuple[Store, list[tuple[str, str, str]], str]:
        forget_plugins()
        file = written_sweep(tmp_path, "faulty", misbehaving("faulty", *lines), "retrain = 1", "pack = 1")
        screen = io.StringIO()
        store_plan(resolve(read_sweep(file)), store)
        sound = open_store(f"sqlite:///{tmp_path}/sound.db")
        store_plan(resolve(read_sweep(file)), sound)
        workers = Workers(storage=tmp_path / "sound", count=1, here=True)
        resume_sweep(read_sweep_plan(sound, "own"), sound, workers, None, Console(quiet=True))
        monkeypatch.setenv(MISBEHAVES, "1")
        workers = Workers(storage=tmp_path / "storage", **WAYS[way])
        resume_sweep(read_sweep_plan(store, "own"), store, workers, None, Console(file=screen, width=200))
        assert ends_of(store, "gru") == ends_of(sound, "gru"), "another model's trials are what they are without it"
        faulty = [t for t in store.trials("own") if t.config.model == "my-faulty"]
        return store, [(t.config.phase, t.status, t.run.reason if t.run else "") for t in faulty], screen.getvalue()

    return train


def ends_of(store: Store, model: str) -> dict[str, Any]:
    """Return what there is of each trial of a model, ended or not."""
    trials = {t.config.id: t for t in store.trials("own") if t.config.model == model}
    curves = {trial: [(p.epoch, p.loss, p.valid) for p in store.curves([trial])] for trial in trials}
    return {
        key: (t.status, t.run and (t.run.valid, t.run.test, t.run.reason), curves[key]) for key, t in trials.items()
    }


@pytest.mark.parametrize("way", ["here", "ray"])
def test_one_that_returns_nan_diverges_at_its_first_epoch_and_has_no_row(
    trained: Callable[..., Any], way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "output, state = super().forward(*given)", "nan = float('nan')"
    store, ends, _ = trained(way, *lines, "return output * nan, tuple(part * nan for part in state)")
    assert [(phase, status) for phase, status, _ in ends] == [("search", "diverged")] * 2, "nothing to be retrained"
    assert all(reason.startswith("loss nan, validation ") and "at epoch 1" in reason for _, _, reason in ends)
    capsys.readouterr()
    assert main(["sweep", "status", "own", "--store", store.url]) == 0
    assert "diverged" in capsys.readouterr().out
    assert [row.model for row in read_board(store) if not row.trivial] == ["gru"]


PRINTED = 40_000_000
"""Bytes that are printed before each of 30 steps: more than a gigabyte in all."""


@contextmanager
def largest_folder() -> Iterator[Callable[[], int]]:
    """Give a function that returns how many bytes the files of this process's workers took at most inside the block."""
    over, most = threading.Event(), [0]

    def size(file: Path) -> int:
        try:
            return 0 if file.is_symlink() else file.stat().st_blocks * 512
        except OSError:
            return 0

    def look() -> None:
        while not over.wait(0.1):
            for client in executor._clients:
                with suppress(OSError):  # a folder went while it was walked
                    most[0] = max(most[0], sum(map(size, client.folder.rglob("*"))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield lambda: most[0]
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("way", ["ray", "single"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_one_that_prints_gigabytes_fills_no_disk_and_ends_as_if_it_were_silent(
    trained: Callable[..., Any], way: str, stream: str
) -> None:
    lines = "import sys", f"for _ in range({PRINTED // 2_000_000}):", f"    print('x' * 2_000_000, file=sys.{stream})"
    with largest_folder() as most:
        _, ends, screen = trained(way, *lines)
    assert [(phase, status) for phase, status, _ in ends] == [("search", "ok")] * 2 + [("retrain", "ok")]
    assert "xxx" not in screen.split() and most() < 20_000_000


@pytest.mark.parametrize("way", ["ray", "single"])
def test_one_that_leaks_memory_up_to_a_limit_fails_alone(trained: Callable[..., Any], way: str) -> None:
    # It leaks until it is refused, so that no other allocation (a thread's stack, a tensor) meets the limit first.
    leak = [
        "import psutil, resource",
        "if not globals().get('LEAKED'):",
        "    globals()['LEAKED'], limit = [], psutil.Process().memory_info().vms + 430_000_000",
        "    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))",
        "while True:",
        "    LEAKED.append(bytearray(50_000_000))",
    ]
    _, ends, _ = trained(way, *leak)
    assert [(phase, status) for phase, status, _ in ends] == [("search", "failed")] * 2
    assert all("memory" in reason.lower() for _, _, reason in ends), ends
