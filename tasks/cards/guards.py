"""Problems of data and their splits, in words, before anything is trained on them.

Problems that certainly invalidate a test score are refused: equal examples or one group in two splits, and a target
among the inputs. If a card's ``allow`` names the rule, they are only reported. All others are only reported: constant
channels, splits that overlap in time, untested classes, missing values, unequal lengths, windows that do not overlap or
that span a gap, arrays with more channels than steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import ALLOWABLE, Card, default_stride
from longwave.tasks.cards.examples import Examples
from longwave.tasks.cards.split import Parts

EQUAL = 1e-9
"""Share of a target's variance that a channel leaves unexplained, up to which it is the target itself."""
FEW = 8
"""Fewest targets for which a perfect match is informative."""
SUMMARIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "its first value": lambda x: x[0],
    "its last value": lambda x: x[-1],
    "its mean": lambda x: np.nanmean(x, 0),
}


@dataclass(frozen=True)
class Remark:
    """A problem of the data or their splits.

    Attributes:
        rule: Its name; one in ``ALLOWABLE`` can be allowed.
        text: A sentence.
        refused: Whether the data are refused for it.
    """

    rule: str
    text: str
    refused: bool = False


def find_remarks(card: Card, examples: Examples, splits: Parts) -> list[Remark]:
    """Return all problems of examples and their splits, refused ones first."""
    findings = [
        *_missing_classes(card, examples, splits),
        *_missing_targets(card, examples, splits),
        *_duplicates(examples, splits),
        *_shared_groups(card, examples, splits),
    ]
    findings += [
        *_fed_answers(card, examples),
        *_constant_channels(card, examples, splits),
        *_early_tests(card, examples, splits),
    ]
    findings += [*_gaps(card, examples), *_window_remarks(card, examples), *_swapped_axes(card, examples)]
    findings = [Remark(r.rule, r.text, r.refused and r.rule not in card.allow) for r in findings]
    return sorted(findings, key=lambda r: not r.refused)


def check_remarks(findings: Sequence[Remark], origin: str) -> None:
    """Raise DataError if there is a problem to refuse.

    Raises:
        DataError: There is; the message says how to allow it, if possible.
    """
    for remark in findings:
        if remark.refused:
            allow = f' If this is intended, set allow = ["{remark.rule}"].' if remark.rule in ALLOWABLE else ""
            raise DataError(f"{origin}: {remark.text}{allow}")


def _missing_classes(card: Card, examples: Examples, splits: Parts) -> Iterator[Remark]:
    if card.task != "classification":
        return
    every = {name: {int(v) for k in indices for v in _present(examples.answers[k])} for name, indices in splits.items()}
    absent = [name for k, name in enumerate(card.classes) if k not in every["train"]]
    if absent:
        yield Remark("classes", f"No training example belongs to the class {_list_few(absent)}.", True)
    for split in ("valid", "test"):
        if absent := [name for k, name in enumerate(card.classes) if k not in every[split]]:
            yield Remark("classes", f"No example of the {split} split belongs to the class {_list_few(absent)}.")


def _missing_targets(card: Card, examples: Examples, splits: Parts) -> Iterator[Remark]:
    """Yield splits without any target, on which nothing can be trained or scored; and how many steps have none."""
    cut = card.horizon or 0
    targets = [x[cut:, : len(card.targets)] for x in examples.values] if cut else examples.answers
    for name, indices in splits.items():
        if all(np.isnan(targets[k]).all() for k in indices):
            text = f"No step of the {name} split has a target. Give it some, or choose other splits."
            yield Remark("targets", text, True)
    if card.every_step and (without := sum(int(np.isnan(y).all(-1).sum()) for y in targets)):
        yield Remark("targets", f"{without} of {sum(map(len, targets))} steps have no target, and are not scored.")


def _duplicates(examples: Examples, splits: Parts) -> Iterator[Remark]:
    keys = [value.tobytes() for value in examples.values]
    for a, b in combinations(splits, 2):
        first = {keys[k]: k for k in splits[a]}
        if twice := [k for k in splits[b] if keys[k] in first]:
            one = examples.at(int(twice[0]), 0, 0).rpartition(", column")[0] or examples.at(int(twice[0]), 0, 0)
            many = (
                f"{len(twice)} examples of the {b} split are" if len(twice) > 1 else f"One example of the {b} split is"
            )
            yield Remark("duplicates", f"{many} in the {a} split, too, with equal values; the first at {one}.", True)


def _shared_groups(card: Card, examples: Examples, splits: Parts) -> Iterator[Remark]:
    if not card.group:
        return
    groups = {name: {examples.groups[k] for k in indices} for name, indices in splits.items()}
    for a, b in combinations(splits, 2):
        if both := sorted(groups[a] & groups[b]):
            avoid = '; split.by = "group" avoids that' * (card.by == "seed")
            text = f"{len(both)} of {card.group} are in the {a} and in the {b} split: {_list_few(both)}{avoid}."
            yield Remark("groups", text, True)


