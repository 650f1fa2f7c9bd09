"""Divide trials into packs: pure, and the same for the same plan."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from longwave.platform.records.identity import digest
from longwave.platform.records.trial import TrialConfig

TENSORS_A_STEP = 24
"""Tensors of a state's size that autograd keeps for each step: the memory estimate's one constant."""
WIDTH = {"float32": 4, "float64": 8}
"""Bytes a number."""


def pack_key(configs: Sequence[TrialConfig]) -> str:
    """Return the pack's identity: a hash of its trials."""
    return digest([c.id for c in configs])


def member_bytes(config: TrialConfig, length: int) -> int:
    """Return an estimate of the memory one member needs in training, for sequences of ``length`` steps."""
    return length * config.batch * config.hidden * TENSORS_A_STEP * WIDTH[config.precision]


def divide(
    trials: Sequence[TrialConfig],
    workers: int,
    size: int | Literal["auto"],
    length: int,
    memory: int,
    looped: Collection[str] = (),
) -> dict[str, list[TrialConfig]]:
    """Return packs by key, in the trials' order; each pack holds trials of one shape.

    Args:
        trials: What to train.
        workers: Packs that train at a time.
        size: Most trials a pack. ``"auto"`` divides all trials over the workers and stays within ``memory``; the
            trials of a model that gains nothing from larger packs are divided over the workers by themselves.
        length: Steps of a sequence.
        memory: Bytes a worker may use; ``"auto"`` alone looks at it.
        looped: Models that gain nothing from larger packs.
    """
    groups: dict[str, list[TrialConfig]] = {}
    for config in trials:
        groups.setdefault(config.shape, []).append(config)
    packs = {}
    for group in groups.values():
        most = len(group)
        if not group[0].halving:
            alone = len(group) if group[0].model in looped else len(trials)
            most = size if size != "auto" else _automatic(group[0], math.ceil(alone / workers), length, memory)
        count = math.ceil(len(group) / most)
        for k in range(count):
            part = group[k * len(group) // count : (k + 1) * len(group) // count]
            packs[pack_key(part)] = part
    return packs


def _automatic(config: TrialConfig, share: int, length: int, memory: int) -> int:
    """Return how many trials like ``config`` a pack should hold: a worker's share, within its memory."""
    return max(1, min(share, memory // member_bytes(config, length)))
