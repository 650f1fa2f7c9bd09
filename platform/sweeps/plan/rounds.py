"""The search trials of a cell, round by round: what is drawn, where it goes in a trial, who competes with whom."""

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
    """Return the seeds of a model's search trials, in order; the same in each of its cells, on every task."""
    return [derive_seed("search", file.seed, model, k) for k in range(file.searched)]


def next_round(
    file: SweepFile, entry: CellPlan, before: Sequence[TrialConfig], ends: Mapping[str, Run]
) -> list[TrialConfig]:
    """Return the search trials of the round that follows those ``before``, all of which have ended; none if all are.

    A second search over wider ranges is one round more.
    """
    model, done = entry.base.model, len(before)
    index, n = _round_size(file, done)
    if n == 0:
        return []
    told: list[Observation] = []
    for config in before:
        if (run := ends[config.id]).valid is not None and run.status != "diverged":
            told.append((drawn_values(entry, config), run.valid))
    seed = derive_seed("draw", file.seed, model, index)
    space = entry.space if done < file.trials else entry.wider
    if file.sampler in learning_samplers():
        space = tuple(sorted(space, key=lambda d: d.name not in WORDS))
    drawn = draw(space, n, seed, file.sampler, told, entry.goal, partial(_is_used, entry))
    starts = [*entry.starts[done:], *[{}] * n]
    seeds = search_seeds(file, model)[done:]
    wanted = [_trial_at(entry, {**p, **start}, s) for p, start, s in zip(drawn, starts, seeds, strict=False)]
    return _assign_cohorts(file, wanted)


def without_defaults(config: TrialConfig, numbers: Defaults) -> TrialConfig:
    """Return a trial without what an identity does not say.

    A training number is left out where it is the default or has no meaning under the trial's words, and drops where
    they have none, or lie behind the last epoch.
    """
    pair = training_words(config)
    kept = {
        name: value
        for name, value in config.params.items()
        if name not in numbers or (pair in numbers[name] and value != numbers[name][pair])
    }
    falls = config.schedule == "drops"
    return replace(config, params=kept, drops=tuple(d for d in config.drops if falls and d < config.epochs))


def fixed_trial(entry: CellPlan) -> TrialConfig:
    """Return the trial of a cell in which nothing is drawn."""
    return _trial_at(entry, {}, entry.base.seed)


def _trial_at(entry: CellPlan, point: Mapping[str, Drawn], seed: int) -> TrialConfig:
    """Return the trial of a point that was drawn."""
    fields: dict[str, Any] = {n: int(v) if n in SIZES else v for n, v in point.items() if n in FIELDS}
    params: dict[str, Any] = {n: v for n, v in point.items() if n not in FIELDS}
    return without_defaults(
        replace(entry.base, **fields, params={**entry.base.params, **params}, seed=seed), entry.numbers
    )


def _is_used(entry: CellPlan, point: Mapping[str, Drawn], name: str) -> bool:
    """Return whether what is drawn by a name has a meaning under the words of a point, else those of the cell."""
    pair = "/".join(str(point.get(word, getattr(entry.base, word))) for word in WORDS)
    return name not in entry.numbers or pair in entry.numbers[name]


def drawn_values(entry: CellPlan, config: TrialConfig) -> dict[str, Drawn]:
    """Return what was drawn for a trial, as far as it has a meaning under the words that were."""
    pair, found = training_words(config), dict[str, Drawn]()
    for name in (d.name for d in entry.space):
        if name in FIELDS:
            found[name] = getattr(config, name)
        elif name in config.params:
            found[name] = config.params[name]
        elif (default := entry.numbers.get(name, {}).get(pair)) is not None:
            found[name] = default
    return found


def _round_size(file: SweepFile, done: int) -> tuple[int, int]:
    """Return number and size of the round that follows ``done`` search trials of a cell; size 0 if none does."""
    before = 0
    for index in range(file.rounds):
        n = (file.trials - before) // (file.rounds - index)
        if n and before == done:
            return index, n
        before += n
    return file.rounds, file.searched - before if before == done else 0


def _assign_cohorts(file: SweepFile, trials: list[TrialConfig]) -> list[TrialConfig]:
    """Name the cohort each trial competes with in successive halving: consecutive trials, by default a pack's."""
    if file.halving is None:
        return trials
    size = file.halving.cohort or (len(trials) if file.pack == "auto" else file.pack)
    cohorts = [trials[k : k + size] for k in range(0, len(trials), size)]
    found = []
    for cohort in cohorts:
        halving = {**file.halving.model_dump(), "cohort": cohort_key(cohort)}
        found += [replace(c, halving=halving) for c in cohort]
    return found
