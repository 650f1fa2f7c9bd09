"""A pack's network: one recurrent layer and its affine read-out, for M members at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from longwave.models.base.algebra import affine
from longwave.models.base.param import OptionValue
from longwave.models.base.recurrence import State
from longwave.models.base.spec import ModelSpec, Sizes


@dataclass(frozen=True)
class Vocabulary:
    """What tokens become: one-hot features where there are as many as tokens, else an embedding that is trained.

    Attributes:
        tokens: Their number V; 0 where inputs are numbers.
        start: The embedding's start, (V, p); N(0, 1) by default.
    """

    tokens: int = 0
    start: Tensor | None = None


class Network(nn.Module):
    """M networks in one tensor program: inputs (M, T, B, p) or tokens (M, T, B) to outputs (M, B, q) or (M, T, B, q).

    The read-out is o = W_o s + b_o of the layer's output s (LEM and coRNN: y, LSTM and GRU: h). Its weights start as
    torch.nn.Linear's unless the layer says otherwise.

    Args:
        spec: The model.
        sizes: Features and length.
        hyper: One value a member for each of the model's parameters.
        seeds: One seed a member; member k's weights depend on ``seeds[k]`` alone.
        options: The model's static choices.
        every_step: Read out every step, not the last alone.
        dtype: Of weights and hyper-parameters. Weights are drawn in float32, so a seed gives the same in any.
        vocabulary: What tokens become.
    """

    def __init__(
        self,
        spec: ModelSpec,
        sizes: Sizes,
        hyper: Mapping[str, Sequence[float]],
        seeds: Sequence[int],
        options: Mapping[str, OptionValue] | None = None,
        every_step: bool = False,
        dtype: torch.dtype = torch.float32,
        vocabulary: Vocabulary = Vocabulary(),
    ) -> None:
        super().__init__()
        members = len(seeds)
        self.every_step, self.seeds = every_step, list(seeds)
        exact = {name: torch.tensor(values, dtype=torch.float64) for name, values in hyper.items()}
        self.layer = spec.build(sizes, members, **exact, **(options or {}))
        self.weight = nn.Parameter(torch.empty(members, sizes.outputs, sizes.hidden))
        self.bias = nn.Parameter(torch.empty(members, sizes.outputs))
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.layer.reset_parameters(generators)
        for weight, bias, generator in zip(self.weight.data, self.bias.data, generators, strict=True):
            self.layer.draw_readout(weight, bias, generator)
        self.tokens = vocabulary.tokens
        self.embedding: nn.Parameter | None = None
        if vocabulary.tokens not in (0, sizes.inputs):
            given, shape = vocabulary.start, (vocabulary.tokens, sizes.inputs)
            starts = [torch.randn(shape, generator=g) if given is None else given.float() for g in generators]
            self.embedding = nn.Parameter(torch.stack(starts))
        self.to(dtype)

    def forward(self, x: Tensor, step: int | None = None) -> Tensor:
        """Return the outputs of ``run`` from the zero state."""
        return self.run(x, None, step)[0]

    def run(self, x: Tensor, state: Sequence[Tensor] | None = None, step: int | None = None) -> tuple[Tensor, State]:
        """Return outputs (M, B, q), or (M, T, B, q) if every step is read out, and the layer's last state.

        Args:
            x: (M, T, B, p), or tokens (M, T, B).
            state: The layer's start state; zeros by default.
            step: Number of the training step: member k's dropout depends on that and ``seeds[k]`` alone.
        """
        generators = None
        if step is not None:
            generators = [torch.Generator().manual_seed((seed * 1_000_003 + step + 1) % 2**32) for seed in self.seeds]
        states, last = self.layer(self._embedded(x), state and tuple(state), generators)
        outputs = affine(
            self.weight, states if self.every_step else self.layer.readout(states, last), self.bias.unsqueeze(1)
        )
        return outputs, last

    @property
    def members(self) -> int:
        """Number of members M."""
        return len(self.bias)

    def parameter_count(self) -> int:
        """Return the number of trainable numbers of one member, an embedding not counted, as in the papers."""
        return sum(p.shape[1:].numel() for name, p in self.named_parameters() if name != "embedding")

    def _embedded(self, x: Tensor) -> Tensor:
        if not self.tokens:
            return x
        if self.embedding is None:
            return nn.functional.one_hot(x, self.tokens).to(self.weight.dtype)
        return torch.stack([nn.functional.embedding(t, e) for t, e in zip(x, self.embedding, strict=True)])

    def keep(self, index: Tensor) -> None:
        """Keep only the members ``index``, (K,) int64, in that order."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.data = tensor.data[index]
        self.layer.members, self.seeds = len(index), [self.seeds[k] for k in index.tolist()]
