"""How long a sweep still takes: the epochs that its packs still have to train, times the measured time of an epoch.

The terminal, the log, ``sweep status`` and the Lab all show ``read_seconds_left``. The estimate:

- An epoch of a pack takes as long as epochs of packs of that cell and size have taken in this sweep; see
  ``EpochCosts``.
- Packs in training and waiting packs are read from the store. Rounds, races and retrainings that are not planned yet
  follow from the file, and are divided into packs as the queue will divide them.
- The share of competing trials that continue after an epoch is that of the sweep so far; if no trial has reached that
  epoch, it is the share that successive halving plans. See ``continuing_shares``.
- A round begins once all packs of the previous one are over. Its packs begin in order, each as soon as a worker is
  free. In addition to its epochs, a pack takes the mean extra time of finished packs, and a round the mean pause
  between rounds.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from statistics import fmean

from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import PackAttempt, PackPart
from longwave.platform.records.trial import Phase
from longwave.platform.storage.leases import read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import largest_pack
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.rounds import round_sizes
from longwave.platform.sweeps.run.epoch_costs import EpochCosts
from longwave.platform.training.stopping import rungs

LOG_SECONDS = 50.0
"""Longest time without a line about a sweep's progress off a terminal."""
PAUSE = 0.5
"""Seconds without a pack in training that count as a pause between rounds, at least."""
BRIEF = 0.1
"""Share of the training time below which a number of simultaneous packs counts as an overlap of reports."""


def read_seconds_left(store: Store, sweep: Sweep) -> float | None:
    """Return the seconds that a sweep still takes on its present workers; None if it has none, or no epoch yet."""
    left = read_time_left(store, sweep, time.time())
    return left.seconds if left else None


def read_time_left(store: Store, sweep: Sweep, now: float) -> TimeLeft | None:
    """Return what is left of a sweep at a Unix time; None while no driver runs it."""
    name = sweep.file.name
    ages = [driver.seconds for driver in read_drivers(store, name) if driver.alive]
    if not ages:
        return None
    attempts = store.pack_attempts(name, time.time() - max(ages))
    return TimeLeft(sweep.file, sweep.cells, store.pack_parts(name), attempts, now)


def continuing_shares(
    parts: Iterable[PackPart], last: Mapping[int, int], ends: Collection[str], planned: Mapping[int, float]
) -> dict[int, float]:
    """Return the share of trials that continue, by each epoch after which some end: a Kaplan-Meier estimate.

    Args:
        parts: Of the packs to count.
        last: The last epoch of each cell's trials; an end there is not early.
        ends: Statuses of trials that count as ended early.
        planned: Shares for epochs that no trial has reached yet.
    """
    ended_early, reached = Counter[int](), Counter[int]()
    for part in parts:
        reached[part.epochs - part.open] += part.trials  # whether an open one continues is not decided
        if part.status in ends and 0 < part.epochs < last[part.cell]:
            ended_early[part.epochs] += part.trials
    shares = dict(planned)
    for epoch in {*ended_early, *planned}:
        if trials_at_risk := sum(trials for end, trials in reached.items() if end >= epoch):
            shares[epoch] = 1 - ended_early[epoch] / trials_at_risk
    return shares


