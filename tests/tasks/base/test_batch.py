"""What holds of every kind of batch: taken, stacked, moved, cut in pieces and dealt out as by hand."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from batches import KINDS, Pairs, example, text
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import STRANDS, Sequences, Tail, Text

every_kind = pytest.mark.parametrize("kind", KINDS)
quickly = settings(max_examples=25)


def tensors(batch: Batch) -> dict[str, Tensor]:
    values = {f.name: getattr(batch, f.name) for f in fields(batch)}  # type: ignore[arg-type]
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}


def one(batch: Batch, k: int) -> dict[str, Tensor]:
    """Return example k as it is fed, by hand."""
    row = {name: tensor[k] for name, tensor in tensors(batch).items()}
    if isinstance(batch, Sequences):
        x = row["inputs"]
        row["inputs"] = x.long() if x.ndim == 1 else x.float() / 255 if x.dtype == torch.uint8 else x
        if batch.tail:
            row["inputs"] = torch.cat([row["inputs"], batch.tail.of(torch.tensor(k))])
    return row


def assert_same(batch: Batch, rows: dict[str, Tensor]) -> None:
    now = tensors(batch)
    assert now.keys() == rows.keys()
    for name, tensor in now.items():
        assert tensor.dtype == rows[name].dtype, name
        torch.testing.assert_close(tensor, rows[name], rtol=0, atol=0, equal_nan=True)


def by_hand(batch: Batch, index: Tensor) -> dict[str, Tensor]:
    """Return the examples ``index``, (...), taken one by one."""
    rows = [one(batch, k) for k in index.flatten().tolist()]
    return {name: torch.stack([r[name] for r in rows]).view(*index.shape, *rows[0][name].shape) for name in rows[0]}


@every_kind
@quickly
@given(data=st.data(), n=st.integers(1, 6), members=st.integers(1, 3), size=st.integers(1, 4))
def test_examples_are_taken_and_stacked_as_by_hand(
    kind: str, data: st.DataObject, n: int, members: int, size: int
) -> None:
    batch = example(kind, n, seed=n)
    drawn = st.lists(st.integers(0, n - 1), min_size=size, max_size=size)
    index = torch.tensor([data.draw(drawn) for _ in range(members)])
    examples = batch.take(index)
    assert type(examples) is type(batch)
    assert_same(examples, by_hand(batch, index))
    assert_same(type(batch).stacked([batch.take(row) for row in index]), by_hand(batch, index))
    assert_same(batch.take(index[0]).shared(members), by_hand(batch, index[0].expand(members, -1)))


@every_kind
@quickly
@given(n=st.integers(1, 9), size=st.integers(1, 10))
def test_pieces_are_the_split_in_order(kind: str, n: int, size: int) -> None:
    batch, start = example(kind, n), 0
    for piece in batch.pieces(size):
        assert len(piece) == min(size, n - start)
        assert_same(piece, by_hand(batch, torch.arange(start, start + len(piece))))
        start += len(piece)
    assert start == n


@every_kind
@quickly
@given(n=st.integers(1, 9), size=st.integers(1, 10), skip=st.integers(0, 3), seed=st.integers(0, 99))
def test_an_epoch_deals_each_member_every_example_once_in_its_own_order(
    kind: str, n: int, size: int, skip: int, seed: int
) -> None:
    batch, g = example(kind, n), torch.Generator().manual_seed(seed)
    orders = torch.stack([torch.randperm(n, generator=g) for _ in range(2)])
    dealt = list(batch.epoch(orders, size, skip))
    assert len(dealt) == max(0, -(-n // size) - skip)
    for k, some in enumerate(dealt, skip):
        assert_same(some, by_hand(batch, orders[:, k * size : (k + 1) * size]))


@every_kind
def test_floats_are_moved_to_another_type_and_whole_numbers_stay(kind: str) -> None:
    batch, index = example(kind, 4), torch.tensor([[2, 0], [1, 1]])
    moved = batch.to("cpu", torch.float64)
    for name, tensor in tensors(batch).items():
        now = tensors(moved)[name]
        assert now.dtype == (torch.float64 if tensor.is_floating_point() else tensor.dtype)
        torch.testing.assert_close(now, tensor.to(now.dtype), rtol=0, atol=0, equal_nan=True)
    assert all(t.dtype == torch.float64 for t in tensors(moved.take(index)).values() if t.is_floating_point())
    same = batch.to("cpu", torch.float32)
    assert all(tensors(same)[name].data_ptr() == t.data_ptr() for name, t in tensors(batch).items())


@every_kind
def test_a_batch_shared_by_members_copies_nothing(kind: str) -> None:
    batch = example(kind, 3).take(torch.arange(3))
    for name, tensor in tensors(batch.shared(5)).items():
        assert tensor.shape == (5, *tensors(batch)[name].shape) and tensor.stride(0) == 0
        assert tensor.data_ptr() == tensors(batch)[name].data_ptr()


@every_kind
def test_the_inputs_alone_are_fed_through_a_change(kind: str) -> None:
    batch, seen = example(kind, 3).take(torch.tensor([[0, 2]])), []

    def change(tensor: Tensor) -> Tensor:
        seen.append(tensor)
        return torch.stack([tensor, tensor + 1], -1) if not tensor.is_floating_point() else tensor * 2

    changed = batch.map_inputs(change)
    assert len(seen) == len(batch.INPUTS)
    for name, tensor in tensors(changed).items():
        before = tensors(batch)[name]
        doubled = before * 2 if before.is_floating_point() else torch.stack([before, before + 1], -1)
        wanted = doubled if name in batch.INPUTS else before
        torch.testing.assert_close(tensor, wanted, rtol=0, atol=0, equal_nan=True)
    if isinstance(batch, Sequences):
        assert seen[0].shape[:3] == (1, batch.positions, 2)  # time-major, as a layer reads it


@every_kind
def test_any_other_number_or_rule_gives_another_version(kind: str) -> None:
    batch = example(kind, 4)
    versions = {Data(valid=batch, test=batch, train=batch).version}
    for name, tensor in tensors(batch).items():
        other = tensor.clone()
        last = other.view(-1)[-1:] if name != "lengths" else other[-1:]
        last.copy_(torch.where(last == 1, 2, 1))
        changed: Any = batch._with(**{name: other})
        versions.add(Data(valid=batch, test=changed, train=batch).version)
    assert len(versions) == 1 + len(tensors(batch))


def test_what_is_no_tensor_counts_in_the_version_by_its_rule() -> None:
    batch = example("pairs", 4)
    assert isinstance(batch, Pairs)
    other = replace(batch, scale=3.0)
    assert Data(valid=batch, test=batch, train=batch).version != Data(valid=other, test=other, train=other).version
    assert Data(valid=batch, test=batch, train=batch).version != Data(valid=batch, test=other, train=batch).version


@pytest.mark.parametrize(
    ("kind", "positions", "read", "numbers"),
    [
        ("last class", 5, 1, 10 + 4 * 3),
        ("last value", 5, 1, 5 + 4 * 3),
        ("values", 5, 5, 10 + 4 * 3 * 5),
        ("fixed tail", 9, 1, 18 + 4 * 3),
        ("pairs", 8, 1, 10 + 3 + 4 * 3),
        ("graphs", 7, 7, 7 + 4 * 3 * 7),
        ("graphs as a whole", 7, 1, 7 + 4 * 3),
    ],
)
def test_a_batch_tells_what_an_example_takes(kind: str, positions: int, read: int, numbers: int) -> None:
    batch = example(kind, 3)
    assert (batch.positions, batch.read_positions, batch.numbers(3)) == (positions, read, numbers)


def test_a_text_takes_what_a_segment_does() -> None:
    long = text(100, 8)
    assert (long.positions, long.read_positions, long.numbers(7)) == (8, 8, 8 + 4 * 7 * 8)


@quickly
@given(steps=st.integers(1, 60), segment=st.integers(1, 20), strands=st.integers(1, 12), skip=st.integers(0, 3))
def test_a_text_is_dealt_in_folded_segments_the_same_to_all_members(
    steps: int, segment: int, strands: int, skip: int
) -> None:
    long, orders = text(steps, segment), torch.zeros(3, 1, dtype=torch.int64)
    if strands > steps:
        with pytest.raises(ValueError, match=f"^A text of {steps} steps cannot be folded into {strands} strands"):
            list(long.epoch(orders, strands))
        return
    whole = steps // strands
    folded = [part[0, : whole * strands].view(strands, whole) for part in (long.inputs.long(), long.targets)]
    dealt = list(long.epoch(orders, strands, skip))
    assert all(type(some) is Text and some.x.shape[0] == 3 for some in dealt)
    for some, start in zip(dealt, range(skip * segment, whole, segment), strict=True):
        for tensor, part in zip((some.inputs, some.targets), folded, strict=True):
            wanted = part[:, start : start + segment]
            assert torch.equal(tensor, wanted.expand(3, *wanted.shape))


def test_a_text_is_scored_whole_in_its_own_strands_whatever_the_size_of_a_piece() -> None:
    pieces = list(text(83, 5).pieces(1))
    assert sum(piece.targets.numel() for piece in pieces) == 80 and len(pieces[0].targets) == STRANDS


def test_what_a_whole_split_is_made_of_is_not_copied_when_it_is_moved(tmp_path: Any) -> None:
    mapped = torch.from_file(str(tmp_path / "x"), shared=True, size=600, dtype=torch.float32).view(10, 20, 3)
    split = Sequences(mapped, torch.zeros(10, dtype=torch.int64)).to("cpu", torch.float32)
    assert split.inputs.data_ptr() == mapped.data_ptr()
    assert next(split.pieces(4)).inputs.shape == (4, 20, 3)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"lengths": torch.tensor([1, 6, 2])}, r"^Lengths must be 1 to 5, got 1 to 6\.$"),
        ({"lengths": torch.tensor([1, 0, 2])}, r"^Lengths must be 1 to 5, got 0 to 2\.$"),
        ({"lengths": torch.tensor([1, 2])}, r"^Lengths must be whole numbers \(3,\), got torch\.int64 \(2,\)\.$"),
        ({"lengths": torch.ones(3)}, r"^Lengths must be whole numbers \(3,\), got torch\.float32 \(3,\)\.$"),
        ({"lengths": torch.ones(3).long(), "tail": Tail(torch.ones(2, 2))}, r"^Ragged sequences have no tail: "),
        (
            {"lengths": torch.tensor([5, 4, 5]), "targets": torch.zeros(3, 5, 2)},
            r"^Steps after a sequence's end must not have a target, but sequence 1 has one\.$",
        ),
        (
            {"lengths": torch.tensor([5, 5, 4]), "targets": torch.zeros(3, 5).long()},
            r"^Steps after a sequence's end must not have a target, but sequence 2 has one\.$",
        ),
        ({"targets": torch.zeros(3, 4).long()}, r"^A split needs inputs \(N, T, p\) or tokens"),
    ],
)
def test_sequences_that_do_not_fit_are_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Sequences(**{"inputs": torch.zeros(3, 5, 2), "targets": torch.zeros(3).long(), **changes})


@pytest.mark.parametrize(
    "changes", [{"segment": 0}, {"targets": torch.zeros(1).long()}, {"inputs": torch.zeros(1, 6, 2)}]
)
def test_a_text_that_is_none_is_refused(changes: dict[str, Any]) -> None:
    good = {"inputs": torch.zeros(1, 6).long(), "targets": torch.zeros(1, 6).long(), "segment": 2}
    with pytest.raises(ValueError, match=r"^A text needs tokens \(1, T\), targets \(1, T\) and a segment of a step"):
        Text(**{**good, **changes})


@every_kind
def test_what_an_example_takes_is_told_of_a_split_of_one_too(kind: str) -> None:
    assert example(kind, 1).numbers(3) == example(kind, 2).numbers(3) > 0
