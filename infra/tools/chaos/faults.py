"""Faults to inject. Each episode disturbs one sweep several times, lets it finish, and returns its final state."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from ray_nodes import LOOPBACK, Nodes

from chaos.audit import FinalState, TrialRecord
from chaos.sweep import ENV, LOOK, Running, kill_process
from longwave.platform.storage.store import Store
from longwave.platform.training.journal import VARIABLE

WAYS = {"here": ("--here", "--workers", "2"), "ray": ("--workers", "2")}
Fault = Callable[["Setup", Path, random.Random, int], tuple[int, FinalState]]
"""Disturbs a sweep in a folder, up to a number of times; returns the number of faults, and the final state."""


class Impossible(Exception):
    """The fault is not possible on this machine."""


@dataclass(frozen=True)
class Setup:
    """Shared settings of all episodes.

    Attributes:
        file: The sweep.
        expected: Results of an undisturbed run.
        ways: Ways to run a sweep, used in turn.
        blank: An empty MLflow file.
        soon: Largest delay of a fault after its share of the work is done, in seconds.
    """

    file: Path
    expected: Mapping[str, TrialRecord]
    ways: Sequence[str] = ("ray", "here")
    blank: Path | None = None
    soon: float = 4.0

    def sweep(self, folder: Path, way: str, **more: Any) -> Running:
        """Return a sweep that has not begun."""
        epochs = sum(len(record.curve) for record in self.expected.values())
        return Running(folder, self.file, WAYS[way], blank=self.blank, epochs=epochs, **more)

    def moments(self, draw: random.Random, max_faults: int) -> list[tuple[float, float]]:
        """Return the times of faults: after which share of a sweep's epochs, in order, and with which delay in seconds.

        Shares are uniform; some are equal, so that faults also occur while a sweep restarts.
        """
        shares = [draw.uniform(0, 0.95) for _ in range((max_faults + 1) // 2)]
        return [(share, draw.uniform(0, self.soon)) for share in sorted(draw.choices(shares, k=max_faults))]


def no_fault(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Run on Ray without faults, to show that the harness itself disturbs nothing."""
    sweep = setup.sweep(folder, "ray")
    sweep.finish()
    return 0, sweep.final_state(setup.expected)


def driver_kills(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Kill -9 drivers."""
    sweep, faults = setup.sweep(folder, draw.choice(setup.ways)), 0
    for moment in setup.moments(draw, max_faults):
        driver = sweep.start()
        if sweep.over_at(driver, *moment):
            return faults, sweep.final_state(setup.expected)
        sweep.processes()
        kill_process(driver)
        faults += 1
    sweep.finish()
    return faults, sweep.final_state(setup.expected)


def worker_kills(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Kill -9 Ray workers in training; the next only after another has trained, as three in a row fail a pack."""
    sweep, faults = setup.sweep(folder, "ray"), 0
    driver = sweep.start()
    for moment in setup.moments(draw, max_faults):
        trained = sweep.sessions() if faults else None
        if sweep.over_before(driver, lambda: sweep.sessions() != trained):  # noqa: B023
            break
        if sweep.over_at(driver, *moment) or sweep.over_before(driver, sweep.workers):
            break
        if workers := sweep.workers():
            kill_process(draw.choice(workers))
            faults += 1
    sweep.finish(driver)
    return faults, sweep.final_state(setup.expected)


def node_kills(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Kill -9 all processes of the working node, one of two in a real cluster."""
    faults, env = 0, {**ENV, VARIABLE: str(folder / "journal")}
    with Nodes(env) as nodes:
        sweep = setup.sweep(folder, "ray", env=LOOPBACK)
        sweep.options = ("--ray", nodes.address, "--workers", "1")
        driver = sweep.start()
        for moment in setup.moments(draw, max_faults):
            if sweep.over_at(driver, *moment) or sweep.over_before(driver, nodes.busy):
                break
            nodes.lose()
            faults += 1
        sweep.finish(driver)
    return faults, sweep.final_state(setup.expected)


def corrupt_checkpoints(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Flip bits of checkpoints, or truncate them, between the end of a driver and its next start."""
    sweep, faults = setup.sweep(folder, draw.choice(setup.ways)), 0
    for moment in setup.moments(draw, max_faults):
        driver = sweep.start()
        if sweep.over_at(driver, *moment):
            return faults, sweep.final_state(setup.expected)
        driver.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM]))
        sweep.ended(driver, 60, (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM))
        sweep.quiet()
        for file in sorted((sweep.storage or folder).rglob("*.safetensors")):
            if draw.random() < 0.7 and faults < max_faults:
                damage_file(file, draw)
                faults += 1
        if faults == max_faults:
            break
    sweep.finish()
    return faults, sweep.final_state(setup.expected)


