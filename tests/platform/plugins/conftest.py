"""What is brought in one test is not there in the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longwave.platform.plugins.known import forget_plugins


@pytest.fixture(autouse=True)
def nothing_brought() -> Iterator[None]:
    forget_plugins()
    yield
    forget_plugins()