def _fed_answers(card: Card, examples: Examples) -> Iterator[Remark]:
    """Yield channels that determine the target, or whose statistics do."""
    horizon = card.horizon or 0
    for c, name in enumerate(card.input_channels):
        if card.task == "forecasting":
            if c < len(card.targets):
                continue
            pairs = {"it": [(x[:-horizon, c], x[horizon:, : len(card.targets)]) for x in examples.values]}
        elif card.every_step:
            pairs = {"it": [(x[:, c], y) for x, y in zip(examples.values, examples.answers, strict=True)]}
        else:
            both = [*zip(examples.values, examples.answers, strict=True)]
            pairs = {
                summary: [(take(x[:, c : c + 1]), y[None]) for x, y in both if not np.isnan(x[:, c]).all()]
                for summary, take in SUMMARIES.items()
            }
        for summary, each in pairs.items():
            if each and _gives_answer(card, np.concatenate([x for x, _ in each]), np.concatenate([y for _, y in each])):
                it = f"the channel {name}" if summary == "it" else f"of the channel {name} {summary}"
                yield Remark(
                    "target", f"The target leaks into the inputs: {it} determines {card.targets[0]} exactly.", True
                )
                break


def _gives_answer(card: Card, x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether x (n,) determines one of the targets (n, q): linearly, or by one constant per class."""
    for answer in y.T:
        present = ~np.isnan(x) & ~np.isnan(answer)
        a, b = x[present], answer[present]
        if len(a) < FEW or not a.std() or not b.std():
            continue
        if card.task != "classification":
            unexplained = 1 - np.corrcoef(a, b)[0, 1] ** 2
        else:
            spread = sum(((a[b == k] - a[b == k].mean()) ** 2).sum() for k in np.unique(b))
            means = np.array([a[b == k].mean() for k in np.unique(b)])
            near = np.diff(np.sort(means)).min() ** 2
            unexplained = spread / len(a) / near if near else 1.0
        if unexplained < EQUAL:
            return True
    return False


def _constant_channels(card: Card, examples: Examples, splits: Parts) -> Iterator[Remark]:
    for c, name in enumerate(card.input_channels):
        low, high, n = np.inf, -np.inf, 0
        for k in splits["train"]:
            present = _present(examples.values[k][:, c])
            low, high, n = (
                min([low, *present[:1], present.min(initial=low)]),
                max(high, present.max(initial=high)),
                n + len(present),
            )
        if not n or low == high:
            yield Remark(
                "constant", f"The channel {name} never changes in training{f': {low:g}' if n else ', and is missing'}."
            )


def _early_tests(card: Card, examples: Examples, splits: Parts) -> Iterator[Remark]:
    if np.isnan(examples.times).any() or not np.ptp(examples.times[:, 0]):
        return
    trained = examples.times[splits["train"], 1].max()
    early = int((examples.times[splits["test"], 0] <= trained).sum())
    if early:
        text = f"{early} of {len(splits['test'])} test examples begin before the last one of training ends."
        yield Remark("time", text)


def _gaps(card: Card, examples: Examples) -> Iterator[Remark]:
    missing = sum(int(np.isnan(x).sum()) for x in examples.values)
    if missing:
        treatments = {"hold": "the last value is carried forward", "mask": "a mask channel marks them"}
        text = treatments.get(str(card.missing), f"they are replaced by {card.missing}")
        yield Remark("missing", f"{missing} of {sum(x.size for x in examples.values)} values are missing; {text}.")
    lengths = [len(x) for x in examples.values]
    if min(lengths) < max(lengths):
        yield Remark("lengths", f"Examples have {min(lengths)} to {max(lengths)} steps; shorter ones are padded.")


def _window_remarks(card: Card, examples: Examples) -> Iterator[Remark]:
    """Yield remarks on windows that do not overlap, and on those that last far longer than most."""
    if not card.one_series or not card.window:
        return
    if card.stride is None and card.window > 1:
        text = f"Windows do not overlap; stride = {default_stride(card.window)} gives more windows of the same rows."
        yield Remark("stride", text)
    lasts = np.ptp(examples.times, axis=1)
    usual = float(np.median(lasts))
    if across := int((lasts > 1.5 * usual).sum()):
        longest = 1.5 * usual / max(len(examples.values[0]) - 1, 1)
        text = f"{across} of {len(lasts)} windows span a gap in time; gap = {longest:g} avoids that."
        yield Remark("gaps", text)


def _swapped_axes(card: Card, examples: Examples) -> Iterator[Remark]:
    """Yield a remark on an array that has more channels than steps, as one with channels first has."""
    channels, steps = len(card.channels), max(map(len, examples.values))
    if card.kind == "npz" and channels > steps:
        text = f"{channels} channels of {steps} steps: is the array (N, channels, steps)? Make it (N, steps, channels)."
        yield Remark("axes", text)


def _list_few(names: Sequence[str]) -> str:
    """Return the first five names, separated by commas."""
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _present(values: np.ndarray) -> np.ndarray:
    present: np.ndarray = values[~np.isnan(values)]
    return present
