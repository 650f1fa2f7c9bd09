"""A sweep sent to a Ray cluster as a job: what goes along, that it is sent once, and how its end comes back."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
from deployed import TINY, listens, own_environment, started
from waiting import free_port, wait_until

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.sweeps.on_ray.package import lay_out_package
from longwave.platform.sweeps.on_ray.submission import JobClient
from longwave.platform.sweeps.on_ray.versions import versions

LOOK = """
import json, sys, importlib.metadata, longwave, longwave.models.lem
from longwave.platform.sweeps.on_ray.versions import versions
from longwave.platform.registry import all_models
from longwave.tasks.base.raw import SHIPPED
print(json.dumps({"version": importlib.metadata.version("longwave"), "file": longwave.models.lem.__file__,
                  "versions": dict(versions()), "mine": "mine" in all_models(), "raw": (SHIPPED / "own/x").exists()}))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.toml"
    path.write_text(TINY)
    return path


@pytest.fixture
def ship(tmp_path: Path) -> Path:
    """A folder with a model, a file of a data set, and another file."""
    from longwave.models import lem

    folder, source = tmp_path / "ship", Path(lem.__file__).read_text()
    for name, content in {
        "models/mine.py": source.replace('name="lem"', 'name="mine"'), "raw/own/x": "data", "notes/a.txt": "a",
        "models/__pycache__/mine.pyc": "old",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


class Status(str):
    def is_terminal(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("logs", "message", "last"),
    [("one\nlongwave: two\n \n", "three", "two"), ("", "three\nfour", "four"), ("", None, "it printed nothing")],
)
def test_a_job_that_failed_says_why_in_its_last_line(logs: str, message: str | None, last: str) -> None:
    jobs, shown = object.__new__(JobClient), list[str]()
    info = SimpleNamespace(status=Status("FAILED"), message=message, driver_exit_code=3)
    jobs.address = "http://here:8265"
    jobs._client = SimpleNamespace(get_job_info=lambda job: info, get_job_logs=lambda job: logs)
    with pytest.raises(WorkerError, match=f"^The job a failed, exit 3: {last}$"):
        jobs.follow("a", shown.append, wait=True)
    assert shown == [logs]


@pytest.mark.integration
def test_what_a_job_gets_is_this_longwave_with_what_is_shipped_and_is_imported_from_there(
    tmp_path: Path, file: Path, ship: Path
) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    lay_out_package(folder, file, "tiny", ship)
    assert {path.name for path in folder.iterdir()} >= {"longwave", "tiny.toml", "notes"}
    assert not list(folder.rglob("__pycache__")) and (folder / "tiny.toml").read_text() == TINY
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=folder, env=own_environment(PYTHONPATH=str(folder)),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    actual = json.loads(done.stdout)
    assert actual.pop("file") == str(folder / "longwave/models/lem.py") and actual["mine"] and actual["raw"]
    theirs, ours = actual["versions"], {**versions()}
    assert theirs.pop("Longwave") != ours.pop("Longwave") and theirs == ours, "a model more is another source"


def test_a_job_that_uses_the_clusters_longwave_gets_none(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    lay_out_package(folder, file, "tiny", None, package=False)
    assert [path.name for path in folder.iterdir()] == ["tiny.toml"]


@pytest.mark.parametrize("name", ["models/lem.py", "longwave/x.py", "tiny.toml"])
def test_nothing_that_is_shipped_takes_the_place_of_longwaves_own(name: str, tmp_path: Path, file: Path) -> None:
    (tmp_path / "ship" / name).parent.mkdir(parents=True)
    (tmp_path / "ship" / name).write_text("")
    (tmp_path / "job").mkdir()
    with pytest.raises(ConfigError, match="Rename it"):
        lay_out_package(tmp_path / "job", file, "tiny", tmp_path / "ship")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--address", "http://127.0.0.1:9"], "Ray's jobs at http://127.0.0.1:9: Failed to connect"),
        (["--address", "127.0.0.1:6379"], "--address is that of Ray's dashboard, http://HOST:8265"),
        (["--address", "http://127.0.0.1:9", "--ray", "auto"], "leave out --ray"),
        (["--address", "http://127.0.0.1:9", "--here"], "leave out --here"),
        (["--address", "http://127.0.0.1:9", "--workrs", "2"], "No such option: --workrs"),
        (
            ["--address", "http://127.0.0.1:9", "--workers", "0"],
            "--workers must be 1 to 1,000,000 packs at a time, got 0.",
        ),
        (["--address", "http://127.0.0.1:9", "--ship", "no/folder"], "--ship must be a folder, got no/folder"),
        (
            ["--address", "http://127.0.0.1:9", "--store", "postgresql://a:secret@h/x"],
            "postgresql://***@h/x contains a password",
        ),
        (["--address", "http://127.0.0.1:9", "--mlflow", "http://a:secret@h"], "http://***@h contains a password"),
    ],
)
def test_what_cannot_be_sent_is_told_in_a_line_before_anything_is(
    arguments: list[str], line: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray.job_submission", reason="ray[default] is an extra")
    assert main(["sweep", "submit", str(file), *arguments]) == 2
    output = capsys.readouterr().err
    assert line in output and len(output.splitlines()) == 1 and "secret" not in output


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The address of the dashboard of a head and one node that works, as ``ray start`` starts them, with a token."""
    if importlib.util.find_spec("aiohttp_cors") is None:
        pytest.skip("ray[default] is an extra")
    (tmp_path / "token").write_text("0" * 40)
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token"), "MLFLOW_TRACKING_URI": "off"}
    env = own_environment(LONGWAVE_HOME=str(tmp_path / "there"), RAY_USAGE_STATS_ENABLED="0", **own)
    port, dashboard = free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="lw-", ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        head = f"--head --node-ip-address=127.0.0.2 --port={port} --num-cpus=0 --temp-dir={folder}"
        requested = f"--dashboard-host=127.0.0.2 --dashboard-port={dashboard}"
        node = f"ray start --block --address=127.0.0.2:{port} --num-cpus=2"
        for name, line in {"head": f"ray start --block {head} {requested}", "node": node}.items():
            stack.enter_context(started(line, tmp_path, tmp_path / f"{name}.log", env))
            wait_until(lambda: listens("127.0.0.2", port) and listens("127.0.0.2", dashboard))
        yield f"http://127.0.0.2:{dashboard}", env


@pytest.mark.slow  # a head, a node and three jobs
def test_a_sweep_is_sent_once_runs_with_what_was_shipped_and_its_end_comes_back(
    tmp_path: Path, cluster: tuple[str, Mapping[str, str]], ship: Path
) -> None:
    address, env = cluster
    (tmp_path / "mine.toml").write_text(TINY.replace('"lem"', '"mine"'))

    def say(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "longwave", "sweep", *words, "--address", address]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400)

    sent = ["submit", "mine.toml", "--ship", "ship", "--workers", "2", "--cpus", "0.5"]
    first, second = say(*sent), say(*sent)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.startswith("longwave-tiny: submitted.")
    assert second.stdout.startswith("longwave-tiny: already running.")
    done = say("logs", "tiny", "--follow")
    assert done.returncode == 0 and "6 of 6 trials done (6 ok)" in done.stdout, done.stdout + done.stderr
    assert "Error" not in done.stderr and say("logs", "longwave-tiny").stdout == done.stdout
    without = say("submit", "mine.toml", "--installed", "--wait", "--store", f"sqlite:///{tmp_path}/other.db")
    assert without.returncode == 2 and len(without.stderr.splitlines()) == 1
    assert "longwave: The job longwave-tiny-2 failed, exit 2: No model 'mine'." in without.stderr
    unknown = say("logs", "nothing")
    assert unknown.returncode == 2 and "Jobs there: longwave-tiny, longwave-tiny-2." in unknown.stderr


def test_jobs_come_oldest_first_and_one_that_has_not_begun_before_them() -> None:
    jobs = [
        SimpleNamespace(submission_id=f"j{k}", start_time=start, metadata={}) for k, start in enumerate((30, None, 10))
    ]
    client = JobClient.__new__(JobClient)
    client.address, client._client = "http://127.0.0.1:9", SimpleNamespace(list_jobs=lambda: jobs)  # type: ignore[assignment]
    assert [job.submission_id for job in client._sent()] == ["j1", "j2", "j0"]
