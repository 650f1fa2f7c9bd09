"""Splits and leaks: each is found where it was put, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from card_files import LONG, csv, long_table, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.checked import check_card
from longwave.tasks.cards.examples import Examples
from longwave.tasks.cards.guards import find_remarks
from longwave.tasks.cards.split import SPLITS, split_examples
from longwave.tasks.cards.task import load_with_remarks

COPIED = [[*row] for row in long_table()]
for _row in COPIED[1:]:
    if _row[0] in ("s2", "s4", "s6", "s8", "s10"):
        _row[2:4] = next(r[2:4] for r in COPIED[1:] if r[0] == "s0" and r[1] == _row[1])


def card_of(**changes: Any) -> Any:
    """Return a card that is good, with changes."""
    return check_card({k: v for k, v in {**LONG, **changes}.items() if v is not None}, "toy.toml")


def examples(n: int, classes: int, groups: int) -> Examples:
    """Return n examples of one value each."""
    return Examples(
        [np.array([[float(k)]]) for k in range(n)],
        [np.array([float(k % classes)]) for k in range(n)],
        lambda k, step, channel: f"row {k + 1}",
        [f"g{k % groups}" for k in range(n)],
        [""] * n,
        np.stack([np.arange(n)[::-1], np.arange(n)[::-1]], 1).astype(float),
        [0] * n,
    )


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(12, 80), st.integers(2, 3), st.integers(3, 9), st.sampled_from(["seed", "group", "time"]),
    st.floats(0.1, 0.3), st.floats(0.1, 0.3), st.integers(0, 99),
)  # fmt: skip
def test_every_example_is_in_one_split_and_groups_and_times_are_kept(
    n: int, classes: int, groups: int, by: str, valid: float, test: float, seed: int
) -> None:
    card = card_of(split={"by": by, "valid": valid, "test": test, "seed": seed}, group="who")
    some = examples(n, classes, groups)
    splits = split_examples(card, some, "toy")
    assert sorted(k for name in SPLITS for k in splits[name]) == list(range(n)) and all(map(len, splits.values()))
    held = {name: {some.groups[k] for k in splits[name]} for name in SPLITS}
    if by == "group":
        assert not (held["train"] & held["test"] or held["train"] & held["valid"] or held["valid"] & held["test"])
    elif by == "time":
        latest = {name: some.times[splits[name], 0] for name in SPLITS}
        assert latest["train"].max() < latest["valid"].min() and latest["valid"].max() < latest["test"].min()
        assert abs(len(splits["test"]) - test * n) <= 1 and abs(len(splits["valid"]) - valid * n) <= 1
    else:
        for k in range(classes):
            mine = [sum(some.answers[i][0] == k for i in splits[name]) for name in SPLITS]
            assert abs(mine[2] - test * sum(mine)) <= 1 and abs(mine[1] - valid * sum(mine)) <= 1


@pytest.mark.parametrize(
    ("test", "valid", "counts"), [(0.1, 0.2, (14, 4, 2)), (0.2, 0.1, (14, 2, 4)), (0.05, 0.1, (17, 2, 1))]
)
def test_shares_whose_sum_is_not_exact_draw_no_group_too_many(
    test: float, valid: float, counts: tuple[int, int, int]
) -> None:
    card = card_of(split={"by": "group", "valid": valid, "test": test}, group="who")
    splits = split_examples(card, examples(20, 2, 20), "toy")
    assert tuple(len(splits[name]) for name in SPLITS) == counts


@pytest.mark.parametrize("by", ["seed", "group"])
def test_a_split_is_the_same_for_the_same_seed_alone(by: str) -> None:
    some, cards = examples(40, 2, 20), [card_of(split={"by": by, "seed": seed}, group="who") for seed in (3, 3, 4)]
    one, other, third = (split_examples(card, some, "toy") for card in cards)
    assert all(np.array_equal(one[name], other[name]) for name in SPLITS)
    assert any(not np.array_equal(one[name], third[name]) for name in SPLITS)


def test_a_class_of_three_examples_is_in_every_split_and_one_of_two_in_training_alone() -> None:
    some = examples(5, 2, 5)
    splits = split_examples(card_of(split={"valid": 0.1, "test": 0.1}), some, "toy")
    assert {name: sorted(some.answers[k][0] for k in splits[name]) for name in SPLITS} == {
        "train": [0, 1, 1], "valid": [0], "test": [0]
    }  # fmt: skip


def test_validation_from_training_of_two_groups_is_one_of_them() -> None:
    some = replace(examples(20, 2, 2), marks=["train"] * 16 + ["test"] * 4)
    card = card_of(split={"by": "column", "column": "part", "valid": 0.3}, group="who")
    splits = split_examples(card, some, "toy")
    assert sorted([some.groups[k] for k in splits[name]] for name in ("train", "valid")) == [["g0"] * 8, ["g1"] * 8]


def texts_of(rule: str, card: Any, some: Examples) -> list[str]:
    """Return the remarks of a rule on examples of which all but the last two are for training."""
    splits = dict(zip(SPLITS, np.split(np.arange(len(some)), [-2, -1]), strict=True))
    return [remark.text for remark in find_remarks(card, some, splits) if remark.rule == rule]


def test_a_test_example_that_begins_when_training_ends_is_told_and_a_later_one_is_not() -> None:
    def list_remarks(begin: float) -> list[str]:
        times = np.array([[0, 1], [1, 2], [3, 4], [begin, 9]], float)
        return texts_of("time", card_of(channels=["x"]), replace(examples(4, 2, 4), times=times))

    assert list_remarks(2.0) == ["1 of 1 test examples begin before the last one of training ends."]
    assert list_remarks(2.1) == []


def test_a_window_of_more_than_one_and_a_half_times_the_usual_duration_spans_a_gap() -> None:
    settings = {"layout": "series", "task": "forecasting", "target": ["x"], "horizon": 1, "window": 4, "stride": 1}
    card = card_of(**settings, channels=["x"], series=None, classes=None)

    def list_remarks(duration: float) -> list[str]:
        times = np.array([[0, 4], [1, 5], [2, 6], [3, 3 + 4 * duration], [9, 13], [14, 18]])
        windows = [np.arange(5.0)[:, None] + k for k in range(6)]
        return texts_of("gaps", card, replace(examples(6, 2, 6), values=windows, times=times))

    assert list_remarks(1.4) == []
    assert list_remarks(1.6) == ["1 of 6 windows span a gap in time; gap = 1.5 avoids that."]


def test_an_array_of_more_channels_than_steps_is_asked_about_and_a_square_one_is_not() -> None:
    def list_remarks(channels: int) -> list[str]:
        names = [f"x{k}" for k in range(channels)]
        changes = {"files": ["toy.npz"], "inputs": "x", "series": None, "time": None, "channels": names}
        arrays = [np.arange(5.0 * channels).reshape(5, channels) + k for k in range(4)]
        return texts_of("axes", card_of(**changes), replace(examples(4, 2, 4), values=arrays))

    assert list_remarks(5) == []
    [text] = list_remarks(6)
    assert text.startswith("6 channels of 5 steps: ")


def columns(**of: Any) -> bytes:
    """Return the long table with more columns: by name, of a row."""
    rows = long_table()
    more = [[*row, *(str(make(row)) for make in of.values())] for row in rows[1:]]
    return csv([[*rows[0], *of], *more])


LEAKS: dict[str, tuple[bytes, dict[str, Any], str, str]] = {
    "a channel that is the class": (
        columns(z=lambda r: 3 + "ab".index(r[5])), {"channels": ["x", "z"]}, "target",
        "The target leaks into the inputs: of the channel z its first value determines label exactly.",
    ),
    "a last value that is the class": (
        columns(z=lambda r: "ab".index(r[5]) if r[1] == "4" else r[2]), {"channels": ["x", "z"]}, "target",
        "of the channel z its last value determines label exactly.",
    ),
    "a channel of which the value is another scale": (
        columns(v=lambda r: r[0][1:], z=lambda r: 7 - 2 * int(r[0][1:])),
        {"channels": ["x", "z"], "task": "regression", "target": "v", "classes": None}, "target",
        "of the channel z its first value determines v exactly.",
    ),
    "a channel that is the future": (
        columns(z=lambda r: long_table()[1 + 5 * int(r[0][1:]) + min(int(r[1]) + 1, 4)][2]),
        {"channels": ["x", "z"], "task": "forecasting", "target": ["x"], "classes": None, "horizon": 1}, "target",
        "The target leaks into the inputs: the channel z determines x exactly.",
    ),
    "equal examples in two splits": (csv(COPIED), {}, "duplicates", "in the train split, too, with equal values;"),
    "a person in two splits": (csv(long_table()), {"group": "who"}, "groups", "of who are in the train and in the"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEAKS)
def test_a_leak_is_refused_unless_it_is_allowed_and_then_told(case: str, tmp_path: Path) -> None:
    content, changes, rule, text = LEAKS[case]
    path = written(tmp_path, content, LONG, **changes)
    with pytest.raises(DataError, match=f'If this is intended, set allow = ."{rule}"') as refused:
        load_with_remarks(path)
    assert text in str(refused.value)
    _, remarks = load_with_remarks(written(tmp_path, content, LONG, **changes, allow=[rule]))
    assert any(r.rule == rule and text in r.text and not r.refused for r in remarks)


def test_validation_is_drawn_from_training_in_whole_groups(tmp_path: Path) -> None:
    rows = long_table()
    marked = [[*rows[0], "part"], *([*row, "test" if row[4] in ("p0", "p1") else "train"] for row in rows[1:])]
    card = {**LONG, "group": "who", "split": {"by": "column", "column": "part", "valid": 0.3}}
    data, remarks = load_with_remarks(written(tmp_path, csv(marked), card))
    assert remarks == [] and (len(data.training(0)), len(data.valid), len(data.test)) == (14, 6, 4)


def test_a_random_split_of_groups_is_told_how_to_keep_them_apart(tmp_path: Path) -> None:
    path = written(tmp_path, csv(long_table()), LONG, group="who")
    with pytest.raises(DataError, match='; split.by = "group" avoids that. If this is intended, set allow = '):
        load_with_remarks(path)


def test_data_without_a_leak_are_told_nothing_of(tmp_path: Path) -> None:
    assert load_with_remarks(written(tmp_path, csv(long_table()), LONG))[1] == []
    apart = written(tmp_path, csv(long_table()), LONG, group="who", split={"by": "group"})
    assert load_with_remarks(apart)[1] == []


def test_a_channel_that_never_changes_and_dates_that_overlap_are_told(tmp_path: Path) -> None:
    content = columns(z=lambda r: 4.5, d=lambda r: int(r[0][1:]) + 100 * int(r[1]))
    _, remarks = load_with_remarks(written(tmp_path, content, LONG, channels=["x", "z"], time="d"))
    assert [r.rule for r in remarks] == ["constant", "time"]
    assert remarks[0].text == "The channel z never changes in training: 4.5."


def test_a_class_that_is_not_tested_is_told_and_one_that_is_not_trained_refused(tmp_path: Path) -> None:
    rows = long_table()
    where = {"s0": "test", "s2": "test", "s1": "valid", "s3": "valid"}
    marked = [[*rows[0], "split"], *([*r, where.get(r[0], "train")] for r in rows[1:])]
    _, remarks = load_with_remarks(written(tmp_path, csv(marked), LONG, split={"by": "column", "column": "split"}))
    assert [r.text for r in remarks] == [
        "No example of the valid split belongs to the class a.", "No example of the test split belongs to the class b.",
    ]  # fmt: skip
    names = [f"c{k}" for k in range(9)]
    more = written(tmp_path, csv(long_table()), LONG, classes=["a", "b", *names])
    with pytest.raises(DataError, match=r"belongs to the class c0, c1, c2, c3, c4, \.\.\.\.$"):
        load_with_remarks(more)
    few = [
        [*rows[0], "split"],
        *([*r, "train" if r[5] == "a" else "test" if int(r[0][1:]) % 4 == 1 else "valid"] for r in rows[1:]),
    ]
    with pytest.raises(DataError, match="No training example belongs to the class b"):
        load_with_remarks(written(tmp_path, csv(few), LONG, split={"by": "column", "column": "split"}))
