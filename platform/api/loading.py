"""Trained networks: the weights of a retraining, ready to predict, also step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from longwave.models.base.layer import State
from longwave.models.base.ragged import checked_lengths, ends_of
from longwave.platform.api.arguments import check_counts, check_optional_texts, check_texts
from longwave.platform.api.sequence_module import change_state
from longwave.platform.boards.row import Row
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.registry import get_task
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.saved_weights import find_weights, scores_agree
from longwave.platform.training.networks import network_of
from longwave.platform.training.scoring import CHUNK, scored
from longwave.platform.training.train import loaded, unfit
from longwave.platform.training.weights import SavedWeights
from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.losses import choose_classes
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec


def load(
    row: str | Row, *, store: str | None = None, seed: int | None = None, storage: str | None = None, check: bool = True
) -> TrainedNetwork:
    """Return the trained network of a retraining whose weights were saved.

    Example::

        network = lw.load("3f9c12ab")          # as the board names it; or a row of lw.board(...).rows
        network.predict(x)                     # classes (B,), or numbers (B, q), of x (B, T, p) or of tokens (B, T)
        network.outputs(x)                     # (B, q) before any softmax

    Args:
        row: A row's name or its first digits, or a row of a board; or the full name of one retraining. For a row, the
            retraining with the best validation score is loaded.
        store: URL of the results store; by default as for the command line.
        seed: Load the retraining with this seed of the row.
        storage: Checkpoint folder of its sweep, if it was given.
        check: Whether to score the test split again and compare with the store.

    Raises:
        ConfigError: No such row; or no weights of it, with the command that trains it again; or another score.
    """
    name = row.config if isinstance(row, Row) else row
    check_texts(row=name)
    check_optional_texts(store=store, storage=storage)
    check_counts(seed=0 if seed is None else seed)
    with Store(store_url(store), create=False) as open_store:
        trial, weights = find_weights(open_store, name, seed, storage)
    try:
        network = TrainedNetwork(weights)
    except RuntimeError as error:
        message = (
            f"The weights of trial {trial.config.id} do not fit its network: {str(error).splitlines()[-1].strip()}"
        )
        raise ConfigError(f"{message} Delete them, and train again.") from None
    if check and not scores_agree(score := network.score(), trial.run.test if trial.run else None):
        message = f"{score:.6g} here, {weights.test:.6g} when they were saved"
        raise ConfigError(f"The weights of trial {network.trial} score {message}. Load them anyway with check=False.")
    return network


class TrainedNetwork(nn.Module):
    """One trained network, a layer and its read-out, for data as the task feeds them: numbers, bytes, or tokens.

    With a data card, inputs must be standardised by the mean and standard deviation of the training split; numbers are
    returned on that scale.

    Attributes:
        trial: Name of the retraining; ``config`` is its full configuration.
        test: Its test metric, in the task's unit.
    """

    def __init__(self, weights: SavedWeights) -> None:
        super().__init__()
        self.config, self.test, self.every_step = weights.config, weights.test, weights.every_step
        self.trial = self.config.id
        self.network = network_of([self.config], weights.positions)
        self.network.load_state_dict({name: tensor.unsqueeze(0) for name, tensor in weights.tensors.items()})
        self.eval()

    @property
    def task(self) -> TaskSpec:
        """The task on which it was trained."""
        return get_task(self.config.task)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Return the outputs of every step, (B, T, q), and the state from which to continue.

        Args:
            x: Numbers (B, T, p), bytes (B, T, p) uint8, or tokens (B, T).
            state: That of the previous call; by default the initial state.

        Raises:
            ValueError: Another shape, no sequences, or a token outside the vocabulary.
        """
        batch = self._batch(self._checked(x))
        outputs, last = self.network.run(batch, change_state(state, lambda s: s.unsqueeze(0)))
        return outputs[0].transpose(0, 1), tuple(s.squeeze(0) for s in last)

    @torch.no_grad()
    def step(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Return the outputs of one step, (B, q), and the state after it, for x (B, p), or tokens (B,)."""
        outputs, last = self(torch.as_tensor(x).unsqueeze(1), state)
        return outputs.squeeze(1), last

    @torch.no_grad()
    def predict(self, x: Tensor | Batch, lengths: Tensor | None = None) -> Tensor:
        """Return predictions: classes from 0 as int64, (B,) or for every step (B, T), or values as ``outputs``.

        Args: As for ``outputs``.
        """
        outputs = self.outputs(x, lengths)
        return choose_classes(outputs) if self.task.smooths else outputs

    @torch.no_grad()
    def outputs(self, x: Tensor | Batch, lengths: Tensor | None = None) -> Tensor:
        """Return the outputs, before any softmax: (B, q) of whole sequences, or (B, T, q) of every step.

        Args:
            x: As for ``forward``; or a batch of the task, such as a graph, whose outputs are in the order of its
                targets.
            lengths: (B,) steps of each sequence, if they are ragged and padded at the end.

        Raises:
            ValueError: As for ``forward``; or the lengths are not one whole number per sequence, from 1 to T.
        """
        if isinstance(x, Batch):
            bias = self.network.bias
            fed = x.to(bias.device, bias.dtype).take(torch.arange(len(x), device=bias.device)).shared(1)
            outputs = fed.answers(self.network.run)[0][0]
            return outputs.transpose(0, 1) if isinstance(x, Sequences) and x.every_step else outputs
        x = self._checked(x)
        return torch.cat(list(self._predicted(x, None if lengths is None else checked_lengths(lengths, x))))

    def score(self) -> float:
        """Return the task's metric on its test split, recomputed.

        Raises:
            ConfigError: Task, model or data have another version here.
        """
        if why := unfit(self.config):
            raise ConfigError(f"Trial {self.trial} was made {why}: its score cannot be recomputed.")
        device = str(self.network.bias.device)
        data = loaded(self.config.task, self.config.variant, self.config.data, self.config.precision, device)
        return float(scored(self.network, self.task, data.test)[0])

    def extra_repr(self) -> str:
        """Return a description: task, model, test metric."""
        return f"{self.config.model} on {self.config.task}, test {self.task.metric.name} {self.test:.4g}"

    def _predicted(self, x: Tensor, lengths: Tensor | None) -> Iterator[Tensor]:
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            outputs, _ = self(x[part])
            yield outputs if self.every_step else ends_of(outputs, None if lengths is None else lengths[part])

    def _checked(self, given: Any) -> Tensor:
        """Return x as a tensor.

        Raises:
            ValueError: It is no array, has another shape than the task's inputs, no sequences, or a token outside the
                vocabulary.
        """
        task = self.task
        kind = "tokens (B, T)" if task.tokens else f"numbers (B, T, {task.inputs})"
        try:
            x = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError):
            raise ValueError(f"{task.name}: x must be {kind} and not empty, got {type(given).__name__}.") from None
        wrong = x.ndim != 2 or x.is_floating_point() if task.tokens else x.ndim != 3 or x.shape[-1] != task.inputs
        if wrong or 0 in x.shape:
            raise ValueError(f"{task.name}: x must be {kind} and not empty, got {x.dtype} {tuple(x.shape)}.")
        if task.tokens and not 0 <= int(x.min()) <= int(x.max()) < task.tokens:
            raise ValueError(f"{task.name}: tokens are 0 to {task.tokens - 1}, got {int(x.min())} to {int(x.max())}.")
        return x

    def _batch(self, x: Tensor) -> Sequences:
        """Return sequences as inputs of the network, with every step read out."""
        bias = self.network.bias
        x = x.to(bias.device) if self.task.tokens or x.dtype == torch.uint8 else x.to(bias)
        unscored = torch.full(x.shape[:2], NO_TARGET, device=x.device)
        batch = Sequences(x, unscored, dtype=bias.dtype)
        return batch.take(torch.arange(len(x), device=x.device)).shared(1)
