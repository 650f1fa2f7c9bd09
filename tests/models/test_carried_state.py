"""Texts in training: folded into strands, cut into segments, the state carried on; and what tokens become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from batches import batch_of
from cases import sequence_models
from hypothesis import given
from hypothesis import strategies as st
from packs import PackRecorder, trained
from torch import Tensor
from torch.nn import functional
from trials import present_trial

from longwave.models.base.network import Network, Vocabulary
from longwave.models.base.spec import Sizes
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model
from longwave.platform.training import networks
from longwave.platform.training import pack as pack_module
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.feed import epoch_batches
from longwave.platform.training.pack import Pack
from longwave.platform.training.snapshot import restore, snapshot
from longwave.platform.training.train import train
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import CROSS_ENTROPY, cross_entropy
from longwave.tasks.base.sequences import STRANDS, Text
from longwave.tasks.base.spec import Recipe, TaskSpec

TOKENS, FEATURES, SEGMENT, BATCH = 7, 4, 5, 3
STRONG = {"dt": 0.8, "alpha": 1.0, "tau": 4.0}
"""Settings at which the state changes enough within a segment to be missed."""
SOME = pytest.mark.parametrize("model", ["lem", "gru", "unicornn", "tau_gru"])


def text(steps: int, seed: int = 0, segment: int = SEGMENT) -> Text:
    """Return a text in which a token depends on the two before it."""
    random, tokens = np.random.RandomState(seed), [0, 1]
    while len(tokens) <= steps:
        tokens.append((tokens[-1] + 2 * tokens[-2] + int(random.randint(2))) % TOKENS)
    row = torch.tensor([tokens], dtype=torch.int16)
    return Text(row[:, :-1], row[:, 1:].long(), segment=segment)


DATA = Data(train=text(BATCH * 40 + 2), valid=text(83, 1), test=text(90, 2))
"""Eight segments of three strands to train on; two of ten to validate."""


@pytest.fixture(autouse=True)
def tiny_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let packs find the tiny text among the tasks."""
    task = TaskSpec(
        name="tiny_text", title="", family="text", summary="", inputs=FEATURES, outputs=TOKENS, tokens=TOKENS,
        targets="at every step", loss=cross_entropy, metric=CROSS_ENTROPY, chance=None, load=lambda variant: DATA,
        recipes={"": Recipe(8, BATCH, 2, "")}, source="", licence="", length="", lag="",
    )  # fmt: skip
    for module in (pack_module, networks):
        monkeypatch.setattr(module, "get_task", lambda name: task)


def trial(model: str = "lem", seed: int = 1, lr: float = 0.01) -> TrialConfig:
    spec = get_model(model)
    params = {p.name: STRONG.get(p.name, p.low) for p in spec.space("")} | {"lr": lr}
    return present_trial("tiny_text", "", "", model, spec.defaults, params, 8, BATCH, 3, "search", seed)


def folded(split: Text, strands: int) -> tuple[Tensor, Tensor]:
    """Return tokens and targets (T, strands) as one long piece, by hand."""
    steps = split.inputs.shape[1] // strands
    columns = [slice(k * steps, (k + 1) * steps) for k in range(strands)]
    x = torch.stack([split.inputs[0, c].long() for c in columns], 1)
    return x, torch.stack([split.targets[0, c] for c in columns], 1)


def losses(pack: Pack, epochs: int = 1) -> list[list[float]]:
    """Return each member's loss at each step of the next epochs."""
    actual: list[list[float]] = []
    for _ in range(epochs):
        before = torch.zeros(len(pack.configs))

        def note(before: Tensor = before) -> None:
            actual.append((pack.loss - before).tolist())
            before.copy_(pack.loss)

        pack.train_epoch(note)
        pack.close_epoch()
    return actual


def train_until(pack: Pack, step: int) -> None:
    """Train to a step in the middle of the epoch."""

    def pause() -> None:
        if pack.step == step:
            raise InterruptedError("paused")

    with pytest.raises(InterruptedError, match="^paused$"):
        pack.train_epoch(pause)


