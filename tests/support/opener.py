"""Open stores in separate processes, and kill them at chosen moments; run as a program.

For each line of the input, ``["URL", SECONDS, FOLDER]``, a forked process opens the store. It is killed after that
time; null lets it end. With a folder it is a version of Longwave with one more migration, whose migrations are there.
One line of output each: the signal that ended it or its exit status, and the seconds it took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from next_migration import with_next_migration

from longwave.platform.storage.database import Database

for line in sys.stdin:
    url, delay, folder = json.loads(line)
    started = time.monotonic()
    if (child := os.fork()) == 0:
        status = 1
        try:
            if folder:
                with_next_migration(Path(folder))
            Database(url).close()
            status = 0
        finally:
            os._exit(status)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)  # still ours: a process that ended keeps its number until it is waited for
    _, ended = os.waitpid(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(ended), time.monotonic() - started]), flush=True)
