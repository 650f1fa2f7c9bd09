"""Train or probe a pack in a Ray worker, which imports this module ahead of its first pack and so has torch loaded."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ray
from ray import tune

from longwave.platform.errors import WorkerError
from longwave.platform.paths import to_path
from longwave.platform.plugins.known import pin_plugins
from longwave.platform.plugins.plugin import Plugin
from longwave.platform.processes import discard_output
from longwave.platform.records.probe import CPU
from longwave.platform.records.trial import TrialConfig
from longwave.platform.redaction import make_logger
from longwave.platform.sweeps.on_ray.messages import ReportBuffer
from longwave.platform.sweeps.on_ray.nodes import KIND, SOME
from longwave.platform.sweeps.on_ray.versions import versions, why_node_is_unfit
from longwave.platform.sweeps.place.workers import Job, Workers, train_job


def train_pack(
    config: Mapping[str, Any],
    storage: str,
    flag: str,
    driver: Mapping[str, str],
    plugins: Sequence[Mapping[str, Any]],
    stalls: Mapping[str, Any],
) -> None:
    """Train one pack; its reports go through tune.report, marked with a new session.

    Args:
        config: The pack's key, slot and job.
        storage, flag: Of the driver's workers.
        driver: The driver's versions; empty if it runs on this machine.
        plugins: The plugins in use, as ``Plugin.to_dict`` returns them: no node has them.
        stalls: ``stall`` and ``stall_kill`` of the driver's workers.
    """
    from longwave.platform.training.environment import keep_to

    keep_to(config["slot"]["cpus"])
    if not driver:  # on a cluster Ray's long-lived processes keep and limit the output
        discard_output()
    session, key = secrets.token_hex(8), config["pack"]
    buffer = ReportBuffer(lambda report: tune.report({"session": session, "report": report.to_dict()}))
    workers = Workers(count=1, storage=to_path(storage), flag=flag, **stalls)
    pin_plugins(map(Plugin.from_dict, plugins))
    try:
        if driver and (
            why := why_node_is_unfit({"versions": versions(), "sees": workers.sees_mark()}, driver, storage)
        ):
            raise WorkerError(why)
        how = "paused" if workers.draining() else train_job(key, Job.from_dict(config["job"].job), buffer, workers)
        tune.report({"session": session, "report": buffer.take_unsent().to_dict(), "how": how})
    except WorkerError as refusal:  # not raised: Tune would treat it as a death and restart the worker
        tune.report({"refusal": str(refusal), "node": ray.get_runtime_context().get_node_id()})


LOG = make_logger(__name__)


def probe_packs(
    packs: Sequence[Mapping[str, Any]], where: Mapping[str, str], plugins: Sequence[Mapping[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the probes, as ``Probe.to_dict`` returns them, in the order of ``packs``; packs that fail are left out.

    Args:
        packs: Kinds of devices, each with the configurations of a pack's trials.
        where: Labels of the nodes, as ``label_selector`` returns them.
        plugins: The plugins in use, as ``Plugin.to_dict`` returns them.
    """
    results = [_remote_probe(pack["kind"], where).remote(pack["kind"], pack["configs"], plugins) for pack in packs]
    for result in results:
        try:
            yield {"probe": ray.get(result)}
        except Exception as error:  # whatever the training raises: the pack will report it when it runs
            LOG.warning("A pack could not be probed: %s", error)


def _remote_probe(kind: str, where: Mapping[str, str]) -> Any:
    options: dict[str, Any] = {"num_cpus": int(kind == CPU), "num_gpus": int(kind != CPU), "max_calls": 1}
    options["resources"] = {} if kind in (CPU, "GPU") else {f"{KIND}{kind}": SOME}
    remote: Any = ray.remote
    return remote(**options, **({"label_selector": dict(where)} if where else {}))(_probe_pack)


def _probe_pack(
    kind: str, configs: Sequence[Mapping[str, Any]], plugins: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    from dataclasses import asdict

    from longwave.platform.plugins.known import pin_plugins
    from longwave.platform.plugins.plugin import Plugin
    from longwave.platform.training.environment import keep_to
    from longwave.platform.training.probe import probe as probe_configs

    keep_to(1)
    pin_plugins(map(Plugin.from_dict, plugins))
    return asdict(probe_configs([TrialConfig.from_dict(config) for config in configs], kind))
