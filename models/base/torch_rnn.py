"""Layers that torch has an operator for, with its weights and names; without a fused loop it is called per member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import OptionValue
from longwave.models.base.recurrence import Recurrence


@dataclass(frozen=True)
class TorchWeights:
    """Of k gates: weight_ih (M, k d, p), weight_hh (M, k d, d), bias_ih and bias_hh (M, 1, k d)."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor
    bias_hh: Tensor


T = TypeVar("T", bound=TorchWeights)


class TorchNamed(Recurrence[T], Generic[T]):
    """A recurrence with torch's weights.

    They have torch's names without the layer's number: ``weight_ih`` (k d, p), ``weight_hh`` (k d, d), and the
    biases (k d,), for k gates. All start as U(−1/√d, 1/√d), as in torch. With ``biases=1``, as some papers count,
    there is no ``bias_hh``.
    """

    GATES: ClassVar[int]
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"biases": (2, 1)}
    biases: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of torch's weights of one layer."""
        p, d, k = self.input_size, self.hidden_size, self.GATES
        both: dict[str, tuple[int, ...]] = {"bias_hh": (k * d,)} if self.biases == 2 else {}
        return {"weight_ih": (k * d, p), "weight_hh": (k * d, d), "bias_ih": (k * d,), **both}

    def weights(self, tensors: Mapping[str, Tensor]) -> T:
        """Return the weights, with zeros in place of an absent bias."""
        return super().weights({"bias_hh": torch.zeros_like(tensors["bias_ih"]), **tensors})

    def drive(self, x: Tensor, w: T) -> tuple[Tensor, ...]:
        """Return V x + b + c of all gates."""
        return (affine(w.weight_ih, x, w.bias_ih + 1.0 * w.bias_hh),)


class TorchRecurrence(TorchNamed[TorchWeights]):
    """A layer whose reference is torch's own operator, called per member. Subclasses define ``step`` and ``one``."""

    WEIGHTS = TorchWeights

    def one(self, x: Tensor, state: State, weights: list[Tensor]) -> tuple[Tensor, ...]:
        """Return the outputs (T, B, d) and the last state of one member, (1, B, d) each."""
        raise NotImplementedError

    def scan(self, x: Tensor, state: State, w: TorchWeights, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state, by torch's operator, member by member."""
        results = [
            self.one(
                x[k],
                tuple(s[k : k + 1] for s in state),
                [w.weight_ih[k], w.weight_hh[k], w.bias_ih[k, 0], w.bias_hh[k, 0]],
            )
            for k in range(len(x))
        ]
        outputs, *last = zip(*results, strict=True)
        return torch.stack(outputs), tuple(torch.cat(s) for s in last)


def count(p: int, d: int, q: int, biases: int = 2, gates: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of a layer of torch's form and its read-out."""
    return gates * (d * d + d * p + d * biases) + (d + 1) * q
