"""The search trials of a cell, round by round: what is drawn, and which trials compete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.run import Run
from longwave.platform.records.trial import FIELDS, SIZES, WORDS, TrialConfig, cohort_key
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.space import Defaults, Drawn, Observation, draw, learning_samplers
from longwave.platform.sweeps.plan.cells import CellPlan, training_words


def search_seeds(file: SweepFile, model: str) -> list[int]:
    """Return the seeds of a model's search trials, in order; they are the same in all its cells, on every task."""
    return [derive_seed("search", file.seed, model, k) for k in range(file.searched)]


def next_round(
    file: SweepFile, cell: CellPlan, before: Sequence[TrialConfig], ends: Mapping[str, Run]
) -> list[TrialConfig]:
    """Return the search trials of the next round; none after the last.

    A second search over wider ranges is one more round.

    Args:
        file: The sweep.
        cell: One of its cells.
        before: All trials of earlier rounds, which have ended.
        ends: How they ended, by id.
    """
    model, done = cell.base.model, len(before)
    index, n = _round_size(file, done)
    if n == 0:
        return []
    observations: list[Observation] = []
    for config in before:
        if (run := ends[config.id]).valid is not None and run.status != "diverged":
            observations.append((drawn_values(cell, config), run.valid))
    seed = derive_seed("draw", file.seed, model, index)
    space = cell.space if done < file.trials else cell.wider
    if file.sampler in learning_samplers():
        space = tuple(sorted(space, key=lambda d: d.name not in WORDS))
    drawn = draw(space, n, seed, file.sampler, observations, cell.goal, partial(_is_used, cell))
    starts = [*cell.starts[done:], *[{}] * n]
    seeds = search_seeds(file, model)[done:]
    wanted = [_trial_at(cell, {**p, **start}, s) for p, start, s in zip(drawn, starts, seeds, strict=False)]
    return _assign_cohorts(file, wanted)


def without_defaults(config: TrialConfig, numbers: Defaults) -> TrialConfig:
    """Return a trial without values that do not change its training, so that equal trainings have one identity.

    A training number is left out where it is the default or has no meaning under the trial's words; drops are left out
    where the schedule has none, or where they lie behind the last epoch.
    """
    words = training_words(config)
    kept = {
        name: value
        for name, value in config.params.items()
        if name not in numbers or (words in numbers[name] and value != numbers[name][words])
    }
    uses_drops = config.schedule == "drops"
    return replace(config, params=kept, drops=tuple(d for d in config.drops if uses_drops and d < config.epochs))


def fixed_trial(cell: CellPlan) -> TrialConfig:
    """Return the trial of a cell in which nothing is drawn."""
    return _trial_at(cell, {}, cell.base.seed)


def _trial_at(cell: CellPlan, point: Mapping[str, Drawn], seed: int) -> TrialConfig:
    """Return the trial of a point that was drawn."""
    fields: dict[str, Any] = {n: int(v) if n in SIZES else v for n, v in point.items() if n in FIELDS}
    params: dict[str, Any] = {n: v for n, v in point.items() if n not in FIELDS}
    return without_defaults(
        replace(cell.base, **fields, params={**cell.base.params, **params}, seed=seed), cell.numbers
    )


def _is_used(cell: CellPlan, point: Mapping[str, Drawn], name: str) -> bool:
    """Return whether a name has a meaning under the words of a point; words that it lacks are the cell's."""
    words = "/".join(str(point.get(word, getattr(cell.base, word))) for word in WORDS)
    return name not in cell.numbers or words in cell.numbers[name]


def drawn_values(cell: CellPlan, config: TrialConfig) -> dict[str, Drawn]:
    """Return what was drawn for a trial, without what has no meaning under its words."""
    words, values = training_words(config), dict[str, Drawn]()
    for name in (d.name for d in cell.space):
        if name in FIELDS:
            values[name] = getattr(config, name)
        elif name in config.params:
            values[name] = config.params[name]
        elif (default := cell.numbers.get(name, {}).get(words)) is not None:
            values[name] = default
    return values


def _round_size(file: SweepFile, done: int) -> tuple[int, int]:
    """Return index and size of the round that follows ``done`` search trials of a cell; size 0 after the last."""
    before = 0
    for index in range(file.rounds):
        n = (file.trials - before) // (file.rounds - index)
        if n and before == done:
            return index, n
        before += n
    return file.rounds, file.searched - before if before == done else 0


def _assign_cohorts(file: SweepFile, trials: list[TrialConfig]) -> list[TrialConfig]:
    """Return the trials with the names of their cohorts: consecutive trials, by default as many as a pack holds."""
    if file.halving is None:
        return trials
    size = file.halving.cohort or (len(trials) if file.pack == "auto" else file.pack)
    cohorts = [trials[k : k + size] for k in range(0, len(trials), size)]
    assigned = []
    for cohort in cohorts:
        halving = {**file.halving.model_dump(), "cohort": cohort_key(cohort)}
        assigned += [replace(c, halving=halving) for c in cohort]
    return assigned
