"""Stochastic block model of chosen homophily: name the block of a node from noisy features and its edges."""

from __future__ import annotations

from functools import cache

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs, one_graph
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.smoothing import SMOOTHING
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.nodes import NodeRidge

NODES, BLOCKS, FEATURES, DEGREE = 300, 3, 8, 10
HOMOPHILY = {f"h{percent}": percent / 100 for percent in (0, 25, 50, 75, 100)}
"""Expected share of a node's edges that lead into its own block, by variant."""
APART = 1.0
"""Length of a block's mean in feature space; the noise has standard deviation 1 in each feature."""
SPLIT = (100, 50)
"""Nodes for training and for validation; the others are for testing."""


def draw_blocks(homophily: float, seed: int) -> Data[Graphs]:
    """Return a contextual stochastic block model of equal blocks (Deshpande et al. 2018), its nodes split at random.

    Two nodes of one block are joined with probability h D / (V/C − 1), two of different ones with
    (1 − h) D / (V − V/C), so that each has D neighbours on average. A node's features are the unit vector of its
    block times ``APART``, and N(0, 1) noise.

    Args:
        homophily: h.
        seed: Of all that is drawn.
    """
    g = torch.Generator().manual_seed(seed)
    block = torch.arange(NODES) % BLOCKS
    same = block == block.unsqueeze(1)
    size = NODES // BLOCKS
    chance = torch.where(same, homophily * DEGREE / (size - 1), (1 - homophily) * DEGREE / (NODES - size))
    joined = (torch.rand(NODES, NODES, generator=g) < chance).triu(1)
    nodes = torch.randn(NODES, FEATURES, generator=g) + APART * torch.nn.functional.one_hot(block, FEATURES)
    order = torch.randperm(NODES, generator=g).argsort()
    masks = order < SPLIT[0], (order >= SPLIT[0]) & (order < sum(SPLIT)), order >= sum(SPLIT)
    return one_graph(nodes, (joined | joined.mT).nonzero().mT, block, *masks)


@cache
def _load(variant: str) -> Data[Graphs]:
    check_variant("sbm", variant, HOMOPHILY)
    return draw_blocks(HOMOPHILY[variant], seed=20)


TASK = TaskSpec(
    name="sbm",
    title="Stochastic block model",
    family="graph",
    summary="Structure: name a node's block from noisy features and its edges, at a chosen homophily.",
    inputs=FEATURES,
    outputs=BLOCKS,
    targets="at the nodes of a split",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=100 / BLOCKS,
    load=_load,
    recipes={"": Recipe(hidden=16, batch=1, epochs=200, source="ours")},
    variant="h75",
    variants="h0, h25, h50, h75 or h100: the share in % of a node's edges that stay in its block, expected",
    source="contextual stochastic block model, Deshpande et al. 2018, arXiv:1807.09596; one graph a variant, generated",
    licence="generated, none",
    length=f"{NODES} nodes, about {NODES * DEGREE // 2} undirected edges",
    lag="one edge and more",
    further=SMOOTHING,
    baselines={
        "majority": Majority(BLOCKS),
        "ridge on own features": NodeRidge(BLOCKS, 0),
        "ridge on 2 hops": NodeRidge(BLOCKS, 2),
    },
)
