"""A stack of blocks with pre-norm, GELU, GLU, dropout and skip connections, built from torch's modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, glu

from longwave.models.base.dropout import dropped
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec
from longwave.models.base.stack import DROPOUT
from longwave.models.base.weights import WeightGroup


@dataclass(frozen=True)
class BlockWeights:
    """p of the dropout, if there is one."""

    dropout: Tensor | None = None


class Blocks(SequenceLayer[BlockWeights]):
    """Residual blocks: y ← y + drop(GLU(W GELU(mean of norm(y) up to now)))."""

    WEIGHTS = BlockWeights
    PARAMS = (DROPOUT,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"blocks": (2, 1, 3)}
    GROUPS = {"norms": WeightGroup(("norm1", "norm2", "norm3"), decay=False)}
    blocks: int

    def parts(self) -> dict[str, Callable[[], nn.Module]]:
        p, d = self.input_size, self.hidden_size
        layers: dict[str, Callable[[], nn.Module]] = {"enter": partial(nn.Linear, p, d)}
        for k in range(1, self.blocks + 1):
            layers |= {f"norm{k}": partial(nn.LayerNorm, d), f"mix{k}": partial(nn.Linear, d, 2 * d)}
        return layers

    def scan(self, x: Tensor, state: State, w: BlockWeights, generators: Generators) -> tuple[Tensor, State]:
        y = self.enter(x)
        count = torch.arange(1, x.shape[1] + 1, dtype=x.dtype, device=x.device)[:, None, None]
        for k in range(1, self.blocks + 1):
            norm, mix = self.get_submodule(f"norm{k}"), self.get_submodule(f"mix{k}")
            new = glu(mix(gelu(norm(y).cumsum(1) / count)), -1)
            drops = self.training and w.dropout is not None
            y = y + (dropped(new, w.dropout, generators, per_step=True) if drops else new)
        return y, ()


MODEL = ModelSpec(
    name="toy_blocks",
    title="Residual blocks",
    family="toy",
    source="this test",
    layer=Blocks,
    lr=learning_rate(1e-3, 1e-2),
    count=lambda p, d, q, blocks=2, **_: d * p + d + blocks * (2 * d * d + 4 * d) + (d + 1) * q,
)
