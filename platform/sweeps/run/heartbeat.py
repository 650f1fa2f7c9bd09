"""A driver's heartbeat: renews its leases, and learns when the driver must pause, wait or stop."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from longwave.platform.errors import StoreError
from longwave.platform.paths import format_sweep_command
from longwave.platform.storage.leases import SECONDS, Leases, read_drivers
from longwave.platform.storage.liveness import BEATS
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Workers

DRAIN_SECONDS, INTERRUPT_SECONDS = 25.0, 3.5
"""Time for packs to pause; later ones resume from their last checkpoint. After Ctrl-C it is short, as a user waits."""
STOP_WAIT_SECONDS = 10.0
"""Seconds that a stopping driver waits for its store."""
PAUSED = "paused;"
"""How the note of a paused driver begins."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that stop a driver cleanly; a second one stops it at once."""


class Heartbeat:
    """Sends heartbeats from its own thread while a driver runs.

    Args:
        store, leases, workers: Of the driver.
        spent: Returns which part of its budget a sweep has used up; empty while none is.
        say: Shows what the driver waits for.
        stalls: Knows which of its packs have stalled.

    Attributes:
        signal: The signal that stops the driver; 0 if there was none.
        note: What the driver waits for; others can read it in the store.
    """

    def __init__(
        self,
        store: Store,
        leases: Leases,
        workers: Workers,
        spent: Callable[[], str],
        say: Callable[[str], None],
        stalls: StallWatch,
    ) -> None:
        self.store, self.leases, self.workers, self.spent, self.say = store, leases, workers, spent, say
        self.stalls, self._stalled = stalls, ""
        self.signal, self.note, self._state = 0, "", ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self.workers.undrain()
        self._beat()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.workers.undrain()

    @property
    def reason_to_end(self) -> str:
        """Why the driver must stop now; empty if it may continue."""
        if self.signal:
            return f"stopped by {signal.Signals(self.signal).name}"
        return "stopped, as requested" if self._state == "stop" else self.spent()

    def may_train(self) -> bool:
        """Wait as long as packs may not start; return whether they may, which is False if the driver must stop."""
        while not self.reason_to_end and (why := self.store.with_retry(self._reason_to_wait)):
            self.wait(why)
        self.workers.undrain() if not self.reason_to_end else self.workers.drain()
        return not self.reason_to_end

    def wait(self, why: str) -> None:
        """Wait a second, and show why."""
        self.note = why
        self.say(why)
        time.sleep(1.0)
        self.note = ""
        self.say("")

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Handle the signals that stop a driver: the first drains its packs, the second raises KeyboardInterrupt."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        second_signal: threading.Timer | None = None

        def handle(number: int, frame: FrameType | None) -> None:
            nonlocal second_signal
            if self.signal:
                raise KeyboardInterrupt
            self.signal = number
            seconds = INTERRUPT_SECONDS if number == signal.SIGINT else DRAIN_SECONDS
            second_signal = threading.Timer(seconds, os.kill, (os.getpid(), number))
            second_signal.daemon = True
            second_signal.start()
            self.workers.drain()
            self.store.longest_wait = STOP_WAIT_SECONDS
            self.say("saving checkpoints; press Ctrl-C again to end at once")

        # nohup ignores the end of the terminal, and so must its command.
        handled = [n for n in SIGNALS if n == signal.SIGINT or signal.getsignal(n) is not signal.SIG_IGN]
        before = {number: signal.signal(number, handle) for number in handled}
        try:
            yield
        finally:
            if second_signal:
                second_signal.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _follow(self) -> None:
        while not self._over.wait(SECONDS / BEATS):
            self._beat()

    def _beat(self) -> None:
        if (stalled := self.stalls.note()) != self._stalled:
            self._stalled = stalled
            self.say(stalled)
        try:
            self._state = self.leases.beat(self.note or stalled)
            if self.reason_to_end or self._reason_to_wait():
                self.workers.drain()
        except StoreError:  # a beat does not wait for the store; the driver's own reads and writes do, or end it
            pass

    def _reason_to_wait(self) -> str:
        """Return why the driver may not train at present; empty if it may."""
        if self._state == "pause":
            command = format_sweep_command("continue", self.leases.sweep, self.store.url)
            return f"{PAUSED} continue it with: {command}"
        return self._reason_to_yield()

    def _reason_to_yield(self) -> str:
        """Return which sweep of a higher priority runs on this host; empty if none does."""
        all_drivers = read_drivers(self.store)
        hosts = [d.host for d in all_drivers if d.owner == self.leases.owner]
        running = [d for d in all_drivers if d.alive and not d.note.startswith(PAUSED)]
        more_urgent = [d for d in running if d.priority > self.leases.priority]
        first = next((d for d in more_urgent if d.host in hosts), None)
        return f"waits for the sweep {first.sweep}, which has priority {first.priority}" if first else ""
