"""What the nodes of a cluster offer, and what a pack asks of the one it goes to."""

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
"""What Ray names the resource by that says a node's kind of GPU."""
SOME = 0.001
"""What a pack takes of the resource that names a kind of GPU: it marks the node, and is never used up."""


def living_nodes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the nodes that live and have such labels, as Ray tells of them."""
    found: Any = ray.nodes()  # type: ignore[no-untyped-call]
    return [
        n
        for n in found
        if n["Alive"] and all(matches_label(wish, n["Labels"].get(name)) for name, wish in labels.items())
    ]


def usable_nodes_of(labels: Mapping[str, str], unfit: Collection[str] = ()) -> list[ClusterNode]:
    """Return what the nodes with such labels offer, those that are ``unfit`` left out."""
    return [to_node(node) for node in living_nodes(labels) if node["NodeID"] not in unfit]


def to_node(node: Mapping[str, Any]) -> ClusterNode:
    """Return what a node offers, of what Ray tells of it."""
    resources: Mapping[str, float] = node["Resources"]
    kinds = sorted(name.removeprefix(KIND) for name in resources if name.startswith(KIND))
    gpus = int(resources.get("GPU", 0))
    return ClusterNode(resources.get("CPU", 0.0), gpus, (kinds[0] if kinds else "GPU") if gpus else ClusterNode(0).kind)


def resources_of_slot(place: Slot, several: bool) -> dict[str, float]:
    """Return what Ray is asked for.

    Args:
        place: Of a pack.
        several: Whether there are several kinds of GPUs, so that the pack names its own.
    """
    asked = {"CPU": place.cpus, "GPU": place.gpus, f"{KIND}{place.kind}": SOME if several and place.gpus else 0.0}
    return {name: amount for name, amount in asked.items() if amount}


def placement_of_pack(several: bool, labels: Mapping[str, str]) -> Any:
    """Return what gives Tune the resources of a pack from its configuration."""

    def of(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
        where = label_selector(labels, config["unfit"])
        more: dict[str, Any] = {"bundle_label_selector": [where]} if where else {}
        return tune.PlacementGroupFactory([resources_of_slot(Slot(**config["place"]), several)], **more)

    return of


def label_selector(labels: Mapping[str, str], unfit: Collection[str]) -> dict[str, str]:
    """Return the labels of a node that has ``labels`` and is not ``unfit``, as Ray takes them."""
    return {**labels, **({NODE: f"!in({','.join(unfit)})"} if unfit else {})}


def matches_label(wish: str, label: str | None) -> bool:
    """Return whether a label of a node is as wished, as Ray reads ``a``, ``!a``, ``in(a,b)`` and ``!in(a,b)``."""
    words = [found[0] for found in re.finditer(WORD, wish.removeprefix("!").removeprefix("in("))]
    return (label in words) != wish.startswith("!")
