"""The simulated workers of ``scale.py``: a process in place of Ray's scheduler that trains nothing.

It receives work and sends events as ``on_ray.scheduler`` does, over the same pipes, for any number of virtual workers.
Their epochs take virtual seconds, so they report as fast as the driver can process. Reports are batched as by real
workers; every twentieth pack loses its worker once, and continues from a checkpoint. The result of a trial depends only
on its id, so the content of the store can be checked afterwards. Successive halving, which needs a decision from the
store at each rung, is not simulated.
"""

from __future__ import annotations

import heapq
import json
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.on_ray.messages import REPORT_SECONDS, StdinQueue
from longwave.platform.sweeps.place.devices import ClusterNode, Slot
from longwave.platform.training.journal import Journal

LOOK_SECONDS = 0.2
"""Interval at which virtual workers check whether to drain."""
BORN = 1.75e9
"""Unix time at which each pack begins: an epoch's time must be the same if it is reported again."""
SAVED_EVERY = 3
"""Epochs between two checkpoints."""
FACTS = {"device": "virtual worker", "system": "simulated", "torch": "none", "commit": "0" * 40, "dirty": "false"}
"""Environment of runs; a real one has more facts, which would make no difference, as the store keeps them once."""


def trial_curve(config: TrialConfig) -> list[float]:
    """Return the validation metric of each epoch of a trial; one in twenty diverges, and has fewer epochs."""
    number = int(config.id, 16)
    epochs = config.epochs if number % 20 else number // 20 % config.epochs
    return [(number * (2 * epoch + 1) % 1_000_003 + 1) / 1e6 for epoch in range(epochs)]


def trial_end(config: TrialConfig, members: int, each: float) -> Run:
    """Return the run of a trial in a pack of a given size and seconds per epoch."""
    losses = trial_curve(config)
    best = min(losses, default=None)
    facts: dict[str, Any] = {"valid": best, "best_epoch": losses.index(best) + 1 if best else None, "members": members}
    facts |= {"seconds": each * len(losses) / members, "parameters": 1000, "environment": FACTS}
    if len(losses) < config.epochs:
        return Run(config.id, "diverged", f"loss nan at epoch {len(losses) + 1}", len(losses) + 1, **facts)
    return Run(config.id, "ok", "", len(losses), test=best if config.phase == "retrain" else None, **facts)


