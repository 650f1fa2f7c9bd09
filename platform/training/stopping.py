"""Which members of a pack end before its last epoch: successive halving, a pruner, patience, or since it is solved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from longwave.platform.records.identity import digest
from longwave.platform.records.report import Cohort, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.search.objects import CLASS
from longwave.platform.search.pruning import list_pruned

Goal = Literal["max", "min"]
SOLVED = 3
"""Epochs in a row whose validation metric must be no worse than ``solved`` for a training to end."""


def rungs(first: int, eta: int, epochs: int) -> list[int]:
    """Return the epochs of successive halving, Jamieson and Talwalkar 2016: first, first·η, ... below ``epochs``."""
    rung_epochs = []
    while first < epochs:
        rung_epochs.append(first)
        first *= eta
    return rung_epochs


def has_rung(config: TrialConfig, epoch: int) -> bool:
    """Return whether successive halving, or a pruner, decides after an epoch which trials stay."""
    halving = config.halving
    if halving is None:
        return False
    if "pruner" in halving:
        return epoch in range(halving["first"], config.epochs, halving["every"])
    return epoch in rungs(halving["first"], halving["eta"], config.epochs)


def decided(cohort: Cohort, halving: Mapping[str, Any], epoch: int, goal: str) -> tuple[dict[str, Rung], str] | None:
    """Return the rung of each trial that competes at an epoch with what becomes of it, and why some do not stay.

    With a pruner, that decides by the scores at this rung and all before.

    With a gate, scores decide only where a quarter of the trials beat it. Else all stay, at most ``gate_most`` of them,
    drawn by the cohort's name and the epoch: before trials have learned anything, the best score is an accident.

    It follows from the whole cohort's recorded scores alone, not from who trained with whom or when: the best of them
    stay, a share of 1/η rounded up, and of equal ones that with the smaller id. Whoever ended before the rung, or at
    it without a score, does not compete. A recorded decision is kept. None while a score is missing.

    They are ranked by what they would be chosen by: their best validation metric so far, or with ``selection="last"``
    the present one. So a trial that was the best and has a bad epoch at the rung stays.
    """
    known = {r.trial: r for r in cohort.rungs if r.epoch == epoch}
    if any(trial not in known and trial not in cohort.gone for trial in cohort.members):
        return None
    if "pruner" in halving:
        values = {trial: {r.epoch: r.valid for r in cohort.rungs if r.trial == trial} for trial in known}
        until = {trial: {e: v for e, v in curve.items() if e <= epoch} for trial, curve in values.items()}
        pruned = list_pruned(halving["pruner"], goal, until)
        for trial, rung in known.items():
            known[trial] = replace(rung, stays=trial not in pruned) if rung.stays is None else rung
        return known, f"{halving['pruner'][CLASS]} stopped it at epoch {epoch}"
    sign = -1.0 if goal == "max" else 1.0
    order = sorted(known, key=lambda trial: (sign * known[trial].valid, trial))
    count = math.ceil(len(order) / halving["eta"])
    reason = f"successive halving kept the best {count} of {len(order)} at epoch {epoch}"
    if "gate" in halving:
        beat = sum(sign * rung.valid < sign * halving["gate"] for rung in known.values())
        if 4 * beat < len(order):
            order.sort(key=lambda trial: digest([cohort.cohort, epoch, trial]))
            count = min(len(order), halving["gate_most"])
            reason = (
                f"{beat} of {len(order)} trials beat the constant predictor at epoch {epoch}, too few to choose by "
                f"score: {count} drawn ones went on"
            )
    for k, trial in enumerate(order):
        if known[trial].stays is None:
            known[trial] = replace(known[trial], stays=k < count)
    return known, reason


def last_epoch(config: TrialConfig, valids: Sequence[float], goal: Goal) -> int:
    """Return the epoch that a training with these validation metrics, one an epoch, ends at.

    That is the last asked for; or the first after ``patience`` epochs of which none was better than the best before, or
    after ``SOLVED`` in a row that are no worse than ``solved``.
    """
    sign = 1.0 if goal == "max" else -1.0
    patience, solved = config.params.get("patience", math.inf), config.params.get("solved", sign * math.inf)
    best, since, reached = -math.inf, 0, 0
    for epoch, valid in enumerate(valids, 1):
        best, since = (sign * valid, 0) if sign * valid > best else (best, since + 1)
        reached = reached + 1 if sign * valid >= sign * solved else 0
        if since >= patience or reached == SOLVED:
            return epoch
    return config.epochs


def ends_early(config: TrialConfig, valids: Sequence[float], goal: Goal) -> bool:
    """Return whether a training with these validation metrics, one an epoch, ends before its last epoch."""
    return last_epoch(config, valids, goal) <= len(valids) < config.epochs
