"""The process of ``mirroring``: loads MLflow, follows a store, sends the rest when its standard input is closed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress

from longwave.platform.errors import StoreError
from longwave.platform.processes import event_writer
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.mlflow.mirror import follow
from longwave.platform.sweeps.mlflow.server import MirrorError, client


def main() -> None:
    """Read a server and then a store from standard input, and write what went wrong to standard output."""
    say = event_writer()
    with open(0, encoding="utf-8", closefd=False) as pipe:
        lines = map(json.loads, pipe)
        told = next(lines)
        with suppress(MirrorError):  # what sending will meet, too
            client(told["server"])
        for found in lines:
            try:
                with Store(found["store"], create=False) as store:
                    problem = follow(store, told["server"], told["seconds"], _ended(lines))
            except StoreError as error:
                problem = str(error)
            with suppress(BrokenPipeError):  # the driver is gone
                say({"problem": problem})


def _ended(lines: Iterator[object]) -> threading.Event:
    """Return an event that is set when nothing more comes."""
    over = threading.Event()

    def wait() -> None:
        for _ in lines:
            pass
        over.set()

    threading.Thread(target=wait, name="input", daemon=True).start()
    return over


if __name__ == "__main__":
    main()
