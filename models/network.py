"""A pack's network: one recurrent layer and its affine read-out, for M members at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from longwave.models.recurrence import affine
from longwave.models.spec import ModelSpec, Sizes


class Network(nn.Module):
    """M networks in one tensor program: inputs (M, T, B, p) to outputs (M, B, q), or (M, T, B, q) for each step.

    The read-out is o = W_o s + b_o with the state s that the model names first (LEM and coRNN: y, LSTM and GRU: h).
    Its weights start as torch.nn.Linear's, or W_o as N(0, 2/d) where the model's authors do so.

    Args:
        spec: The model.
        sizes: Features and length.
        hyper: One value a member for each of the model's parameters.
        seeds: One seed a member; member k's weights depend on ``seeds[k]`` alone.
        options: The model's static choices.
        every_step: Read out every step, not the last alone.
        dtype: Of weights and hyper-parameters. Weights are drawn in float32, so a seed gives the same in any.
    """

    def __init__(
        self,
        spec: ModelSpec,
        sizes: Sizes,
        hyper: Mapping[str, Sequence[float]],
        seeds: Sequence[int],
        options: Mapping[str, str] | None = None,
        every_step: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        members = len(seeds)
        self.every_step = every_step
        exact = {name: torch.tensor(values, dtype=torch.float64) for name, values in hyper.items()}
        self.layer = spec.build(sizes, members, **exact, **(options or {}))
        self.weight = nn.Parameter(torch.empty(members, sizes.outputs, sizes.hidden))
        self.bias = nn.Parameter(torch.empty(members, sizes.outputs))
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.layer.reset_parameters(generators)
        bound = sizes.hidden**-0.5
        for weight, bias, generator in zip(self.weight.data, self.bias.data, generators, strict=True):
            if spec.kaiming_readout:
                nn.init.normal_(weight, 0.0, (2 / sizes.hidden) ** 0.5, generator=generator)
            else:
                nn.init.uniform_(weight, -bound, bound, generator=generator)
            nn.init.uniform_(bias, -bound, bound, generator=generator)
        self.to(dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Map x, (M, T, B, p), to (M, B, q), or to (M, T, B, q) if every step is read out."""
        states, last = self.layer(x)
        return affine(self.weight, states if self.every_step else last[0], self.bias.unsqueeze(1))

    @property
    def members(self) -> int:
        """Number of members M."""
        return len(self.bias)

    def parameter_count(self) -> int:
        """Return the number of trainable numbers of one member."""
        return sum(p.shape[1:].numel() for p in self.parameters())

    def keep(self, index: Tensor) -> None:
        """Keep only the members ``index``, (K,) int64, in that order."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.data = tensor.data[index]
        self.layer.members = len(index)
