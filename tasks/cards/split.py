"""Splits into training, validation and test examples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.examples import Examples

SPLITS = ("train", "valid", "test")
OTHER_SPELLINGS = {"training": "train", "val": "valid", "validation": "valid", "dev": "valid", "testing": "test"}
ROUNDING = 1e-9
"""Tolerance of shares of examples, which are sums of floats."""
Parts = dict[str, np.ndarray]
"""The indices of the examples of each of SPLITS, ascending."""


def split_examples(card: Card, examples: Examples, origin: str) -> Parts:
    """Return the examples of each split, at least one each.

    Raises:
        DataError: A column has another entry, a split has no example, or there are too few groups; ``origin`` is in the
            message.
    """
    if card.one_series or card.by == "column":
        splits = _split_by_column(card, examples, origin)
    elif card.by == "file":
        splits = _split_by_file(card, examples)
    elif card.by == "time":
        splits = _split_by_order(np.argsort(examples.times[:, 0], kind="stable"), card)
    elif card.by == "group":
        splits = _split_by_group(card, examples, origin)
    else:
        splits = _split_at_random(card, examples, np.arange(len(examples)), card.split.valid, card.split.test)
    for name in SPLITS:
        if not len(splits[name]):
            marked = card.by == "column" and (card.one_series or name != "valid")
            step = f"Mark some as {name} in column {card.split.column}" if marked else "Add some, or change the shares"
            raise DataError(f"{origin}: the {name} split has none of {len(examples)} examples. {step}.")
    return {name: np.sort(splits[name]) for name in SPLITS}


def name_split(mark: str) -> str:
    """Return the split that an entry of a split column names, also by another spelling: valid for ``Val``.

    An entry that names none is returned as it is.
    """
    word = mark.strip().lower()
    return word if word in SPLITS else OTHER_SPELLINGS.get(word, mark)


def are_splits(marks: Iterable[str]) -> bool:
    """Return whether the entries of a column are names of splits, training and test among them."""
    return {"train", "test"} <= {*map(name_split, marks)} <= {*SPLITS}


def _split_by_column(card: Card, examples: Examples, origin: str) -> Parts:
    marks = np.array([*map(name_split, examples.marks)])
    for k, mark in enumerate(marks.tolist()):
        if mark not in SPLITS:
            rule = f"column {card.split.column} must contain {', '.join(SPLITS)}"
            raise DataError(f"{examples.at(k, 0, 0).rpartition(', column')[0] or origin}: {rule}, got {mark!r}.")
    splits = {name: np.flatnonzero(marks == name) for name in SPLITS}
    # Windows of one series overlap, so that none can be held out at random.
    given = card.one_series or len(splits["valid"]) or not len(splits["train"])
    return splits if given else _with_validation(card, examples, splits)


def _split_by_file(card: Card, examples: Examples) -> Parts:
    files = np.array(examples.files)
    first, last = np.flatnonzero(files == 0), np.flatnonzero(files == files.max())
    if len(card.files) == 3:
        return {"train": first, "valid": np.flatnonzero(files == 1), "test": last}
    return _with_validation(card, examples, {"train": first, "test": last})


def _with_validation(card: Card, examples: Examples, splits: Parts) -> Parts:
    """Return splits of which a random share of the training examples, in whole groups if any, is for validation."""
    of = splits["train"]
    members, ends = _draw_groups(card, examples, of)
    if len(members) > 1:
        valid = np.concatenate(members[: min(_count_up_to(ends, card.split.valid), len(members) - 1)])
    else:
        valid = _split_at_random(card, examples, of, card.split.valid, 0.0)["valid"]
    return {"train": np.setdiff1d(of, valid), "valid": valid, "test": splits["test"]}


def _split_by_order(order: np.ndarray, card: Card) -> Parts:
    """Return the first of an order for training, and the last for testing."""
    last = round(len(order) * (1 - card.split.test))
    first = round(len(order) * (1 - card.split.test - card.split.valid))
    return {"train": order[:first], "valid": order[first:last], "test": order[last:]}


def _split_by_group(card: Card, examples: Examples, origin: str) -> Parts:
    """Return splits of whole groups, drawn until each share is reached."""
    names = sorted(set(examples.groups))
    if len(names) < 3 or "" in names:
        rule = f"a split by group needs three or more groups, and one for each example, in {card.group}"
        raise DataError(f"{origin}: {rule}, got {', '.join(map(repr, names[:5]))}.")
    members, ends = _draw_groups(card, examples, np.arange(len(examples)))
    tested = min(_count_up_to(ends, card.split.test), len(names) - 2)
    held_out = min(max(tested + 1, _count_up_to(ends, card.split.test + card.split.valid)), len(names) - 1)
    cut = {"test": members[:tested], "valid": members[tested:held_out], "train": members[held_out:]}
    return {name: np.concatenate(each) for name, each in cut.items()}


def _draw_groups(card: Card, examples: Examples, of: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the groups of some examples in random order: the examples of each, and their share up to its end."""
    groups = np.array(examples.groups)[of]
    names = sorted({*groups.tolist()})
    order = np.random.RandomState(card.split.seed).permutation(len(names))
    members = [of[groups == names[k]] for k in order]
    return members, np.cumsum([len(each) for each in members]) / len(of)


def _count_up_to(ends: np.ndarray, share: float) -> int:
    """Return how many groups are drawn until a share is reached, at least one; 0.1 + 0.2 is reached by 0.3."""
    return int(np.searchsorted(ends, share - ROUNDING, side="left")) + 1


def _split_at_random(card: Card, examples: Examples, of: np.ndarray, valid: float, test: float) -> Parts:
    """Return random shares of some examples, stratified if there is one class per example."""
    random, once = np.random.RandomState(card.split.seed), card.task == "classification" and not card.every_step
    kinds = np.array([examples.answers[k][0] for k in of]) if once else np.zeros(len(of))
    parts: dict[str, list[np.ndarray]] = {name: [] for name in SPLITS}
    for kind in np.unique(kinds):
        shuffled = random.permutation(of[kinds == kind])
        tested, validated = (_share_of(len(shuffled), share) for share in (test, valid))
        parts["test"].append(shuffled[:tested])
        parts["valid"].append(shuffled[tested : tested + validated])
        parts["train"].append(shuffled[tested + validated :])
    return {name: np.concatenate(each) for name, each in parts.items()}


def _share_of(n: int, share: float) -> int:
    """Return a share of n examples: at least one if n ≥ 3 and the share is above 0."""
    return max(round(n * share), 1 if n >= 3 and share else 0)
