"""Builds an edition: trains what is missing of its sweeps, keeps each sweep, publishes what is whole.

``make edition EDITION=2`` runs the files of ``infra/sweeps/edition2`` in the order of their names, from a store of its
own in ``.edition-2``; without a number it is the edition that the README shows. Once a sweep is over, what it trained
lies as a bundle in the edition's ``results``, named by its hash, which is listed in ``platform/boards/trust.txt``;
commit both. No bundle there is ever written anew. A checkout without that store begins with these bundles, so nothing
in them is trained again. The pages are published from them alone. Ctrl-C or ``WORDS=--pause`` from another terminal
ends it in order, and the same command goes on. What is done by then of a sweep that is not over lies in
``infra/board/unfinished-2``, in one file of at most 1 MB that takes the place of the one before; ``WORDS=--keep``
writes it while the sweep runs. Committed, another machine goes on.

    build_edition.py [WORD ...]       sweeps whose names hold a word; by default all
    build_edition.py --edition N      of another edition than the one that the README shows
    build_edition.py --workers N      packs at a time; by default as many as there are cores
    build_edition.py --keep           write what is done of sweeps that are not over; train nothing
    build_edition.py --pause          end what trains the edition, in order
    build_edition.py --publish        train nothing
    build_edition.py --widen WORD     of each that is over and has a winner at the edge of a range
                                      write NAME-widened.toml, with a second search; train nothing
    build_edition.py --rechoose       where the retrainings of a first search's winner validate better than those of the
                                      second's, write NAME-again.toml, which trains it with other seeds; train nothing
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edition_folders import SHOWN, EditionFolders, longwave, query, read_state, trust_bundle
from edition_report import write_report
from edition_successor import describe_successor
from rechosen import list_rechosen, write_files

from longwave.files import atomic_file
from longwave.platform.about import write_catalogue
from longwave.platform.boards.row import Row
from longwave.platform.editions.folder import FOLDER
from longwave.platform.editions.publish import publish as write_edition
from longwave.platform.editions.results import pack_part
from longwave.platform.editions.shipped import ship
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.parts import split
from longwave.platform.plugins.known import add_plugin
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.plan.range_edges import AtEdge, find_edges
from longwave.platform.sweeps.plan.stored import read_sweep_plan, with_search_spaces
from longwave.platform.training.environment import describe

EXPECTED = re.compile(r"^# Expected: ([\d.]+) hours", re.MULTILINE)
TITLE = "Longwave, edition {}"
MOST = 1_000_000
"""Bytes of a sweep that is not over: the file is written anew with every interruption."""


def import_missing(folders: EditionFolders) -> None:
    """Import the bundles of which the store knows nothing yet, together: a second search goes on from a first."""
    paths = [*folders.results, *folders.unfinished]
    if missing := {path: name for path in paths if (name := bundle.read(path).name) not in folders.known_bundles()}:
        longwave(folders, "import", *paths, *folders.plugins)
        for path, name in missing.items():
            folders.note_bundle(name, path.name)


def train(folders: EditionFolders, file: Path, workers: int | None = None) -> None:
    """Run a sweep until it is over, and keep what it trained.

    Raises:
        SystemExit: It was interrupted, or failed; what of it others can go on from is kept.
    """
    settings = read_sweep(file)
    hours = expected(file)
    print(f"{file.stem}: expected {hours:.1f} h", flush=True)
    try:
        if read_state(folders, settings.name).get("state") != "over":
            longwave(folders, "sweep", "run", file, "--mlflow", "off", *(("--workers", workers) if workers else ()))
        state = read_state(folders, settings.name)
        ends = f"{state['ok']} ok, {state['stopped']} stopped, {state['diverged']} diverged, {state['failed']} failed"
        print(query(folders, "sweep", "edges", settings.name).stdout, end="", flush=True)
        print(f"{file.stem}: took {state['spent']['ran'] / 3600:.2f} h of {hours:.1f} h expected: {ends}", flush=True)
        if state["state"] != "over":
            sys.exit(f"{file.stem} is {state['state']}. Go on with: {folders.command}")
    except SystemExit:
        keep_unfinished(folders, settings.name)
        raise
    keep_finished(folders, settings.name)


def keep_unfinished(folders: EditionFolders, sweep: str) -> None:
    """Write the finished part of a sweep: searches, and the retrainings of rows that are whole.

    Where it is no more than lies in bundles already, or more than ``MOST`` bytes, nothing is written.
    """
    for name, packed in pack_new(folders, sweep, over=True).items():
        if len(packed) > MOST:
            print(f"{sweep}: its finished part has {len(packed):,} bytes, {MOST:,} at most: it stays in the store")
        else:
            write_bundle(folders, folders.unfinished_at(sweep), packed)
            print(f"{sweep}: its finished part lies in {folders.unfinished_at(sweep).parent.name}, {name}")


def pause(folders: EditionFolders, file: Path) -> None:
    """End the drivers of a sweep in order, if it is being trained."""
    name = read_sweep(file).name
    if any(driver["alive"] for driver in read_state(folders, name).get("drivers", ())):
        longwave(folders, "sweep", "stop", name)


def keep(folders: EditionFolders, file: Path) -> None:
    """Write what is done of a sweep that has begun and is not over."""
    name = read_sweep(file).name
    if read_state(folders, name).get("state", "over") != "over":
        keep_unfinished(folders, name)


def keep_finished(folders: EditionFolders, sweep: str) -> None:
    """Write a sweep's bundle beside those before, and trust it, unless all of it lies there already."""
    for name, packed in pack_new(folders, sweep).items():
        trusted = write_bundle(folders, folders.edition / FOLDER / name, packed)
        trust_bundle(folders.trust, trusted, hashlib.sha256(packed).hexdigest(), f"edition {folders.number}, {sweep}")
    folders.unfinished_at(sweep).unlink(missing_ok=True)


