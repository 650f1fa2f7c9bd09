"""Which nodes of a cluster get packs: those that have what the driver has. Of each other one a line says why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from longwave.platform.redaction import redacted
from longwave.platform.sweeps.on_ray.resources import living_nodes, to_node, usable_nodes_of
from longwave.platform.sweeps.on_ray.versions import versions, why_node_is_unfit
from longwave.platform.sweeps.place.workers import Workers

ASK_SECONDS = 60.0
"""How long a node may take to tell what it has; one that says nothing gets packs, which tell themselves."""


class NodeChecks:
    """The nodes of a cluster, or of a Ray of this driver's own, where there is nothing to ask.

    Args:
        own: The driver's workers, as the scheduler has them.
        known: Why a node gets no packs, by its id; empty text for one that may. What is learnt is added.
        say: Takes events.
    """

    def __init__(self, own: Workers, known: dict[str, str], say: Callable[[dict[str, Any]], None]) -> None:
        self.own, self.known, self.say = own, known, say

    def kinds(self) -> set[str]:
        """Return the kinds of devices of the nodes that may get packs."""
        return {m.kind for m in usable_nodes_of(self.own.labels, unfit_nodes(self.known))}

    def look(self) -> bool:
        """Ask each node that was not asked before what it has; return whether one of them is unfit."""
        if self.own.address is None:
            return False
        serving = self._serving()
        if self.own.named and not serving:
            wish = f"{self.own.gpus:g} GPUs" if self.own.gpus else f"{self.own.cpus:g} CPUs"
            wished = ", ".join([wish, *(f"the label {name}={value}" for name, value in self.own.labels.items())])
            self.say({"event": "told", "line": f"no node that is there has {wished}; packs wait for one"})
        fresh = [n["NodeID"] for n in serving if n["NodeID"] not in self.known]
        asked = {_ask_node(node, str(self.own.storage), self.own.flag): node for node in fresh}
        answers = ray.wait([*asked], num_returns=len(asked), timeout=ASK_SECONDS)[0] if asked else []
        found = False
        for answer in answers:
            try:
                why = why_node_is_unfit(ray.get(answer), versions(), str(self.own.storage))
            except ray.exceptions.RayError:
                continue  # it has gone, or could not say
            self.refuse(asked[answer], why) if why else self.known.setdefault(asked[answer], "")
            found = found or bool(why)
        return found

    def refuse(self, node: str, why: str) -> None:
        """Give a node no more packs, and say why; with none left, say that all is lost."""
        if self.known.get(node):
            return
        self.known[node] = why
        names = {n["NodeID"]: n["NodeManagerHostname"] for n in self._serving()}
        if self.own.address is None or not names.keys() - {*unfit_nodes(self.known)}:
            self.say({"event": "lost", "why": why})
        else:
            at = f"{names[node]} ({node[:6]})" if node in names else node[:6]
            self.say({"event": "told", "line": redacted(f"node {at} gets no packs: {why}")})

    def _serving(self) -> list[dict[str, Any]]:
        """Return the nodes that packs may go to by labels and by what they offer; GPUs first, as ``usable_nodes``."""
        found = [(node, to_node(node)) for node in living_nodes(self.own.labels)]
        if not self.own.cpu and (self.own.named or any(m.gpus for _, m in found)):
            return [node for node, m in found if m.gpus]
        return [node for node, m in found if m.cpus >= self.own.cpus]


def unfit_nodes(known: Mapping[str, str]) -> list[str]:
    """Return the nodes that get no packs, of why they do not."""
    return sorted(node for node, why in known.items() if why)


def _ask_node(node: str, storage: str, flag: str) -> Any:
    """Have a node tell what it has. The function travels by value: the node may not have this file."""

    def tell(storage: str, flag: str) -> dict[str, Any]:
        try:
            from longwave.platform.paths import to_path
            from longwave.platform.sweeps.on_ray.versions import versions
            from longwave.platform.sweeps.place.workers import Workers

            return {"versions": dict(versions()), "sees": Workers(1, to_path(storage), flag=flag).marked()}
        except ImportError as error:
            return {"lacks": str(error)}

    strategy = NodeAffinitySchedulingStrategy(node, soft=False)
    remote: Any = ray.remote(tell)
    return remote.options(num_cpus=0, max_retries=0, scheduling_strategy=strategy).remote(storage, flag)
