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

    Under ``torch.autocast`` a layer computes in its weights' dtype, and returns outputs in autocast's.

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
        self._check(x, edges)
        if not self._leaves_autocast(x.device.type):
            return self._through_layer(x, edges)
        with torch.autocast(x.device.type, enabled=False):
            outputs = self._through_layer(x.float(), edges)
        return outputs.to(torch.get_autocast_dtype(x.device.type))

    def _through_layer(self, x: Tensor, edges: Tensor) -> Tensor:
        nodes = x.unsqueeze(0)
        real = torch.ones(nodes.shape[:2], dtype=torch.bool, device=x.device)
        unscored = torch.full(nodes.shape[:2], NO_TARGET, device=x.device)
        outputs, _ = self.layer.features(Graphs(nodes, real, edges.mT.unsqueeze(0), unscored))
        return outputs.squeeze(0)

    def _check(self, x: Tensor, edges: Tensor) -> None:
        """Raise ValueError where nodes or edges have another form than the layer needs, or an edge has no node."""
        name = type(self).__name__
        if not isinstance(x, Tensor) or x.ndim != 2 or x.shape[-1] != self.inputs or 0 in x.shape:
            got = f"{tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"{name}: x must be nodes (V, {self.inputs}) and not empty, got {got}.")
        whole = isinstance(edges, Tensor) and edges.dtype in (torch.int64, torch.int32)
        if not whole or edges.ndim != 2 or edges.shape[0] != 2:
            got = f"{edges.dtype} {tuple(edges.shape)}" if isinstance(edges, Tensor) else type(edges).__name__
            raise ValueError(f"{name}: edges must be (2, E), of torch.int64, got {got}.")
        outside = edges[(edges < 0) | (edges >= len(x))]
        if len(outside):
            raise ValueError(f"{name}: edges must join nodes 0 to {len(x) - 1}, got {int(outside[0])}.")
