"""The resources of a cluster's nodes, and the resources that a pack requests."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import ray
from ray import tune

from longwave.platform.sweeps.place.devices import ClusterNode, Slot
from longwave.platform.sweeps.place.workers import WORD

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
