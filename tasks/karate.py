"""Karate club: name the communities of 34 people from one known member of each."""

from __future__ import annotations

from functools import cache

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs, one_graph
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.smoothing import SMOOTHING
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.nodes import NodeRidge

FRIENDS = (
    "1 2 3 4 5 6 7 8 10 11 12 13 17 19 21 31|2 3 7 13 17 19 21 30|3 7 8 9 13 27 28 32|7 12 13|6 10|6 10 16|16||"
    "30 32 33|33||||33|32 33|32 33|||32 33|33|32 33||32 33|"
    "25 27 29 32 33|25 27 31|31|29 33|33|31 33|32 33|32 33|32 33|33|"
)
"""Of each person, from 0, the friends with a larger number: Zachary 1977, Figure 1, 78 friendships."""
CLUBS = "1111333101311100310101002200200200"
"""The four communities of Kipf and Welling 2017, by modularity, as in PyTorch Geometric."""
LABELLED = (0, 4, 8, 24)
"""The one labelled member of each."""
VALID = 10
"""People for validation, drawn with seed 0; the others are for testing."""


@cache
def _load(variant: str) -> Data[Graphs]:
    check_variant("karate", variant)
    pairs = [(a, int(b)) for a, friends in enumerate(FRIENDS.split("|")) for b in friends.split()]
    edges = torch.tensor(sorted([*pairs, *((b, a) for a, b in pairs)])).mT
    clubs = torch.tensor([int(club) for club in CLUBS])
    labelled = torch.zeros(len(clubs), dtype=torch.bool)
    labelled[list(LABELLED)] = True
    order = torch.randperm(len(clubs), generator=torch.Generator().manual_seed(0))
    unlabelled = order[~labelled[order]]
    valid = torch.zeros_like(labelled).index_fill(0, unlabelled[:VALID], True)
    return one_graph(torch.eye(len(clubs)), edges, clubs, labelled, valid, ~labelled & ~valid)


TASK = TaskSpec(
    name="karate",
    title="Karate club",
    family="graph",
    summary="Structure: a real graph of 34 people: a smoke test, too small to show which model is best.",
    inputs=34,
    outputs=4,
    targets="at the nodes of a split",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={"": Recipe(hidden=16, batch=1, epochs=200, source="ours")},
    source="Zachary 1977; classes and known members of Kipf and Welling 2017, arXiv:1609.02907, Appendix A",
    licence="published facts; the data are in tasks/karate.py",
    length="34 nodes, 78 undirected edges",
    lag="one edge and more",
    protocols=(
        note("Kipf and Welling have no validation split; here 10 of the 30 unlabelled members validate, 20 are tested"),
    ),
    further=SMOOTHING,
    baselines={"majority": Majority(4), "ridge on 2 hops": NodeRidge(4, 2)},
)
