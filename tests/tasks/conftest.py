"""What tests of tasks share: sets that are small beside the originals."""

from __future__ import annotations

import pytest

from longwave.tasks.base.raw import Source


@pytest.fixture
def any_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files hold as many of everything as they do."""
    monkeypatch.setattr(Source, "check_count", lambda *rule, **how: None)
