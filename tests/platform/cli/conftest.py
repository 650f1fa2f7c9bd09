"""Fixtures for tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from longwave.platform.plugins.known import forget_plugins


@pytest.fixture
def without_estimate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Forget plugins, cache in the folder of the test, and let ``longwave start`` train nothing to estimate costs."""
    forget_plugins()
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("longwave.platform.cli.start._print_cost", lambda sweep, store: None)
