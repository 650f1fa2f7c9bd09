"""The edition in the repository, imported once: a minute."""

from __future__ import annotations

import pytest
from edition_folders import EditionFolders

from longwave.platform.cli.main import main
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store


@pytest.fixture(scope="session")
def edition_of_bundles(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """Return the edition as whoever imports its bundles has it."""
    url = f"sqlite:///{tmp_path_factory.mktemp('edition')}/store.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGWAVE_HOME", str(tmp_path_factory.mktemp("home")))
        assert main(["import", str(EditionFolders().edition), "--store", url]) == 0
    with Store(url) as store:
        return edition(read_board(store), store.retrainings(), "", "", "")
