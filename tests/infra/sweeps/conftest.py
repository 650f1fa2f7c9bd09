"""The editions in the repository, each imported once: half a minute."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from edition.folders import EditionFolders

from longwave.platform.cli.main import main
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store


@pytest.fixture(scope="session")
def import_edition(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Edition]:
    """Return what imports an edition of the repository, by its number, as anybody does; each once."""

    @cache
    def imported(number: int) -> Edition:
        folder = tmp_path_factory.mktemp(f"edition-{number}")
        url = f"sqlite:///{folder}/store.db"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LONGWAVE_HOME", str(folder / "home"))
            assert main(["import", str(EditionFolders.of_edition(number).edition), "--store", url]) == 0
        with Store(url) as store:
            return edition(read_board(store), store.retrainings(), "", "", "")

    return imported
