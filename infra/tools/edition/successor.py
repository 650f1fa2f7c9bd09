"""Which boards of an edition the next one trains again, from the sweep files of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edition.folders import EditionFolders
from longwave.platform.boards.row import Row, distinct_boards, group_by_board
from longwave.platform.boards.texts import listed
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.tasks.base.variants import split_fresh


def describe_successor(rows: Sequence[Row], folders: EditionFolders) -> str:
    """Return a sentence on the boards of an edition that the next one trains again; empty if there are none."""
    planned = set(_planned_boards(folders.next_edition))
    again = {board: of for board, of in group_by_board(rows).items() if (board[0], split_fresh(board[1])[0]) in planned}
    if not again:
        return ""
    titles = distinct_boards([of[0] for of in again.values()])
    one, two = folders.number, folders.next_edition.number
    return (
        f"Edition {two} replaces {len(again)} of these boards: {listed(titles, len(titles))}. Edition {one} has shown "
        "results on their test data, so generated ones are drawn again there; winners come from a race with fresh "
        "seeds; and models of 2023 to 2025 are added."
    )


def _planned_boards(folders: EditionFolders) -> Iterable[tuple[str, str]]:
    """Yield task and variant of each sweep file, without the suffix for fresh test data."""
    for file in folders.sweep_files():
        for task, variant in read_sweep(file).variant_by_task.items():
            yield task, split_fresh(variant)[0]
