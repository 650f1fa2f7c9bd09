"""Small layers and networks for the rules for models: two features, four units, float64, fixed seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from longwave.models.base.layer import State
from longwave.models.base.network import Network
from longwave.models.base.param import OptionValue, Param
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.tasks.base.sequences import Sequences

SIZES = Sizes(inputs=2, hidden=4, outputs=3, length=7)
STEP = 5
"""A fixed training step, so that dropout depends only on the seeds."""


@dataclass(frozen=True)
class Case:
    """A model with a choice of its options.

    Attributes:
        spec: The model.
        options: Options that differ from the default.
    """

    spec: ModelSpec
    options: Mapping[str, OptionValue]

    @property
    def params(self) -> list[Param]:
        """The hyper-parameters that apply with these options."""
        return [*self.spec.layer.relevant({**self.spec.defaults, **self.options})]

    @property
    def needed(self) -> list[Param]:
        """Those of them that are searched by default."""
        return [p for p in self.params if p.searched]

    def layer(self, members: int | None = None, sizes: Sizes = SIZES, **chosen: Any) -> SequenceLayer[Any]:
        """Return a layer in float64; its searched hyper-parameters differ by member."""
        torch.default_generator.manual_seed(0)
        single = {p.name: value_at(p, 0.6) for p in self.needed}
        hyper: dict[str, Any] = single if members is None else self.points(members, self.needed)
        built = self.spec.build(sizes, members, **{**hyper, **self.options, **chosen})
        return built.to(torch.float64)  # type: ignore[return-value]

    def network(self, seeds: list[int], sizes: Sizes = SIZES, dtype: torch.dtype = torch.float64) -> Network:
        """Return a network with all its hyper-parameters, including optional ones."""
        return Network(self.spec, sizes, self.points(len(seeds), self.params), seeds, self.options, dtype)

    def points(self, members: int, params: list[Param]) -> dict[str, list[float]]:
        """Return values of hyper-parameters that differ between members."""
        fractions = [(k + 1) / (members + 1) for k in range(members)]
        return {p.name: [value_at(p, f) for f in fractions] for p in params}


def make_cases(spec: ModelSpec) -> list[tuple[str, Case]]:
    """Return a model with its defaults, then with each single option changed; of integer options, two values."""
    cases = [("", Case(spec, {}))]
    for name, (default, *others) in spec.layer.OPTIONS.items():
        choices = others[:2] if type(default) is int else others
        cases += [(f"{name} = {other}", Case(spec, {name: other})) for other in choices]
    return cases


def value_at(param: Param, fraction: float) -> float:
    """Return the value at a fraction of the range; for integers one from 0 to 3, short enough that delays matter."""
    return float(int(5 * fraction - 1)) if param.whole else param.low + (param.high - param.low) * fraction


def draw_normal(*shape: int, seed: int = 1) -> Tensor:
    """Return random numbers in float64."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def start_of(layer: SequenceLayer[Any], batch: int) -> State:
    """Return an initial state without zeros."""
    pack = () if layer.members is None else (layer.members,)
    return tuple(draw_normal(*pack, batch, *shape, seed=k) for k, shape in enumerate(layer.state_shapes().values()))


def make_batch(x: Tensor, every_step: bool = False) -> Sequences:
    """Return x, (..., T, B, p), as a batch with targets of class 0."""
    inputs = x.transpose(-3, -2)
    return Sequences(inputs, torch.zeros(inputs.shape[: -1 if every_step else -2], dtype=torch.int64))


def are_close(actual: Tensor, expected: Tensor, relative: float = 1e-10) -> bool:
    """Return whether two tensors agree, relative to the largest number in the second."""
    scale = expected.abs().max().clamp_min(1e-3) if expected.numel() else 1.0
    return actual.shape == expected.shape and bool((actual - expected).abs().le(relative * scale).all())
