"""The trials of a search: what each of its rounds draws, given how the earlier ones ended. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from longwave.platform.errors import ConfigError
from longwave.platform.records.run import Run
from longwave.platform.records.trial import FIELDS, SIZES, WORDS, TrialConfig, cohort_key
from longwave.platform.search.objects import CLASS
from longwave.platform.search.pruning import pruning_epochs
from longwave.platform.search.space import Defaults, Drawn, Observation, draw, keeps_state, learns
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cells import CellPlan, training_words
from longwave.platform.sweeps.plan.seeds import draw_seed, search_seeds


def next_round(
    file: SweepFile, cell: CellPlan, earlier: Sequence[TrialConfig], ends: Mapping[str, Run]
) -> list[TrialConfig]:
    """Return the search trials of the next round; none after the last.

    A second search over wider ranges is one more round.

    Args:
        file: The sweep.
        cell: One of its cells.
        earlier: All trials of earlier rounds, which have ended.
        ends: How they ended, by id.
    """
    count, sized = len(earlier), file.of_cell(len(cell.space))
    index, n = _round_size(sized, count)
    if n == 0:
        return []
    seed = draw_seed(file, cell.base, 0 if keeps_state(file.sampler) else index)
    space = cell.space if count < sized.trials else cell.wider
    if learns(file.sampler):
        space = tuple(sorted(space, key=lambda d: d.name not in WORDS))
    rounds, is_used = _list_rounds(sized, cell, earlier, ends), partial(_is_used, cell)
    try:
        drawn = draw(space, n, seed, file.sampler, rounds, cell.goal, is_used, file.sampler_arguments)
    except ConfigError as error:
        raise ConfigError(f"{file.name}: {error}") from error
    starts = cell.starts[count : count + n]
    others = draw(space, len(starts), seed) if starts else []  # numbers that only the words of a start use
    drawn[: len(starts)] = [{**o, **p, **start} for o, p, start in zip(others, drawn, starts, strict=False)]
    trials = [_trial_at(cell, p, s) for p, s in zip(drawn, search_seeds(file, cell.base)[count:], strict=False)]
    return _assign_cohorts(file, trials, cell.gate)


def without_defaults(config: TrialConfig, numbers: Defaults) -> TrialConfig:
    """Return a trial without values that do not change its training, so that equal trainings have one identity.

    A training number is left out if it is the default or has no effect under the trial's words; drops are left out if
    the schedule has none, or if they lie behind the last epoch; a width, if it is the hidden size.
    """
    words = training_words(config)
    params = {
        name: value
        for name, value in config.params.items()
        if name not in numbers or (words in numbers[name] and value != numbers[name][words])
    }
    uses_drops, width = config.schedule == "drops", None if config.width == config.hidden else config.width
    drops = tuple(sorted(d for d in config.drops if uses_drops and d < config.epochs))
    return replace(config, params=params, drops=drops, width=width)


def fixed_trial(cell: CellPlan) -> TrialConfig:
    """Return the trial of a cell in which nothing is drawn."""
    return _trial_at(cell, {}, cell.base.seed)


def _trial_at(cell: CellPlan, point: Mapping[str, Drawn], seed: int) -> TrialConfig:
    """Return the trial with the values that were drawn for it."""
    fields: dict[str, Any] = {n: int(v) if n in SIZES else v for n, v in point.items() if n in FIELDS}
    params: dict[str, Any] = {n: v for n, v in point.items() if n not in FIELDS}
    return without_defaults(
        replace(cell.base, **fields, params={**cell.base.params, **params}, seed=seed), cell.numbers
    )


def _is_used(cell: CellPlan, drawn: Mapping[str, Drawn], name: str) -> bool:
    """Return whether a name has an effect under the drawn words; words that are not drawn are the cell's."""
    words = "/".join(str(drawn.get(word, getattr(cell.base, word))) for word in WORDS)
    return name not in cell.numbers or words in cell.numbers[name]


