"""Each schedule against torch's own, and a whole training against a plain one by torch, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import trained, trial
from torch import nn
from torch.nn import functional
from torch.optim import lr_scheduler

from longwave.models.base.param import Param
from longwave.platform.records.identity import derive_seed
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.search.space import Dimension, draw
from longwave.platform.training.feed import epoch_batches
from longwave.platform.training.optimiser import FlatParameters
from longwave.platform.training.pack import Pack
from longwave.platform.training.rules import Rules
from longwave.platform.training.schedule import steps_an_epoch
from longwave.platform.training.schedules import plateau
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Text

quickly = settings(max_examples=30)


def factors(
    configs: Sequence[TrialConfig], steps: int, valids: Sequence[Sequence[float]] | None = None
) -> list[list[float]]:
    """Return what η is multiplied with for each member at each step of a training."""
    rules, actual = Rules(get_task(configs[0].task), configs, FlatParameters(nn.Linear(1, 1, bias=False))), []
    for epoch in range(1, configs[0].epochs + 1):
        known = {c.id: list(v[: epoch - 1]) for c, v in zip(configs, valids or [], strict=False)}
        at = rules.scales(epoch, steps, known)
        scales = [torch.as_tensor(at(step), dtype=torch.float64).flatten() for step in range(steps)]
        actual += [scale.expand(len(configs)).tolist() for scale in scales]
    return [list(own) for own in zip(*actual, strict=True)]


def config(schedule: str, **changes: Any) -> TrialConfig:
    numbers = changes.pop("numbers", {})
    return trial(schedule=schedule, params={**trial().params, **numbers}, **changes)


def torchs() -> torch.optim.Optimizer:
    return torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)


def rate(optimiser: torch.optim.Optimizer) -> float:
    optimiser.step()  # or torch warns that a scheduler comes first
    return float(optimiser.param_groups[0]["lr"])


@quickly
@given(
    each=st.lists(st.tuples(st.lists(st.integers(0, 9), max_size=3), st.floats(0.1, 0.9)), min_size=1, max_size=3),
    epochs=st.integers(1, 10),
)
def test_drops_are_torchs_multi_step_schedule_for_each_member(each: list[tuple[list[int], float]], epochs: int) -> None:
    configs = [
        config("drops", drops=tuple(drops), numbers={"drop_factor": f}, epochs=epochs, seed=k)
        for k, (drops, f) in enumerate(each)
    ]
    actual = factors(configs, 2)
    for own, (drops, f) in zip(actual, each, strict=True):
        optimiser = torchs()
        schedule = lr_scheduler.MultiStepLR(optimiser, drops, f)
        for epoch in range(epochs):
            assert own[2 * epoch : 2 * epoch + 2] == pytest.approx([rate(optimiser)] * 2, rel=1e-12)
            schedule.step()


@quickly
@given(finals=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3), epochs=st.integers(1, 9), steps=st.integers(1, 9))
def test_cosine_is_torchs_annealing_step_by_step(finals: list[float], epochs: int, steps: int) -> None:
    configs = [config("cosine", numbers={"lr_final": f}, epochs=epochs, seed=k) for k, f in enumerate(finals)]
    for own, final in zip(factors(configs, steps), finals, strict=True):
        optimiser = torchs()
        schedule = lr_scheduler.CosineAnnealingLR(optimiser, epochs * steps, final)
        for factor in own:
            assert factor == pytest.approx(rate(optimiser), rel=1e-6, abs=1e-9)
            schedule.step()


@quickly
@given(
    task=st.sampled_from(["adding", "digits"]), epochs=st.integers(1, 25),
    each=st.lists(st.tuples(st.floats(0.2, 0.9), st.integers(0, 4), st.integers(0, 9999)), min_size=1, max_size=3),
)  # fmt: skip
def test_plateau_is_torchs_reduction_on_each_members_own_validation(
    task: str, epochs: int, each: list[tuple[float, int, int]]
) -> None:
    valids = [(1 + np.random.default_rng(seed).integers(0, 12, epochs) * 3e-5).tolist() for *_, seed in each]
    configs = [
        config("plateau", task=task, epochs=epochs, seed=k, numbers={"plateau_factor": f, "plateau_patience": p})
        for k, (f, p, _) in enumerate(each)
    ]
    for own, valid, (f, patience, _) in zip(factors(configs, 1, valids), valids, each, strict=True):
        optimiser = torchs()
        schedule = lr_scheduler.ReduceLROnPlateau(optimiser, get_task(task).metric.goal, f, patience, eps=0.0)
        for factor, metric in zip(own, valid, strict=True):
            assert factor == pytest.approx(rate(optimiser), rel=1e-12)
            schedule.step(metric)


@quickly
@given(
    schedule=st.sampled_from(["drops", "cosine", "plateau"]), steps=st.integers(1, 12), epochs=st.integers(1, 6),
    warmups=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=3),
)  # fmt: skip
def test_a_warm_up_rises_in_a_line_to_where_the_schedule_goes_on(
    schedule: str, steps: int, epochs: int, warmups: list[float]
) -> None:
    configs = [config(schedule, numbers={"warmup": w}, epochs=epochs, seed=k) for k, w in enumerate(warmups)]
    for own, warmup in zip(factors(configs, steps), warmups, strict=True):
        w, total = round(warmup * steps), epochs * steps
        expected = [(t + 1) / w for t in range(min(w, total))]
        if schedule == "cosine":
            expected += [(1 + np.cos(np.pi * (t - w) / (total - w))) / 2 for t in range(w, total)]
        assert own == pytest.approx(expected + [1.0] * (total - len(expected)), rel=1e-9)


def torchs_own(config: TrialConfig, own: Sequence[nn.Parameter], readout: Sequence[nn.Parameter]) -> tuple[Any, Any]:
    """Return torch's optimiser and scheduler for a recipe."""
    p = config.params
    kinds: dict[str, Any] = {
        "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop, "sgd": torch.optim.SGD,
    }  # fmt: skip
    words = {name: p[name] for name in ("weight_decay", "momentum") if name in p}
    groups = [{"params": own}, {"params": readout, "lr": p["lr"] * p.get("rate_readout", 1.0)}]
    optimiser = kinds[config.optimiser](groups, lr=p["lr"], **words)
    if config.schedule == "drops":
        return optimiser, lr_scheduler.MultiStepLR(optimiser, list(config.drops), 0.1)
    if config.schedule == "cosine":
        return optimiser, lr_scheduler.CosineAnnealingLR(optimiser, config.epochs)
    patience = int(p["plateau_patience"])
    return optimiser, lr_scheduler.ReduceLROnPlateau(optimiser, "max", p["plateau_factor"], patience)


