"""Builds the living board's edition: trains what is missing of its sweeps, keeps each table, publishes what is whole.

``make edition`` runs the files of ``infra/sweeps/edition1`` in the order of their names, from a store of its own in
``.edition``. Once a sweep is over, all rows of its task lie as a bundle under ``infra/board/partial``, whose hash is
listed in ``platform/boards/trust.txt``; commit both. A checkout without ``.edition`` begins with these bundles (where
they were deleted, with the edition), so nothing in them is trained again. The edition is published from them alone.
What is done of a sweep that is interrupted lies under ``infra/board/unfinished``; committed, another machine goes on.

    python tests/support/living_board.py [WORD ...]       sweeps whose names hold a word; by default all
    python tests/support/living_board.py --publish        train nothing
    python tests/support/living_board.py --widen WORD     of each that is over and has a winner at the edge of a range
                                                          write NAME-widened.toml, with a second search; train nothing
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edition_report import tell
from living_place import LivingBoard, asked, list_hashes, longwave, state

from longwave.files import whole
from longwave.platform.boards.row import Row
from longwave.platform.editions.publish import read as edition_in
from longwave.platform.exchange import bundle
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import read_sweep
from longwave.platform.sweeps.edges import AtEdge, at_edges
from longwave.platform.sweeps.sweep import looked_up, stored_sweep

EXPECTED = re.compile(r"^# Expected: ([\d.]+) hours", re.MULTILINE)
TITLE = "Longwave, edition 1"


def take_up(board: LivingBoard) -> None:
    """Import the bundles of which the store knows nothing yet; where there is no finished one, the edition."""
    for file in [*(board.partial or board.edition.glob("results.json.xz")), *board.unfinished]:
        name = bundle.read(file).name
        if name not in board.here():
            longwave(board, "import", board.edition if file.parent == board.edition else file)
            board.note(name, file.name)


def train(board: LivingBoard, file: Path) -> None:
    """Run a sweep until it is over, and keep the rows of its task.

    Raises:
        SystemExit: It was interrupted, or failed; what of it others can go on from is kept.
    """
    settings = read_sweep(file)
    hours = expected(file)
    print(f"{file.stem}: expected {hours:.1f} h", flush=True)
    try:
        if state(board, settings.name).get("state") != "over":
            longwave(board, "sweep", "run", file, "--mlflow", "off")
        found = state(board, settings.name)
        told = f"{found['ok']} ok, {found['stopped']} stopped, {found['diverged']} diverged, {found['failed']} failed"
        print(asked(board, "sweep", "edges", settings.name).stdout, end="", flush=True)
        print(f"{file.stem}: took {found['spent']['ran'] / 3600:.2f} h of {hours:.1f} h expected: {told}", flush=True)
        if found["state"] != "over":
            sys.exit(f"{file.stem} is {found['state']}. Go on with: make edition")
    except SystemExit:
        for task in settings.places:
            carry(board, task)
        raise
    for task in settings.places:
        keep(board, task)


def carry(board: LivingBoard, task: str) -> None:
    """Write what is over of a task as an unfinished bundle: searches, and the retrainings of rows that are whole.

    Where that is no more than lies in a bundle already, nothing is written.
    """
    made = board.home / f"{task}.json.xz"
    done = asked(board, "submit", str(made), "--task", task, "--over").returncode == 0
    if done and bundle.read(made).name not in board.here():
        laid(board, made, "unfinished")


def keep(board: LivingBoard, task: str) -> None:
    """Write the rows of a task as a partial bundle, and list its hash, unless they lie there as they are."""
    made = board.home / f"{task}.json.xz"
    longwave(board, "submit", made, "--task", task)
    list_hashes(board.trust, f"edition 1, {task}", laid(board, made, "partial"))
    (board.board / "unfinished" / made.name).unlink(missing_ok=True)


def laid(board: LivingBoard, made: Path, folder: str) -> str:
    """Lay a bundle of the store's own into a folder of the board, and return its name."""
    file = board.board / folder / made.name
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as written:
        shutil.copyfile(made, written)
    name = bundle.read(file).name
    board.note(name, file.name)
    return name


