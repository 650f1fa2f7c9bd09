"""What a layer's definition asks of its weights holds after every update."""

from __future__ import annotations

import pytest
import torch
from trials import present_trial

from longwave.models.indrnn import IndRNN
from longwave.platform.registry import get_task
from longwave.platform.training.pack import Pack

LENGTH = 20
MOST = 2 ** (1 / LENGTH)


def pack(members: int, lr: float = 0.05) -> Pack:
    """Return a pack of IndRNNs on the adding task."""
    facts = {"task": "adding", "variant": f"N={LENGTH}", "data": "here", "model": "indrnn", "options": {}}
    sizes = {"hidden": 16, "batch": 10, "epochs": 2, "steps": 15, "phase": "search"}
    configs = [present_trial(**facts, **sizes, params={"lr": 0.01}, seed=k) for k in range(members)]
    return Pack(configs, get_task("adding").load(f"N={LENGTH}"))


def test_indrnns_weights_are_within_their_bound_after_each_step_of_a_pack() -> None:
    trained, seen = pack(3), []
    layer = trained.network.layer
    for weight in (layer.w1, layer.w2):
        weight.data.fill_(MOST)  # so that some updates point outwards
    trained.train_epoch(lambda: seen.append(torch.stack([layer.w1, layer.w2]).detach().clone()))
    assert len(seen) == 15 and all(w.abs().max() <= MOST for w in seen)
    assert all((w == MOST).any() and (w < MOST).any() for w in seen), "all went the same way"


def test_an_indrnns_weight_at_its_bound_learns() -> None:
    layer = IndRNN(2, 16, layers=2, t_max=LENGTH)
    with torch.no_grad():
        layer.w2.fill_(MOST)
        layer.b2.fill_(1.0)
    layer(torch.randn(5, 3, 2, generator=torch.Generator().manual_seed(1)))[0].sum().backward()
    assert (layer.w2.grad != 0).all()


@pytest.mark.parametrize("members", [None, 3])
def test_indrnns_clip_is_in_place_and_leaves_what_is_within(members: int | None) -> None:
    layer = IndRNN(1, 4, members=members, layers=1, t_max=LENGTH)
    given = torch.tensor([-3.0, 0.5, 1.0, 100.0])
    layer.w1.data.copy_(given)
    address = layer.w1.data_ptr()
    layer.constrain()
    assert layer.w1.data_ptr() == address and layer.w1.requires_grad
    torch.testing.assert_close(layer.w1.detach(), given.clamp(-MOST, MOST).expand_as(layer.w1), rtol=0, atol=0)