def pack_new(folders: EditionFolders, sweep: str, over: bool = False) -> dict[str, bytes]:
    """Return what no bundle of the edition holds of a sweep, packed by the name of its file; nothing if there is none.

    Args:
        folders: Where it was trained.
        sweep: Its name.
        over: Leave out searches and rows that are not over.
    """
    try:
        with Store(folders.store, create=False, read_only=True) as store:
            whole_sweep = collect(store, sweep=sweep, over=over)
    except ConfigError:  # nothing of it is over
        return {}
    return dict(map(pack_part, split(whole_sweep, [bundle.read(path).content for path in folders.results])))


def write_bundle(folders: EditionFolders, path: Path, packed: bytes) -> str:
    """Write a bundle of the store's own, and return its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as written:
        written.write_bytes(packed)
    name = bundle.read(path).name
    folders.note_bundle(name, path.name)
    return name


def widen(folders: EditionFolders, file: Path) -> None:
    """Write a second search of a sweep that is over, over wider ranges, if a winner sits at an edge."""
    wide = file.with_stem(f"{file.stem}-widened")
    if file.stem.endswith("-widened"):
        return
    if read_state(folders, name := read_sweep(file).name).get("state") != "over":
        print(
            f"{file.stem} is not over in this store. First, training nothing twice: {folders.command} WORDS={file.stem}"
        )
        return
    ranges = query(folders, "sweep", "edges", name, "--widened").stdout
    if ranges and not wide.exists():
        wide.write_text(second_search(file, ranges), encoding="utf-8")
        print(f"{wide.name}: run it with: {folders.command}")


def second_search(file: Path, ranges: str) -> str:
    """Return a sweep's file with a second search, under a name of its own; it is expected to take half as long."""
    name, text = f'name = "{read_sweep(file).name}', file.read_text(encoding="utf-8")
    head = f"# {file.name} with a second search, of half as many trials, since winners sat at an edge of their range.\n"
    text = EXPECTED.sub(f"# Expected: {expected(file) / 2:.2g} hours", text)
    return head + text.replace(name, f"{name}-widened", 1) + ranges


