"""A graph convolution, for the graphs of ``toy_graph``. Tests put a copy of it among the models."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Layer
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.tasks.toy_graph import Graphs


@dataclass(frozen=True)
class ConvolutionWeights:
    """Weights of the equation."""

    W: Tensor
    U: Tensor
    b: Tensor


class Convolution(Layer[ConvolutionWeights]):
    """Graph convolution: h_v = tanh(W x_v + U Σ x_u + b), the sum over all edges from u to v."""

    READS, WEIGHTS = Graphs, ConvolutionWeights

    def shapes(self):
        d, p = self.hidden_size, self.input_size
        return {"W": (d, p), "U": (d, p), "b": (d,)}

    def features(self, batch, state=None, generators=None):
        w = self.weights(self.lifted_tensors())
        x = batch.nodes.masked_fill(~batch.real.unsqueeze(-1), 0.0)
        begin, end = (k.unsqueeze(-1).expand(*k.shape, x.shape[-1]) for k in batch.edges.unbind(-1))
        padded = torch.cat([x, torch.zeros_like(x[:, :, :1])], 2)
        received = torch.zeros_like(padded).scatter_add(2, end, padded.gather(2, begin))[:, :, :-1]
        h = torch.tanh(affine(w.W, x) + affine(w.U, received) + w.b.unsqueeze(1))
        if batch.of_nodes:
            return h, ()
        real = batch.real.unsqueeze(-1)
        return (h * real).sum(2) / real.sum(2), ()


MODEL = ModelSpec(
    name="toy_convolution",
    title="Graph convolution",
    family="toy",
    source="this test",
    layer=Convolution,
    lr=learning_rate(1e-2, 1e-1),
    count=lambda p, d, q, **_: 2 * d * p + d + (d + 1) * q,
)
