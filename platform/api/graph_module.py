"""Layers over graphs as plain modules of torch: ``outputs = lw.G2(8, 64)(x, edges)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from longwave.platform.api.plain_module import LoneModule
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.graphs import Graphs


class GraphModule(LoneModule):
    """A layer over the nodes of a graph, like those of PyTorch Geometric.

    Example::

        g2 = lw.G2(8, 64)
        outputs = g2(x, edges)                 # x (V, 8), edges (2, E), outputs (V, 64)

    Args: See ``LoneModule``.
    """

    if TYPE_CHECKING:

        def __call__(self, x: Tensor, edges: Tensor) -> Tensor:
            """As ``forward``."""

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Return the features of each node after all layers, (V, d).

        Args:
            x: (V, p), of the weights' dtype.
            edges: (2, E) int64, row 0 the source, row 1 the target; undirected edges are listed twice.

        Raises:
            ValueError: Another shape or dtype, or an edge without a node.
        """
        nodes = x.unsqueeze(0)
        real = torch.ones(nodes.shape[:2], dtype=torch.bool, device=x.device)
        unscored = torch.full(nodes.shape[:2], NO_TARGET, device=x.device)
        outputs, _ = self.layer.features(Graphs(nodes, real, edges.mT.unsqueeze(0), unscored))
        return outputs.squeeze(0)
