"""Five hundred damaged and forged bundles: each is accepted or refused in a line, in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT

KEPT = ROOT / "tests/platform/exchange/kept/0.2.0.json.xz"
COUNT = 500


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="a signal ends what takes too long")
def test_damaged_and_forged_bundles_are_accepted_or_refused_in_seconds_and_a_gibibyte(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tests/support/import_mutants.py"), str(KEPT), str(tmp_path), "0", f"{COUNT}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    outcome = json.loads(done.stdout)
    assert sum(outcome["statuses"].values()) == COUNT and set(outcome["statuses"]) <= {"0", "2"}
    assert outcome["statuses"]["2"] > COUNT / 2
    assert outcome["longest"] < 20 and outcome["memory"] < 1024