@given(steps=st.integers(1, 60), length=st.integers(1, 20), strands=st.integers(1, 60))
def test_segments_in_order_are_the_folded_text(steps: int, length: int, strands: int) -> None:
    split = text(steps, segment=length)
    if strands > steps:
        with pytest.raises(ValueError, match=f"^A text of {steps} steps cannot be folded into {strands} strands"):
            list(split.segments(strands))
        return
    pieces = list(split.segments(strands))
    assert all(len(piece.x) == length for piece in pieces[:-1]) and 1 <= len(pieces[-1].x) <= length
    x, requested = folded(split, strands)
    assert torch.equal(torch.cat([piece.x for piece in pieces]), x)
    assert torch.equal(torch.cat([piece.ordered_targets for piece in pieces]), requested)


def test_every_member_meets_the_same_segments_and_after_a_pause_the_rest() -> None:
    configs, (x, requested) = [trial(seed=1), trial(seed=2)], folded(text(BATCH * 40 + 2), BATCH)
    batches = list(epoch_batches(configs, DATA, 1))
    assert len(batches) == 8
    assert torch.equal(torch.cat([batch.x for batch in batches], 1), x.expand(2, *x.shape))
    assert torch.equal(
        torch.cat([batch.ordered_targets for batch in batches], 1), requested.expand(2, *requested.shape)
    )
    rest = list(epoch_batches(configs, DATA, 2, skip=3))
    for one, other in zip(batches[3:], rest, strict=True):
        assert torch.equal(one.x, other.x) and torch.equal(one.ordered_targets, other.ordered_targets)


@pytest.mark.parametrize(("steps", "strands"), [(7, 7), (9, 9), (10, STRANDS), (83, STRANDS)])
def test_a_text_is_scored_in_ten_strands_or_as_many_as_it_has_steps(steps: int, strands: int) -> None:
    pieces, (x, requested) = list(text(steps).pieces(128)), folded(text(steps), strands)
    assert torch.equal(torch.cat([piece.x for piece in pieces]), x)
    assert torch.equal(torch.cat([piece.ordered_targets for piece in pieces]), requested)


@SOME
def test_segment_by_segment_a_text_scores_as_in_one_call(model: str) -> None:
    pack = Pack([trial(model, seed=k) for k in range(2)], DATA)
    losses(pack)
    x, targets = folded(DATA.valid, STRANDS)
    outputs = pack.network(batch_of(x.expand(2, *x.shape), every_step=True))
    expected = torch.stack([functional.cross_entropy(o.flatten(0, 1), targets.flatten()) for o in outputs])
    torch.testing.assert_close(pack.score(DATA.valid)[0], expected, rtol=0, atol=1e-5)
    apart = [pack.network(piece.shared(2)) for piece in DATA.valid.pieces(128)]
    assert (torch.cat(apart, 1) - outputs).abs().max() > 1e-4  # the state does matter


@SOME
def test_training_carries_the_state_through_an_epoch_and_starts_the_next_from_zero(model: str) -> None:
    pack = Pack([trial(model, lr=1e-30)], DATA)  # a rate at which no weight moves
    x, targets = folded(text(BATCH * 40 + 2), BATCH)
    [outputs] = pack.network(batch_of(x.unsqueeze(0), every_step=True))
    steps = functional.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="none")
    expected = steps.view(8, SEGMENT * BATCH).mean(1).tolist()
    assert [loss for [loss] in losses(pack, 2)] == pytest.approx([*expected, *expected], abs=1e-5)


