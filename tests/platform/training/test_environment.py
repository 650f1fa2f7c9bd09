"""What a process that trains asks of its machine."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from longwave.platform.sweeps.on_ray.client import environment

pytestmark = pytest.mark.integration

AGAIN = """
import resource, sys, threading, torch
from longwave.platform.training.environment import keep_to

def steps():
    if sys.argv[1] == "kept":
        keep_to(1)
    for turn in range(10):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for size in (2**27, 2**24, 2**27):
            torch.zeros(size // 4)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    print(faults)

thread = threading.Thread(target=steps)
thread.start()
thread.join()
"""
"""As Tune has it, in a thread; its tensors are larger than the 64 MB that glibc gives an arena of a thread at once."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="memory is kept where the C library is glibc")
def test_the_tensors_of_a_step_lie_in_the_memory_of_those_before() -> None:
    def faults_of(way: str) -> int:
        command = [sys.executable, "-c", AGAIN, way]
        done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment())
        return int(done.stdout)

    faults = {way: faults_of(way) for way in ("kept", "given back")}
    pages = (2**27 + 2**27) // 4096
    assert faults["kept"] < pages / 50 and faults["given back"] > pages / 2
