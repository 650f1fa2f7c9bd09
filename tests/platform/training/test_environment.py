"""What a process that trains asks of its machine."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

AGAIN = """
import resource, sys, torch
from longwave.platform.training.environment import keep_to
if sys.argv[1] == "kept":
    keep_to(1)
for turn in range(10):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for size in (2**26, 2**24, 2**26):
        torch.zeros(size // 4)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="memory is kept where the C library is glibc")
def test_the_tensors_of_a_step_lie_in_the_memory_of_those_before() -> None:
    faults = {
        way: int(subprocess.run([sys.executable, "-c", AGAIN, way], capture_output=True, check=True, text=True).stdout)
        for way in ("kept", "given back")
    }
    pages = (2**26 + 2**26) // 4096
    assert faults["kept"] < pages / 50 and faults["given back"] > pages / 2
