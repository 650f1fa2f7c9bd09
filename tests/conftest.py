"""What several test files share: an isolated home, tiny sweeps, real databases, one real Ray."""

from __future__ import annotations

import gc
import io
import itertools
import logging
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: its waiting threads would fight other test processes
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray gives its workers 15: beside other tests they would starve
os.environ.setdefault("RAY_AUTH_MODE", "token")  # read once, by whichever test imports Ray first
# Nowhere, so that tests are not collected for tasks and models of this user's own; each test has a home of its own.
os.environ["LONGWAVE_HOME"] = os.path.join(tempfile.gettempdir(), f"no-longwave-home-{os.getpid()}")

from hypothesis import Phase, settings
from small_sweeps import small

from longwave.platform.plugins.known import forget_plugins
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run.executor import running_workers

settings.register_profile("repeatable", derandomize=True, deadline=None)  # no rule is broken by a busy machine
settings.register_profile("exploring", deadline=None)
settings.register_profile(  # where a test is to fail, the first example that does is enough
    "failing", derandomize=True, deadline=None, phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False
)
settings.load_profile(os.environ.get("LONGWAVE_EXAMPLES", "repeatable"))  # "exploring" draws new examples each time

MEMORY = Path("/dev/shm")
"""A file system in memory, on Linux."""

pytest_plugins = ["tiers", "changed", "time_limit", "pytester"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Never look for garbage among the libraries and the tests themselves: millions of objects that stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of folders that are not there yet; most tests never make theirs."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep each test's data folder and plugins to itself; generated task data stays shared, as it is between users'
    sweeps.
    """
    folder = next(homes)
    monkeypatch.setenv("LONGWAVE_HOME", str(folder))
    for name in ("LONGWAVE_STORE", "MLFLOW_TRACKING_URI", "COLUMNS"):  # xdist says 80
        monkeypatch.delenv(name, raising=False)
    yield folder
    forget_plugins()


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What is logged in the test, as text. pytest's own fixture would cost each test a visit to all loggers."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logging.getLogger().addHandler(handler)
    yield text
    logging.getLogger().removeHandler(handler)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Ray that another test started takes the place of one of the test's own, or of simulated workers."""
    monkeypatch.setattr("longwave.platform.sweeps.run.executor._clients", [])


@pytest.fixture
def unlimited_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """``longwave doctor`` waits for all its checks: an unfinished one would end the process of the test."""
    monkeypatch.setattr("longwave.platform.doctor.SECONDS", 300.0)


@pytest.fixture
def tiny() -> Callable[..., SweepFile]:
    """Return a maker of sweeps of 8 search trials and 4 retrainings that take seconds: ``tiny(trials=2)``."""
    return small


@pytest.fixture
def here(tmp_path: Path) -> Workers:
    """Workers that train in this process."""
    return Workers(count=1, storage=tmp_path / "storage", here=True)


@pytest.fixture
def open_store() -> Iterator[Callable[[str], Store]]:
    """Open stores that are closed after the test."""
    opened: list[Store] = []

    def open_one(url: str) -> Store:
        opened.append(Store(url))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store. Most tests need one: a copy takes a hundredth of the time of making it."""
    file = tmp_path_factory.mktemp("made") / "store.db"
    Store(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def store(made: Path, tmp_path: Path, open_store: Callable[[str], Store]) -> Store:
    """An empty SQLite store."""
    return open_store(f"sqlite:///{shutil.copy(made, tmp_path / 'store.db')}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Callable[[], str]]:
    """A real PostgreSQL server; calling it makes an empty database and returns its URL.

    It lives outside pytest's own folder: every start of a pytest, a test's own among them, closes that folder to
    other users, and a server that root starts runs as another user. It is in memory where the system allows: each
    database has 300 files, and a disk takes half a minute to delete those of all tests.
    """
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4e9
    with tempfile.TemporaryDirectory(prefix="longwave-postgres-", dir=MEMORY if in_memory else None) as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver = pytest.importorskip("pgserver", reason="pgserver has no wheel for this Python")
            server = pgserver.get_server(folder)
        server.psql("ALTER SYSTEM SET fsync = off;")  # to make a database takes half as long; no test cuts the power
        server.psql("SELECT pg_reload_conf();")
        count = 0

        def database() -> str:
            nonlocal count
            count += 1
            server.psql(f"CREATE DATABASE test{count};")
            return str(server.get_uri(database=f"test{count}"))

        yield database
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, once of each kind Longwave supports."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/any.db"
    url: str = request.getfixturevalue("postgres")()
    return url


@pytest.fixture(scope="session")
def ray_on_two_cores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One real local Ray with two cores for all tests that need one."""
    with running_workers(Workers(count=2, storage=tmp_path_factory.mktemp("ray"))):
        yield


@pytest.fixture
def longwave(home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real command in a process of its own: ``longwave("sweep", "plan", file)``."""
    import sys

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "longwave", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return run
