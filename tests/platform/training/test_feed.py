"""What each member of a pack is fed: its own batches, anew at each step, the same after a pause."""

from __future__ import annotations

from itertools import combinations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import trial

from longwave.platform.records.identity import derive_seed
from longwave.platform.registry import get_task
from longwave.platform.training.feed import epoch_batches
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences


@given(seeds=st.lists(st.integers(0, 2**31 - 1), min_size=2, max_size=5, unique=True), epoch=st.integers(1, 50))
@settings(max_examples=20)
def test_each_member_meets_every_sequence_once_an_epoch_in_its_own_order(seeds: list[int], epoch: int) -> None:
    split = Sequences(torch.zeros(43, 1, 1), torch.arange(43))
    data, configs = Data(split, split, split), [trial(task="digits", seed=s, batch=10) for s in seeds]
    targets = torch.cat([batch.targets for batch in epoch_batches(configs, data, epoch)], 1)
    assert torch.equal(targets.sort(1).values, torch.arange(43).expand_as(targets))
    assert len({tuple(row.tolist()) for row in targets}) == len(seeds)
    alone = torch.cat([batch.targets for batch in epoch_batches(configs[1:2], data, epoch)], 1)
    assert torch.equal(alone[0], targets[1])


@given(epoch=st.integers(1, 9), skip=st.integers(0, 5))
@settings(max_examples=20)
def test_an_epoch_taken_up_in_the_middle_gives_the_batches_that_were_left(epoch: int, skip: int) -> None:
    configs, data = [trial(seed=3), trial(seed=4)], get_task("adding").load("N=20")
    whole, rest = (list(epoch_batches(configs, data, epoch, s)) for s in (0, skip))
    assert len(rest) == 5 - skip
    for old, new in zip(whole[skip:], rest, strict=True):
        assert torch.equal(old.inputs, new.inputs) and torch.equal(old.targets, new.targets)


def test_generated_batches_follow_from_the_seed_the_epoch_and_the_step_alone() -> None:
    configs, data, all_of_them = [trial(seed=3), trial(seed=4)], get_task("adding").load("N=20"), torch.arange(10)
    assert data.stream is not None
    seen = []
    for epoch in (1, 2):
        for step, batch in enumerate(epoch_batches(configs, data, epoch)):
            for member, config in zip(batch.inputs, configs, strict=True):
                seed = derive_seed(config.seed, "stream", epoch, step)
                assert torch.equal(member, data.stream(seed, 10).take(all_of_them).inputs)
                seen.append(member)
    assert len(seen) == 20 and not any(torch.equal(one, other) for one, other in combinations(seen, 2))


def test_an_epoch_of_a_stream_without_a_number_of_steps_is_one_step() -> None:
    assert len([*epoch_batches([trial(seed=3, steps=None)], get_task("adding").load("N=20"), 1)]) == 1
