"""Fixtures for tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def without_estimate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cache in the folder of the test, and let ``longwave start`` train nothing to estimate costs."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("longwave.platform.cli.start._print_cost", lambda sweep, store: None)
