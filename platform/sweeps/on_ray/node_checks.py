"""Which nodes of a cluster get packs: those with the driver's versions. For any other node a line says why not."""

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
"""How long a node may take to report its versions. A node that does not answer gets packs, which check them again."""


class NodeChecks:
    """Checks the nodes of a cluster; those of the driver's own Ray need no check.

    Args:
        workers: The driver's workers, as the scheduler has them.
        known: Why a node gets no packs, by its id; empty for one that gets some. Results are added here.
        say: Sends an event.
    """

    def __init__(self, workers: Workers, known: dict[str, str], say: Callable[[dict[str, Any]], None]) -> None:
        self.workers, self.known, self.say = workers, known, say

    def kinds(self) -> set[str]:
        """Return the kinds of devices of the nodes that get packs."""
        return {m.kind for m in usable_nodes_of(self.workers.labels, unfit_nodes(self.known))}

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
            self.say({"event": "notice", "line": f"no node has {requests} yet; packs wait for one"})
        fresh = [n["NodeID"] for n in candidates if n["NodeID"] not in self.known]
        pending = {_ask_node(node, str(self.workers.storage), self.workers.flag): node for node in fresh}
        answers = ray.wait([*pending], num_returns=len(pending), timeout=ASK_SECONDS)[0] if pending else []
        any_unfit = False
        for answer in answers:
            try:
                why = why_node_is_unfit(ray.get(answer), versions(), str(self.workers.storage))
            except ray.exceptions.RayError:
                continue  # it has gone, or failed to answer
            self.refuse_node(pending[answer], why) if why else self.known.setdefault(pending[answer], "")
            any_unfit = any_unfit or bool(why)
        return any_unfit

    def refuse_node(self, node: str, why: str) -> None:
        """Give a node no more packs, and say why; if no node is left, report the loss."""
        if self.known.get(node):
            return
        self.known[node] = why
        names = {n["NodeID"]: n["NodeManagerHostname"] for n in self._candidate_nodes()}
        if self.workers.address is None or not names.keys() - {*unfit_nodes(self.known)}:
            self.say({"event": "lost", "why": why})
        else:
            at = f"{names[node]} ({node[:6]})" if node in names else node[:6]
            self.say({"event": "notice", "line": redacted(f"node {at} gets no packs: {why}")})

    def _candidate_nodes(self) -> list[dict[str, Any]]:
        """Return the nodes with the right labels and devices for packs; those with GPUs if any, as ``usable_nodes``."""
        nodes = [(node, to_node(node)) for node in living_nodes(self.workers.labels)]
        if not self.workers.cpu and (self.workers.asks_for_nodes or any(offer.gpus for _, offer in nodes)):
            return [node for node, offer in nodes if offer.gpus]
        return [node for node, offer in nodes if offer.cpus >= self.workers.cpus]


def unfit_nodes(known: Mapping[str, str]) -> list[str]:
    """Return the ids of the nodes that get no packs."""
    return sorted(node for node, why in known.items() if why)


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
