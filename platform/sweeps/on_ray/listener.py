"""Hands packs to Tune, and sends Tune's events to the driver."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ray import tune
from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError
from ray.tune.search import Searcher

from longwave.platform.processes import WriteEvent
from longwave.platform.records.report import Report
from longwave.platform.sweeps.on_ray.messages import JobPayload, MorePacks
from longwave.platform.sweeps.on_ray.nodes import NodeChecks
from longwave.platform.sweeps.place.devices import DevicePool, Slot

NODE_DIED = "its node has died"
"""Ray's message about an actor that was lost with its node, and only then."""

LOW_MEMORY = "The memory of its machine was nearly full, so Ray ended it. Train fewer packs at once, with --workers"
"""Why a worker was ended, and what to do."""
_handle_failure = RayActorManager._actor_task_failed
"""Ray's own handling of a failed call of a worker."""

LOOK_SECONDS = 10.0
"""Interval of the check for packs that wait for devices which no longer exist."""


class PackSearcher(Searcher):
    """Hands out packs in their order, each with a slot, until a drain is requested.

    Args:
        pool: The devices.
        draining: Returns whether a drain is requested.
        unfit: Returns the nodes on which no pack may run.
        more: Yields messages with further packs from the driver.

    Attributes:
        packs: The waiting packs: the shares of a GPU that each takes, by its key.
        last: Whether the driver has handed out all packs.
    """

    def __init__(
        self,
        pool: DevicePool,
        draining: Callable[[], bool],
        unfit: Callable[[], list[str]],
        more: MorePacks = lambda: iter(()),
    ) -> None:
        super().__init__()
        self.pool, self.draining, self.unfit, self.more, self.last = pool, draining, unfit, more, False
        self.packs: dict[str, Mapping[str, float]] = {}
        self.slots: dict[str, tuple[str, Slot]] = {}
        self._payloads: dict[str, JobPayload] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as in ``EventCallback``

    def suggest(self, trial_id: str) -> Any:
        """Return the next pack for which a slot is free; None if there is none now, but may be one later."""
        for message in self.more():
            self.add_packs(message)
        if self.draining() or (self.last and not (self.packs or self.slots)):
            return Searcher.FINISHED
        without_slot: list[Mapping[str, float]] = []
        for pack, shares in self.packs.items():
            if shares in without_slot:
                continue
            if slot := self.pool.take_slot(shares):
                self.slots[trial_id] = pack, slot
                del self.packs[pack]
                job = self._payloads[pack]
                return {"pack": pack, "slot": asdict(slot), "unfit": self.unfit(), "job": job}
            without_slot.append(shares)
        return None

    def on_trial_complete(self, trial_id: str, result: Any = None, error: bool = False) -> None:
        """Free the slot, and drop the pack unless it waits for another worker."""
        pack, slot = self.slots.pop(trial_id)
        self.pool.return_slot(slot)
        if pack not in self.packs:
            self._payloads.pop(pack).job.clear()  # Tune keeps the payload itself

    def add_packs(self, message: Mapping[str, Any]) -> None:
        """Add packs that the driver hands out. One without a share of any present kind of GPU takes a whole GPU."""
        for pack, job in message["jobs"].items():
            self._payloads[pack] = JobPayload(job)
            self.requeue(pack)
        self.last = message["last"]

    def requeue(self, pack: str) -> None:
        """Let a pack wait again, for another worker; its slot is freed when Tune completes it."""
        shares = self._payloads[pack].job["shares"]
        self.packs[pack] = {kind: shares[kind] for kind in shares if kind in self.pool.kinds} or self.pool.whole_gpu

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: the plan is in the store."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing, as ``save``."""


