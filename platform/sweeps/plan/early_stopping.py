"""Checks of whatever stops or ends trials early: it must be able to, and not stop all of them at once."""

from __future__ import annotations

from longwave.platform.errors import ConfigError
from longwave.platform.records.trial import SIZES, WORDS
from longwave.platform.search.pruning import least_to_prune
from longwave.platform.statistics.stats import direction
from longwave.platform.sweeps.file.cell import ResolvedCell
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.values import Halving
from longwave.platform.sweeps.plan.rounds import cohort_sizes
from longwave.platform.sweeps.plan.validation import constant_score
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.spec import TaskSpec


def check_early_stopping(file: SweepFile, resolved: ResolvedCell) -> None:
    """Raise ConfigError if halving, or a pruner, would compare trials of different lengths, or in different packs; or
    if a setting of halving has no effect.
    """
    if not file.stops_early:
        return
    key = "halving" if file.halving else "pruner"
    if any(d.name == "epochs" for d in resolved.space):
        raise ConfigError(
            f"{file.name}: {key}: epochs is searched, but trials that compete must have the same length. Set epochs to "
            "one value."
        )
    if file.halving:
        _check_rungs(file, file.halving, resolved)
    else:
        _check_pruner(file, resolved)
    for d in resolved.space if not file.joint_packs else ():
        defaults = resolved.numbers.get(d.name, {}).values()
        if d.name in (*SIZES, *WORDS) or any(d.holds(default) for default in defaults):
            default = next(filter(d.holds, defaults), None)
            which = f"that differ in {d.name}" if default is None else f"with its default {default:g} and others"
            why = f"trials {which} cannot share a pack, so they cannot compete"
            cohort = "give halving a cohort" if file.halving else "set rule = 2"
            raise ConfigError(f"{file.name}: {key}: {d.name} is searched, but {why}. Set it to one value, or {cohort}.")


def _check_pruner(file: SweepFile, resolved: ResolvedCell) -> None:
    """Raise ConfigError if a pruner decides only after the last epoch, or only on more trials than compete."""
    assert file.pruner
    trials, first = least_to_prune(file.pruner, file.pruner_arguments)
    competing = max(cohort_sizes(file.of_cell(len(resolved.space))), default=0)
    if first >= (epochs := resolved.fields["epochs"]):
        raise ConfigError(
            f"{file.name}: pruner: its first decision must come before the last epoch, {epochs}, got epoch {first}: no "
            "trial would be stopped. Set fewer n_warmup_steps or more epochs, or remove the pruner."
        )
    if competing < trials:
        raise ConfigError(
            f"{file.name}: pruner: it decides once {trials} trials compete, and here are at most {competing}: no trial "
            "would be stopped. Set fewer n_startup_trials or more trials, or remove the pruner."
        )


def _check_rungs(file: SweepFile, halving: Halving, resolved: ResolvedCell) -> None:
    """Raise ConfigError if no rung lies before the last epoch, if no two trials compete, if those that compete are
    solved at different scores, or if gates are set under rule 1.
    """
    where, epochs = f"{file.name}: halving", resolved.fields["epochs"]
    if file.rule == 1 and (gates := sorted(halving.model_fields_set & {"gate", "gate_most"})):
        raise ConfigError(f"{where}: {gates[0]} has no effect under rule 1. Remove it, or set rule = 2.")
    if halving.first >= epochs:
        raise ConfigError(
            f"{where}: first must be below the number of epochs, {epochs}, got {halving.first}: no trial would be "
            "stopped. Set it lower, or remove [halving]."
        )
    if max(cohort_sizes(file.of_cell(len(resolved.space))), default=0) == 1:
        raise ConfigError(
            f"{where}: each trial would compete only with itself, so none would be stopped. Set more trials, or under "
            "rule 1 a larger pack, or remove [halving]."
        )
    if any(d.name == "solved" for d in resolved.space):
        raise ConfigError(
            f"{where}: solved is searched, but trials that compete must be solved at the same score. Set solved to one "
            "value."
        )


def check_early_ends(file: SweepFile, task: TaskSpec, data: Data[Batch], resolved: ResolvedCell) -> None:
    """Raise ConfigError if the warm-up does not end, if patience ends no training, or if a constant solves the task."""
    params, epochs = resolved.params, resolved.fields["epochs"]
    if params.get("warmup", 0) > epochs:
        raise ConfigError(
            f"{file.name}: warmup: the learning rate must reach its full value within {epochs} epochs, got warmup "
            f"{params['warmup']:g}. Set it lower, or more epochs."
        )
    if params.get("patience", 0) >= epochs:
        raise ConfigError(
            f"{file.name}: patience: it must be lower than the number of epochs, {epochs}, got {params['patience']:g}: "
            "no training would end early. Set it lower, or remove it."
        )
    ends = [float(end) for d in resolved.space if d.name == "solved" for end in (d.choices or (d.low, d.high))]
    if targets := [*ends, params["solved"]] if "solved" in params else ends:
        sign = direction(task.metric.goal)
        easiest, constant = min(targets, key=lambda target: sign * target), constant_score(task, data)
        if sign * constant >= sign * easiest:
            raise ConfigError(
                f"{file.name}: solved: a training would end after three epochs, as {easiest:g} is no better than the "
                f"{task.metric.name} {constant:.4g} of the constant predictor of {task.name}. Set a better one, or "
                "remove it."
            )
