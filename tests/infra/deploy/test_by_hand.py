"""The services of the compose file, started by the lines of its page, and a sweep on them."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from deployed import DEPLOY, TINY, blocks, listens, own_environment, started
from prometheus_client.parser import text_string_to_metric_families
from waiting import free_port, wait_until

SERVICES = {"MLflow": ("127.0.0.1", "5000"), "The Lab": ("127.0.0.1", "8501"), "The head": ("127.0.0.2", "6379")}


@pytest.fixture
def own_folder() -> Iterator[str]:
    """A folder with a short path: Ray's sockets lie there."""
    with tempfile.TemporaryDirectory(prefix="lw-", ignore_cleanup_errors=True) as folder:
        yield folder


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """A PostgreSQL server that runs, as libpq's variables, with the server's own programs at hand."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="longwave-postgres-") as folder:
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pgserver", reason="pgserver has no wheel for this Python")
        server = pgserver.get_server(folder)
        programs = Path(pgserver.__file__).parent / "pginstall/bin"
        own = own_environment(PGHOST=folder, PGUSER="postgres")
        yield {**own, "PATH": f"{own['PATH']}:{programs}"}
        server.cleanup()


def look(port: str, seen: dict[str, float]) -> None:
    """Read the largest numbers that a driver has shown, while it shows some."""
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        for family in text_string_to_metric_families(answer.read().decode()):
            seen |= {sample.name: max(sample.value, seen.get(sample.name, 0.0)) for sample in family.samples}


@pytest.mark.slow  # five services and a driver start: some minutes on a busy machine
def test_the_pages_lines_start_all_services_and_a_sweep_runs_on_them(
    tmp_path: Path, database: dict[str, str], own_folder: str
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    ports = {port: str(free_port()) for port in ("5000", "8501", "6379", "9464", "8265")}
    page = (DEPLOY / "docker/README.md").read_text()
    for given, here in ports.items():
        page = page.replace(given, here)
    page = page.replace("longwave dashboard\n", f"longwave dashboard --port {ports['8501']}\n")
    page = page.replace("/tmp/longwave-ray", own_folder)
    page = page.replace(". .venv/bin/activate\n", "").replace("infra/sweeps/demo.toml", "tiny.toml")
    lines = blocks(page)
    first = lines["In each terminal first"]
    subprocess.run(["bash", "-euc", first + lines["Once"]], cwd=tmp_path, env=database, check=True)
    with ExitStack() as stack:
        for name, (address, port) in SERVICES.items():
            stack.enter_context(started(first + lines[name], tmp_path, tmp_path / f"{name}.log", database))
            if name == "The head":
                wait_until(lambda address=address, port=port: listens(address, int(ports[port])))  # type: ignore[misc]
        stack.enter_context(started(first + lines["A worker"], tmp_path, tmp_path / "worker.log", database))
        for port, path in (("5000", "health"), ("8501", "_stcore/health")):
            wait_until(lambda port=port: listens("127.0.0.1", int(ports[port])))  # type: ignore[misc]
            with urlopen(f"http://127.0.0.1:{ports[port]}/{path}", timeout=60) as answer:
                assert answer.status == 200
        shown: dict[str, float] = {}
        with started(first + lines["Then a sweep"], tmp_path, tmp_path / "sweep.log", database) as sweep:
            while sweep.poll() is None:
                look(ports["9464"], shown)
                time.sleep(0.1)
            log = (tmp_path / "sweep.log").read_text()
            assert sweep.returncode == 0 and "6 of 6 trials done (6 ok)" in log, log
        assert shown["longwave_epochs_total"] > 0 and shown["longwave_packs_running"] >= 1, shown
        assert _runs_at(ports["5000"]) == 1 + 1 + 6  # the sweep, its cell, their trials
        job = first + lines["Or as a job"].replace("logs demo", "logs tiny")
        with started(job, tmp_path, tmp_path / "job.log", database) as sweep:
            sweep.wait(400)
            log = (tmp_path / "job.log").read_text()
            assert sweep.returncode == 0 and "longwave-tiny: submitted." in log and "6 of 6 trials done" in log, log


def _runs_at(port: str) -> int:
    """Return how many runs an MLflow server has."""
    query = json.dumps({"experiment_ids": [str(k) for k in range(5)], "max_results": 100}).encode()
    request = Request(
        f"http://127.0.0.1:{port}/api/2.0/mlflow/runs/search", query, {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=60) as answer:
        return len(json.load(answer).get("runs", []))
