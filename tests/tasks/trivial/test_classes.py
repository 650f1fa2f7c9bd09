"""Classifiers of whole sequences, each against brute force."""

from __future__ import annotations

import sys
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from longwave.platform.registry import get_task
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.kernel import PENALTIES, WIDTHS, KernelRidge
from longwave.tasks.trivial.neighbours import Nearest
from longwave.tasks.trivial.rocket import MiniRocket
from longwave.tasks.trivial.whole import logits


def split(n: int, seed: int, classes: int = 3, length: int = 12) -> Sequences:
    """Return noise around one curve a class."""
    draws = np.random.RandomState(seed)
    labels = draws.randint(classes, size=n)
    curves = np.sin(np.outer(1 + np.arange(classes), np.linspace(0, 3, length)))
    x = curves[labels] + 0.7 * draws.standard_normal((n, length))
    return Sequences(torch.from_numpy(x).float().unsqueeze(-1), torch.from_numpy(labels))


def test_the_logits_of_classes_are_indicators_or_for_two_of_them_a_sign() -> None:
    classes = torch.tensor([0, 1, 1])
    assert logits(classes, 1).tolist() == [[-1.0], [1.0], [1.0]]
    assert logits(classes, 3).tolist() == np.eye(3)[[0, 1, 1]].tolist()


def data_of(classes: int = 3, length: int = 12) -> Data[Sequences]:
    train, valid, test = (split(n, seed, classes, length) for seed, n in enumerate((60, 40, 30)))
    return Data(train=train, valid=valid, test=test)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_nearest_sequence_is_that_of_least_squared_differences(classes: int) -> None:
    data = data_of(classes)
    assert data.train is not None
    x, tested = data.train.inputs.double().numpy()[..., 0], data.test.inputs.double().numpy()[..., 0]
    wanted = [int(data.train.targets[((x - row) ** 2).sum(1).argmin()]) for row in tested]
    assert Nearest(classes)(data).argmax(1).tolist() == wanted
    if classes == 2:
        assert (Nearest(1)(data).squeeze(1) > 0).long().tolist() == wanted


