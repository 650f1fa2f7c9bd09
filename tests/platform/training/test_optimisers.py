"""Each optimiser against torch's own, on one member, and on members whose numbers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import trial
from torch import Tensor, nn

from longwave.models.base.weights import WeightGroup
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import all_models, get_task
from longwave.platform.training.optimiser import FlatParameters
from longwave.platform.training.rules import Rules, optimisers, schedules, training_params

STEPS = 50
share = st.floats(0.0, 0.99)
NUMBERS = {
    "adam": {"beta1": share, "beta2": st.floats(0.5, 0.9999), "weight_decay": st.floats(0.0, 0.1)},
    "adamax": {"beta1": share, "beta2": st.floats(0.5, 0.9999), "weight_decay": st.floats(0.0, 0.1)},
    "adamw": {"beta1": share, "beta2": st.floats(0.5, 0.9999), "weight_decay": st.floats(0.0, 0.5)},
    "sgd": {"momentum": share, "weight_decay": st.floats(0.0, 0.1)},
    "rmsprop": {"rms_decay": st.floats(0.5, 0.999), "weight_decay": st.floats(0.0, 0.1)},
}
TORCHS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": lambda w, lr, beta1, beta2, weight_decay: torch.optim.Adam(w, lr, (beta1, beta2), 1e-8, weight_decay),
    "adamax": lambda w, lr, beta1, beta2, weight_decay: torch.optim.Adamax(w, lr, (beta1, beta2), 1e-8, weight_decay),
    "adamw": lambda w, lr, beta1, beta2, weight_decay: torch.optim.AdamW(w, lr, (beta1, beta2), 1e-8, weight_decay),
    "sgd": lambda w, lr, momentum, weight_decay: torch.optim.SGD(w, lr, momentum, 0.0, weight_decay),
    "rmsprop": lambda w, lr, rms_decay, weight_decay: torch.optim.RMSprop(w, lr, rms_decay, 1e-8, weight_decay),
}


class Toy(nn.Module):
    """One layer of tanh for each member, as torch.nn.Linear holds it."""

    def __init__(self, members: int, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        draws = [
            torch.randn(17, generator=torch.Generator().manual_seed(k), dtype=torch.float64) for k in range(members)
        ]
        start = torch.stack(draws).to(dtype)
        self.weight = nn.Parameter(start[:, :12].reshape(members, 3, 4))
        self.bias = nn.Parameter(start[:, 12:15].clone())
        self.scale = nn.Parameter(start[:, 15:16].clone())

    def losses(self, x: Tensor, y: Tensor) -> Tensor:
        """Return each member's loss, (M,)."""
        out = self.scale.unsqueeze(1) * torch.tanh(torch.einsum("mqp,bp->mbq", self.weight, x) + self.bias[:, None])
        return (out - y).square().flatten(1).mean(1)


def batches(dtype: torch.dtype = torch.float64) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(7)
    for _ in range(STEPS):
        yield tuple(torch.randn(6, n, generator=generator, dtype=torch.float64).to(dtype) for n in (4, 3))  # type: ignore[misc]


def by_torch(optimiser: str, clip: float | None = None, dtype: torch.dtype = torch.float64, **numbers: float) -> Tensor:
    """Return one member's weights, flat, after all steps of torch's own optimiser."""
    toy = Toy(1, dtype)
    torchs = TORCHS[optimiser](toy.parameters(), **numbers)
    for x, y in batches(dtype):
        torchs.zero_grad()
        toy.losses(x, y).sum().backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(toy.parameters(), clip)
        torchs.step()
    return torch.cat([p.detach().flatten() for p in toy.parameters()])


def by_ours(
    configs: Sequence[TrialConfig], groups: dict[str, WeightGroup] | None = None, dtype: torch.dtype = torch.float64
) -> Tensor:
    """Return the weights, flat, (M, P), of members that all start like the first one."""
    toy = Toy(len(configs), dtype)
    for p in toy.parameters():
        p.data = p.data[:1].repeat(len(configs), *[1] * (p.ndim - 1))
    parameters = FlatParameters(toy)
    rules = Rules(get_task(configs[0].task), configs, parameters, groups)
    state = rules.state()
    for count, (x, y) in enumerate(batches(dtype), 1):
        parameters.backward(toy.losses(x, y))
        rules.step(state, count, 1.0)
    return parameters.values


def config(optimiser: str, numbers: dict[str, float], **changes: Any) -> TrialConfig:
    return trial(optimiser=optimiser, params={**trial().params, **numbers}, **changes)


def drawn(data: st.DataObject, optimiser: str) -> dict[str, float]:
    return {"lr": data.draw(st.floats(1e-4, 0.05)), **{n: data.draw(s) for n, s in NUMBERS[optimiser].items()}}


def test_every_optimiser_that_is_here_is_held_against_torchs() -> None:
    assert NUMBERS.keys() == TORCHS.keys() == optimisers().keys()
    assert all({p.name for p in optimisers()[name].params} == own.keys() for name, own in NUMBERS.items())


