"""A plugin of one test is not there in the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longwave.platform.plugins.known import forget_plugins


@pytest.fixture(autouse=True)
def without_plugins() -> Iterator[None]:
    forget_plugins()
    yield
    forget_plugins()