def plain(config: TrialConfig) -> list[tuple[float, float]]:
    """Return loss and accuracy of each epoch of LEM on the digits by a plain loop over torch's own parts."""
    data, p = get_task("digits").load("").to("cpu", torch.float64), config.params
    network = Pack([config], data).network
    layer, weight, bias = deepcopy((network.layer, network.weight, network.bias))
    weights = [*layer.parameters(), weight, bias]
    optimiser, schedule = torchs_own(config, [*layer.parameters()], [weight, bias])

    def logits(x: torch.Tensor) -> torch.Tensor:
        return layer(x.transpose(0, 1).unsqueeze(0))[0][0, -1] @ weight[0].T + bias[0]

    assert data.train is not None
    (x, target), (unseen, wanted) = ((s.inputs, s.targets) for s in (data.train, data.valid))
    actual = []
    for epoch in range(1, config.epochs + 1):
        order, losses = torch.Generator().manual_seed(derive_seed(config.seed, "order", epoch)), []
        for index in torch.randperm(len(x), generator=order).split(config.batch):
            loss = functional.cross_entropy(
                logits(x[index]), target[index], label_smoothing=p.get("label_smoothing", 0)
            )
            optimiser.zero_grad()
            loss.backward()
            if config.clip is not None:
                nn.utils.clip_grad_norm_(weights, config.clip)
            if "clip_value" in p:
                nn.utils.clip_grad_value_(weights, p["clip_value"])
            optimiser.step()
            losses.append(loss.item())
        with torch.no_grad():
            valid = 100 * (logits(unseen).argmax(-1) == wanted).double().mean().item()
        actual.append((sum(losses) / len(losses), valid))
        schedule.step(*([valid] if config.schedule == "plateau" else []))  # one batch is the epoch of the cosine
    # A plateau that was never reached would tell nothing.
    assert config.schedule != "plateau" or optimiser.param_groups[0]["lr"] < p["lr"]
    return actual