def drawn_values(cell: CellPlan, config: TrialConfig) -> dict[str, Drawn]:
    """Return what was drawn for a trial, without what has no effect under its words."""
    words, values = training_words(config), dict[str, Drawn]()
    for name in (d.name for d in cell.space):
        if name in FIELDS:
            values[name] = getattr(config, name)
        elif name in config.params:
            values[name] = config.params[name]
        elif (default := cell.numbers.get(name, {}).get(words)) is not None:
            values[name] = default
    return values


def round_sizes(file: SweepFile) -> list[int]:
    """Return the number of search trials of a cell in each round that has any, the second search last."""
    least, larger = divmod(file.trials, file.rounds)
    sizes = [*[least] * (file.rounds - larger), *[least + 1] * larger, file.searched - file.trials]
    return [size for size in sizes if size]


def _round_size(file: SweepFile, done: int) -> tuple[int, int]:
    """Return index and size of the round that follows ``done`` search trials of a cell; size 0 after the last."""
    before = 0
    for index in range(file.rounds):
        n = (file.trials - before) // (file.rounds - index)
        if n and before == done:
            return index, n
        before += n
    return file.rounds, file.searched - before if before == done else 0


def _list_rounds(
    file: SweepFile, cell: CellPlan, earlier: Sequence[TrialConfig], ends: Mapping[str, Run]
) -> list[list[Observation]]:
    """Return draws and scores of each earlier round; a sampler that keeps a state needs them in their order."""
    if keeps_state(file.sampler):
        position = {seed: k for k, seed in enumerate(search_seeds(file, cell.base))}
        earlier = sorted(earlier, key=lambda config: position[config.seed])
    else:  # Optuna's samplers depend on the order, which must be the same wherever the trials were read
        earlier = sorted(earlier, key=lambda config: config.id)
    rounds: list[list[Observation]] = []
    done = 0
    while part := earlier[done : done + _round_size(file, done)[1]]:
        runs = [(config, ends[config.id]) for config in part]
        rounds.append([(drawn_values(cell, c), None if run.status == "diverged" else run.valid) for c, run in runs])
        done += len(part)
    return rounds


def in_complete_rounds(file: SweepFile, cell: CellPlan, search: Sequence[TrialConfig]) -> list[TrialConfig]:
    """Return the search trials of the rounds before the first one of which a trial is not planned.

    A repaired store can have lost one; the round is then drawn again, which gives the same trials.
    """
    sized, seeds, known = file.of_cell(len(cell.space)), search_seeds(file, cell.base), {c.seed for c in search}
    done = 0
    while (size := _round_size(sized, done)[1]) and known.issuperset(seeds[done : done + size]):
        done += size
    complete = {*seeds[:done]}
    return [config for config in search if config.seed in complete]


def cohort_sizes(file: SweepFile) -> list[int]:
    """Return the sizes of all cohorts of a cell's search, round by round."""
    sizes = round_sizes(file)
    return [min(_cohort_size(file, n), n - k) for n in sizes for k in range(0, n, _cohort_size(file, n))]


def _cohort_size(file: SweepFile, trials: int) -> int:
    """Return how many trials of a round with so many compete: by default all, or under rule 1 those of a pack."""
    is_whole_round = file.pack == "auto" or file.rule == 2
    return (file.halving and file.halving.cohort) or (trials if is_whole_round else int(file.pack))


def _assign_cohorts(file: SweepFile, trials: list[TrialConfig], gate: float | None) -> list[TrialConfig]:
    """Return the trials of a round with the names of their cohorts, which are consecutive trials."""
    if not file.stops_early:
        return trials
    size = _cohort_size(file, len(trials))
    settings: dict[str, Any] = {}
    if file.halving:
        settings = {"eta": file.halving.eta, "first": file.halving.first}
        if gate is not None:
            settings |= {"gate": gate, "gate_most": file.halving.gate_most}
    elif file.pruner:
        settings = {"pruner": {CLASS: file.pruner, **file.pruner_arguments}, **pruning_epochs(file.pruner_arguments)}
    cohorts = [trials[k : k + size] for k in range(0, len(trials), size)]
    return [
        replace(config, halving={**settings, "cohort": key})
        for cohort, key in zip(cohorts, map(cohort_key, cohorts), strict=True)
        for config in cohort
    ]