def damage_file(file: Path, draw: random.Random) -> None:
    """Flip 1 to 64 bits of a file, or truncate it."""
    content = bytearray(file.read_bytes())
    if draw.random() < 0.1:
        file.write_bytes(content[: draw.randrange(len(content))])
        return
    for bit in draw.sample(range(8 * len(content)), draw.choice([1, 2, 8, 64])):
        content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)


def database_restarts(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Kill -9 the postmaster of a PostgreSQL server, and start it again within two seconds."""
    way = draw.choice(setup.ways)
    with _server_process() as server:
        url = server.get_uri()
        Store(url).close()
        sweep = setup.sweep(folder, way, url=url)
        return _disturb(sweep, setup, draw, max_faults, lambda: _restart_server(server, draw.uniform(0, 2)))


def _disturb(
    sweep: Running, setup: Setup, draw: random.Random, max_faults: int, fault: Callable[[], object]
) -> tuple[int, FinalState]:
    """Run a sweep with a fault at each of its moments, until it is over."""
    driver, faults = sweep.start(), 0
    for moment in setup.moments(draw, max_faults):
        if sweep.over_at(driver, *moment):
            break
        fault()
        faults += 1
    sweep.finish(driver)
    return faults, sweep.final_state(setup.expected)


def _restart_server(server: Any, seconds: float) -> None:
    kill_process(psutil.Process(server.get_pid()))
    time.sleep(seconds)
    server.ensure_postgres_running()


@contextmanager
def _server_process() -> Iterator[Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pgserver
    except ImportError:
        raise Impossible("pgserver has no wheel for this Python") from None
    with tempfile.TemporaryDirectory(prefix="longwave-postgres-", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder)
        try:
            yield server
        finally:
            server.cleanup()


def full_disks(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Fill the disk of the store or of the checkpoints, and free it again within three seconds."""
    way, disk = draw.choice(setup.ways), folder / "disk"
    with _small_disk(disk):
        holds = draw.choice([{"url": f"sqlite:///{disk / 'store.db'}"}, {"storage": disk / "storage"}])
        sweep = setup.sweep(folder, way, **holds)
        return _disturb(sweep, setup, draw, max_faults, lambda: _fill_disk(disk, draw.uniform(0.5, 3)))


def one_of_each(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Disturb one sweep on a cluster by each kind of fault possible on this machine, in random order."""
    faults, disk, env = 0, folder / "disk", {**ENV, VARIABLE: str(folder / "journal")}
    with ExitStack() as stack:
        server, small = (_where_possible(stack, context) for context in (_server_process(), _small_disk(disk)))
        url = server.get_uri() if server else ""
        Store(url).close() if url else None
        with Nodes(env) as nodes:
            sweep = setup.sweep(folder, "ray", env=LOOPBACK, url=url, storage=disk / "storage")
            sweep.options = ("--ray", nodes.address, "--workers", "1")
            driver = sweep.start()
            kinds: list[Callable[[], Any]] = [
                nodes.lose, lambda: kill_process(sweep.workers()[0]), lambda: _begin_anew(sweep, driver, draw),
                *[lambda: _restart_server(server, 1.0)] * bool(server), *[lambda: _fill_disk(disk, 1.0)] * bool(small),
            ]  # fmt: skip
            for k, fault in enumerate(draw.sample(kinds, len(kinds))):
                if sweep.over_at(driver, k / 10, draw.uniform(0, setup.soon)):
                    break
                if sweep.over_before(driver, lambda: nodes.busy() and [*disk.rglob("*.safetensors")]):
                    break
                driver = fault() or driver
                faults += 1
            sweep.finish(driver)
        return faults, sweep.final_state(setup.expected)


def _where_possible(stack: ExitStack, context: AbstractContextManager[Any]) -> Any:
    try:
        return stack.enter_context(context)
    except Impossible:
        return None


def _begin_anew(sweep: Running, driver: subprocess.Popen[bytes], draw: random.Random) -> subprocess.Popen[bytes]:
    """Kill a driver, damage all checkpoints when nothing writes them any more, and start the next driver."""
    kill_process(driver)
    while sweep.workers():
        time.sleep(LOOK)
    for file in sorted((sweep.storage or sweep.folder).rglob("*.safetensors")):
        damage_file(file, draw)
    return sweep.start()


def _fill_disk(disk: Path, seconds: float) -> None:
    fill_file(disk / "other")
    time.sleep(seconds)
    (disk / "other").unlink()


def fill_file(file: Path) -> None:
    """Write a file until its disk is full."""
    with file.open("wb", buffering=0) as other:
        try:
            while True:
                other.write(bytes(max(1, min(shutil.disk_usage(file).free, 1 << 20))))
        except OSError:
            return


@contextmanager
def _small_disk(disk: Path) -> Iterator[Path]:
    disk.mkdir(parents=True)
    size = ["-t", "tmpfs", "-o", "size=8m", "tmpfs"]
    if os.name != "posix" or subprocess.run(["mount", *size, disk], capture_output=True).returncode:
        raise Impossible("only root may mount a small disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
