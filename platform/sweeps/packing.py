"""Divide trials into packs: pure, and the same for the same plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from longwave.platform.records.identity import digest
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model

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
    trials: Sequence[TrialConfig], workers: int, size: int | Literal["auto"], length: int, memory: int
) -> dict[str, list[TrialConfig]]:
    """Return packs by key, in the trials' order; each pack holds trials of one shape.

    Args:
        trials: What to train.
        workers: Packs that train at a time.
        size: Most trials a pack. ``"auto"`` divides all trials over the workers and stays within ``memory``; the
            trials of a model that gains nothing from larger packs are divided over the workers by themselves.
        length: Steps of a sequence.
        memory: Bytes a worker may use; ``"auto"`` alone looks at it.
    """
    groups: dict[str, list[TrialConfig]] = {}
    for config in trials:
        groups.setdefault(config.shape, []).append(config)
    packs = {}
    for group in groups.values():
        most = len(group)
        if not group[0].halving:
            most = size if size != "auto" else _automatic(group, len(trials), workers, length, memory)
        count = math.ceil(len(group) / most)
        for k in range(count):
            part = group[k * len(group) // count : (k + 1) * len(group) // count]
            packs[pack_key(part)] = part
    return packs


def _automatic(group: Sequence[TrialConfig], trials: int, workers: int, length: int, memory: int) -> int:
    """Return how many trials of ``group`` a pack should hold."""
    looped = get_model(group[0].model).looped
    share = math.ceil((len(group) if looped else trials) / workers)
    return max(1, min(share, memory // member_bytes(group[0], length)))
