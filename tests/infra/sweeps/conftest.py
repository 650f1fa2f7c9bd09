"""The edition in the repository, imported once: a minute."""

from __future__ import annotations

import pytest
from edition_folders import EditionFolders

from longwave.platform.boards.row import Row
from longwave.platform.cli.main import main
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store


@pytest.fixture(scope="session")
def url_of_bundles(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Import the bundles of the edition as anybody does, and return the store's address."""
    url = f"sqlite:///{tmp_path_factory.mktemp('edition')}/store.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGWAVE_HOME", str(tmp_path_factory.mktemp("home")))
        assert main(["import", str(EditionFolders().edition), "--store", url]) == 0
    return url


@pytest.fixture(scope="session")
def rows_of_bundles(url_of_bundles: str) -> list[Row]:
    """Return the rows of the edition as whoever imports its bundles has them."""
    with Store(url_of_bundles) as store:
        return read_board(store)


@pytest.fixture(scope="session")
def edition_of_bundles(url_of_bundles: str, rows_of_bundles: list[Row]) -> Edition:
    """Return the edition as whoever imports its bundles has it."""
    with Store(url_of_bundles) as store:
        return edition(rows_of_bundles, store.retrainings(), "", "", "")
