"""The process of ``mirroring``: loads MLflow, follows a store, and sends the rest when its standard input is closed."""

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
        settings = next(lines)
        with suppress(MirrorError):  # sending will raise it again
            client(settings["server"])
        for message in lines:
            try:
                with Store(message["store"], create=False) as store:
                    problem = follow(store, settings["server"], settings["seconds"], _ended(lines))
            except StoreError as error:
                problem = str(error)
            with suppress(BrokenPipeError):  # the driver is gone
                say({"problem": problem})


def _ended(lines: Iterator[object]) -> threading.Event:
    """Return an event that is set at the end of the lines."""
    over = threading.Event()

    def wait() -> None:
        for _ in lines:
            pass
        over.set()

    threading.Thread(target=wait, name="input", daemon=True).start()
    return over


if __name__ == "__main__":
    main()