def test_bytes_are_compared_as_they_are_fed() -> None:
    x = torch.randint(256, (20, 6, 1), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    some = Sequences(x, torch.arange(20) % 4)
    outputs = Nearest(4)(Data(train=some, valid=some, test=some))
    assert outputs.argmax(1).tolist() == some.targets.tolist()


def test_sequences_far_from_zero_are_told_apart_as_near_it() -> None:
    data = data_of()
    assert data.train is not None
    far = [Sequences(s.inputs * 64 + 2.0**17, s.targets) for s in (data.train, data.valid, data.test)]
    moved = Nearest(3)(Data(train=far[0], valid=far[1], test=far[2])).argmax(1)
    x, tested = (s.inputs.double().numpy()[..., 0] for s in (far[0], far[2]))
    assert moved.tolist() == [int(far[0].targets[((x - row) ** 2).sum(1).argmin()]) for row in tested]


def test_kernel_ridge_solves_its_equations_with_the_width_and_penalty_that_are_right_most_often_on_validation() -> None:
    data = data_of()
    assert data.train is not None
    x, valid, test = (s.inputs.double().numpy()[..., 0] for s in (data.train, data.valid, data.test))
    signs = np.where(data.train.targets.numpy()[:, None] == np.arange(3), 1.0, -1.0)
    spread = 2 * ((x - x.mean(0)) ** 2).mean(0).sum()  # the mean squared distance between two examples

    def kernel(a: np.ndarray, width: float) -> np.ndarray:
        return np.asarray(np.exp(-width / spread * ((a[:, None] - x[None]) ** 2).sum(2)))

    def predict(points: np.ndarray, width: float, penalty: float) -> np.ndarray:
        return np.asarray(kernel(points, width) @ np.linalg.solve(kernel(x, width) + penalty * np.eye(60), signs))

    hits = {
        choice: (predict(valid, *choice).argmax(1) == data.valid.targets.numpy()).sum()
        for choice in product(WIDTHS, PENALTIES)
    }
    best = max(hits, key=lambda choice: hits[choice])
    fitted = KernelRidge(3).fit(data)
    assert fitted.chosen == f"width {best[0]:g}, penalty {best[1]:g}"
    np.testing.assert_allclose(fitted.outputs(data.test), predict(test, *best), atol=1e-6)


def test_digits_are_told_apart_by_their_neighbours_so_the_page_can_say_that_trivial_gets_far() -> None:
    task = get_task("digits")
    measured = task.measured(task.load(""))
    assert measured["majority"].score < 11 < 95 < measured["1-NN"].score and measured["kernel ridge"].score > 95
    assert measured["1-NN"].numbers == 1197 * 64 + 1197


def test_minirocket_without_aeon_says_in_one_line_how_to_get_it_and_is_left_out() -> None:
    if not MiniRocket(10).lacks():
        pytest.skip("aeon is installed here, so MiniRocket lacks nothing.")
    task = get_task("digits")
    assert task.lacking() == {"MiniRocket": "MiniRocket needs aeon: pip install 'longwave[rocket]'"}
    assert "MiniRocket" not in task.measured(task.load(""))


class RandomFeatures:
    """A fixed random projection with the interface of aeon's MiniRocket."""

    def __init__(self, n_kernels: int, random_state: int, n_jobs: int = 1) -> None:
        self.kernels = np.random.RandomState(random_state).standard_normal((40, n_kernels))

    def transform(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(x[:, 0] @ self.kernels, 0.0))

    fit_transform = transform


@pytest.mark.parametrize("classes, outputs", [(3, 3), (2, 2), (2, 1)])
def test_minirocket_has_the_margins_of_the_penalty_that_is_right_most_often_on_validation(
    classes: int, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.linear_model import RidgeClassifier  # type: ignore[import-untyped]

    stub = SimpleNamespace(MiniRocket=RandomFeatures)
    monkeypatch.setitem(sys.modules, "aeon.transformations.collection.convolution_based", stub)
    data, of_aeon = data_of(classes, 40), RandomFeatures(16, 0)
    assert data.train is not None
    x, valid, test = (of_aeon.transform(s.inputs.numpy().swapaxes(1, 2)) for s in (data.train, data.valid, data.test))
    x, valid, test = ((rows - x.mean(0)) / (x.std(0) + 1e-8) for rows in (x, valid, test))
    tried = {penalty: RidgeClassifier(alpha=penalty).fit(x, data.train.targets) for penalty in (1e-2, 1.0, 1e2, 1e4)}
    hits = {penalty: ridge.score(valid, data.valid.targets) for penalty, ridge in tried.items()}
    [best] = [penalty for penalty in hits if hits[penalty] == max(hits.values())]
    margins = tried[best].decision_function(test)
    wanted = margins if classes == 3 else np.stack([-margins, margins], 1)[:, -outputs:]
    fitted = MiniRocket(outputs, 16).fit(data)
    assert fitted.chosen == f"penalty {best:g}"
    np.testing.assert_allclose(fitted.outputs(data.test), wanted, atol=1e-6)


@pytest.mark.parametrize("classes, outputs", [(3, 3), (2, 2), (2, 1)])
def test_minirocket_is_a_ridge_classifier_on_aeons_features(classes: int, outputs: int) -> None:
    pytest.importorskip("aeon", reason="MiniRocket needs aeon: pip install 'longwave[rocket]'")
    data = data_of(classes, 40)
    logits = MiniRocket(outputs, 84)(data)
    predicted = (logits.squeeze(1) > 0).long() if outputs == 1 else logits.argmax(1)
    assert logits.shape == (30, outputs) and (predicted == data.test.targets).float().mean() > 0.8
