"""Submit sweeps as jobs of a Ray cluster, and follow them. Their drivers run on the cluster."""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longwave.platform.errors import ConfigError, WorkerError, first_line
from longwave.platform.redaction import redacted
from longwave.platform.sweeps.on_ray.client import import_ray
from longwave.platform.sweeps.on_ray.package import lay_out_package

SECONDS = 2.0
"""Interval at which a followed job is polled."""
LIMIT = 500
"""Ray's upper limit for the files of a job, in MiB."""


class JobClient:
    """The jobs of sweeps on a cluster.

    Args:
        address: Address of its dashboard, ``http://HOST:8265``.

    Raises:
        ConfigError: No Ray dashboard answers there, or it needs another token.
    """

    def __init__(self, address: str) -> None:
        import_ray()
        for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
            os.environ.pop(name, None)  # Ray would use them instead of ``address``
        from ray.job_submission import JobSubmissionClient

        for name in ("ray.dashboard.modules.dashboard_sdk", "ray._private.runtime_env.packaging"):
            logging.getLogger(name).setLevel(logging.ERROR)  # they log each upload
        self.address = address
        if not address.startswith(("http://", "https://")):
            raise ConfigError(f"--address is that of Ray's dashboard, http://HOST:8265; got {address!r}.")
        with _one_line_errors(address):
            self._client: Any = JobSubmissionClient(address)

    def submit(
        self,
        file: Path,
        name: str,
        options: Sequence[str],
        ship: Path | None,
        package: bool,
        texts: Mapping[str, str] | None = None,
    ) -> tuple[str, bool]:
        """Start a driver of a sweep on the cluster, unless a submitted one is running.

        Args:
            file: The sweep file.
            name: The sweep's name.
            options: Options of ``sweep run``.
            ship: A folder to ship with it, as in ``lay_out_package``.
            package: Whether to ship this Longwave, too.
            texts: Further files next to the sweep's, by relative path.

        Returns:
            The job's name, and whether it is new.

        Raises:
            ConfigError: It is too large to be sent, or the cluster refuses it.
        """
        jobs = self._of(name)
        if jobs and not jobs[-1].status.is_terminal():
            return str(jobs[-1].submission_id), False
        job = f"longwave-{name}" + (f"-{len(jobs) + 1}" if jobs else "")
        command = ["python", "-m", "longwave", "sweep", "run", f"{name}.toml", "--ray", "auto", *options]
        with tempfile.TemporaryDirectory() as folder, _one_line_errors(self.address):
            lay_out_package(Path(folder), file, name, ship, package, texts)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20
            if size > LIMIT:
                raise ConfigError(
                    f"--ship: {size:.0f} MiB in all; Ray accepts at most {LIMIT} with a job. Copy data to the nodes."
                )
            self._client.submit_job(
                entrypoint=shlex.join(command),
                submission_id=job,
                # Otherwise another node of the same machine would rewrite the folder while the driver imports from it.
                runtime_env={"working_dir": folder, "config": {"eager_install": False}},
                metadata={"sweep": name},
            )
        return job, True

    def find(self, name: str) -> str:
        """Return the newest job of a sweep, or the job of this name.

        Raises:
            ConfigError: There is none.
        """
        if jobs := self._of(name):
            return str(jobs[-1].submission_id)
        job_ids = {str(job.submission_id) for job in self._sent()}
        if name not in job_ids:
            names = ", ".join(sorted(job_ids)) or "none"
            raise ConfigError(
                f"No job or sweep {name!r} was submitted to {redacted(self.address)}. Jobs there: {names}."
            )
        return name

    def follow(self, job: str, show: Callable[[str], None], wait: bool) -> int:
        """Show a job's output, until it ends or only so far, and return its exit status; 0 while it is running.

        Raises:
            WorkerError: The job failed; its last line says why.
        """
        shown = ""
        while True:
            with _one_line_errors(self.address):
                info = self._client.get_job_info(job)
                log = self._client.get_job_logs(job)
            show(log[len(shown) :] if log.startswith(shown) else log)
            shown = log
            if info.status.is_terminal() or not wait:
                break
            time.sleep(SECONDS)
        if info.status == "FAILED":
            last = [line for line in (log or info.message or "").splitlines() if line.strip()] or ["it printed nothing"]
            code = "" if info.driver_exit_code is None else f", exit {info.driver_exit_code}"
            raise WorkerError(f"The job {job} failed{code}: {last[-1].removeprefix('longwave: ')}")
        return 143 if info.status == "STOPPED" else 0

    def _of(self, name: str) -> list[Any]:
        """Return the jobs of a sweep, oldest first."""
        return [job for job in self._sent() if (job.metadata or {}).get("sweep") == name]

    def _sent(self) -> list[Any]:
        with _one_line_errors(self.address):
            jobs = [job for job in self._client.list_jobs() if job.submission_id]
        return sorted(jobs, key=lambda job: job.start_time or 0)


@contextmanager
def _one_line_errors(address: str) -> Iterator[None]:
    """Turn what Ray's client raises inside the block into one line."""
    try:
        yield
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ConfigError(redacted(f"Ray's jobs at {address}: {first_line(error)}")) from None