RECIPES: dict[str, dict[str, Any]] = {
    "adam, clipped, with drops": {"clip": 0.2, "drops": (1, 3), "params": {"lr": 0.01}},
    "adam, no clipping, no drops": {"params": {"lr": 0.01}},
    "sgd, clipped, with a drop": {
        "optimiser": "sgd", "clip": 0.1, "drops": (2,), "params": {"lr": 0.5, "momentum": 0.9, "weight_decay": 1e-3},
    },
    "sgd, values clipped, on a plateau": {
        "optimiser": "sgd", "schedule": "plateau",
        "params": {"lr": 3.0, "momentum": 0.8, "clip_value": 0.01, "plateau_factor": 0.5, "plateau_patience": 0},
    },
    "adamw, smoothed labels, cosine": {
        "optimiser": "adamw", "schedule": "cosine", "batch": 1197, "epochs": 6,
        "params": {"lr": 0.02, "weight_decay": 0.1, "label_smoothing": 0.1, "rate_readout": 0.3},
    },
    "rmsprop": {"optimiser": "rmsprop", "params": {"lr": 0.003, "weight_decay": 1e-4}},
}  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("name", RECIPES)
def test_an_epochs_loss_and_accuracy_are_those_of_a_plain_loop_by_torch(name: str) -> None:
    recipe = {"batch": 100, "epochs": 4, "precision": "float64", **RECIPES[name]}
    config = trial("lem", "digits", 5, **{**recipe, "params": {"dt": 1.0, **recipe["params"]}})
    events = trained([config])
    assert events.run(config).epochs == len(events.curve(config)) == recipe["epochs"]
    np.testing.assert_allclose(events.curve(config), plain(config), rtol=1e-6)


@pytest.mark.parametrize(
    ("task", "variant", "batch"), [("digits", "", 100), ("digits", "", 99), ("adding", "N=20", 10)]
)
def test_an_epoch_has_the_steps_that_the_schedules_count_with(task: str, variant: str, batch: int) -> None:
    data, count = get_task(task).load(variant), 0

    def note() -> None:
        nonlocal count
        count += 1

    config = trial(task=task, batch=batch)
    Pack([config], data).train_epoch(note)
    assert count == steps_an_epoch(config, data) > 1


def test_an_epoch_of_a_stream_without_a_number_of_steps_counts_as_one() -> None:
    assert steps_an_epoch(trial(steps=None), get_task("adding").load("N=20")) == 1


def test_the_steps_of_a_text_are_its_segments() -> None:
    for length, batch, segment in ((103, 4, 5), (100, 4, 5), (101, 10, 3)):
        tokens = torch.zeros(1, length, dtype=torch.int64)
        text = Text(tokens, tokens, segment=segment)
        data, config = Data(text, text, text), trial(batch=batch)
        assert steps_an_epoch(config, data) == len(list(epoch_batches([config], data, 1)))


@pytest.mark.parametrize("param", [plateau.FACTOR, plateau.PATIENCE], ids=lambda param: param.name)
def test_numbers_of_a_plateau_are_drawn_evenly_from_their_range(param: Param) -> None:
    numbers = [float(point[param.name]) for point in draw((Dimension.of(param),), 400, 0)]
    error = (param.high - param.low) / np.sqrt(12 * 400)
    assert abs(np.mean(numbers) - (param.low + param.high) / 2) < 4 * error
