"""Which members of a pack end before its last epoch: successive halving, and patience with a standing validation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from longwave.platform.records.trial import TrialConfig


def rungs(first: int, eta: int, epochs: int) -> list[int]:
    """Return the epochs of successive halving, Jamieson and Talwalkar 2016: first, first·η, ... below ``epochs``."""
    found = []
    while first < epochs:
        found.append(first)
        first *= eta
    return found


def halved(config: TrialConfig, epoch: int, best: Tensor, members: Tensor) -> tuple[Tensor, list[int], str]:
    """Return which members stay after an epoch's rung of successive halving, if it has one, which do not, and why.

    They are ranked by what they would be chosen by: their best validation metric so far, or with ``selection="last"``
    the present one. So a member that was the best and has a bad epoch at the rung stays.

    Args:
        config: A member's trial.
        epoch: The epoch that has ended.
        best: (M,), larger is better.
        members: (K,) int64, the members that compete.
    """
    halving = config.halving
    if not halving or epoch not in rungs(halving["first"], halving["eta"], config.epochs):
        return members, [], ""
    order = members[best[members].argsort(descending=True, stable=True)]
    count = math.ceil(len(order) / halving["eta"])
    reason = f"successive halving kept the best {count} of {len(order)} at epoch {epoch}"
    return order[:count].sort().values, order[count:].tolist(), reason


def last_epoch(config: TrialConfig, valids: Sequence[float], goal: Literal["max", "min"]) -> int:
    """Return the epoch that a training with these validation metrics, one an epoch, ends at.

    That is the last asked for; or the first after ``patience`` epochs of which none was better than the best before.
    """
    if "patience" not in config.params:
        return config.epochs
    best, since = -math.inf, 0
    for epoch, valid in enumerate(valids, 1):
        signed = valid if goal == "max" else -valid
        best, since = (signed, 0) if signed > best else (best, since + 1)
        if since >= config.params["patience"]:
            return epoch
    return config.epochs


def out_of_patience(config: TrialConfig, valids: Sequence[float], goal: Literal["max", "min"]) -> bool:
    """Return whether a training with these validation metrics, one an epoch, ends before its last epoch."""
    return last_epoch(config, valids, goal) <= len(valids) < config.epochs
