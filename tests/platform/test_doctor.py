"""``longwave doctor`` says what it checks, and ends however long a check takes."""

from __future__ import annotations

import threading
import time

import pytest

from longwave.platform import doctor


def test_a_check_that_hangs_is_said_to_be_slow_and_holds_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    over, said = threading.Event(), list[str]()
    monkeypatch.setattr(doctor, "SECONDS", 0.2)
    for name in ("_check_registry", "_check_device", "_check_placement", "_describe_commit", "_check_cache"):
        monkeypatch.setattr(doctor, name, lambda: "as it should be")
    monkeypatch.setattr(doctor, "_check_packages", lambda: str(over.wait(60)))
    monkeypatch.setattr(doctor, "_check_store", lambda url: [doctor.Finding("store", True, f"asked {url}")])
    start = time.monotonic()
    findings = doctor.collect_findings("sqlite:///there", said.append)
    assert time.monotonic() - start < 5
    over.set()
    assert [(f.what, f.good) for f in findings if f.good is not True] == [("packages", None)]
    assert findings[0].detail == "not finished after 0 s" and findings[-1].detail == "asked sqlite:///there"
    assert said == [f"Checking {finding.what}" for finding in findings]
