"""A pack's network: one layer and its affine read-out, for M members at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from longwave.models.base.algebra import affine_readout
from longwave.models.base.dropout import dropped
from longwave.models.base.layer import Generators, Layer, State
from longwave.models.base.param import OptionValue
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.base.weights import WeightGroup
from longwave.tasks.base.batch import Batch


@dataclass(frozen=True)
class Vocabulary:
    """How tokens are encoded: one-hot if there are as many features as tokens, else by a trained embedding.

    Attributes:
        tokens: Their number V; 0 if inputs are numbers.
        start: The initial embedding, (V, p); N(0, 1) by default.
    """

    tokens: int = 0
    start: Tensor | None = None


class Network(nn.Module):
    """M networks in one tensor program: from a batch to outputs (M, ..., q) wherever it has targets.

    The read-out is o = W_o s + b_o of the layer's output s (LEM and coRNN: y, LSTM and GRU: h). Its weights start as
    torch.nn.Linear's unless the layer defines others.

    Args:
        spec: The model.
        sizes: Numbers of features, and of positions of an example.
        hyper: One value per member for each of the model's parameters.
        seeds: One seed per member; member k's weights depend on ``seeds[k]`` only.
        options: The model's static choices.
        dtype: Of weights and hyper-parameters. Weights are drawn in float32, so a seed gives the same in any dtype.
        vocabulary: How tokens are encoded.
        dropouts: One rate per member of ``input_dropout``, on the layer's input features, and of ``output_dropout``, on
            the read-out's. Those not named are off.
    """

    def __init__(
        self,
        spec: ModelSpec,
        sizes: Sizes,
        hyper: Mapping[str, Sequence[float]],
        seeds: Sequence[int],
        options: Mapping[str, OptionValue] | None = None,
        dtype: torch.dtype = torch.float32,
        vocabulary: Vocabulary = Vocabulary(),
        dropouts: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        super().__init__()
        members = len(seeds)
        self.seeds = list(seeds)
        exact = {name: torch.tensor(values, dtype=torch.float64) for name, values in hyper.items()}
        self.layer = spec.build(sizes, members, **exact, **(options or {}))
        self.weight = nn.Parameter(torch.empty(members, sizes.outputs, self.layer.output_size))
        self.bias = nn.Parameter(torch.empty(members, sizes.outputs))
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.layer.reset_parameters(generators)
        for weight, bias, generator in zip(self.weight.data, self.bias.data, generators, strict=True):
            self.layer.draw_readout(weight, bias, generator)
        self.tokens = vocabulary.tokens
        self.embedding: nn.Parameter | None = None
        if vocabulary.tokens not in (0, sizes.inputs):
            start, shape = vocabulary.start, (vocabulary.tokens, sizes.inputs)
            starts = [torch.randn(shape, generator=g) if start is None else start.float() for g in generators]
            self.embedding = nn.Parameter(torch.stack(starts))
        for name, rates in (dropouts or {}).items():
            self.register_buffer(name, torch.tensor(rates))
        self.to(dtype)

    def forward(self, batch: Batch, step: int | None = None) -> Tensor:
        """Return the outputs of ``run`` from the zero state."""
        return self.run(batch, None, step)[0]

    def run(self, batch: Batch, state: Sequence[Tensor] | None = None, step: int | None = None) -> tuple[Tensor, State]:
        """Return outputs (M, ..., q) in the order of ``batch.ordered_targets``, and the layer's last state.

        Args:
            batch: With a members axis.
            state: The layer's initial state; zeros by default.
            step: Number of the training step: member k's dropout depends only on it and ``seeds[k]``.
        """
        generators = None
        if step is not None:
            generators = [torch.Generator().manual_seed((seed * 1_000_003 + step + 1) % 2**32) for seed in self.seeds]
        embedded = batch.map_inputs(lambda x: self._dropped("input_dropout", self._embedded(x), generators))
        features, last = self.layer.features(embedded, None if state is None else tuple(state) or None, generators)
        features = self._dropped("output_dropout", features, generators)
        return affine_readout(self.weight, features, self.bias.unsqueeze(1)), last

    @property
    def members(self) -> int:
        """Number of members M."""
        return len(self.bias)

    def parameter_count(self) -> int:
        """Return the number of trainable parameters of one member, without an embedding, as in the papers."""
        return sum(p.shape[1:].numel() for name, p in self.named_parameters() if name != "embedding")

    def groups(self) -> dict[str, WeightGroup]:
        """Return groups with their full names: ``readout``, ``embedding``, ``statistics``, and the layer's."""
        groups = {"readout": WeightGroup(("weight", "bias"))}
        if self.embedding is not None:
            groups["embedding"] = WeightGroup(("embedding",))
        if names := self.statistics():
            groups["statistics"] = WeightGroup(tuple(names), decay=False)
        layer_groups = self.layer.groups()
        return groups | {
            k: replace(g, weights=tuple(f"layer.{name}" for name in g.weights)) for k, g in layer_groups.items()
        }

    def statistics(self) -> list[str]:
        """Return the names of the tensors that training steps change without a gradient."""
        return [f"layer.{name}" for name in self.layer.statistics()]

    def constrain(self) -> None:
        """Project the layer's weights onto its constraints; called after each update."""
        self.layer.constrain()

    def _embedded(self, x: Tensor) -> Tensor:
        """Return the features of tokens, (..., p); numbers are returned unchanged."""
        if x.is_floating_point():
            return x
        if self.embedding is None:
            return nn.functional.one_hot(x.long(), self.tokens).to(self.weight.dtype)
        return torch.stack([nn.functional.embedding(t, e) for t, e in zip(x.long(), self.embedding, strict=True)])

    def _dropped(self, name: str, x: Tensor, generators: Generators) -> Tensor:
        rate = getattr(self, name, None)
        return x if rate is None or not self.training else dropped(x, rate, generators, per_step=True)

    def keep(self, index: Tensor) -> None:
        """Keep only the members ``index``, (K,) int64, in that order."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.data = tensor.data[index]
        self.seeds = [self.seeds[k] for k in index.tolist()]
        for part in self.layer.modules():
            if isinstance(part, Layer):
                part.members = len(index)
