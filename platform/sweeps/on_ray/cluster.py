"""What the nodes of a cluster offer, and what a pack asks of the one it goes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ray
from ray import tune

from longwave.platform.sweeps.placement import Machine, Slot

KIND = "accelerator_type:"
"""What Ray names the resource by that says a node's kind of GPU."""
SOME = 0.001
"""What a pack takes of the resource that names a kind of GPU: it marks the node, and is never used up."""


def machines() -> list[Machine]:
    """Return the nodes that live."""
    found = ray.nodes()  # type: ignore[no-untyped-call]
    return [_machine(node["Resources"]) for node in found if node["Alive"]]


def _machine(resources: Mapping[str, float]) -> Machine:
    kinds = sorted(name.removeprefix(KIND) for name in resources if name.startswith(KIND))
    gpus = int(resources.get("GPU", 0))
    return Machine(resources.get("CPU", 0.0), gpus, (kinds[0] if kinds else "GPU") if gpus else Machine(0).kind)


def needs(place: Slot, several: bool) -> dict[str, float]:
    """Return what Ray is asked for.

    Args:
        place: Of a pack.
        several: Whether there are several kinds of GPUs, so that the pack names its own.
    """
    asked = {"CPU": place.cpus, "GPU": place.gpus, f"{KIND}{place.kind}": SOME if several and place.gpus else 0.0}
    return {name: amount for name, amount in asked.items() if amount}


def resources(several: bool) -> Any:
    """Return what gives Tune the resources of a pack from its configuration."""

    def of(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
        return tune.PlacementGroupFactory([needs(Slot(**config["place"]), several)])

    return of
