"""Fixtures for tests of the store."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

BeNobody = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def be_nobody() -> BeNobody:
    """Be a user to whom permissions apply inside a block: root may write everywhere."""

    @contextmanager
    def be_nobody_inside() -> Iterator[None]:
        own = os.geteuid()
        if own == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(own)

    return be_nobody_inside


@pytest.fixture
def nobodys_folder() -> Iterator[Path]:
    """A folder of that user, outside those of pytest, which no other user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="longwave-", dir="/tmp"))
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)