def widen(board: LivingBoard, file: Path) -> None:
    """Write a second search of a sweep that is over, over wider ranges, if a winner sits at an edge."""
    wide = file.with_stem(f"{file.stem}-widened")
    if file.stem.endswith("-widened"):
        return
    if state(board, name := read_sweep(file).name).get("state") != "over":
        print(f"{file.stem} is not over in this store. First, training nothing twice: make edition WORDS={file.stem}")
        return
    ranges = asked(board, "sweep", "edges", name, "--widened").stdout
    if ranges and not wide.exists():
        wide.write_text(second_search(file, ranges), encoding="utf-8")
        print(f"{wide.name}: run it with: make edition")


def second_search(file: Path, ranges: str) -> str:
    """Return a sweep's file with a second search, under a name of its own; it is expected to take half as long."""
    name, text = f'name = "{read_sweep(file).name}', file.read_text(encoding="utf-8")
    head = f"# {file.name} with a second search, of half as many trials, since winners sat at an edge of their range.\n"
    text = EXPECTED.sub(f"# Expected: {expected(file) / 2:.2g} hours", text)
    return head + text.replace(name, f"{name}-widened", 1) + ranges


def publish(board: LivingBoard) -> str:
    """Publish the edition from the partial bundles alone, and return the name of its results.

    It is done in empty stores: whoever has these bundles has the edition, which is made of one bundle of them all, as
    who imports it has it.
    """
    with tempfile.TemporaryDirectory(dir=board.home) as folder:
        homes = [Path(tempfile.mkdtemp(dir=folder)) for _ in range(2)]
        parts, one = (replace(board, home=home) for home in homes)
        made, results = Path(folder) / "edition", Path(folder) / "results.json.xz"
        for file in board.partial:
            longwave(parts, "import", file)
        longwave(parts, "submit", results)
        longwave(one, "import", results)
        name = bundle.read(results).name
        longwave(one, "publish", made, "--results", "--title", TITLE, "--trust", name)
        with Store(one.store, create=False, read_only=True) as store:
            rows = read_board(store, pool=Pool(trust=(name,)))
            tell(rows, edges(store), ahead(board, rows), edition_in(made), made, board.board, board.readme)
        shutil.rmtree(board.edition, ignore_errors=True)
        shutil.move(made, board.edition)
    list_hashes(board.trust, "edition 1", edition_in(board.edition).sha256, name)
    size = sum(file.stat().st_size for file in board.edition.iterdir())
    print(f"{board.edition}: {size / 1e6:.1f} MB")
    return name


def ahead(board: LivingBoard, rows: Sequence[Row]) -> dict[str, float]:
    """Return the hours that each sweep is expected to take that no row comes from, by the stem of its file."""
    here = {name.partition("@")[0] for row in rows for name in row.sweeps}
    return {file.stem: expected(file) for file in board.files() if read_sweep(file).name not in here}


def edges(store: Store) -> list[AtEdge]:
    """Return what of the winners of a store's sweeps sits at an edge of its range, of all that was searched."""
    trials = {name: {a.id for a in store.planned(name) if a.phase == "search"} for name in store.sweeps()}
    last = [name for name, mine in trials.items() if not any(mine < others for others in trials.values())]
    return [edge for name in last for edge in at_edges(looked_up(stored_sweep(store, name)), store, name)[0]]


def expected(file: Path) -> float:
    """Return the hours that a sweep file says it takes; 0 where it says none."""
    found = EXPECTED.search(file.read_text(encoding="utf-8"))
    return float(found[1]) if found else 0.0


def main(arguments: Sequence[str], board: LivingBoard) -> None:
    """Do what the arguments say; see the module."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of sweep files")
    parser.add_argument("--publish", action="store_true", help="train nothing; publish the tables that are whole")
    parser.add_argument("--widen", action="store_true", help="train nothing; write second searches over wider ranges")
    told = parser.parse_args(arguments)
    board.home.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    if told.publish:
        publish(board)
        return
    files = board.files(told.words)
    take_up(board)
    if told.widen:
        for file in files:
            widen(board, file)
        return
    print(f"{len(files)} sweeps, expected {sum(map(expected, files)):.1f} h of two cores", flush=True)
    for file in files:
        train(board, file)
    board.note(publish(board), board.edition.name)
    print(f"took {(time.monotonic() - begun) / 3600:.2f} h")


if __name__ == "__main__":
    main(sys.argv[1:], LivingBoard())