class EventCallback(tune.Callback):
    """Sends Tune's events as plain data.

    Args:
        send: Sends an event.
        queue: Takes back packs that a node refuses.
        nodes: The nodes, and why some get no packs.
        kinds: Returns the kinds of devices that are present, if packs name theirs.

    Attributes:
        trials: Those of Tune, as of its last step.
    """

    def __init__(
        self, send: WriteEvent, queue: PackSearcher, nodes: NodeChecks, kinds: Callable[[], set[str]] | None = None
    ) -> None:
        self.send, self.queue, self.nodes, self.kinds = send, queue, nodes, kinds
        self.how, self.furthest, self.refused = dict[str, str](), dict[str, int](), set[str]()
        self.trials: list[Any] = []
        self._looked = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune pickles its callbacks into its own experiment state, which nobody reads

    def on_step_begin(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Report Ray as lost if a pack waits for a kind of GPU that no node has any more: it would wait forever."""
        self.trials = trials
        if not self.kinds or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked, slots = time.monotonic(), [t.config["slot"] for t in trials if t.status == "PENDING"]
        kinds = {slot["kind"] for slot in slots if slot["gpus"]}
        if kinds and (missing := kinds - self.kinds()):
            why = f"Packs are waiting for {' and '.join(sorted(missing))}, which no node offers any more"
            self.send({"event": "lost", "why": why})

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Report that a pack has a worker."""
        self.send({"event": "started", "pack": trial.config["pack"], "slot": trial.config["slot"]})

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """Send a worker's report, or note its refusal."""
        if "refusal" in result:
            self.nodes.refuse_node(result["node"], result["refusal"])
            self.refused.add(trial.trial_id)
        elif "report" in result:
            pack = trial.config["pack"]
            self.how[pack] = result.get("how", "over")
            if self._is_new(Report.from_dict(result["report"])):
                trial.run_metadata.num_failures = 0
            self.send({"event": "report", "pack": pack, "session": result["session"], "report": result["report"]})

    def _is_new(self, report: Report) -> bool:
        """Return whether a report has a new epoch: only deaths without one between them count against a pack."""
        epochs = {p.trial: p.epoch for p in report.points if p.epoch > self.furthest.get(p.trial, 0)}
        self.furthest |= epochs
        return bool(epochs)

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Report that a pack is over, or paused; one that its node refused goes to another."""
        pack = trial.config["pack"]
        if trial.trial_id in self.refused:
            self.queue.requeue(pack)
            return
        self.send({"event": "ended", "pack": pack, "how": self.how.get(pack, "over"), "why": ""})

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Report that a pack's workers died too often; if a node turns out unfit, the pack goes to another."""
        if self.nodes.check_new_nodes():
            self.queue.requeue(trial.config["pack"])
            return
        times = trial.run_metadata.num_failures
        last = reason_of_death(trial.get_pickled_error())
        why = f"its worker died {times} times without finishing another epoch, last with: {last}"
        self.send({"event": "ended", "pack": trial.config["pack"], "how": "died", "why": why})


class DrainStopper(tune.Stopper):
    """Ends the run on a drain once no pack trains: some may still wait for a device that Ray does not have.

    Args:
        draining: Returns whether a drain is requested.
        callback: Knows the trials.
    """

    def __init__(self, draining: Callable[[], bool], callback: EventCallback) -> None:
        self.draining, self.callback = draining, callback

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as in ``EventCallback``

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Stop no single pack: each drains itself."""
        return False

    def stop_all(self) -> bool:
        """Return whether the run ends."""
        return self.draining() and not any(t.status == "RUNNING" for t in self.callback.trials)


def reason_of_death(error: Exception | None) -> str:
    """Return why a worker died, in one line."""
    if isinstance(error, RayTaskError):
        cause = error.as_instanceof_cause()  # type: ignore[no-untyped-call]
        text = str(getattr(cause, "cause", cause)).strip().splitlines()
        return f"{type(error.cause).__name__}: {text[0] if text else 'no message'}"
    lines = [line.strip() for line in str(error or "").splitlines()]
    reason = next((line for line in lines if "exit detail" in line.lower() or line.startswith("The ")), "")
    return reason.partition("Worker exit detail: ")[2] or reason or "no reason was given"


def ignore_lost_nodes() -> None:
    """Make Tune not count the loss of a node as a failure of the trial: it checks ``preempted`` for that."""
    setattr(RayActorError, "preempted", property(lambda error: error._preempted or NODE_DIED in str(error)))  # noqa: B010


def restart_workers_killed_for_memory() -> None:
    """Make Tune restart a worker that Ray killed because memory was low, as any that died; it would end the run."""

    def handle_failed_call(manager: RayActorManager, tracked_actor_task: Any, exception: Exception) -> None:
        error = RayActorError(error_msg=LOW_MEMORY) if isinstance(exception, OutOfMemoryError) else exception
        _handle_failure(manager, tracked_actor_task, error)

    setattr(RayActorManager, "_actor_task_failed", handle_failed_call)  # noqa: B010
