"""A process that finds another one at the same work says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from longwave.platform.errors import StoreError
from longwave.platform.storage.exclusive import exclusively
from longwave.platform.storage.store import Store


def test_the_other_process_is_said_to_be_doing_it(any_store_url: str, open_store: Callable[[str], Store]) -> None:
    expected = "^Another process is sending demo to W&B. Try again when it has ended.$"
    with (
        exclusively(open_store(any_store_url), "sending demo to W&B"),
        pytest.raises(StoreError, match=expected),
        exclusively(open_store(any_store_url), "sending demo to W&B"),
    ):
        pass