def test_gradients_end_at_the_start_of_a_segment() -> None:
    first, second, (x, targets) = Pack([trial()], DATA), Pack([trial()], DATA), folded(text(BATCH * 40 + 2), BATCH)
    train_until(first, 1)
    train_until(second, 2)
    piece = slice(SEGMENT, 2 * SEGMENT)
    start = [torch.tensor(s.tolist()) for s in first.state or []]
    outputs, last = first.network.run(batch_of(x[piece].unsqueeze(0), every_step=True), start)
    first.parameters.backward(cross_entropy(outputs, targets[piece].unsqueeze(0)))
    torch.testing.assert_close(second.parameters.grad, first.parameters.grad, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(second.state, list(last), rtol=1e-5, atol=1e-7)


@SOME
@pytest.mark.parametrize("pause", [1, 5, 8])
def test_a_text_taken_up_in_the_middle_of_an_epoch_ends_equal(model: str, pause: int, tmp_path: Path) -> None:
    configs, file = [trial(model, seed=k) for k in range(3)], Checkpoint(tmp_path / "pack.safetensors")
    whole, first = Pack(configs, DATA), Pack(configs, DATA)
    train_until(first, pause)
    file.save(snapshot(first))
    losses(whole, 2)
    for members in ([0, 1, 2], [2, 0]):
        second, saved = Pack([configs[k] for k in members], DATA), next(file.candidates(), None)
        assert saved is not None and restore(second, saved) and second.step == pause
        losses(second, 2)
        tolerance = {"rtol": 0.0, "atol": 0.0} if len(members) == 3 else {"rtol": 1e-4, "atol": 1e-6}
        torch.testing.assert_close(second.parameters.values, whole.parameters.values[members], **tolerance)


@pytest.mark.parametrize("model", ["tau_gru", "simple_delay_gru"])
@pytest.mark.parametrize("pause", [1, 5])
def test_a_text_goes_on_without_the_member_that_looked_back_furthest(model: str, pause: int, tmp_path: Path) -> None:
    configs, file = [], Checkpoint(tmp_path / "pack.safetensors")
    for k, tau in enumerate((2.0, 9.0, 0.0)):
        configs.append(replace(plain := trial(model, seed=k), params={**plain.params, "tau": tau}))
    first = Pack(configs, DATA)
    train_until(first, pause)
    file.save(snapshot(first))
    for members in ([0, 2], [2], [1]):
        some, saved = [configs[k] for k in members], next(file.candidates(), None)
        whole, second = Pack(some, DATA), Pack(some, DATA)
        assert saved is not None and restore(second, saved)
        losses(whole, 2)
        losses(second, 2)
        torch.testing.assert_close(second.parameters.values, whole.parameters.values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", sorted(sequence_models()))
def test_every_layer_takes_up_what_its_members_carried_among_others(model: str) -> None:
    spec = get_model(model)
    lows = {p.name: p.low for p in spec.space("")[1:]}
    highs = {p.name: p.high for p in spec.space("")[1:]}
    both = Network(spec, Sizes(2, 4, 1, 6), {name: [lows[name], highs[name]] for name in lows}, [1, 2])
    x = torch.randn(2, 3, 5, 2)
    _, carried = both.run(batch_of(x))
    for k, params in enumerate((lows, highs)):
        alone, row = Network(spec, Sizes(2, 4, 1, 6), {n: [v] for n, v in params.items()}, [k + 1]), slice(k, k + 1)
        own, given = alone.run(batch_of(x[row]))[1], alone.layer.trim_state(tuple(s[row] for s in carried))
        assert [s.shape for s in given] == [s.shape for s in own]
        torch.testing.assert_close(list(given), list(own), rtol=1e-4, atol=1e-6)


@SOME
def test_a_pack_on_a_text_that_is_asked_to_pause_goes_on_to_the_bit(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_module, "_check_versions", lambda configs: None)
    monkeypatch.setattr(train_module, "loaded", lambda *names: DATA)
    configs, file = [trial(model, seed=k) for k in range(2)], Checkpoint(tmp_path / "pack.safetensors")
    whole, events, steps = trained(configs), PackRecorder(), iter(range(1, 1000))
    ask = {3, 8, 13, 21}  # of eight steps an epoch
    ways = [train(configs, events, file, draining=lambda: next(steps) in ask) for _ in range(5)]
    assert ways == ["paused"] * 4 + ["over"]
    for config in configs:
        assert list(dict.fromkeys(events.curve(config))) == whole.curve(config)
        assert events.run(config).valid == whole.run(config).valid


@SOME
def test_a_member_alone_and_in_a_pack_meets_the_same_losses(model: str) -> None:
    configs = [trial(model, seed=k, lr=0.003 * (k + 1)) for k in range(4)]
    together, alone = losses(Pack(configs, DATA), 3), losses(Pack(configs[2:3], DATA), 3)
    np.testing.assert_allclose([step[2] for step in together], [step[0] for step in alone], rtol=1e-4)


def test_the_longest_memory_expected_is_a_segment_not_the_whole_text() -> None:
    assert Pack([trial("chrono_lstm")], DATA).network.layer.t_max == SEGMENT


def network(inputs: int, vocabulary: Vocabulary, seeds: Sequence[int] = (1, 2)) -> Network:
    return Network(get_model("gru"), Sizes(inputs, 8, TOKENS, 6), {}, seeds, vocabulary=vocabulary)


def tokens(members: int) -> Tensor:
    return torch.randint(TOKENS, (members, 6, 3), generator=torch.Generator().manual_seed(3))


def test_tokens_are_looked_up_in_an_embedding_that_is_trained() -> None:
    start, x = torch.randn(TOKENS, FEATURES), tokens(2)
    embedded = network(FEATURES, Vocabulary(TOKENS, start))
    assert embedded.embedding is not None and torch.equal(embedded.embedding, start.expand(2, -1, -1))
    plain = network(FEATURES, Vocabulary())
    torch.testing.assert_close(embedded(batch_of(x)), plain(batch_of(start[x])), rtol=1e-6, atol=1e-7)
    [gradient] = torch.autograd.grad(embedded(batch_of(x, every_step=True)).sum(), [embedded.embedding])
    for k in range(2):
        used = torch.zeros(TOKENS, dtype=torch.bool)
        used[x[k].unique()] = True
        assert torch.equal((gradient[k] != 0).any(1), used)


def test_a_pack_starts_from_the_embedding_of_the_data() -> None:
    start = torch.randn(TOKENS, FEATURES)
    actual = Pack([trial(), trial(seed=2)], replace(DATA, embedding=start)).network.embedding
    assert actual is not None and torch.equal(actual, start.expand(2, -1, -1))


def test_without_a_start_each_member_draws_a_normal_embedding_of_its_own() -> None:
    wide = Sizes(100, 8, TOKENS, 6)
    pair = Network(get_model("gru"), wide, {}, [1, 2], vocabulary=Vocabulary(300)).embedding
    alone = Network(get_model("gru"), wide, {}, [2], vocabulary=Vocabulary(300)).embedding
    assert pair is not None and alone is not None
    assert torch.equal(pair[1], alone[0]) and not torch.equal(pair[0], pair[1])
    assert abs(pair.mean().item()) < 0.02 and abs(pair.std().item() - 1) < 0.02


def test_as_many_features_as_tokens_are_fed_one_hot() -> None:
    x = tokens(2)
    hot, plain = network(TOKENS, Vocabulary(TOKENS)), network(TOKENS, Vocabulary())
    assert hot.embedding is None
    torch.testing.assert_close(hot(batch_of(x)), plain(batch_of(torch.eye(TOKENS)[x])), rtol=1e-6, atol=1e-7)


def test_an_embedding_does_not_count_as_parameters() -> None:
    vocabulary = Vocabulary(1000)
    counted = network(FEATURES, vocabulary).parameter_count()
    assert counted == network(FEATURES, Vocabulary()).parameter_count() == 3 * (64 + 8 * FEATURES + 16) + 9 * TOKENS
