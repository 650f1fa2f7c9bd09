"""Pure planning: which trials a sweep asks for, given how the earlier ones ended. Runs nothing, reads no data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longwave.models.base.param import Param
from longwave.platform.records.about import About
from longwave.platform.records.identity import derive_seed
from longwave.platform.records.legacy import seed_key
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Asked
from longwave.platform.records.trial import TrialConfig, cohort_key
from longwave.platform.sweeps.config import SweepFile
from longwave.platform.sweeps.space import Told, draw


@dataclass(frozen=True)
class ModelPlan:
    """One model of a sweep.

    Attributes:
        base: The trial that all trials of the model are copies of; its ``params`` holds the fixed parameters.
        space: The parameters to draw.
        about: What explains its rows to a reader; None until the sweep is written to a store.
        looped: Whether a pack trains its members one after another.
    """

    base: TrialConfig
    space: tuple[Param, ...]
    about: About | None = None
    looped: bool = False


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: its file, and one entry a model. With what the store keeps of it nothing is looked up again.

    Attributes:
        file: As the user wrote it.
        goal, metric: Whether the task's metric should be large (``"max"``) or small (``"min"``), and its name.
        entries: One a model.
        length: Steps of a sequence that a pack holds at a time; 0 where nobody has looked.
    """

    file: SweepFile
    goal: str
    entries: tuple[ModelPlan, ...]
    metric: str = ""
    length: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data without the file, which the store has beside it; ``from_dict`` restores it."""
        entries = [
            {
                "base": entry.base.to_dict(),
                "space": [param.to_dict() for param in entry.space],
                "about": entry.about and entry.about.to_dict(),
                "looped": entry.looped,
            }
            for entry in self.entries
        ]
        return {"goal": self.goal, "metric": self.metric, "length": self.length, "entries": entries}

    @classmethod
    def from_dict(cls, file: SweepFile, plan: Mapping[str, Any]) -> Sweep:
        """Rebuild from the file and ``to_dict``."""
        entries = tuple(
            ModelPlan(
                TrialConfig.from_dict(entry["base"]),
                tuple(map(Param.from_dict, entry["space"])),
                About.from_dict(entry["about"]) if entry["about"] else None,
                entry["looped"],
            )
            for entry in plan["entries"]
        )
        return cls(file, plan["goal"], entries, plan["metric"], plan["length"])


def asked(sweep: Sweep, ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return every trial the sweep asks for, as far as ``ends`` decides it.

    The search trials of a round come first; a model's next round, and the retrainings of its winner, join once all
    its trials so far have ended.

    Args:
        sweep: The sweep.
        ends: How trials ended, by trial id.
    """
    searches: list[TrialConfig] = []
    again: list[TrialConfig] = []
    for entry in sweep.entries:
        mine: list[TrialConfig] = []
        while wanted := _round(sweep, entry, mine, ends):
            mine += wanted
            if not all(c.id in ends for c in wanted):
                break
        else:
            again += retrainings(sweep, mine, ends)
        searches += mine
    return searches + again


def further(
    sweep: Sweep, planned: Sequence[Asked], read: Callable[[Sequence[str]], Mapping[str, tuple[TrialConfig, Run]]]
) -> Iterator[TrialConfig]:
    """Yield the trials that follow from those planned already, which are never planned again.

    What is planned stays as it is, whatever has become of models and tasks since: a sweep that is over asks for
    nothing.

    Args:
        sweep: The sweep.
        planned: Its trials so far, in order.
        read: Gives configurations and ends of trials by id; asked for as few as will do.
    """
    for entry in sweep.entries:
        mine = [a for a in planned if a.model == entry.base.model]
        if any(a.open or a.phase == "retrain" for a in mine):
            continue
        if len(mine) < sweep.file.trials:
            known = list(read([a.id for a in mine]).values())
            yield from _round(sweep, entry, [c for c, _ in known], {c.id: run for c, run in known})
        elif best := _best([(a.valid, a.id) for a in mine if a.status == "ok"], sweep.goal):
            yield from _again(sweep, read([best])[best][0])


def winner(trials: Sequence[TrialConfig], ends: Mapping[str, Run], goal: str) -> TrialConfig | None:
    """Return the search trial with the best validation metric; test metrics are not looked at. None if none is ok."""
    best = _best([(ends[c.id].valid, c.id) for c in trials if ends[c.id].status == "ok"], goal)
    return next((c for c in trials if c.id == best), None)


def retrainings(sweep: Sweep, search: Sequence[TrialConfig], ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return the winner's configuration once a fresh seed, different from every search seed."""
    best = winner(search, ends, sweep.goal)
    return _again(sweep, best) if best else []


def search_seeds(file: SweepFile, model: str) -> list[int]:
    """Return the seeds of a model's search trials, in order."""
    return [derive_seed("search", file.seed, model, k) for k in range(file.trials)]


def _best(scores: Sequence[tuple[float | None, str]], goal: str) -> str | None:
    """Return the id with the best score; ids decide between equal ones. None if there is none."""
    sign = -1.0 if goal == "max" else 1.0
    usable = [(sign * valid, trial) for valid, trial in scores if valid is not None]
    return min(usable)[1] if usable else None


def _again(sweep: Sweep, best: TrialConfig) -> list[TrialConfig]:
    """Return the retrainings of a search trial."""
    taken = set(search_seeds(sweep.file, best.model))
    fresh = (seed for k in range(10**6) if (seed := derive_seed("retrain", seed_key(best), k)) not in taken)
    again = replace(best, phase="retrain", halving=None)
    return [replace(again, seed=next(fresh)) for _ in range(sweep.file.retrain)]


def _round(sweep: Sweep, entry: ModelPlan, before: Sequence[TrialConfig], ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return the search trials of the round that follows those ``before``, all of which have ended; none if all are."""
    file, model, done = sweep.file, entry.base.model, len(before)
    index, n = _next_round(file, done)
    if n == 0:
        return []
    told: list[Told] = []
    for config in before:
        if (run := ends[config.id]).valid is not None and run.status != "diverged":
            told.append(({p.name: config.params[p.name] for p in entry.space}, run.valid))
    drawn = draw(entry.space, n, derive_seed("draw", file.seed, model, index), file.sampler, told, sweep.goal)
    seeds = search_seeds(file, model)[done:]
    wanted = [
        replace(entry.base, params={**entry.base.params, **params}, seed=seed)
        for params, seed in zip(drawn, seeds, strict=False)
    ]
    return _with_cohorts(file, wanted)


def _next_round(file: SweepFile, done: int) -> tuple[int, int]:
    """Return number and size of the round that follows ``done`` search trials of a model; size 0 if none does."""
    before = 0
    for index in range(file.rounds):
        n = (file.trials - before) // (file.rounds - index)
        if n and before == done:
            return index, n
        before += n
    return file.rounds, 0


def _with_cohorts(file: SweepFile, trials: list[TrialConfig]) -> list[TrialConfig]:
    """Name the company each trial competes with in successive halving: consecutive trials of one pack's size."""
    if file.halving is None:
        return trials
    size = len(trials) if file.pack == "auto" else file.pack
    cohorts = [trials[k : k + size] for k in range(0, len(trials), size)]
    return [
        replace(c, halving={**file.halving.model_dump(), "cohort": cohort_key(cohort)})
        for cohort in cohorts
        for c in cohort
    ]
