"""Cells of another library as models: any form of state, numbers by member, and all rules of models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from toy_cells import PACKAGE, VERSION, installed

from longwave.models.base.spec import Sizes
from longwave.models.base.torchrecurrent import SQUARE, cell_specs
from longwave.platform.contracts.models import model_findings

SIZES = Sizes(3, 5, 2, 7)
STATES = {
    "leaky": {"h": (5,)},
    "pair": {"h": (5,), "c": (5,)},
    "apart": {"h": (5,), "c": (3,)},
    "late": {"h": (5,), "c": (5,)},
}


@pytest.fixture(autouse=True)
def package() -> Iterator[None]:
    """The toys are there in torchrecurrent's place."""
    with installed(VERSION):
        yield


def by_hand(name: str, cell: nn.Module, x: Tensor) -> Tensor:
    """The outputs (T, B, d) of a toy, from zeros, for x (T, B, p)."""
    outputs, state, late = [], None, None
    for now in x:
        if name == "late":
            after = cell(now, state, late)
            output, state, late = after, after, state
        else:
            state = cell(now, state)
            output = state if name == "leaky" else state[0]
            state = state[1] if name == "apart" else state
        outputs.append(output)
    return torch.stack(outputs)


def test_every_cell_is_a_model_but_the_one_that_needs_as_many_neurons_as_features() -> None:
    specs = cell_specs()
    assert {*specs} == {*STATES} and SQUARE in PACKAGE.__all__
    assert all(spec.looped and spec.version == VERSION for spec in specs.values())
    assert specs["leaky"].title == f"Leaky [torchrecurrent {VERSION}]"
    assert specs["leaky"].source == f"https://arxiv.org/abs/0000.00001, as in torchrecurrent {VERSION}"
    assert specs["pair"].source == f"as in torchrecurrent {VERSION}"


def test_numbers_that_a_cell_trains_or_starts_from_are_no_hyper_parameters() -> None:
    params = {name: [(p.name, p.default, p.low, p.high) for p in spec.params] for name, spec in cell_specs().items()}
    assert params["leaky"] == [("rate", 0.5, 0.05, 5.0), ("drift", 0.0, 0.0, 1.0)]
    assert params["pair"] == params["apart"] == params["late"] == []


@pytest.mark.parametrize("name", STATES)
def test_each_member_is_a_cell_with_its_own_weights_and_numbers_called_step_by_step(name: str) -> None:
    numbers: dict[str, Any] = {"rate": [0.2, 0.9], "drift": [0.1, 0.0]} if name == "leaky" else {}
    layer: Any = cell_specs()[name].build(SIZES, 2, **numbers).double()
    assert layer.state_shapes() == STATES[name]
    x = torch.randn(2, 7, 4, 3, dtype=torch.float64)
    outputs, _ = layer(x)
    for k in range(2):
        own = {key: values[k] for key, values in numbers.items()}
        cell = getattr(PACKAGE, f"{name.capitalize()}Cell")(3, 5, **own).double()
        held = layer.loop.module.cell.state_dict()
        cell.load_state_dict({key: tensor[k] for key, tensor in held.items()})
        torch.testing.assert_close(outputs[k], by_hand(name, cell, x[k]), rtol=1e-12, atol=1e-12)


def test_a_call_leaves_a_cells_numbers_as_they_were() -> None:
    layer: Any = cell_specs()["leaky"].build(SIZES, 2, rate=[0.2, 0.9])
    layer(torch.randn(2, 7, 4, 3))
    assert layer.loop.module.cell.rate == 0.5


@pytest.mark.integration
@pytest.mark.parametrize("name", STATES)
def test_a_cell_keeps_every_rule_of_models(name: str) -> None:
    found = [*model_findings(cell_specs()[name])]
    assert not [(rule.words, rule.broken) for rule in found if rule.broken]
    assert [rule.skipped for rule in found if rule.skipped] == [
        "its loop is not fused: torchrecurrent's cell is called unchanged"
    ]


def test_counting_numbers_leaves_torchs_own_generator_alone() -> None:
    torch.default_generator.manual_seed(3)
    before = torch.get_rng_state()
    assert cell_specs()["pair"].parameters(3, 5, 2) == 3 * 5 + 5 + 5 * 5 + 1 + (5 + 1) * 2
    assert torch.equal(torch.get_rng_state(), before)