def publish(folders: EditionFolders) -> None:
    """Publish the pages of the edition from its bundles and those of trusted submissions, which stay as they are.

    It is done in an empty store, as whoever imports the edition has it.
    """
    with tempfile.TemporaryDirectory(dir=folders.home) as folder:
        fresh = replace(folders, home=Path(tempfile.mkdtemp(dir=folder)))
        pages = Path(folder) / "edition"
        trust = [file.name for path in folders.carried if (file := bundle.read(path)).content.rows]
        longwave(fresh, "import", *folders.carried, *folders.plugins)
        for path in folders.submitted:
            add_plugin(path.parent)
        with Store(fresh.store) as store:
            write_catalogue(store)
            commit = describe()["commit"]
            rows = read_board(store, pool=Pool(trust=trust))
            successor, title = describe_successor(rows, folders), TITLE.format(folders.number)
            made = write_edition(
                pages, store, title, commit, None, True, print, trust, folders.carried, "MIT", note=successor
            )
            write_report(
                rows,
                winners_at_edges(store),
                remaining_hours(folders, rows),
                made,
                pages,
                folders,
                successor,
            )
        if folders.is_shown:
            ship(made, folders.shipped)
        shutil.rmtree(folders.edition)
        shutil.move(pages, folders.edition)
    size = sum(file.stat().st_size for file in folders.edition.rglob("*") if file.is_file())
    print(f"{folders.edition}: {size / 1e6:.1f} MB")


def remaining_hours(folders: EditionFolders, rows: Sequence[Row]) -> dict[str, float]:
    """Return the hours that each sweep is expected to take that no row comes from, by the stem of its file."""
    here = {name.partition("@")[0] for row in rows for name in row.sweeps}
    return {file.stem: expected(file) for file in folders.sweep_files() if read_sweep(file).name not in here}


def winners_at_edges(store: Store) -> list[AtEdge]:
    """Return what of the winners of a store's sweeps sits at an edge of its range, of all that was searched."""
    trials = {name: {a.id for a in store.planned(name) if a.phase == "search"} for name in store.sweeps()}
    last = [name for name, mine in trials.items() if not any(mine < others for others in trials.values())]
    return [
        edge for name in last for edge in find_edges(with_search_spaces(read_sweep_plan(store, name)), store, name)[0]
    ]


def expected(file: Path) -> float:
    """Return the hours that a sweep file says it takes; 0 where it says none."""
    hours = EXPECTED.search(file.read_text(encoding="utf-8"))
    return float(hours[1]) if hours else 0.0


def main(arguments: Sequence[str], folders: EditionFolders | None = None) -> None:
    """Do what the arguments say; see the module.

    Args:
        arguments: Of the command line.
        folders: Of the edition, in place of those in the repository.
    """
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of sweep files")
    parser.add_argument("--edition", type=int, default=SHOWN, help="number of the edition")
    parser.add_argument("--workers", type=int, help="packs at a time")
    parser.add_argument("--keep", action="store_true", help="train nothing; write what is done of sweeps not over yet")
    parser.add_argument("--pause", action="store_true", help="train nothing; end what trains the edition, in order")
    parser.add_argument("--publish", action="store_true", help="train nothing; publish the tables that are whole")
    parser.add_argument("--widen", action="store_true", help="train nothing; write second searches over wider ranges")
    parser.add_argument("--rechoose", action="store_true", help="train nothing; write what retrainings chose anew")
    chosen = parser.parse_args(arguments)
    folders = folders or EditionFolders.of_edition(chosen.edition)
    folders.home.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    if chosen.publish:
        publish(folders)
        return
    files = folders.sweep_files(chosen.words)
    if chosen.pause or chosen.keep:
        for file in files:
            pause(folders, file) if chosen.pause else keep(folders, file)
        return
    import_missing(folders)
    if chosen.widen:
        for file in files:
            widen(folders, file)
        return
    if chosen.rechoose:
        with Store(folders.store, create=False) as store:
            for path in write_files(list_rechosen(store.groups()), folders.sweeps):
                print(f"{path.name}: run it with: {folders.command}")
        return
    print(f"{len(files)} sweeps, expected {sum(map(expected, files)):.1f} h of two cores", flush=True)
    for file in files:
        train(folders, file, chosen.workers)
    publish(folders)
    print(f"took {(time.monotonic() - begun) / 3600:.2f} h")


if __name__ == "__main__":
    main(sys.argv[1:])