class VirtualPack:
    """A pack on a virtual worker; its worker may die and be replaced.

    Args:
        key: Of the pack.
        job: As returned by ``Job.to_dict``.
        storage: Folder of checkpoints, which here contain the number of the last epoch.
    """

    def __init__(self, key: str, job: Mapping[str, Any], storage: Path) -> None:
        self.key, self.configs = key, [TrialConfig.from_dict(c) for c in job["configs"]]
        files = [storage / "checkpoints" / f"{k}.safetensors" for k in (key, *job["before"])]
        self.file = files[0]
        self.curves = {c.id: trial_curve(c) for c in self.configs}
        self.ends = {c.id: min(len(self.curves[c.id]) + 1, c.epochs) for c in self.configs}
        self.last = max(self.ends.values())
        self.seconds = 0.5 + int(key[:4], 16) % 1000 / 666  # 0.5 to 2 per epoch
        self.dies = int(key[-4:], 16) % 20 == 0
        self.saved = next((int(file.read_text()) for file in files if file.exists()), 0)

    def events(self, draining: Callable[[], bool]) -> Iterator[tuple[float, dict[str, Any]]]:
        """Yield its events until its end or its pause, each with the seconds that pass before."""
        if self.dies and self.saved < self.last // 2:
            yield from self._session(lambda epoch: epoch > self.last // 2)
        epoch = yield from self._session(lambda epoch: draining())
        yield 0.0, {"event": "ended", "how": "over" if epoch == self.last else "paused", "why": ""}

    def _session(self, over: Callable[[int], bool]) -> Generator[tuple[float, dict[str, Any]], None, int]:
        """Yield the events of one worker until the last epoch, or until it is ``over``; return its last epoch."""
        journal, epoch, gathered = Journal(), self.saved, 0.0
        yield 0.1, {"event": "started", "slot": asdict(Slot())}
        reports = [self._at(epoch) for epoch in range(1, epoch + 1)]
        waiting = sum(reports, Report(began={c.id: min(epoch, len(self.curves[c.id])) for c in self.configs}))
        journal.write(waiting)
        while epoch < self.last and not over(epoch):
            if waiting.runs or waiting.began or gathered > REPORT_SECONDS:
                yield gathered, self._report_event(journal, waiting)
                waiting, gathered = Report(), 0.0
            epoch, gathered = epoch + 1, gathered + self.seconds
            new = self._at(epoch)
            journal.write(new)
            waiting += new
            if epoch % SAVED_EVERY == 0:
                self._save(epoch)
        yield gathered, self._report_event(journal, waiting)
        return epoch

    def _at(self, epoch: int) -> Report:
        """Return the results of an epoch."""
        share = self.seconds / len(self.configs)
        points, runs = [], []
        for config in self.configs:
            losses = self.curves[config.id]
            if epoch <= len(losses):
                valid, at = losses[epoch - 1], BORN + self.seconds * epoch
                points.append(Point(config.id, epoch, valid / 2, valid, share * epoch, at))
            if epoch == self.ends[config.id]:
                runs.append(trial_end(config, len(self.configs), self.seconds))
        return Report(points, runs)

    def _report_event(self, journal: Journal, report: Report) -> dict[str, Any]:
        return {"event": "report", "session": journal.session, "report": report.to_dict()}

    def _save(self, epoch: int) -> None:
        self.saved = epoch
        self.file.parent.mkdir(parents=True, exist_ok=True)
        partial = self.file.parents[1] / f"{self.key}.partial"
        partial.write_text(str(epoch))
        partial.replace(self.file)  # atomic, as the driver's death may end this process at any point


def run_jobs(
    first: Mapping[str, Any],
    more: Callable[[bool], Iterator[Mapping[str, Any]]],
    count: int,
    storage: Path,
    draining: Callable[[], bool],
    say: Callable[[dict[str, Any]], None],
) -> None:
    """Send the events of jobs on ``count`` workers, in order of virtual time.

    Args:
        first: The first of them, and whether they are the last.
        more: Returns further jobs in the same form; called with True, it waits for some.
        count: Workers.
        storage: Folder of checkpoints.
        draining: Returns whether packs should pause.
        say: Called with events.
    """
    packs, last, now = deque(first["jobs"].items()), first["last"], 0.0
    busy: list[tuple[float, str, dict[str, Any], Iterator[tuple[float, dict[str, Any]]]]] = []

    def follow(key: str, events: Iterator[tuple[float, dict[str, Any]]]) -> None:
        if (step := next(events, None)) is not None:
            heapq.heappush(busy, (now + step[0], key, step[1], events))

    while busy or not (draining() or (last and not packs)):
        for payload in more(not busy and not packs):
            packs.extend(payload["jobs"].items())
            last = payload["last"]
        while packs and len(busy) < count and not draining():
            key, job = packs.popleft()
            follow(key, VirtualPack(key, job, storage).events(draining))
        if busy:
            now, key, event, events = heapq.heappop(busy)
            say({**event, "pack": key})
            follow(key, events)


def main() -> None:
    """Read jobs from standard input, one JSON line each, and write their events to standard output."""
    stdin_queue = StdinQueue()

    def more(wait: bool) -> Iterator[dict[str, Any]]:
        if wait:
            sys.stdout.flush()
        return stdin_queue.read_more(wait)

    for message in stdin_queue:
        if message["ask"] == "nodes":
            machine = ClusterNode(json.loads(sys.argv[1])["cores"])
            print(json.dumps({"event": "nodes", "nodes": [asdict(machine)]}))
            print(json.dumps({"event": "finished"}), flush=True)
            continue
        flag, looked = Path(message["storage"]) / message["flag"], [0.0, False]

        def draining(flag: Path = flag, looked: list[Any] = looked) -> bool:
            if time.monotonic() - looked[0] >= LOOK_SECONDS:
                looked[:] = time.monotonic(), flag.exists()
            return bool(looked[1])

        count = message["workers"]["count"]
        run_jobs(message, more, count, Path(message["storage"]), draining, lambda event: print(json.dumps(event)))
        print(json.dumps({"event": "finished"}), flush=True)


if __name__ == "__main__":
    main()
