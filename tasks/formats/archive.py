"""Classification sets of the UCR and UEA archives shipped with aeon: on the archive's split, and on ten others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.raw import fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.formats.packaged import Packaged
from longwave.tasks.formats.ts_files import both_parts
from longwave.tasks.trivial.constant import Majority
from longwave.tasks.trivial.neighbours import Nearest
from longwave.tasks.trivial.rocket import MiniRocket
from longwave.tasks.trivial.whole import SummaryRidge

VARIANTS = ("", *(f"resample={k}" for k in range(10)))
"""The archive's split, then ten stratified ones of the same sizes; k is the seed."""
HELD_OUT = 0.2
"""Share of the training series for validation, stratified; seed 0 with the archive's split, else k."""
RECIPE = Recipe(hidden=32, batch=16, epochs=100, source="ours: no paper of these models has this set")


def from_aeon(name: str, title: str, train_md5: str, test_md5: str, series: int) -> Packaged:
    """Return the files of a set of the archive, as aeon 1.6 ships them.

    Args:
        name, title: In Longwave, and in the archive.
        train_md5, test_md5: Of both files.
        series: In both.
    """
    needs = (f"{title}_TRAIN.ts", f"{title}_TEST.ts")
    return Packaged(
        name=name,
        title=title,
        licence="free for research, no licence file: cite the archive (Bagnall et al. 2018) and the donor",
        needs=needs,
        by_hand=f"Or unpack {title}.zip of timeseriesclassification.com, and: longwave data fetch {name} --path FOLDER",
        counts={"series": series},
        install="'longwave[archive]'",
        package="aeon",
        inside=f"datasets/data/{title}",
        sums=dict(zip(needs, (train_md5, test_md5), strict=True)),
    )


def archive_task(
    files: Packaged, summary: str, steps: int, features: int, classes: int, train: int, donor: str, **facts: Any
) -> TaskSpec:
    """Return the task of a set of the archive.

    Args:
        files: As returned by ``from_aeon``.
        summary: One sentence: what it tests.
        steps: Of a series; 0 if they are of unequal length.
        features, classes: Of a series.
        train: Series of the archive's training split.
        donor: Donor of the set.
        facts: Fields of ``TaskSpec``: ``length`` and ``lag``, in words, and others that differ.
    """
    equal: Mapping[str, Any] = {"1-NN": Nearest(classes), "MiniRocket": MiniRocket(classes)} if steps else {}
    blind_to_order = {"ridge on summaries": SummaryRidge(classes)}
    return TaskSpec(
        name=files.name,
        title=files.title,
        family="measured series",
        summary=summary,
        inputs=features,
        outputs=classes,
        loss=cross_entropy,
        metric=ACCURACY,
        chance=None,
        load=cache(partial(_load, files, steps, features, classes, train)),
        recipes={"": RECIPE},
        source=f"UCR and UEA archives (Bagnall et al. 2018), {donor}; files of aeon 1.6",
        licence=files.licence,
        variants="empty for the archive's split, or resample=0 … resample=9: stratified, of the same sizes",
        files=files,
        baselines={"majority": Majority(classes), **blind_to_order, **equal},
        **facts,
    )


def _load(files: Packaged, steps: int, features: int, classes: int, train: int, variant: str) -> Data[Sequences]:
    check_variant(files.name, variant, VARIANTS)
    folder = files.locate(files.name)
    parse = partial(both_parts, files, steps, features, classes)
    arrays = cached(f"{files.name}-1-{fingerprint(folder / name for name in files.needs)}", parse)
    return split_archive(arrays, train, variant, ragged=not steps)


def split_archive(arrays: Mapping[str, np.ndarray], train: int, variant: str, ragged: bool) -> Data[Sequences]:
    """Return the splits of a variant, each channel standardised by the training split.

    Args:
        arrays: As returned by ``both_parts``.
        train: Series of the archive's training split, which come first.
        variant: One of ``VARIANTS``.
        ragged: Whether series differ in length.
    """
    seed = int(variant.partition("=")[2] or 0)
    labels, every = arrays["labels"], np.arange(len(arrays["labels"]))
    learn, test = (
        (every[:train], every[train:]) if not variant else split_stratified(every, labels, len(every) - train, seed)
    )
    learn, valid = split_stratified(learn, labels, round(HELD_OUT * train), seed)
    present = np.arange(arrays["values"].shape[1]) < arrays["lengths"][:, None]
    training = arrays["values"][learn][present[learn]].astype(np.float64)
    mean, spread = training.mean(0), training.std(0)
    values = (arrays["values"] - mean) / np.where(spread > 0, spread, 1.0)
    values = torch.from_numpy(np.where(present[..., None], values, 0.0).astype(np.float32))

    def split(index: np.ndarray) -> Sequences:
        lengths = torch.from_numpy(arrays["lengths"][index]) if ragged else None
        return Sequences(values[index], torch.from_numpy(labels[index]), lengths=lengths)

    return Data(train=split(learn), valid=split(valid), test=split(test))


def split_stratified(index: np.ndarray, labels: np.ndarray, held_out: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``index`` in two stratified parts, the second with ``held_out`` entries."""
    from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]

    train, out = train_test_split(index, test_size=held_out, random_state=seed, stratify=labels[index])
    return np.sort(train), np.sort(out)
