"""Predictors on a delay embedding, each against brute force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.delays import Delays
from longwave.tasks.trivial.least_squares import powers
from longwave.tasks.trivial.neighbours import Neighbours
from longwave.tasks.trivial.polynomial import Polynomial


def paths(n: int, length: int, seed: int, channels: int = 1) -> Tensor:
    """Return smooth noisy walks, (n, length, channels)."""
    draws = torch.from_numpy(np.random.RandomState(seed).standard_normal((n, length, channels)))
    return (0.3 * draws).cumsum(1).sin()


def data_of(channels: int = 1, length: int = 41) -> Data[Sequences]:
    """Return a task that asks for the next value, of three different splits."""
    splits = [paths(n, length, seed, channels) for seed, n in enumerate((20, 9, 5))]
    train, valid, test = (Sequences(path[:, :-1], path[:, 1:].clone()) for path in splits)
    return Data(train=train, valid=valid, test=test)


def past(x: np.ndarray, step: int, lags: int, spacing: int) -> np.ndarray:
    """Return the values of each sequence at a step and before it, (N, lags·p)."""
    return np.concatenate([x[:, step - k * spacing] for k in range(lags)], 1)


def nearest(x: np.ndarray, y: np.ndarray, tested: np.ndarray, k: int, weighed: bool) -> np.ndarray:
    """Return the mean over the k nearest of rows x, by all distances."""
    predicted = []
    for row in tested:
        far = np.sqrt(((x - row) ** 2).sum(1))
        order = np.argsort(far, kind="stable")[:k]
        share = 1 / far[order] ** 2 if weighed else np.ones(len(order))
        predicted.append((y[order] * (share / share.sum())[:, None]).sum(0))
    return np.stack(predicted)


def polynomial(x: np.ndarray, y: np.ndarray, tested: np.ndarray, degree: int) -> np.ndarray:
    """Return numpy's least squares on products of all combinations of columns."""

    def monomials(rows: np.ndarray) -> np.ndarray:
        chosen = [c for d in range(degree + 1) for c in combinations_with_replacement(range(rows.shape[1]), d)]
        return np.stack([np.prod(rows[:, list(c)], 1) for c in chosen], 1)

    return np.asarray(monomials(tested) @ np.linalg.lstsq(monomials(x), y, rcond=None)[0])


def numbers(split: Sequences) -> tuple[np.ndarray, np.ndarray]:
    return split.inputs.double().numpy(), split.targets.double().numpy()


@dataclass(frozen=True)
class NearestAlone(Neighbours):
    """Neighbours with nothing left to choose but how early steps learn."""

    k: int = 1
    weighed: bool = False

    def candidates(self) -> list[tuple[str, tuple[int, bool]]]:
        return [("", (self.k, self.weighed))]


@dataclass(frozen=True)
class PlainPolynomial(Polynomial):
    """A polynomial without a penalty."""

    def candidates(self) -> list[tuple[str, float]]:
        return [("", 0.0)]


