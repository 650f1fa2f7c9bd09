"""Dropout on the inputs of a layer and on what is read out, against its definition."""

from __future__ import annotations

import torch
from batches import batch_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from longwave.models.base.dropout import dropped
from longwave.models.base.network import Network
from longwave.models.base.spec import Sizes
from longwave.models.indrnn import IndRNN
from longwave.platform.registry import get_model


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


@given(rates=st.lists(st.floats(0.0, 0.9), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_a_share_of_the_numbers_is_zero_and_the_others_keep_the_mean(rates: list[float], seed: int) -> None:
    x = torch.ones(len(rates), 20, 30, 10)
    out = dropped(x, torch.tensor(rates), generators(*range(seed, seed + len(rates))), per_step=True)
    for own, rate in zip(out, rates, strict=True):
        zeros = (own == 0).double().mean().item()
        assert abs(zeros - rate) < 4 * (rate * (1 - rate) / own.numel()) ** 0.5 + 1e-9
        torch.testing.assert_close(own[own != 0], torch.full_like(own[own != 0], 1 / (1 - rate)))


def test_every_number_is_drawn_for_itself() -> None:
    kept = dropped(torch.ones(1, 50, 40, 30), torch.tensor([0.5]), generators(3), per_step=True)[0] != 0
    for axis in range(3):
        shares = kept.double().mean([a for a in range(3) if a != axis])
        assert 0.4 < shares.min() < shares.max() < 0.6
    assert not torch.equal(kept[0], kept[1]) and not torch.equal(kept[:, 0], kept[:, 1])


def test_a_member_draws_from_its_own_generator_and_at_rate_one_nothing_is_left() -> None:
    x, rates = torch.randn(3, 5, 4, 2), torch.tensor([0.3, 0.5, 1.0])
    together = dropped(x, rates, generators(7, 8, 9))
    for k in range(3):
        assert torch.equal(together[k : k + 1], dropped(x[k : k + 1], rates[k : k + 1], generators(7 + k)))
    assert not together[2].any()


def network(**dropouts: list[float]) -> Network:
    return Network(get_model("lem"), Sizes(2, 6, 3, 9), {"dt": [0.5, 0.9]}, [1, 2], dropouts=dropouts)


def by_hand(net: Network, x: Tensor, rate_in: float, rate_out: float, step: int) -> Tensor:
    """Return the second member's outputs, its masks drawn one after the other from its generator of this step."""
    generator = torch.Generator().manual_seed((2 * 1_000_003 + step + 1) % 2**32)
    read = x[1] * (torch.rand(x.shape[1:], generator=generator) >= rate_in) / (1 - rate_in)
    states, _ = net.layer(torch.stack([read, read]))
    features = states[1, -1]
    features = features * (torch.rand(features.shape, generator=generator) >= rate_out) / (1 - rate_out)
    return features @ net.weight[1].T + net.bias[1]


def test_a_network_drops_before_the_layer_and_before_the_read_out() -> None:
    net, x = network(input_dropout=[0.2, 0.5], output_dropout=[0.6, 0.3]), torch.randn(2, 9, 5, 2)
    net.train()
    for step in (0, 4):
        torch.testing.assert_close(net(batch_of(x), step)[1], by_hand(net, x, 0.5, 0.3, step))
    assert not torch.allclose(net(batch_of(x), 0), net(batch_of(x), 4))
    net.keep(torch.tensor([1]))
    torch.testing.assert_close(net(batch_of(x[1:]), 4)[0], by_hand(network(), x, 0.5, 0.3, 4))


def test_nothing_is_dropped_in_evaluation_or_unasked() -> None:
    x = torch.randn(2, 9, 5, 2)
    requested, plain = network(input_dropout=[0.2, 0.5], output_dropout=[0.6, 0.3]).eval(), network()
    assert torch.equal(requested(batch_of(x), 3), plain.eval()(batch_of(x), 3))
    assert torch.equal(plain.train()(batch_of(x), 3), plain.eval()(batch_of(x), 3))


def test_a_stack_reads_its_last_output_as_dropout_left_it() -> None:
    x = torch.randn(4, 9, 5, 2)
    for rate in ({}, {"dropout": [0.0, 0.4, 0.9, 1.0]}):
        stack = IndRNN(2, 6, members=4, layers=2, t_max=9, **rate)
        for training in (True, False):
            stack.train(training)
            read, last = stack.features(batch_of(x), None, generators(1, 2, 3, 4))
            again, _ = stack(x, None, generators(1, 2, 3, 4))
            assert torch.equal(read, again[:, -1])
            assert torch.equal(read, last[1]) == (not training or not rate)


def test_tokens_are_dropped_feature_by_feature_after_the_embedding() -> None:
    from longwave.models.base.network import Vocabulary

    words = Vocabulary(7, torch.ones(7, 2))
    net = Network(
        get_model("lem"), Sizes(2, 6, 3, 9), {"dt": [0.5]}, [1], vocabulary=words, dropouts={"input_dropout": [0.5]}
    )
    read: list[Tensor] = []
    net.layer.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    net.train()(batch_of(torch.zeros(1, 9, 5, dtype=torch.int64)), 1)
    assert read[0].unique().tolist() == [0.0, 2.0]
    assert not torch.equal(read[0][..., 0], read[0][..., 1])
