"""Predictors of data of one's own, against numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from sklearn.linear_model import Ridge  # type: ignore[import-untyped]

from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import PersistentTargets
from longwave.tasks.trivial.whole import SummaryRidge, _summarise

N, T = 60, 9


def split(seed: int, law: torch.Tensor) -> Sequences:
    """Return ragged sequences of two channels, asked for a linear law of their last value, mean and maximum."""
    draw = torch.Generator().manual_seed(seed)
    x, lengths = torch.randn(N, T, 2, generator=draw), torch.randint(2, T + 1, (N,), generator=draw)
    rows = [x[k, :n].double() for k, n in enumerate(lengths.tolist())]
    facts = torch.stack([torch.stack([r[-1, 0], r[:, 1].mean(), r[:, 0].max()]) for r in rows])
    padded = x.masked_fill(torch.arange(T)[:, None] >= lengths[:, None, None], 0.0)
    return Sequences(padded, (facts @ law + 0.7)[:, None].float(), lengths=lengths)


def test_ridge_on_summaries_finds_a_law_of_last_value_mean_and_maximum_of_ragged_sequences() -> None:
    law = torch.tensor([1.5, -2.0, 0.5], dtype=torch.float64)
    data = Data(train=split(0, law), valid=split(1, law), test=split(2, law))
    fitted = SummaryRidge().fit(data)
    assert np.allclose(fitted.outputs(data.test), data.test.targets, atol=1e-4)
    assert fitted.numbers == 13 and fitted.chosen == "penalty 1e-08"


def test_its_classes_of_ragged_sequences_are_those_of_scikit_learns_ridge_on_indicators() -> None:
    law = torch.tensor([1.5, -2.0, 0.5], dtype=torch.float64)
    parts = [split(seed, law) for seed in (0, 1, 2)]
    classed = [replace(part, targets=(part.targets[:, 0] > 0).long() + (part.targets[:, 0] > 2)) for part in parts]
    data = Data(train=classed[0], valid=classed[1], test=classed[2])
    fitted = SummaryRidge(3).fit(data)
    predicted = fitted.outputs(data.test).argmax(1)
    x, tested = _summarise(data.train), _summarise(data.test)
    penalty = float(fitted.chosen.removeprefix("penalty ")) * x.square().mean().item() * len(x)
    theirs = Ridge(alpha=penalty, fit_intercept=False).fit(x.numpy(), torch.nn.functional.one_hot(data.train.targets))
    assert predicted.tolist() == theirs.predict(tested.numpy()).argmax(1).tolist()
    assert (predicted == data.test.targets).double().mean() > 0.6 and fitted.numbers == 39


def test_there_may_be_more_classes_than_numbers_in_a_summary() -> None:
    x = torch.arange(60.0).repeat(4, 1).T.unsqueeze(-1)
    some = Sequences(x, torch.arange(60) // 4)
    assert SummaryRidge(15)(Data(train=some, valid=some, test=some)).shape == (60, 15)


def test_what_is_held_is_what_is_forecast() -> None:
    x = torch.randn(5, T, 3)
    data = Data(train=Sequences(x, x[..., :2]), valid=Sequences(x, x[..., :2]), test=Sequences(x, x[..., :2]))
    assert torch.equal(PersistentTargets(2)(data), x[..., :2].double())