@pytest.mark.parametrize("optimiser", sorted(NUMBERS))
@given(data=st.data(), clip=st.none() | st.floats(0.01, 1.0))
@settings(max_examples=8)
def test_a_member_is_where_torchs_optimiser_gets_after_fifty_steps(
    optimiser: str, data: st.DataObject, clip: float | None
) -> None:
    numbers = drawn(data, optimiser)
    torch.testing.assert_close(
        by_ours([config(optimiser, numbers, clip=clip)])[0],
        by_torch(optimiser, clip, **numbers), rtol=1e-6, atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("optimiser", sorted(NUMBERS))
def test_in_float32_it_is_there_but_for_rounding(optimiser: str) -> None:
    numbers = {"lr": 0.01, "weight_decay": 0.02}
    defaults: dict[str, Any] = {p.name: p.default for p in optimisers()[optimiser].params}
    ours = by_ours([config(optimiser, numbers)], dtype=torch.float32)[0]
    theirs = by_torch(optimiser, dtype=torch.float32, **{**defaults, **numbers})
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.integration
@pytest.mark.parametrize("optimiser", sorted(NUMBERS))
@given(data=st.data())
@settings(max_examples=4)
def test_members_with_numbers_of_their_own_get_where_each_gets_alone(optimiser: str, data: st.DataObject) -> None:
    each = [(drawn(data, optimiser), data.draw(st.floats(0.01, 1.0))) for _ in range(3)]
    configs = [config(optimiser, numbers, clip=clip) for numbers, clip in each]
    together = by_ours(configs)
    for k, (numbers, clip) in enumerate(each):
        torch.testing.assert_close(together[k], by_ours(configs[k : k + 1])[0], rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(together[k], by_torch(optimiser, clip, **numbers), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("optimiser", sorted(NUMBERS))
def test_a_group_has_the_rate_and_the_decay_of_a_parameter_group_of_torchs(optimiser: str) -> None:
    groups = {"slow": WeightGroup(("weight",), 0.5), "free": WeightGroup(("bias", "scale"), decay=False)}
    numbers = [{"lr": 0.01, "weight_decay": 0.1 * rate, "rate_free": rate} for rate in (3.0, 0.2)]
    together = by_ours([config(optimiser, own) for own in numbers], groups)
    for k, own in enumerate(numbers):
        toy = Toy(1)
        defaults: dict[str, Any] = {p.name: p.default for p in optimisers()[optimiser].params}
        defaults |= {"lr": 0.01, "weight_decay": own["weight_decay"]}
        slow = {"params": [toy.weight], "lr": 0.005}
        free = {"params": [toy.bias, toy.scale], "lr": 0.01 * own["rate_free"], "weight_decay": 0.0}
        torchs = TORCHS[optimiser]([slow, free], **defaults)
        for x, y in batches():
            torchs.zero_grad()
            toy.losses(x, y).sum().backward()
            torchs.step()
        theirs = torch.cat([p.detach().flatten() for p in toy.parameters()])
        torch.testing.assert_close(together[k], theirs, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(together[k], by_ours([config(optimiser, own)], groups)[0], rtol=1e-9, atol=1e-12)


@given(norm=st.floats(0.01, 10.0), value=st.floats(0.01, 10.0), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_gradients_are_clipped_as_torch_clips_them_each_member_by_its_own(norm: float, value: float, seed: int) -> None:
    parameters, generator = FlatParameters(Toy(2)), torch.Generator().manual_seed(seed)
    drawn = torch.randn(2, 16, generator=generator, dtype=torch.float64) * torch.tensor([[1.0], [30.0]])
    for clip, torchs, own in (
        (parameters.clip, nn.utils.clip_grad_norm_, [norm, 3 * norm]),
        (parameters.clip_values, nn.utils.clip_grad_value_, [value, 3 * value]),
    ):
        alone = []
        for k, limit in enumerate(own):
            weights = nn.Parameter(torch.zeros(16, dtype=torch.float64))
            weights.grad = drawn[k].clone()
            torchs(weights, limit)
            alone.append(weights.grad)
        parameters.grad = drawn.clone()
        clip(torch.tensor(own, dtype=torch.float64)[:, None])
        torch.testing.assert_close(parameters.grad, torch.stack(alone), rtol=1e-12, atol=0.0)
        parameters.grad = drawn.clone()
        clip(own[0])
        torch.testing.assert_close(parameters.grad[0], alone[0], rtol=1e-12, atol=0.0)


def test_no_training_number_has_the_name_of_a_models_parameter_and_each_has_a_default_or_is_absent() -> None:
    own = {p.name for model in all_models().values() for p in (model.lr, *model.params)}
    for optimiser in optimisers():
        for schedule in schedules():
            params = training_params(optimiser, schedule, ("readout", "embedding"))
            names = [p.name for p in params]
            assert len(set(names)) == len(names) and not own & set(names)
            assert not any(p.searched for p in params)
            assert {p.name for p in params if p.default is None} == {"clip_value", "patience", "solved"}
