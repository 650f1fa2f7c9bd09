"""What runs in a Ray worker: one pack. Imported ahead of the first pack, so that it finds torch and Tune loaded."""

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
    """Train one pack; what it has to say goes through tune.report, marked with a name of this start of it.

    Args:
        config: Which pack, and its job.
        storage, flag: Of the driver's workers.
        driver: The versions that it has; none where it is of this machine.
        plugins: What is brought, as ``Plugin.to_dict``: no node has it.
    """
    from longwave.platform.training.environment import keep_to

    keep_to(config["place"]["cpus"])
    session, key = secrets.token_hex(8), config["pack"]
    gathered = ReportBuffer(lambda report: tune.report({"session": session, "report": report.to_dict()}))
    own = Workers(count=1, storage=to_path(storage), flag=flag)
    pin_plugins(map(Plugin.from_dict, plugins))
    try:
        if driver and (why := why_node_is_unfit({"versions": versions(), "sees": own.marked()}, driver, storage)):
            raise WorkerError(why)
        how = "paused" if own.draining() else train_job(key, Job.from_dict(config["job"].job), gathered, own)
        tune.report({"session": session, "report": gathered.rest().to_dict(), "how": how})
    except WorkerError as refusal:  # raised, Tune would take it for a death and start the worker again
        tune.report({"refusal": str(refusal), "node": ray.get_runtime_context().get_node_id()})