class TimeLeft:
    """What is left of a sweep at one moment.

    Args:
        file, cells: Of the sweep.
        parts: Of all packs of its planned trials.
        attempts: Of its packs, since its present drivers began.
        now: Unix time.
    """

    def __init__(
        self,
        file: SweepFile,
        cells: Sequence[CellPlan],
        parts: Sequence[PackPart],
        attempts: Sequence[PackAttempt],
        now: float,
    ) -> None:
        self.file, self.cells, self.parts, self.attempts, self.now = file, cells, parts, attempts, now
        self.packs: dict[str, list[PackPart]] = {}
        for part in parts:
            self.packs.setdefault(part.pack, []).append(part)
        self.costs = EpochCosts(self.packs)

    @property
    def seconds(self) -> float | None:
        """Seconds until the sweep is over; None before its first epoch."""
        if not self.costs:
            return None
        rounds = [self._future_rounds(k) for k in range(len(self.cells))]
        total = _last_end(self._packs_of_this_round(), self.slots)
        for stages in zip_longest(*rounds):
            packs = self._divide([(k, *stage) for k, stage in enumerate(stages) if stage])
            total += self._pause + _last_end(packs, self.slots)
        return total

    @cached_property
    def slots(self) -> int:
        """Packs that train at a time: as many as did for more than a moment."""
        steps = sorted(step for a in self.attempts for step in ((a.started, 1), (a.ended or self.now, -1)))
        seconds_at, at_once = defaultdict[int, float](float), 0
        for (begin, step), (end, _) in zip(steps, steps[1:], strict=False):
            at_once += step
            seconds_at[at_once] += end - begin
        busy = sum(seconds_at[n] for n in seconds_at if n)
        return max(
            (n for n in seconds_at if n and sum(seconds_at[k] for k in seconds_at if k >= n) >= BRIEF * busy), default=1
        )

    def of_pack(self, pack: str) -> float | None:
        """Return the seconds that a pack still trains if it has a worker; None before the sweep's first epoch."""
        open_parts = [part for part in self.packs.get(pack, ()) if part.open]
        if not self.costs or not open_parts:
            return None
        cell, members = open_parts[0].cell, sum(part.trials for part in open_parts)
        seconds = self._train_seconds(cell, open_parts[0].phase, members, max(part.epochs for part in open_parts))
        if attempt := self._in_training.get(pack):
            in_progress = max(self.now - max(attempt.started, attempt.reported or 0.0), 0.0)
            seconds -= min(in_progress, self.costs.epoch(cell, members))
        return max(seconds, 0.0)

    @cached_property
    def _in_training(self) -> dict[str, PackAttempt]:
        return {attempt.pack: attempt for attempt in self.attempts if attempt.ended is None}

    def _packs_of_this_round(self) -> list[float]:
        """Return the seconds that each pack in training or waiting still takes."""
        seconds_by_pack = {pack: seconds for pack in self.packs if pack and (seconds := self.of_pack(pack)) is not None}
        training = [seconds for pack, seconds in seconds_by_pack.items() if pack in self._in_training]
        waiting = [
            seconds + self._overhead for pack, seconds in seconds_by_pack.items() if pack not in self._in_training
        ]
        in_no_pack = [(part.cell, part.phase, part.trials) for part in self.packs.get("", ()) if part.open]
        return [*training, *waiting, *self._divide(in_no_pack)]

    def _future_rounds(self, cell: int) -> list[tuple[Phase, int]]:
        """Return the phases of a cell that are not planned yet, each with its number of trials, one a round."""
        file = self.file.of_cell(len(self.cells[cell].space))
        parts = [part for part in self.parts if part.cell == cell]
        planned = Counter[Phase]()
        for part in parts:
            planned[part.phase] += part.trials
        if planned["retrain"]:
            return []
        usable = file.searched
        if planned["search"] >= file.searched > 0:
            usable = sum(p.trials for p in parts if p.phase == "search" and (p.open or p.status in ("ok", "stopped")))
        rounds: list[tuple[Phase, int]] = []
        heats, race = list[int](), file.race_settings
        if race and (finalists := min(race.finalists, usable)) > 1:
            heats = [finalists * race.seeds, min(race.best, finalists) * race.more]
        earlier: tuple[tuple[Phase, list[int]], ...] = (("search", round_sizes(file)), ("race", heats))
        for phase, sizes in earlier:
            already_planned = planned[phase]
            for size in sizes:
                rounds += [(phase, size)] * (already_planned <= 0)
                already_planned -= size
        return [*rounds, ("retrain", file.retrain)] if file.retrain and (usable or not file.trials) else rounds

    def _divide(self, stages: Sequence[tuple[int, Phase, int]]) -> list[float]:
        """Return the seconds of each pack of a round, from the cell, phase and number of trials of its stages."""
        packs, together = list[float](), self.file.stops_early and not self.file.joint_packs
        for cell, phase, trials in stages:
            trials_to_divide = trials if self.cells[cell].looped else sum(stage[2] for stage in stages)
            limit = largest_pack(trials_to_divide, self.slots, self.file.pack, trials)
            if phase == "search" and together and self.file.pack == "auto":
                limit = trials
            count = math.ceil(trials / limit)
            packs += [self._overhead + self._train_seconds(cell, phase, trials / count, 0)] * count
        return packs

    def _train_seconds(self, cell: int, phase: Phase, members: float, done: int) -> float:
        """Return the seconds that a pack of so many members still trains after ``done`` epochs."""
        last, total = self.cells[cell].epochs, 0.0
        shares = self._shares_of_search if phase == "search" else self._shares_of_whole
        for epoch in [*sorted(epoch for epoch in shares if done < epoch < last), last]:
            total += max(epoch - done, 0) * self.costs.epoch(cell, members) if members else 0.0
            members, done = members * shares.get(epoch, 1.0), epoch
        return total

    @cached_property
    def _last_epochs(self) -> dict[int, int]:
        return {k: cell.epochs for k, cell in enumerate(self.cells)}

    @cached_property
    def _shares_of_search(self) -> dict[int, float]:
        halving = self.file.halving
        longest = max(self._last_epochs.values())
        planned = dict.fromkeys(rungs(halving.first, halving.eta, longest), 1 / halving.eta) if halving else {}
        search = [part for part in self.parts if part.phase == "search"]
        return continuing_shares(search, self._last_epochs, ENDED, planned)

    @cached_property
    def _shares_of_whole(self) -> dict[int, float]:
        """Shares for races and retrainings, whose trials nothing stops; some still end early."""
        return continuing_shares(self.parts, self._last_epochs, ("ok",), {})

    @cached_property
    def _overhead(self) -> float:
        """Seconds that a pack takes in addition to its epochs, such as for loading data and testing."""
        count = Counter(attempt.pack for attempt in self.attempts)
        took = [
            attempt.ended - attempt.started - self.costs.trained[attempt.pack]
            for attempt in self.attempts
            if attempt.ended and count[attempt.pack] == 1 and attempt.pack in self.packs
            if not any(part.open for part in self.packs[attempt.pack])
        ]
        return fmean(max(seconds, 0.0) for seconds in took) if took else 0.0

    @cached_property
    def _pause(self) -> float:
        """Seconds for which no pack trains between two rounds."""
        pauses, end = list[float](), math.inf
        for attempt in sorted(self.attempts, key=lambda a: a.started):
            pauses += [attempt.started - end] * (attempt.started - end > PAUSE)
            end = max(end if end < math.inf else 0.0, attempt.ended or self.now)
        return fmean(pauses) if pauses else 0.0


def _last_end(packs: Iterable[float], slots: int) -> float:
    """Return when the last of some packs ends, if each begins in order as soon as a worker is free."""
    free = [0.0] * slots
    for seconds in packs:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def duration_text(seconds: float | None) -> str:
    """Return a duration in words, ``1 h 05 min`` or ``2 min 30 s``; empty for None."""
    if seconds is None:
        return ""
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min"
        if hours
        else f"{minutes} min {seconds_left:02d} s"
        if minutes
        else f"{seconds_left} s"
    )
