"""The nodes of a cluster: their devices, what a pack requests, and which nodes get packs, or why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import ray
from ray import tune
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from longwave.platform.redaction import redacted
from longwave.platform.sweeps.on_ray.versions import versions, why_node_is_unfit
from longwave.platform.sweeps.place.devices import ClusterNode, Slot
from longwave.platform.sweeps.place.workers import WORD, Workers

NODE = "ray.io/node-id"
"""Ray's own label of each node."""
KIND = "accelerator_type:"
"""Prefix of the resource by which Ray names a node's kind of GPU."""
SOME = 0.001
"""Amount that a pack takes of that resource: it selects the node, and never runs out."""


def living_nodes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the living nodes whose labels meet the conditions, as Ray describes them."""
    nodes: Any = ray.nodes()  # type: ignore[no-untyped-call]
    return [
        n
        for n in nodes
        if n["Alive"] and all(matches_label(condition, n["Labels"].get(name)) for name, condition in labels.items())
    ]


def usable_nodes_of(labels: Mapping[str, str], unfit: Collection[str] = ()) -> list[ClusterNode]:
    """Return the nodes whose labels meet the conditions, without those that are ``unfit``."""
    return [to_node(node) for node in living_nodes(labels) if node["NodeID"] not in unfit]


def to_node(node: Mapping[str, Any]) -> ClusterNode:
    """Return a node from Ray's description of it."""
    resources: Mapping[str, float] = node["Resources"]
    kinds = sorted(name.removeprefix(KIND) for name in resources if name.startswith(KIND))
    gpus = int(resources.get("GPU", 0))
    return ClusterNode(resources.get("CPU", 0.0), gpus, (kinds[0] if kinds else "GPU") if gpus else ClusterNode(0).kind)


def resources_of_slot(slot: Slot, several: bool) -> dict[str, float]:
    """Return the resources that a pack requests from Ray.

    Args:
        slot: Slot of the pack.
        several: Whether there are several kinds of GPUs, so that the pack names its own.
    """
    resources = {"CPU": slot.cpus, "GPU": slot.gpus, f"{KIND}{slot.kind}": SOME if several and slot.gpus else 0.0}
    return {name: amount for name, amount in resources.items() if amount}


def placement_of_pack(several: bool, labels: Mapping[str, str]) -> Any:
    """Return a function by which Tune gets the resources of a pack from its configuration."""

    def factory(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
        where = label_selector(labels, config["unfit"])
        more: dict[str, Any] = {"bundle_label_selector": [where]} if where else {}
        return tune.PlacementGroupFactory([resources_of_slot(Slot(**config["slot"]), several)], **more)

    return factory


def label_selector(labels: Mapping[str, str], unfit: Collection[str]) -> dict[str, str]:
    """Return Ray's selector of nodes that meet the conditions and are not ``unfit``."""
    return {**labels, **({NODE: f"!in({','.join(unfit)})"} if unfit else {})}


def matches_label(condition: str, label: str | None) -> bool:
    """Return whether a node's label meets a condition: ``a``, ``!a``, ``in(a,b)`` or ``!in(a,b)``, as Ray reads it."""
    words = [match[0] for match in re.finditer(WORD, condition.removeprefix("!").removeprefix("in("))]
    return (label in words) != condition.startswith("!")


ASK_SECONDS = 60.0
"""Seconds for a node to report its versions. A node that does not answer gets packs, which check them again."""


class NodeChecks:
    """Checks the nodes of a cluster; those of the driver's own Ray need no check.

    Args:
        workers: The driver's workers, as the scheduler has them.
        refusals: Why a node gets no packs, by its id; empty for one that gets some. Results are added here.
        send: Sends an event.
    """

    def __init__(self, workers: Workers, refusals: dict[str, str], send: Callable[[dict[str, Any]], None]) -> None:
        self.workers, self.refusals, self.send = workers, refusals, send

    def kinds(self) -> set[str]:
        """Return the kinds of devices of the nodes that get packs."""
        return {m.kind for m in usable_nodes_of(self.workers.labels, unfit_nodes(self.refusals))}

    def check_new_nodes(self) -> bool:
        """Ask each new node for its versions; return whether one of them is unfit."""
        if self.workers.address is None:
            return False
        candidates = self._candidate_nodes()
        if self.workers.asks_for_nodes and not candidates:
            request = f"{self.workers.gpus:g} GPUs" if self.workers.gpus else f"{self.workers.cpus:g} CPUs"
            requests = ", ".join(
                [request, *(f"the label {name}={value}" for name, value in self.workers.labels.items())]
            )
            self.send({"event": "notice", "line": f"no node offers {requests} yet; packs are waiting for one"})
        new_nodes = [n["NodeID"] for n in candidates if n["NodeID"] not in self.refusals]
        pending = {_ask_node(node, str(self.workers.storage), self.workers.flag): node for node in new_nodes}
        answers = ray.wait([*pending], num_returns=len(pending), timeout=ASK_SECONDS)[0] if pending else []
        any_unfit = False
        for answer in answers:
            try:
                why = why_node_is_unfit(ray.get(answer), versions(), str(self.workers.storage))
            except ray.exceptions.RayError:
                continue  # the node is gone, or failed to answer
            self.refuse_node(pending[answer], why) if why else self.refusals.setdefault(pending[answer], "")
            any_unfit = any_unfit or bool(why)
        return any_unfit

    def refuse_node(self, node: str, why: str) -> None:
        """Give a node no more packs, and say why; if no node is left, report Ray as lost."""
        if self.refusals.get(node):
            return
        self.refusals[node] = why
        names = {n["NodeID"]: n["NodeManagerHostname"] for n in self._candidate_nodes()}
        if self.workers.address is None or not names.keys() - {*unfit_nodes(self.refusals)}:
            self.send({"event": "lost", "why": why})
        else:
            node_name = f"{names[node]} ({node[:6]})" if node in names else node[:6]
            self.send({"event": "notice", "line": redacted(f"node {node_name} gets no packs: {why}")})

    def _candidate_nodes(self) -> list[dict[str, Any]]:
        """Return the nodes with the right labels and devices for packs; if any has GPUs, only those."""
        nodes = [(node, to_node(node)) for node in living_nodes(self.workers.labels)]
        if not self.workers.cpu and (self.workers.asks_for_nodes or any(devices.gpus for _, devices in nodes)):
            return [node for node, devices in nodes if devices.gpus]
        return [node for node, devices in nodes if devices.cpus >= self.workers.cpus]


def unfit_nodes(refusals: Mapping[str, str]) -> list[str]:
    """Return the ids of the nodes that get no packs."""
    return sorted(node for node, why in refusals.items() if why)


def _ask_node(node: str, storage: str, flag: str) -> Any:
    """Ask a node for its versions. The function is pickled by value: the node may not have this module."""

    def report_node(storage: str, flag: str) -> dict[str, Any]:
        try:
            from longwave.platform.paths import to_path
            from longwave.platform.sweeps.on_ray.versions import versions
            from longwave.platform.sweeps.place.workers import Workers

            return {"versions": dict(versions()), "sees": Workers(1, to_path(storage), flag=flag).sees_mark()}
        except ImportError as error:
            return {"lacks": str(error)}

    strategy = NodeAffinitySchedulingStrategy(node, soft=False)
    remote: Any = ray.remote(report_node)
    return remote.options(num_cpus=0, max_retries=0, scheduling_strategy=strategy).remote(storage, flag)