@pytest.mark.parametrize("k, weighed, channels", [(1, False, 1), (4, True, 1), (16, False, 1), (4, True, 2)])
def test_neighbours_are_those_of_all_distances_and_early_steps_take_the_better_of_two_ways(
    k: int, weighed: bool, channels: int
) -> None:
    data, lags, spacing = data_of(channels), 3, 4
    predicted = NearestAlone(lags=(lags,), spacings=(spacing,), k=k, weighed=weighed)(data).numpy()
    assert data.train is not None
    (x, y), (seen, wanted), (tested, _) = (numbers(split) for split in (data.train, data.valid, data.test))
    for step in range(40):
        m = min(lags, step + 1)
        s = min(spacing, max(1, step // max(1, m - 1)))
        rows = [(past(x, t, m, s), y[:, t]) for t in range((m - 1) * s, 40)]
        every = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
        pools = [every] if step >= lags * spacing - spacing else [(past(x, step, m, s), y[:, step]), every]
        errors = [
            ((nearest(*pool, past(seen, step, m, s), k, weighed) - wanted[:, step]) ** 2).mean() for pool in pools
        ]
        best = pools[int(np.argmin(errors))]
        np.testing.assert_allclose(predicted[:, step], nearest(*best, past(tested, step, m, s), k, weighed), atol=1e-9)


@pytest.mark.parametrize("degree, channels", [(2, 1), (3, 1), (2, 2)])
def test_a_polynomial_is_numpys_least_squares_on_all_monomials(degree: int, channels: int) -> None:
    data, lags = data_of(channels), 2
    predicted = PlainPolynomial(degree=degree, lags=(lags,), spacings=(3,))(data).numpy()
    assert data.train is not None
    (x, y), (tested, _) = numbers(data.train), numbers(data.test)
    rows = [(past(x, t, lags, 3), y[:, t]) for t in range(3, 40)]
    every = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
    for step in range(3, 40):
        wanted = polynomial(*every, past(tested, step, lags, 3), degree)
        np.testing.assert_allclose(predicted[:, step], wanted, atol=1e-8)


def test_a_cubic_recursion_of_two_values_is_found_with_its_spacing_and_the_linear_ones_are_not_enough() -> None:
    walk = [0.5 * paths(60, 2, 3)[:, k] for k in range(2)]
    for _ in range(58):
        walk.append(1.2 * walk[-1] - walk[-1] ** 3 - 0.3 * walk[-2])
    path = torch.stack(walk, 1)
    split = Sequences(path[:, :-1], path[:, 1:].clone())
    data = Data(train=split, valid=split, test=split)
    fitted = Polynomial(degree=3).fit(data)
    assert "lags 1 apart" in fitted.chosen
    error = (fitted.outputs(data.test)[:, 8:] - data.test.targets[:, 8:]).abs().max()
    assert error < 1e-6 < (Polynomial(degree=2)(data)[:, 8:] - data.test.targets[:, 8:]).abs().max()


def test_values_up_to_three_times_sixteen_steps_ago_are_tried() -> None:
    x = torch.randn(8, 260, 1, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    split = Sequences(x, x.roll(48, 1) + x.roll(32, 1) ** 2)
    fitted = Polynomial(degree=2).fit(Data(train=split, valid=split, test=split))
    assert fitted.chosen.startswith(f"{Delays(4, 16)}")


def test_lags_spacing_and_the_rest_are_those_of_least_error_on_validation_and_the_test_split_is_not_looked_at() -> None:
    data = data_of()
    by = NearestAlone(lags=(1, 2, 4), spacings=(1, 2), k=1)
    fitted = by.fit(data)
    other = Data(train=data.train, valid=data.valid, test=Sequences(data.test.inputs, -7 * data.test.targets))
    assert by.fit(other).chosen == fitted.chosen
    assert data.train is not None
    (x, y), (seen, wanted) = numbers(data.train), numbers(data.valid)

    def error(lags: int, spacing: int, first: int) -> float:
        """Return the error on the steps from ``first`` on, which have the past of all that are compared."""
        rows = [(past(x, t, lags, spacing), y[:, t]) for t in range((lags - 1) * spacing, 40)]
        every = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
        errors = [nearest(*every, past(seen, t, lags, spacing), 1, False) - wanted[:, t] for t in range(first, 40)]
        return float(np.mean(np.square(errors)))

    spacing = min((1, 2), key=lambda s: error(4, s, 6))
    lags = min((1, 2, 4), key=lambda k: error(k, spacing, 3 * spacing))
    assert fitted.chosen == f"{Delays(lags, spacing)}, "


@settings(max_examples=40)
@given(st.integers(1, 8), st.integers(1, 16), st.integers(0, 200))
def test_a_step_is_shown_as_many_values_as_it_has_and_none_from_before_the_start(
    lags: int, spacing: int, step: int
) -> None:
    here = Delays(lags, spacing).at(step)
    assert here.reach <= step and here.lags == min(lags, step + 1) and 1 <= here.spacing <= max(spacing, 1)
    assert (here == Delays(lags, spacing)) == (step >= (lags - 1) * spacing)


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 2**31 - 1))
def test_the_monomials_are_all_products_of_columns_once_each(columns: int, degree: int, seed: int) -> None:
    x = torch.from_numpy(np.random.RandomState(seed).uniform(0.5, 2.0, (3, columns)))
    chosen = [c for d in range(degree + 1) for c in combinations_with_replacement(range(columns), d)]
    wanted = torch.stack([x[:, list(c)].prod(1) for c in chosen], 1)
    torch.testing.assert_close(powers(x, degree), wanted)


@pytest.mark.parametrize("predictor", [Polynomial(), Neighbours()])
def test_outputs_that_are_known_in_turn_are_predicted_from_the_rows_in_which_they_are_known(
    predictor: Polynomial | Neighbours,
) -> None:
    whole = data_of(2)

    def in_turn(split: Sequences) -> Sequences:
        """Return a split in which each row has one of the two outputs."""
        targets = split.targets.clone()
        targets[:, ::2, 0] = targets[:, 1::2, 1] = torch.nan
        return Sequences(split.inputs, targets)

    assert whole.train is not None
    both = predictor(Data(train=in_turn(whole.train), valid=in_turn(whole.valid), test=in_turn(whole.test)))
    assert both.isfinite().all()
    spread = whole.test.targets.std().item()
    error = (both - whole.test.targets).square().mean().sqrt().item()
    assert error < 0.9 * spread, "not the mean"


@pytest.mark.parametrize("predictor", [Polynomial(), Neighbours()])
def test_an_output_without_any_target_is_predicted_by_zero_and_the_other_as_if_it_were_alone(
    predictor: Polynomial | Neighbours,
) -> None:
    whole = data_of(2)
    assert whole.train is not None
    one, alone = [], []
    for split in (whole.train, whole.valid, whole.test):
        targets = split.targets.clone()
        targets[..., 1] = torch.nan
        one.append(Sequences(split.inputs, targets))
        alone.append(Sequences(split.inputs, split.targets[..., :1]))
    predicted = predictor(Data(train=one[0], valid=one[1], test=one[2]))
    assert not predicted[..., 1].any()
    expected = predictor(Data(train=alone[0], valid=alone[1], test=alone[2]))
    torch.testing.assert_close(predicted[..., :1], expected)
