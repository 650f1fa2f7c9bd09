"""Probe packs on the devices of a cluster, each alone on a device, in a process that ends with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ray

from longwave.platform.records.probe import CPU
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.on_ray.resources import KIND, SOME

LOG = logging.getLogger(__name__)


def probe(
    wanted: Sequence[Mapping[str, Any]], where: Mapping[str, str], plugins: Sequence[Mapping[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the probes, as ``Probe.to_dict`` returns them, in the order of ``wanted``; packs that fail are left out.

    Args:
        wanted: Kinds of devices, each with the configurations of a pack's trials.
        where: Labels of the nodes, as ``label_selector`` returns them.
        plugins: The plugins in use, as ``Plugin.to_dict`` returns them.
    """
    results = [_remote(each["kind"], where).remote(each["kind"], each["configs"], plugins) for each in wanted]
    for result in results:
        try:
            yield {"probe": ray.get(result)}
        except Exception as error:  # whatever the training raises: the pack will report it when it runs
            LOG.warning("A pack could not be probed: %s", error)


def _remote(kind: str, where: Mapping[str, str]) -> Any:
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
    from longwave.platform.training.probe import probe as tried

    keep_to(1)
    pin_plugins(map(Plugin.from_dict, plugins))
    return asdict(tried([TrialConfig.from_dict(config) for config in configs], kind))
