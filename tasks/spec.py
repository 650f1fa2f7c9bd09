"""What a task file declares: its data, its sizes, its loss and metric, its published recipes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Split:
    """Sequences and what is asked of them.

    Attributes:
        inputs: (N, T, p) float32.
        targets: (N,) int64 classes, (N, q) float32 values, or (N, T, q) float32 where every step is read out.
    """

    inputs: Tensor
    targets: Tensor

    def __post_init__(self) -> None:
        if self.inputs.ndim != 3 or len(self.inputs) != len(self.targets) or len(self.inputs) == 0:
            shapes = f"{tuple(self.inputs.shape)} and {tuple(self.targets.shape)}"
            raise ValueError(f"A split needs inputs (N, T, p) and N > 0 targets, got {shapes}.")

    def to(self, device: torch.device | str) -> Split:
        """Return the split on ``device``."""
        return Split(self.inputs.to(device), self.targets.to(device))


@dataclass(frozen=True)
class Data:
    """Everything a task feeds: fixed splits, or a stream of fresh training batches.

    Attributes:
        valid, test: The same for every training seed.
        train: The training split; ``None`` for a stream.
        stream: ``stream(seed, n)`` gives n fresh training sequences; equal arguments give equal sequences.
    """

    valid: Split
    test: Split
    train: Split | None = None
    stream: Callable[[int, int], Split] | None = None

    def __post_init__(self) -> None:
        if (self.train is None) == (self.stream is None):
            raise ValueError("Give Data either a training split or a stream, not both or neither.")

    @cached_property
    def version(self) -> str:
        """First 12 hex digits of the SHA-256 of the tensors fed; a stream counts with one sample."""
        train = self.train or self.stream(0, 16)  # type: ignore[misc]
        digest = hashlib.sha256()
        for split in (train, self.valid, self.test):
            for tensor in (split.inputs, split.targets):
                digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
                digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Metric:
    """How predictions are scored.

    Attributes:
        name: As in the published tables: ``"accuracy"``, ``"l2_error"``, ``"mse"``.
        unit: ``"%"``, or ``"1"`` for the target's own unit.
        goal: Whether larger (``"max"``) or smaller (``"min"``) is better.
        definition: The exact formula in words.
        score: ``score(outputs, targets) -> (M,)`` for outputs (M, N, q) or (M, T, N, q).
    """

    name: str
    unit: str
    goal: Literal["max", "min"]
    definition: str
    score: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Recipe:
    """A published training recipe; also the default of a sweep.

    Attributes:
        hidden: Hidden size d, features.
        batch: Sequences a step.
        epochs: Passes over the training split, or blocks of ``steps`` of a stream.
        drops: Epochs after which the learning rate is divided by 10.
        clip: Largest gradient norm of a member; ``None`` means no clipping.
        steps: Steps an epoch of a stream; ``None`` for a training split.
        source: Paper and table.
    """

    hidden: int
    batch: int
    epochs: int
    source: str
    drops: tuple[int, ...] = ()
    clip: float | None = None
    steps: int | None = None


@dataclass(frozen=True)
class TaskSpec:
    """One task of the benchmark. A task file binds exactly one of these to ``TASK``.

    Attributes:
        name: Unique key, equal to the file name.
        title: As the board prints it.
        summary: One sentence: what it tests.
        inputs, outputs: Features p and q.
        every_step: Whether every step is read out, or the last alone.
        loss: ``loss(outputs, targets) -> (M,)``, the mean for each member; differentiable.
        metric: The headline metric.
        chance: The metric of a predictor that ignores its inputs; ``None`` where the task has no fixed value.
        load: ``load(variant) -> Data``. Raises ValueError for a variant that does not exist.
        variant: The default variant; empty for a task that has one form.
        variants: What a variant may be, in words.
        recipes: Published recipe by model; ``""`` holds for all other models.
        published: Variant of the published table by variant of ours, where they differ.
        source: Paper or data source, and licence of the data.
    """

    name: str
    title: str
    summary: str
    inputs: int
    outputs: int
    every_step: bool
    loss: Callable[[Tensor, Tensor], Tensor]
    metric: Metric
    chance: float | None
    load: Callable[[str], Data]
    recipes: Mapping[str, Recipe]
    source: str
    variant: str = ""
    variants: str = ""
    published: Mapping[str, str] = field(default_factory=dict)

    def recipe(self, model: str) -> Recipe:
        """Return the published recipe of ``model``, or the one that holds for all others."""
        return self.recipes.get(model, self.recipes[""])
