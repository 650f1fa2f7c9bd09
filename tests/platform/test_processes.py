"""Facts about processes, against what they did."""

from __future__ import annotations

import subprocess
import sys

from longwave.platform.processes import peak_memory

MIB = 2**20
CODE = "import sys; bytearray(2**27); print(flush=True); sys.stdin.read()"


def test_the_peak_memory_of_a_process_outlasts_what_it_freed_but_not_the_process() -> None:
    process = subprocess.Popen([sys.executable, "-c", CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    peak = peak_memory(process.pid)
    process.communicate()
    assert peak is not None and 128 * MIB <= peak < 160 * MIB
    assert peak_memory(process.pid) is None
