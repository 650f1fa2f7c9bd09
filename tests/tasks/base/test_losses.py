"""Losses and metrics against torch's and numpy's own, with and without steps where nothing is asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from longwave.platform.registry import all_tasks
from longwave.tasks.base import losses
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.metric import Metric

sizes = {"members": st.integers(1, 3), "n": st.integers(1, 9), "t": st.integers(1, 6), "q": st.integers(2, 5)}
seeds = {"seed": st.integers(0, 999), "share": st.floats(0, 0.9)}
quickly = settings(max_examples=25)


def classes(n: int, t: int, q: int, seed: int, share: float) -> Tensor:
    """Return classes (n, t); a share of them is not asked, the first always is."""
    g = torch.Generator().manual_seed(seed)
    drawn = torch.randint(q, (n, t), generator=g)
    drawn[torch.rand(n, t, generator=g) < share] = NO_TARGET
    drawn[0, 0] = 1
    return drawn


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@quickly
@given(**sizes, **seeds, smoothing=st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_smoothed_labels_are_torchs_each_member_with_its_own_share(
    members: int, n: int, t: int, q: int, seed: int, share: float, smoothing: list[float]
) -> None:
    outputs, targets = normal(members, n, t, q, seed=seed), classes(n, t, q, seed, share)
    targets = targets.expand(members, n, t)
    own = torch.tensor(smoothing[:members], dtype=torch.float64)
    expected = [
        functional.cross_entropy(outputs[k].flatten(0, 1), targets[k].flatten(), label_smoothing=smoothing[k])
        for k in range(members)
    ]
    torch.testing.assert_close(losses.cross_entropy(outputs, targets, own), torch.stack(expected))


@quickly
@given(members=st.integers(1, 3), n=st.integers(1, 9), seed=st.integers(0, 99), smoothing=st.floats(0.0, 1.0))
def test_two_classes_in_one_logit_are_smoothed_as_two_logits_are(
    members: int, n: int, seed: int, smoothing: float
) -> None:
    logits, targets = normal(members, n, 4, 1, seed=seed), classes(n, 4, 2, seed, 0.3).expand(members, n, 4)
    own = torch.full((members,), smoothing, dtype=torch.float64)
    both = torch.cat([torch.zeros_like(logits), logits], -1)
    expected = losses.cross_entropy(both, targets, own)
    torch.testing.assert_close(losses.binary_cross_entropy(logits, targets, own), expected)


def test_a_task_knows_whether_its_labels_can_be_smoothed() -> None:
    assert {name for name, task in all_tasks().items() if not task.smooths} == {
        name
        for name, task in all_tasks().items()
        if task.loss in (losses.mean_squared_error, losses.mean_absolute_error)
    }


@quickly
@given(**sizes, **seeds)
def test_cross_entropy_is_torchs_for_each_member_over_what_is_asked(
    members: int, n: int, t: int, q: int, seed: int, share: float
) -> None:
    outputs, targets = normal(members, n, t, q, seed=seed), classes(n, t, q, seed, share)
    each = targets.expand(members, n, t)
    for k, value in enumerate(losses.cross_entropy(outputs, each)):
        expected = functional.cross_entropy(outputs[k].flatten(0, 1), targets.flatten(), ignore_index=NO_TARGET)
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-13)
        nats = losses.CROSS_ENTROPY.score(outputs, targets)[k].item()
        assert nats == pytest.approx(expected.item(), rel=1e-12)
        assert losses.BITS.score(outputs, targets)[k].item() == pytest.approx(nats / np.log(2), rel=1e-12)
        assert losses.PERPLEXITY.score(outputs, targets)[k].item() == pytest.approx(np.exp(nats), rel=1e-12)


@quickly
@given(**sizes, **seeds)
def test_accuracy_counts_the_largest_logit_over_what_is_asked(
    members: int, n: int, t: int, q: int, seed: int, share: float
) -> None:
    outputs, targets = normal(members, n, t, q, seed=seed), classes(n, t, q, seed, share)
    for value, o in zip(losses.ACCURACY.score(outputs, targets).tolist(), outputs.numpy(), strict=True):
        pairs = [(np.argmax(o[i, j]), int(targets[i, j])) for i in range(n) for j in range(t)]
        hits = [guess == label for guess, label in pairs if label != NO_TARGET]
        assert value == pytest.approx(100 * np.mean(hits), rel=1e-12)


@quickly
@given(**sizes, **seeds)
def test_one_logit_is_torchs_binary_cross_entropy_and_right_on_its_side_of_0(
    members: int, n: int, t: int, q: int, seed: int, share: float
) -> None:
    outputs, targets = normal(members, n, t, 1, seed=seed), classes(n, t, 2, seed, share)
    scored = targets != NO_TARGET
    loss = losses.binary_cross_entropy(outputs, targets.expand(members, n, t))
    score = losses.ACCURACY.score(outputs, targets)
    for k in range(members):
        logits, labels = outputs[k, ..., 0][scored], targets[scored]
        expected = functional.binary_cross_entropy_with_logits(logits, labels.double())
        torch.testing.assert_close(loss[k], expected, rtol=1e-12, atol=1e-13)
        right = np.round(scipy.special.expit(logits.numpy())) == labels.numpy()
        assert score[k].item() == pytest.approx(100 * right.mean(), rel=1e-12)


@quickly
@given(**sizes, **seeds)
def test_errors_of_values_are_numpys_over_what_is_asked(
    members: int, n: int, t: int, q: int, seed: int, share: float
) -> None:
    outputs, targets = normal(members, n, t, q, seed=seed), normal(n, t, q, seed=seed + 1)
    targets[classes(n, t, 2, seed, share) == NO_TARGET] = torch.nan
    for k, o in enumerate(outputs.numpy()):
        squares = np.nanmean((o - targets.numpy()) ** 2)
        assert losses.mean_squared_error(outputs, targets)[k].item() == pytest.approx(squares, rel=1e-12)
        assert losses.MSE.score(outputs, targets)[k].item() == pytest.approx(squares, rel=1e-12)
        assert losses.L2_ERROR.score(outputs, targets)[k].item() == pytest.approx(np.sqrt(squares), rel=1e-12)
        distances = np.nanmean(np.abs(o - targets.numpy()))
        assert losses.mean_absolute_error(outputs, targets)[k].item() == pytest.approx(distances, rel=1e-12)
        assert losses.MAE.score(outputs, targets)[k].item() == pytest.approx(distances, rel=1e-12)
        relative = np.sqrt(squares / np.nanmean(targets.numpy() ** 2))
        assert losses.NRMSE.score(outputs, targets)[k].item() == pytest.approx(relative, rel=1e-12)


@pytest.mark.parametrize("metric", [losses.MSE, losses.L2_ERROR, losses.NRMSE], ids=lambda m: m.name)
def test_a_split_scored_in_pieces_scores_as_a_whole(metric: Metric) -> None:
    outputs, targets = normal(2, 3000, 1, seed=1), normal(3000, 1, seed=2)
    total = [sum(part) for part in zip(*(metric.sums(outputs[:, k], targets[k]) for k in range(0, 3000)), strict=True)]
    torch.testing.assert_close(metric.finish(total[0] / total[1]), metric.score(outputs, targets))
    squares = (outputs - targets).square().mean((1, 2))
    wanted = {"mse": squares, "l2_error": squares.sqrt(), "nrmse": (squares / targets.square().mean()).sqrt()}
    torch.testing.assert_close(metric.score(outputs, targets), wanted[metric.name])


@pytest.mark.parametrize("loss", [losses.cross_entropy, losses.binary_cross_entropy])
def test_what_is_not_asked_has_no_gradient_and_nothing_broken_there_counts(loss: Callable[..., Tensor]) -> None:
    q = 3 if loss is losses.cross_entropy else 1
    outputs = normal(1, 2, 4, q, seed=3).requires_grad_()
    targets = torch.tensor([[[1, NO_TARGET, 0, 1], [NO_TARGET, 1, NO_TARGET, 0]]])
    loss(outputs, targets).sum().backward()
    assert outputs.grad is not None
    assert torch.equal((outputs.grad != 0).any(-1), targets != NO_TARGET)
    assert torch.autograd.gradcheck(lambda o: loss(o, targets), outputs)


@pytest.mark.parametrize("loss", ["mean_squared_error", "mean_absolute_error", "cross_entropy", "binary_cross_entropy"])
def test_a_batch_without_targets_has_no_loss_and_no_gradient(loss: str) -> None:
    outputs = normal(2, 3, 4, 1 if loss != "cross_entropy" else 5, seed=0).requires_grad_()
    targets = torch.full((2, 3, 4), NO_TARGET) if "entropy" in loss else torch.full((2, 3, 4, 1), torch.nan)
    value = getattr(losses, loss)(outputs, targets)
    value.sum().backward()
    assert value.tolist() == [0.0, 0.0] and outputs.grad is not None and not outputs.grad.any()
