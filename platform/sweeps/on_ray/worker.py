"""What runs in a Ray worker: one pack. Imported ahead of the first pack, so that it finds torch and Tune loaded."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray import tune

from longwave.platform.errors import WorkerError
from longwave.platform.records.report import Report
from longwave.platform.sweeps.workers import Job, Workers, train_job

REPORT_SECONDS = 1.0
"""A worker gathers points this long before it sends them; all else is sent at once."""


def work(config: Mapping[str, Any], jobs: Mapping[str, dict[str, Any]], storage: str, flag: str) -> None:
    """Train one pack; what it has to say goes through tune.report, marked with a name of this start of it."""
    session, key = secrets.token_hex(8), config["pack"]
    waiting, last = Report(), time.monotonic()

    def emit(report: Report) -> None:
        nonlocal waiting, last
        waiting += report
        if report.runs or report.rungs or report.began or time.monotonic() - last > REPORT_SECONDS:
            tune.report({"session": session, "report": waiting.to_dict()})
            waiting, last = Report(), time.monotonic()

    own = Workers(count=1, storage=Path(storage), flag=flag)
    try:
        how = "paused" if own.draining() else train_job(key, Job.from_dict(jobs[key]), emit, own)
        tune.report({"session": session, "report": waiting.to_dict(), "how": how})
    except WorkerError as refusal:  # raised, Tune would take it for a death and start the worker again
        tune.report({"refusal": str(refusal)})
