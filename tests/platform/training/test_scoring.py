"""What batches of any kind become in training: padding counts nowhere, and a split scores as in one piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from batches import Pairs, example
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from longwave.models.base.layer import Layer
from longwave.models.base.network import Network, Vocabulary
from longwave.models.base.spec import Sizes
from longwave.platform.registry import get_model, get_task
from longwave.platform.training import scoring
from longwave.platform.training.scoring import scored
from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.losses import CROSS_ENTROPY, MSE, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec

CLASSES = 3
SIZES = Sizes(2, 4, CLASSES, 6)
TASK: TaskSpec = replace(get_task("digits"), inputs=2, outputs=CLASSES, metric=CROSS_ENTROPY)


def network_of(model: str, members: int = 2, sizes: Sizes = SIZES, **more: Any) -> Network:
    spec = get_model(model)
    hyper = {p.name: [p.low] * members for p in spec.space("")[1:]}
    return Network(spec, sizes, hyper, range(members), dtype=torch.float64, **more)


def ragged(n: int, steps: int, every_step: bool, more: int, seed: int) -> Sequences:
    """Return n sequences of up to ``steps`` steps, padded with ``more`` others; equal in all but the padding."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, steps, 2, generator=g, dtype=torch.float64)
    lengths = torch.randint(1, steps + 1, (n,), generator=g)
    classes = torch.randint(CLASSES, (n, steps) if every_step else (n,), generator=g)
    x = torch.cat([x, torch.zeros(n, more, 2).double()], 1)
    after = torch.arange(steps + more) >= lengths.unsqueeze(1)
    if every_step:
        classes = torch.cat([classes, torch.zeros(n, more).long()], 1).masked_fill(after, NO_TARGET)
    return Sequences(x.masked_fill(after.unsqueeze(-1), 50.0 * more + 1), classes, lengths=lengths)


def learned(network: Network, batches: Sequence[Batch], weights: Sequence[float]) -> tuple[Tensor, list[Tensor]]:
    """Return the weighted sum of each member's losses, (M,), and its gradients."""
    losses = [w * cross_entropy(network(b.shared(2)), b.ordered_targets) for b, w in zip(batches, weights, strict=True)]
    total = torch.stack(losses).sum(0)
    return total.detach(), list(torch.autograd.grad(total.sum(), list(network.parameters())))


@pytest.mark.parametrize("model", ["gru", "lem", "unicornn", "neural_ode_rnn"])
@pytest.mark.parametrize("every_step", [False, True])
@settings(max_examples=5)
@given(n=st.integers(1, 4), steps=st.integers(1, 6), more=st.integers(0, 4), seed=st.integers(0, 99))
def test_padding_changes_no_loss_no_gradient_and_no_score(
    model: str, every_step: bool, n: int, steps: int, more: int, seed: int
) -> None:
    network, split = network_of(model).eval(), ragged(n, steps, every_step, more, seed)
    assert split.lengths is not None
    alone = [
        Sequences(x[:, :end], y[:, :end] if every_step else y)
        for x, y, end in zip(split.inputs.split(1), split.targets.split(1), split.lengths.tolist(), strict=True)
    ]
    requested = [piece.targets.numel() for piece in alone]
    loss, gradients = learned(network, [split.take(torch.arange(n))], [1.0])
    expected, wanted = learned(network, alone, [count / sum(requested) for count in requested])
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(gradients, wanted, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(scored(network, TASK, split), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["last class", "classes", "bytes", "normal tail", "ragged"])
@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_split_scores_as_in_one_piece(kind: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    split = example(kind, 10).to("cpu", torch.float64)
    network = network_of("lem", vocabulary=Vocabulary(7 if kind == "classes" else 0)).eval()
    whole = split.take(torch.arange(10))
    expected = cross_entropy(network(whole.shared(2)), whole.ordered_targets)
    monkeypatch.setattr(scoring, "CHUNK", size)
    torch.testing.assert_close(scored(network, TASK, split), expected, rtol=1e-12, atol=0)


def test_nothing_is_dropped_while_a_split_is_scored() -> None:
    split = example("last class", 10).to("cpu", torch.float64)
    network = network_of("lem", dropouts={"input_dropout": [0.5, 0.5], "output_dropout": [0.5, 0.5]})
    plain = scored(network_of("lem"), TASK, split)
    whole = split.take(torch.arange(10))
    assert not torch.equal(cross_entropy(network.train()(whole.shared(2)), whole.ordered_targets), plain)
    assert torch.equal(scored(network.train(), TASK, split), plain)


@pytest.mark.parametrize(
    ("n", "chunk", "numbers", "sizes"),
    [
        (7, 3, 10**9, [3, 3, 1]),
        (7, 128, 2 * CLASSES * 5, [2, 2, 2, 1]),
        (3, 128, 1, [1, 1, 1]),
        pytest.param(130, scoring.CHUNK, scoring.CHUNK_NUMBERS, [128, 2], id="as it is"),
    ],
)
def test_no_piece_has_too_many_examples_or_outputs(
    n: int, chunk: int, numbers: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK", chunk)
    monkeypatch.setattr(scoring, "CHUNK_NUMBERS", numbers)
    network, seen = network_of("lem", vocabulary=Vocabulary(7)), []
    run: Callable[..., Any] = network.run

    def noted(batch: Batch, state: Any = None) -> Any:
        seen.append(batch.targets.shape[1])
        return run(batch, state)

    monkeypatch.setattr(network, "run", noted)
    scored(network, TASK, example("classes", n).to("cpu", torch.float64))
    assert seen == sizes


class Mixed(Layer[Any]):
    """A layer for two inputs: W times the sum of all features."""

    READS = Pairs

    def shapes(self):  # type: ignore[no-untyped-def]
        return {"W": (self.hidden_size, self.input_size)}

    def features(self, batch, state=None, generators=None):  # type: ignore[no-untyped-def]
        both = batch.features.sum(2) + batch.tokens.sum(2)
        return both @ self.W.mT, ()


def test_of_two_inputs_the_numbers_are_read_as_they_are_and_the_tokens_embedded() -> None:
    spec, split = replace(get_model("gru"), layer=Mixed), example("pairs", 6).to("cpu", torch.float64)
    assert isinstance(split, Pairs)
    network = Network(spec, SIZES, {}, [1, 2], dtype=torch.float64, vocabulary=Vocabulary(7))
    assert network.embedding is not None
    task = replace(TASK, metric=MSE)
    for k in range(2):
        read = split.features.sum(1) + network.embedding[k][split.tokens.long()].sum(1)
        outputs = read @ network.layer.W[k].mT @ network.weight[k].mT + network.bias[k]
        torch.testing.assert_close(network(split.take(torch.arange(6)).shared(2))[k], outputs)
        expected = (outputs - split.targets).square().mean()
        torch.testing.assert_close(scored(network, task, split)[k], expected)
