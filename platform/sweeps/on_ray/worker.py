"""Train a pack in a Ray worker. Workers import this module ahead of their first pack, which then finds torch loaded."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray import tune

from longwave.platform.errors import WorkerError
from longwave.platform.paths import to_path
from longwave.platform.plugins.known import pin_plugins
from longwave.platform.plugins.plugin import Plugin
from longwave.platform.sweeps.on_ray.report_buffer import ReportBuffer
from longwave.platform.sweeps.on_ray.versions import versions, why_node_is_unfit
from longwave.platform.sweeps.place.workers import Job, Workers, train_job


def train_pack(
    config: Mapping[str, Any],
    storage: str,
    flag: str,
    driver: Mapping[str, str],
    plugins: Sequence[Mapping[str, Any]],
) -> None:
    """Train one pack; its reports go through tune.report, marked with a new session.

    Args:
        config: The pack's key, slot and job.
        storage, flag: Of the driver's workers.
        driver: The driver's versions; empty if it runs on this machine.
        plugins: The plugins in use, as ``Plugin.to_dict`` returns them: no node has them.
    """
    from longwave.platform.training.environment import keep_to

    keep_to(config["slot"]["cpus"])
    session, key = secrets.token_hex(8), config["pack"]
    buffer = ReportBuffer(lambda report: tune.report({"session": session, "report": report.to_dict()}))
    workers = Workers(count=1, storage=to_path(storage), flag=flag)
    pin_plugins(map(Plugin.from_dict, plugins))
    try:
        if driver and (
            why := why_node_is_unfit({"versions": versions(), "sees": workers.sees_mark()}, driver, storage)
        ):
            raise WorkerError(why)
        how = "paused" if workers.draining() else train_job(key, Job.from_dict(config["job"].job), buffer, workers)
        tune.report({"session": session, "report": buffer.rest().to_dict(), "how": how})
    except WorkerError as refusal:  # not raised: Tune would take it for a death and restart the worker
        tune.report({"refusal": str(refusal), "node": ray.get_runtime_context().get_node_id()})
