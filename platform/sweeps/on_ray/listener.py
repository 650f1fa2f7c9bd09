"""Tells Tune which packs to run, and the driver what became of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ray import tune
from ray.exceptions import RayActorError, RayTaskError
from ray.tune.search import Searcher

from longwave.platform.processes import WriteEvent
from longwave.platform.records.report import Report
from longwave.platform.sweeps.on_ray.job_payload import JobPayload
from longwave.platform.sweeps.on_ray.node_checks import NodeChecks
from longwave.platform.sweeps.on_ray.stdin_queue import MorePacks
from longwave.platform.sweeps.place.devices import DevicePool, Slot

NODE_DIED = "its node has died"
"""What Ray says of an actor that went with its node, and of no other."""

LOOK_SECONDS = 10.0
"""How often it is seen after what packs wait for."""


class PackSearcher(Searcher):
    """Hands out packs with a place each, in their order, and no more of them once a drain is asked for.

    Args:
        room: Where they go.
        draining: Says whether a drain is asked for.
        unfit: Says on which nodes no pack is to lie.
        more: Yields what the driver hands out meanwhile.

    Attributes:
        packs: Those that wait: the shares of a GPU that each takes, by its key.
        last: Whether the driver has handed out all.
    """

    def __init__(
        self,
        room: DevicePool,
        draining: Callable[[], bool],
        unfit: Callable[[], list[str]],
        more: MorePacks = lambda: iter(()),
    ) -> None:
        super().__init__()
        self.room, self.draining, self.unfit, self.more, self.last = room, draining, unfit, more, False
        self.packs: dict[str, Mapping[str, float]] = {}
        self.places: dict[str, tuple[str, Slot]] = {}
        self._parcels: dict[str, JobPayload] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as the listener's

    def suggest(self, trial_id: str) -> Any:
        """Return the next pack that there is a place for; None while there is none or one that is out may come back."""
        for told in self.more():
            self.take(told)
        if self.draining() or (self.last and not (self.packs or self.places)):
            return Searcher.FINISHED
        full: list[Mapping[str, float]] = []
        for pack, shares in self.packs.items():
            if shares in full:
                continue
            if place := self.room.take(shares):
                self.places[trial_id] = pack, place
                del self.packs[pack]
                job = self._parcels[pack]
                return {"pack": pack, "place": asdict(place), "unfit": self.unfit(), "job": job}
            full.append(shares)
        return None

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
        """Give the place back, and forget the pack unless another worker is to have it."""
        pack, place = self.places.pop(trial_id)
        self.room.give(place)
        if pack not in self.packs:
            self._parcels.pop(pack).job.clear()  # Tune keeps what it is in

    def take(self, told: Mapping[str, Any]) -> None:
        """Take packs that the driver hands out. One that knows no kind of GPU there is takes all of one."""
        for pack, job in told["jobs"].items():
            self._parcels[pack] = JobPayload(job)
            self.back(pack)
        self.last = told["last"]

    def back(self, pack: str) -> None:
        """Take back a pack that another worker is to have; its place is given back as that of any that ends."""
        shares = self._parcels[pack].job["shares"]
        self.packs[pack] = {kind: shares[kind] for kind in shares if kind in self.room.kinds} or self.room.whole

    def save(self, checkpoint_path: str) -> None:
        """Keep nothing: the plan is in the store."""

    def restore(self, checkpoint_path: str) -> None:
        """Need nothing."""


class EventCallback(tune.Callback):
    """Says Tune's events as plain data.

    Args:
        say: Takes them.
        queue: Where packs go back to that a node refuses.
        nodes: Who refuse.
        kinds: Says which kinds of devices there are now, where packs name theirs.
    """

    def __init__(
        self, say: WriteEvent, queue: PackSearcher, nodes: NodeChecks, kinds: Callable[[], set[str]] | None = None
    ) -> None:
        self.say, self.queue, self.nodes, self.kinds = say, queue, nodes, kinds
        self.how, self.furthest, self.refused = dict[str, str](), dict[str, int](), set[str]()
        self._looked = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune pickles its callbacks into its own experiment state, which nobody reads

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Say it where a pack waits for a kind of GPU that no node has any more: it would wait for ever."""
        if not self.kinds or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked, places = time.monotonic(), [t.config["place"] for t in trials if t.status == "PENDING"]
        named = {place["kind"] for place in places if place["gpus"]}
        if named and (gone := named - self.kinds()):
            why = f"Packs wait for {' and '.join(sorted(gone))}, which no node has any more"
            self.say({"event": "lost", "why": why})

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Say that a pack has a worker."""
        self.say({"event": "started", "pack": trial.config["pack"], "place": trial.config["place"]})

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """Say what a worker reports, or refuses."""
        if "refusal" in result:
            self.nodes.refuse(result["node"], result["refusal"])
            self.refused.add(trial.trial_id)
        elif "report" in result:
            pack = trial.config["pack"]
            self.how[pack] = result.get("how", "over")
            if self._is_new(Report.from_dict(result["report"])):
                trial.run_metadata.num_failures = 0
            self.say({"event": "report", "pack": pack, "session": result["session"], "report": result["report"]})

    def _is_new(self, report: Report) -> bool:
        """Return whether an epoch is reported that was not before: deaths in a row count, not those of a long life."""
        epochs = {p.trial: p.epoch for p in report.points if p.epoch > self.furthest.get(p.trial, 0)}
        self.furthest |= epochs
        return bool(epochs)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Say that a pack is over, or paused; one that its node refused goes to another."""
        pack = trial.config["pack"]
        if trial.trial_id in self.refused:
            self.queue.back(pack)
            return
        self.say({"event": "ended", "pack": pack, "how": self.how.get(pack, "over"), "why": ""})

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Say that a pack's workers died too often; if they were on nodes that are unfit, it goes to another."""
        if self.nodes.look():
            self.queue.back(trial.config["pack"])
            return
        times = trial.run_metadata.num_failures
        last = reason_of_death(trial.get_pickled_error())
        why = f"its worker died {times} times without a new epoch; the last time: {last}"
        self.say({"event": "ended", "pack": trial.config["pack"], "how": "died", "why": why})


def reason_of_death(error: Exception | None) -> str:
    """Return why a worker died, in one line."""
    if isinstance(error, RayTaskError):
        cause = error.as_instanceof_cause()  # type: ignore[no-untyped-call]
        text = str(getattr(cause, "cause", cause)).strip().splitlines()
        return f"{type(error.cause).__name__}: {text[0] if text else 'no message'}"
    lines = [line.strip() for line in str(error or "").splitlines()]
    found = next((line for line in lines if "exit detail" in line.lower() or line.startswith("The ")), "")
    return found.partition("Worker exit detail: ")[2] or found or "no word of it"


def ignore_lost_nodes() -> None:
    """Make Tune count no loss of a node as a failure of the trial: it asks this of an actor's end, and so hears yes."""
    setattr(RayActorError, "preempted", property(lambda error: error._preempted or NODE_DIED in str(error)))  # noqa: B010
