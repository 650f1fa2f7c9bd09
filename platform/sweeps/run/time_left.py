"""How long a sweep still takes: what its packs still have to train, at the measured cost of their epochs.

All who show it (terminal, log, ``sweep status``, the Lab) ask ``read_seconds_left``. What it follows from:

- An epoch of a pack costs what epochs of packs of that cell and size have cost in this sweep; see ``EpochCosts``.
- Packs in training and packs that wait are known with their trials. Rounds, heats and retrainings that are not planned
  yet follow from the file, and are divided into packs as the queue will divide them.
- Of trials that compete, as large a share goes on after an epoch as went on so far in the sweep; where none has got so
  far, the share that successive halving plans. See ``count_on``.
- A round begins once all packs of the one before are over. In it packs begin in their order, each as soon as a worker
  is free. Besides its epochs a pack takes as long as packs over so far took, and a round as long as workers paused
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
from longwave.platform.sweeps.plan.trials import round_sizes
from longwave.platform.sweeps.run.epoch_costs import EpochCosts
from longwave.platform.training.stopping import rungs

LOG_SECONDS = 50.0
"""Off a terminal a line says at least so often how far a sweep is."""
PAUSE = 0.5
"""Seconds without a pack in training from which on they are a pause between rounds."""
BRIEF = 0.1
"""Part of the time in training below which a number of packs at a time is an overlap of reports."""


def read_seconds_left(store: Store, sweep: Sweep) -> float | None:
    """Return the seconds that a sweep still takes on the workers that it has; None if it has none, or no epoch yet."""
    left = read_time_left(store, sweep, time.time())
    return left.seconds if left else None


def read_time_left(store: Store, sweep: Sweep, now: float) -> TimeLeft | None:
    """Return what is left of a sweep at a Unix time; None while nobody runs it."""
    name = sweep.file.name
    ages = [driver.seconds for driver in read_drivers(store, name) if driver.alive]
    if not ages:
        return None
    attempts = store.pack_attempts(name, time.time() - max(ages))
    return TimeLeft(sweep.file, sweep.cells, store.pack_parts(name), attempts, now)


def count_on(
    parts: Iterable[PackPart], last: Mapping[int, int], ends: Collection[str], planned: Mapping[int, float]
) -> dict[int, float]:
    """Return after which epochs trials leave, with the share of them that goes on: a Kaplan-Meier estimate.

    Args:
        parts: Of the packs that tell.
        last: The last epoch of each cell's trials, which nobody leaves early.
        ends: How trials end that leave.
        planned: The shares that hold where no trial has got so far.
    """
    left, reached = Counter[int](), Counter[int]()
    for part in parts:
        reached[part.epochs - part.open] += part.trials  # whether an open one goes on is not decided
        if part.status in ends and 0 < part.epochs < last[part.cell]:
            left[part.epochs] += part.trials
    shares = dict(planned)
    for epoch in {*left, *planned}:
        if there := sum(trials for end, trials in reached.items() if end >= epoch):
            shares[epoch] = 1 - left[epoch] / there
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
        for one in zip_longest(*rounds):
            packs = self._divide([(k, *stage) for k, stage in enumerate(one) if stage])
            total += self._pause + _last_end(packs, self.slots)
        return total

    @cached_property
    def slots(self) -> int:
        """Packs that train at a time: as many as did for more than a moment."""
        steps = sorted(step for a in self.attempts for step in ((a.started, 1), (a.ended or self.now, -1)))
        held, at_once = defaultdict[int, float](float), 0
        for (begin, step), (end, _) in zip(steps, steps[1:], strict=False):
            at_once += step
            held[at_once] += end - begin
        busy = sum(held[n] for n in held if n)
        return max((n for n in held if n and sum(held[k] for k in held if k >= n) >= BRIEF * busy), default=1)

    def of_pack(self, pack: str) -> float | None:
        """Return the seconds that a pack still trains if it has a worker; None before the sweep's first epoch."""
        left = [part for part in self.packs.get(pack, ()) if part.open]
        if not self.costs or not left:
            return None
        cell, members = left[0].cell, sum(part.trials for part in left)
        seconds = self._train_seconds(cell, left[0].phase, members, max(part.epochs for part in left))
        if attempt := self._in_training.get(pack):
            in_progress = max(self.now - max(attempt.started, attempt.reported or 0.0), 0.0)
            seconds -= min(in_progress, self.costs.epoch(cell, members))
        return max(seconds, 0.0)

    @cached_property
    def _in_training(self) -> dict[str, PackAttempt]:
        return {attempt.pack: attempt for attempt in self.attempts if attempt.ended is None}

    def _packs_of_this_round(self) -> list[float]:
        """Return the seconds that packs in training and waiting ones still take."""
        left = {pack: seconds for pack in self.packs if pack and (seconds := self.of_pack(pack)) is not None}
        training = [seconds for pack, seconds in left.items() if pack in self._in_training]
        waiting = [seconds + self._beside for pack, seconds in left.items() if pack not in self._in_training]
        in_no_pack = [(part.cell, part.phase, part.trials) for part in self.packs.get("", ()) if part.open]
        return [*training, *waiting, *self._divide(in_no_pack)]

    def _future_rounds(self, cell: int) -> list[tuple[Phase, int]]:
        """Return the phases of a cell that are not planned yet, each with its number of trials, one a round."""
        file = self.file.of_cell(len(self.cells[cell].space))
        mine = [part for part in self.parts if part.cell == cell]
        planned = Counter[Phase]()
        for part in mine:
            planned[part.phase] += part.trials
        if planned["retrain"]:
            return []
        usable = file.searched
        if planned["search"] >= file.searched > 0:
            usable = sum(p.trials for p in mine if p.phase == "search" and (p.open or p.status in ("ok", "stopped")))
        rounds: list[tuple[Phase, int]] = []
        heats, race = list[int](), file.race_settings
        if race and (finalists := min(race.finalists, usable)) > 1:
            heats = [finalists * race.seeds, min(race.best, finalists) * race.more]
        earlier: tuple[tuple[Phase, list[int]], ...] = (("search", round_sizes(file)), ("race", heats))
        for phase, sizes in earlier:
            before = planned[phase]
            for size in sizes:
                rounds += [(phase, size)] * (before <= 0)
                before -= size
        return [*rounds, ("retrain", file.retrain)] if file.retrain and (usable or not file.trials) else rounds

    def _divide(self, stages: Sequence[tuple[int, Phase, int]]) -> list[float]:
        """Return the seconds of each of the packs of a round, of which cell, phase and number of trials are given."""
        packs, together = list[float](), self.file.stops_early and not self.file.joint_packs
        for cell, phase, trials in stages:
            among = trials if self.cells[cell].looped else sum(stage[2] for stage in stages)
            limit = largest_pack(among, self.slots, self.file.pack, trials)
            if phase == "search" and together and self.file.pack == "auto":
                limit = trials
            count = math.ceil(trials / limit)
            packs += [self._beside + self._train_seconds(cell, phase, trials / count, 0)] * count
        return packs

    def _train_seconds(self, cell: int, phase: Phase, members: float, done: int) -> float:
        """Return the seconds that a pack still trains, of which so many members have done so many epochs."""
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
        return count_on(search, self._last_epochs, ENDED, planned)

    @cached_property
    def _shares_of_whole(self) -> dict[int, float]:
        """What ``count_on`` says of trials that nothing stops, in races and retrainings: some are over early."""
        return count_on(self.parts, self._last_epochs, ("ok",), {})

    @cached_property
    def _beside(self) -> float:
        """Seconds that a pack takes besides its epochs: its data, its scores on test data."""
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
    """Return when the last of some packs ends, each of which begins in its turn as soon as a worker is free."""
    free = [0.0] * slots
    for seconds in packs:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def duration_text(seconds: float | None) -> str:
    """Return a time as people say it; empty for None."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
