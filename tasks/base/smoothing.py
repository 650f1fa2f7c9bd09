"""How much neighbours in a graph differ: Dirichlet energy and mean average distance, the measures of oversmoothing."""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.metric import Further, Metric


def dirichlet_sums(x: Tensor, batch: Graphs) -> tuple[Tensor, Tensor]:
    """Return Σ_i Σ_j ‖x_i − x_j‖² over all edges from j to i, and the number of nodes, (M,) each, float64.

    Their ratio is the energy of Rusch et al. 2022 (thesis, eq. 6.2); its square root is a seminorm. Each edge of an
    undirected graph counts twice, once each way.

    Args:
        x: (M, B, V, d), one vector per node.
        batch: The graphs (B, ·), or (M, B, ·).
    """
    begin, end, real = _read_ends(x, batch)
    squares = (begin - end).square().sum(-1)
    return (squares * real).flatten(1).sum(1), batch.real.expand(x.shape[:-1]).flatten(1).sum(1)


def distance_sums(x: Tensor, batch: Graphs) -> tuple[Tensor, Tensor]:
    """Return Σ_i of the mean over edges from j to i of 1 − cos(x_i, x_j), and the number of nodes with incoming edges,
    (M,) each.

    Their ratio is MAD over neighbours of Chen et al. 2020 (arXiv:1909.03211, eqs. 1 to 3), in which a distance of 0
    counts like any other. It is 0 if all vectors are parallel, whatever their length; two zero vectors have distance 0.

    Args:
        x, batch: See ``dirichlet_sums``.
    """
    exact = x.double()
    length = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
    begin, end, real = _read_ends(torch.where(length > 0, exact / length, 0.0), batch)
    distance = (begin - end).square().sum(-1) / 2  # 1 − cos of unit vectors, without cancellation
    index = batch.edges[..., 1].expand(distance.shape)
    zeros = distance.new_zeros(*x.shape[:2], x.shape[2] + 1)
    total = zeros.scatter_add(2, index, distance * real)[..., :-1]
    count = zeros.scatter_add(2, index, real.to(distance))[..., :-1]
    return (total / count.clamp_min(1)).flatten(1).sum(1), (count > 0).flatten(1).sum(1)


def _read_ends(x: Tensor, batch: Graphs) -> tuple[Tensor, Tensor, Tensor]:
    """Return the vectors at both ends of each edge, (M, B, E, d) float64, and whether the edge is real, (M, B, E)."""
    edges = batch.edges.expand(len(x), *batch.edges.shape[-3:])
    real = (edges < batch.positions).all(-1)
    rows = edges.clamp_max(batch.positions - 1)
    begin, end = (x.double().take_along_dim(rows[..., k, None], 2) for k in (0, 1))
    return begin, end, real


DIRICHLET = Further(
    Metric(
        "dirichlet_energy",
        "1",
        "max",
        "sum over all edges from j to i of the squared distance of the outputs at i and j, divided by the nodes",
        dirichlet_sums,
        whole=True,
    )
)
MAD = Further(
    Metric(
        "mad",
        "1",
        "max",
        "1 − cosine of the outputs at a node and at its neighbours, mean over these, then over nodes",
        distance_sums,
        whole=True,
    )
)
SMOOTHING = (DIRICHLET, MAD)
