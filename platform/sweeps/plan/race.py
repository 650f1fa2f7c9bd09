"""The race between search and retraining: finalists train with fresh seeds, and validation chooses the winner.

The best scores of a search are partly luck of one seed. In a race the best settings are trained to the end with the
same fresh seeds; the trainings of the search are not used again, and no retraining has one of these seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.scale import Scale
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.seeds import race_seeds

Ends = Mapping[str, Run]
"""How trials ended, by id."""


def next_heat(
    file: SweepFile, scale: Scale, search: Sequence[TrialConfig], raced: Sequence[TrialConfig], ends: Ends
) -> list[TrialConfig]:
    """Return the trials of a cell's next heat; none after the last, and none without a race or two finalists.

    Args:
        file: The sweep.
        scale: Of the task's metric.
        search: All trials of the cell's search, which have ended.
        raced: Trials of its race so far, which have ended.
        ends: How they ended.
    """
    race, begun = file.race_settings, {config.row for config in raced}
    known = [config for config in list_finalists(scale, search, ends) if not begun or config.row in begun]
    finalists = known[: race.finalists] if race else []
    if not race or len(finalists) < 2:
        return []
    seeds, first = race_seeds(file, search[0]), len(finalists) * race.seeds
    if not raced:
        return [_start(config, seed) for config in finalists for seed in seeds[: race.seeds]]
    if len(raced) > first:
        return []
    best = _order_by_race(scale, finalists, raced, ends)[: race.best]
    return [_start(config, seed) for config in best for seed in seeds[race.seeds :]]


def choose_by_race(
    scale: Scale, search: Sequence[TrialConfig], raced: Sequence[TrialConfig], ends: Ends
) -> TrialConfig | None:
    """Return the winner of a finished race, as a trial of its search; None if the search has no finalist.

    Among the settings with the most trainings in the race it is the one with the fewest diverged ones, then with the
    smallest mean of the logs of its validation errors, then with the fewest parameters. A training that failed, by a
    crash for example, says nothing of its setting: it is left out, and a setting without another one comes last.
    """
    finalists = list_finalists(scale, search, ends)
    heats = {config.row: sum(c.row == config.row for c in raced) for config in finalists}
    last = [config for config in finalists if heats[config.row] == max(heats.values())]
    return _order_by_race(scale, last, raced, ends)[0] if raced else next(iter(finalists), None)


def list_finalists(scale: Scale, search: Sequence[TrialConfig], ends: Ends) -> list[TrialConfig]:
    """Return the settings of a search, each once, the best first: those trained to the end, then by number of epochs.

    Among equally long trainings the better validation score comes first, then fewer parameters, then the smaller id.
    """

    def rank_in_search(config: TrialConfig) -> tuple[float, float, int, str]:
        run = ends[config.id]
        reached = math.inf if run.status == "ok" else run.epochs
        return (-reached, scale.error(run.valid), run.parameters or 0, config.id)

    ended = [config for config in search if ends[config.id].status in ("ok", "stopped")]
    finalists: dict[str, TrialConfig] = {}
    for config in sorted((c for c in ended if ends[c.id].valid is not None), key=rank_in_search):
        finalists.setdefault(config.row, config)
    return list(finalists.values())


def _order_by_race(
    scale: Scale, finalists: Sequence[TrialConfig], raced: Sequence[TrialConfig], ends: Ends
) -> list[TrialConfig]:
    """Return finalists by their trainings in the race so far, the best first."""

    def rank_in_race(config: TrialConfig) -> tuple[bool, int, float, int, str]:
        runs = [run for trial in raced if trial.row == config.row and (run := ends[trial.id]).status != "failed"]
        scores = [run.valid for run in runs if run.status == "ok" and run.valid is not None]
        error = scale.mean_log_error(scores)
        return (not runs, len(runs) - len(scores), error, ends[config.id].parameters or 0, config.id)

    return sorted(finalists, key=rank_in_race)


def _start(config: TrialConfig, seed: int) -> TrialConfig:
    return replace(config, phase="race", halving=None, seed=seed)
