"""What a report says of the boards that the next edition trains again."""

from __future__ import annotations

from pathlib import Path

from boards import retrained
from edition.folders import EditionFolders
from edition.successor import describe_successor
from plugin_files import written

from longwave.platform.boards.board import rows
from longwave.platform.boards.row import Row


def board(task: str, variant: str) -> list[Row]:
    return rows([retrained("lem", [0.1, 0.2], task=task, variant=variant)], [])


def test_boards_with_a_sweep_of_the_next_edition_are_named_whatever_their_test_data(tmp_path: Path) -> None:
    folders = EditionFolders(sweeps=tmp_path / "edition1", board=tmp_path)
    known = [*board("adding", "N=500"), *board("parity", ""), *board("smnist", "")]
    assert describe_successor(known, folders) == ""
    sweep = 'name = "x"\nmodels = ["lem"]\ntrials = 1\nretrain = 1\n'
    (tmp_path / "edition2").mkdir()
    for task, variant in (("adding", "N=500,test=2"), ("parity", "test=2"), ("adding", "N=2000")):
        path = tmp_path / f"edition2/{task}-{variant[:6]}.toml"
        written(path, sweep + f'task = "{task}"\nvariant = "{variant}"\n')
    sentence = describe_successor(known, folders)
    assert sentence.startswith("Edition 2 replaces 2 of these boards: ") and "Edition 1 has shown" in sentence
    assert "of these boards: T, N=500 and T. " in sentence, "every title of these tests is T"
