"""Early stopping of a pack's members: successive halving, a pruner, patience, or a solved task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from longwave.platform.records.identity import digest
from longwave.platform.records.report import Cohort, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.search.objects import CLASS
from longwave.platform.search.pruning import is_pruning_epoch, list_pruned

Goal = Literal["max", "min"]
SOLVED = 3
"""Epochs in a row with a validation metric no worse than ``solved`` after which a training ends."""


def rungs(first: int, eta: int, epochs: int) -> list[int]:
    """Return the epochs of successive halving, Jamieson and Talwalkar 2016: first, first·η, ... below ``epochs``."""
    rung_epochs = []
    while first < epochs:
        rung_epochs.append(first)
        first *= eta
    return rung_epochs


def has_rung(config: TrialConfig, epoch: int) -> bool:
    """Return whether successive halving, or a pruner, decides after an epoch."""
    halving = config.halving
    if halving is None:
        return False
    if "pruner" in halving:
        return epoch < config.epochs and is_pruning_epoch(halving, epoch)
    return epoch in rungs(halving["first"], halving["eta"], config.epochs)


def decide_rung(
    cohort: Cohort, halving: Mapping[str, Any], epoch: int, goal: str, solved: float | None = None
) -> tuple[dict[str, Rung], str] | None:
    """Return the rung of each competing trial at an epoch with its decision, and the reason for stopping. A pruner
    decides by the scores of all epochs so far. With a gate, scores decide only if a quarter of the trials beat it.
    Otherwise at most ``gate_most`` trials stay, drawn at random from the cohort's name and the epoch, because before
    trials have learned anything the best score is due to chance.

    The decision depends only on the recorded scores of the whole cohort, not on packs or timing: the best stay, a share
    of 1/η rounded up; among equal ones those with smaller ids. Of the trials that ended before the rung, or at it
    without a score, only those compete whose score is no worse than ``solved``. Recorded decisions are kept. None while
    a score is missing. Trials are ranked by the score they would be selected by: their best validation metric so far,
    or with ``selection="last"`` the current one. So the best trial stays even if the epoch at the rung is bad.
    """
    rung_by_trial = {r.trial: r for r in cohort.rungs if r.epoch == epoch}
    if any(trial not in rung_by_trial and trial not in cohort.gone for trial in cohort.members):
        return None
    if "pruner" in halving:
        values = {trial: {r.epoch: r.valid for r in cohort.rungs if r.trial == trial} for trial in rung_by_trial}
        curves = {trial: {e: v for e, v in curve.items() if e <= epoch} for trial, curve in values.items()}
        pruned = list_pruned(halving["pruner"], goal, curves)
        for trial, rung in rung_by_trial.items():
            rung_by_trial[trial] = replace(rung, stays=trial not in pruned) if rung.stays is None else rung
        return rung_by_trial, f"{halving['pruner'][CLASS]} stopped it at epoch {epoch}"
    sign = -1.0 if goal == "max" else 1.0
    errors = {trial: sign * rung.valid for trial, rung in rung_by_trial.items()}
    if solved is not None:
        worst = _solving_score(solved, goal)
        ended = {trial: sign * score for trial, score in cohort.scores.items() if cohort.gone[trial] <= epoch}
        errors |= {trial: error for trial, error in ended.items() if error <= sign * worst}
    order = sorted(errors, key=lambda trial: (errors[trial], trial))
    count = math.ceil(len(order) / halving["eta"])
    reason = f"successive halving kept the best {count} of {len(order)} at epoch {epoch}"
    if "gate" in halving:
        above_gate = sum(error < sign * halving["gate"] for error in errors.values())
        if 4 * above_gate < len(order):
            order = sorted(rung_by_trial, key=lambda trial: digest([cohort.cohort, epoch, trial]))
            count = min(len(order), halving["gate_most"])
            reason = (
                f"{above_gate} of {len(errors)} trials beat the constant predictor by a tenth of its error at epoch "
                f"{epoch}, too few to choose by score: {count} drawn ones went on"
            )
    staying = {*order[:count]}
    for trial, rung in rung_by_trial.items():
        if rung.stays is None:
            rung_by_trial[trial] = replace(rung, stays=trial in staying)
    return rung_by_trial, reason


def _solving_score(solved: float, goal: str) -> float:
    """Return the worst score that solves a task: ``solved``, or if it is worse ``solved`` in float32, as metrics are
    recorded, in which an accuracy of 99.7 is 99.69999694824219.
    """
    return (min if goal == "max" else max)(solved, float(np.float32(solved)))


def last_epoch(config: TrialConfig, valids: Sequence[float], goal: Goal) -> int:
    """Return the epoch at which a training with these validation metrics, one per epoch, ends. This is the last planned
    one; or the first after ``patience`` epochs without improvement, or after ``SOLVED`` in a row that are no worse than
    ``solved``.
    """
    sign = 1.0 if goal == "max" else -1.0
    patience = config.params.get("patience", math.inf)
    least = sign * _solving_score(config.params.get("solved", sign * math.inf), goal)
    best, stale, solved_epochs = -math.inf, 0, 0
    for epoch, valid in enumerate(valids, 1):
        best, stale = (sign * valid, 0) if sign * valid > best else (best, stale + 1)
        solved_epochs = solved_epochs + 1 if sign * valid >= least else 0
        if stale >= patience or solved_epochs == SOLVED:
            return epoch
    return config.epochs


def ends_early(config: TrialConfig, valids: Sequence[float], goal: Goal) -> bool:
    """Return whether a training with these validation metrics, one per epoch, ends before its last epoch."""
    return last_epoch(config, valids, goal) <= len(valids) < config.epochs
