"""Graphs as batches, and the measures of how far neighbours are apart, against brute force."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from dense_graphs import one_graph_of, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.registry import get_task
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.graphs import Graphs, one_graph, pad_graphs
from longwave.tasks.base.smoothing import dirichlet_sums, distance_sums
from longwave.tasks.karate import CLUBS, LABELLED
from longwave.tasks.sbm import BLOCKS, HOMOPHILY, NODES

REAL = torch.tensor([[True, True, False]])
NONE = torch.zeros(1, 0, 2, dtype=torch.int64)


@pytest.mark.parametrize(
    "change, rule",
    [
        ({"nodes": torch.zeros(1, 2, 4)}, "Graphs need nodes (N, V, p), real (N, V), edges (N, E, 2) and N targets"),
        ({"targets": torch.zeros(2, dtype=torch.int64)}, "Graphs need nodes"),
        ({"edges": torch.zeros(1, 4, 3, dtype=torch.int64)}, "Graphs need nodes"),
        ({"edges": torch.tensor([[[0, 4]]])}, "An edge must join nodes 0 to 2, or be 3 at both ends for none, got 0"),
        ({"edges": torch.tensor([[[0, -1]]])}, "An edge must join nodes 0 to 2, or be 3 at both ends for none, got -1"),
        ({"edges": torch.tensor([[[0, 2]]])}, "An edge must not end at a padding node, got [0, 2] of graph 0."),
        ({"edges": torch.tensor([[[3, 1]]])}, "An edge must not end at a padding node, got [3, 1] of graph 0."),
        ({"targets": torch.tensor([[0, 1, 1]])}, "Padding nodes must not have a target"),
    ],
)  # fmt: skip
def test_graphs_that_do_not_fit_are_refused(change: dict[str, Any], rule: str) -> None:
    right: dict[str, Any] = {
        "nodes": torch.zeros(1, 3, 4),
        "real": REAL,
        "edges": NONE,
        "targets": torch.zeros(1).long(),
    }
    Graphs(**right)
    with pytest.raises(ValueError, match="^" + re.escape(rule)):
        Graphs(**{**right, **change})


def test_splits_of_one_graph_ask_of_their_own_nodes_share_the_graph_and_repeat_nothing() -> None:
    masks = [torch.arange(6) % 3 == k for k in range(3)]
    classes, values = torch.arange(6) % 2, torch.randn(6, 2)
    edges = torch.tensor([[0, 1, 5], [1, 1, 0]])
    data = one_graph(torch.randn(6, 3), edges, classes, *masks)
    assert data.train is not None and not any(data.repeated().values())
    for split, mask in zip((data.train, data.valid, data.test), masks, strict=True):
        assert split.targets[0].tolist() == [int(c) if m else NO_TARGET for c, m in zip(classes, mask, strict=True)]
        assert split.edges[0].tolist() == edges.T.tolist() and split.of_nodes and split.positions == 6
        fed = split.take(torch.zeros(4, 1, dtype=torch.int64))
        assert fed.nodes.shape == (4, 1, 6, 3) and fed.nodes.stride()[0] == 0, "nothing is copied"
    floats = one_graph(torch.randn(6, 3), edges, values, *masks)
    assert floats.test.of_nodes and torch.equal(floats.test.targets[0].isnan().all(-1), ~masks[2])
    assert data.version != one_graph(data.test.nodes[0], edges.flip(0), classes, *masks).version


def test_graphs_of_several_sizes_are_padded_and_kinds_of_nodes_are_tokens() -> None:
    kinds = [torch.tensor([3, 1]), torch.tensor([2, 2, 5])]
    edges = [torch.zeros(2, 0, dtype=torch.int64), torch.tensor([[0, 2], [1, 2]])]
    batch = pad_graphs(kinds, edges, torch.tensor([[0.5], [1.5]]))
    assert batch.real.tolist() == [[True, True, False], [True] * 3] and not batch.of_nodes
    assert batch.edges.tolist() == [[[3, 3], [3, 3]], [[0, 1], [2, 2]]]
    assert batch.take(torch.tensor([1])).nodes.dtype == torch.int64
    assert batch.read_positions == 1 and batch.positions == 3


@settings(max_examples=20)
@given(st.integers(0, 999))
def test_energy_and_distance_are_what_loops_over_edges_give(seed: int) -> None:
    batch = random_graphs(seed)
    x = torch.randn(2, len(batch), batch.positions, 3, generator=torch.Generator().manual_seed(seed))
    x[:, 0, 1] = 0.0
    for member in range(2):
        energy, nodes, distance, hearing = 0.0, 0, 0.0, 0
        for k in range(len(batch)):
            features, edges = one_graph_of(batch, k)
            rows = x[member, k].double().numpy()
            nodes += len(features)
            for i in range(len(features)):
                senders = [j for j, end in edges if end == i]
                energy += sum(float(((rows[i] - rows[j]) ** 2).sum()) for j in senders)
                units = [r / n if (n := np.linalg.norm(r)) else r for r in (rows[i], *(rows[j] for j in senders))]
                distance += sum(float(((units[0] - u) ** 2).sum()) / 2 for u in units[1:]) / max(1, len(senders))
                hearing += bool(senders)
        assert [s[member].item() for s in dirichlet_sums(x, batch)] == pytest.approx([energy, nodes])
        assert [s[member].item() for s in distance_sums(x, batch)] == pytest.approx([distance, hearing])


def test_the_karate_club_is_as_pyg_has_it() -> None:
    club = pytest.importorskip("torch_geometric.datasets").KarateClub()[0]
    split = get_task("karate").load("").train
    assert torch.equal(split.edges[0].mT, club.edge_index) and torch.equal(split.nodes[0], club.x)
    assert [int(c) for c in CLUBS] == club.y.tolist() and club.train_mask.nonzero().flatten().tolist() == list(LABELLED)
    assert torch.equal(split.targets[0] != NO_TARGET, club.train_mask)


@pytest.mark.parametrize("variant", HOMOPHILY)
def test_blocks_have_the_homophily_and_degree_that_were_asked_and_no_loops(variant: str) -> None:
    data = get_task("sbm").load(variant)
    begin, end = data.test.edges[0].unbind(1)
    block = torch.arange(NODES) % BLOCKS
    pairs = set(zip(begin.tolist(), end.tolist(), strict=True))
    assert len(pairs) == len(begin) and all((b, a) in pairs and a != b for a, b in pairs)
    count = len(begin) / 2
    assert abs(len(begin) / NODES - 10) < 4 * (2 * 1500**0.5) / NODES * 2
    share = (block[begin] == block[end]).double().mean().item()
    h = HOMOPHILY[variant]
    assert abs(share - h) <= 4 * (h * (1 - h) / count) ** 0.5
    labelled = [(split.targets != NO_TARGET).sum().item() for split in (data.train, data.valid, data.test)]
    assert labelled == [100, 50, 150] and not any(data.repeated().values())


def test_least_squares_on_neighbours_beat_own_features_where_edges_tell_and_only_there() -> None:
    task = get_task("sbm")
    scores = {variant: task.trivial(task.load(variant)) for variant in ("h0", "h100")}
    for accuracies in scores.values():
        assert accuracies["ridge on 2 hops"] > accuracies["ridge on own features"] + 10 > accuracies["majority"] + 20
