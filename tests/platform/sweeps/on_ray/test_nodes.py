"""What is said of a node that is not fit for packs; the nodes that are there are simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longwave.platform.sweeps.on_ray import nodes
from longwave.platform.sweeps.on_ray.nodes import NodeChecks
from longwave.platform.sweeps.place.workers import Workers

SERVING = [{"NodeID": name * 8, "NodeManagerHostname": f"host-{name}"} for name in "ab"]


def test_of_an_unfit_node_it_is_said_once_why_and_of_the_last_that_all_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NodeChecks, "_candidate_nodes", lambda self: SERVING)
    events: list[dict[str, Any]] = []
    checks = NodeChecks(Workers(1, tmp_path, address="auto"), {"bbbbbbbb": ""}, events.append)
    for _ in range(2):
        checks.refuse_node("aaaaaaaa", "its torch is another")
    assert events == [{"event": "notice", "line": "node host-a (aaaaaa) gets no packs: its torch is another"}]
    checks.refuse_node("bbbbbbbb", "it does not see the storage")
    assert events[1:] == [{"event": "lost", "why": "it does not see the storage"}]
    assert checks.refusals == {"aaaaaaaa": "its torch is another", "bbbbbbbb": "it does not see the storage"}


def test_only_living_nodes_whose_labels_meet_the_conditions_get_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [
        {"NodeID": name, "Alive": alive, "Labels": {"gpu": gpu}}
        for name, alive, gpu in (("a", True, "H200"), ("b", False, "H200"), ("c", True, "L4"), ("d", False, "L4"))
    ]
    monkeypatch.setattr(nodes.ray, "nodes", lambda: there)
    assert [node["NodeID"] for node in nodes.living_nodes({})] == ["a", "c"]
    assert [node["NodeID"] for node in nodes.living_nodes({"gpu": "H200"})] == ["a"]
