"""The programs behind make find what they share with tests and benchmarks."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROGRAMS = sorted(set(re.findall(r"\$\(TOOL\) ([\w.]+)", MAKEFILE)))


@pytest.mark.integration
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_imports_with_the_path_that_make_gives_it(program: str) -> None:
    [path] = re.findall(r"^TOOL := PYTHONPATH=(\S+) ", MAKEFILE, re.MULTILINE)
    code = f"import runpy; runpy.run_module({program!r}, run_name='imported', alter_sys=True)"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
