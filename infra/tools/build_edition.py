"""Builds an edition: trains the missing trials of its sweeps, saves each finished sweep, and publishes the pages.

``make edition EDITION=2`` runs the files of ``infra/sweeps/edition2`` in order of name, from their own store in
``.edition-2``; without a number it is the edition that the README shows. A finished sweep is saved as a bundle in the
edition's ``results``, named by its hash, which is listed in ``platform/boards/trust.txt``; commit both. No bundle there
is ever rewritten. A checkout without that store starts from these bundles, so nothing in them is trained again. The
pages are published only from them. Ctrl-C, or ``WORDS=--pause`` from another terminal, stops it cleanly, and the same
command continues. The finished part of an unfinished sweep is saved in ``infra/board/unfinished-2``, as one file of at
most 1 MB that replaces the previous one; ``WORDS=--keep`` writes it while the sweep runs. Once it is committed, another
machine can continue.

    build_edition.py [WORD ...]       sweeps whose names contain a word; by default all
    build_edition.py --edition N      another edition than the one that the README shows
    build_edition.py --workers N      packs at a time; by default as many as there are cores
    build_edition.py --keep           save the finished part of unfinished sweeps; train nothing
    build_edition.py --pause          stop the process that trains the edition, cleanly
    build_edition.py --publish        publish the pages; train nothing
    build_edition.py --widen WORD     for each finished sweep with a winner at the edge of a range,
                                      write NAME-widened.toml, with a second search; train nothing
    build_edition.py --rechoose       where the retrainings of the first search's winner validate better than those of
                                      the second's, write NAME-again.toml, which trains it with new seeds; train nothing
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
import time
import tomllib
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from edition_draws import list_draws
from edition_folders import SHOWN, EditionFolders, longwave, query, read_state, trust_bundle
from edition_lags import draw_lags
from edition_report import Findings, write_report
from edition_searches import list_choices
from edition_steps import steps_to_learn
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
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.range_edges import find_edges
from longwave.platform.sweeps.plan.stored import read_searched
from longwave.platform.training.environment import describe

EXPECTED = re.compile(r"^# Expected: ([\d.]+) hours", re.MULTILINE)
TITLE = "Longwave, edition {}"
LARGEST_FILE = 1_000_000
"""Largest file of an unfinished sweep, in bytes: it is rewritten at every interruption."""


def import_missing(folders: EditionFolders) -> None:
    """Import the bundles that are not in the store yet, all at once: a second search continues a first."""
    paths = [*folders.results, *folders.unfinished]
    if missing := {path: name for path in paths if (name := bundle.read(path).name) not in folders.known_bundles()}:
        longwave(folders, "import", *paths, *folders.plugins)
        for path, name in missing.items():
            folders.note_bundle(name, path.name)


def train(folders: EditionFolders, file: Path, workers: int | None = None) -> None:
    """Run a sweep to its end, and save its results.

    Raises:
        SystemExit: It was interrupted or failed; the part from which others can continue is saved.
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
            sys.exit(f"{file.stem} is {state['state']}. Continue with: {folders.command}")
    except SystemExit:
        keep_unfinished(folders, settings.name)
        raise
    keep_finished(folders, settings.name)


def keep_unfinished(folders: EditionFolders, sweep: str) -> None:
    """Save the finished part of a sweep: searches, and the retrainings of complete rows.

    Nothing is written if bundles contain all of it already, or if it has more than ``LARGEST_FILE`` bytes.
    """
    for name, packed in pack_new(folders, sweep, over=True).items():
        if len(packed) > LARGEST_FILE:
            print(f"{sweep}: its finished part has {len(packed):,} bytes, the limit is {LARGEST_FILE:,}: not saved")
        else:
            write_bundle(folders, folders.unfinished_at(sweep), packed)
            print(f"{sweep}: its finished part is saved in {folders.unfinished_at(sweep).parent.name}, {name}")


def pause(folders: EditionFolders, file: Path) -> None:
    """Stop the drivers of a sweep cleanly, if it is being trained."""
    name = read_sweep(file).name
    if any(driver["alive"] for driver in read_state(folders, name).get("drivers", ())):
        longwave(folders, "sweep", "stop", name)


def keep(folders: EditionFolders, file: Path) -> None:
    """Save the finished part of a sweep that has begun and is not over."""
    name = read_sweep(file).name
    if read_state(folders, name).get("state", "over") != "over":
        keep_unfinished(folders, name)


def keep_finished(folders: EditionFolders, sweep: str) -> None:
    """Save a sweep as a trusted bundle, unless earlier bundles contain all of it."""
    for name, packed in pack_new(folders, sweep).items():
        trusted = write_bundle(folders, folders.edition / FOLDER / name, packed)
        trust_bundle(folders.trust, trusted, hashlib.sha256(packed).hexdigest(), f"edition {folders.number}, {sweep}")
    folders.unfinished_at(sweep).unlink(missing_ok=True)


def pack_new(folders: EditionFolders, sweep: str, over: bool = False) -> dict[str, bytes]:
    """Return the part of a sweep that is in no bundle of the edition, packed, by file name; empty if there is none.

    Args:
        folders: Where it was trained.
        sweep: Its name.
        over: Leave out unfinished searches and rows.
    """
    try:
        with Store(folders.store, create=False, read_only=True) as store:
            whole_sweep = collect(store, sweep=sweep, over=over)
    except ConfigError:  # nothing of it is over
        return {}
    return dict(map(pack_part, split(whole_sweep, [bundle.read(path).content for path in folders.results])))


def write_bundle(folders: EditionFolders, path: Path, packed: bytes) -> str:
    """Write a bundle, note that the store contains it, and return its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as written:
        written.write_bytes(packed)
    name = bundle.read(path).name
    folders.note_bundle(name, path.name)
    return name


def widen(folders: EditionFolders, file: Path) -> None:
    """Write a second search of a finished sweep, over wider ranges, if a winner is at an edge."""
    wide = file.with_stem(f"{file.stem}-widened")
    if file.stem.endswith("-widened"):
        return
    if read_state(folders, name := read_sweep(file).name).get("state") != "over":
        print(f"{file.stem} is not finished in this store. First run: {folders.command} WORDS={file.stem}")
        return
    ranges = query(folders, "sweep", "edges", name, "--widened").stdout
    if ranges and not wide.exists():
        wide.write_text(second_search(file, ranges), encoding="utf-8")
        print(f"{wide.name}: run it with: {folders.command}")


def second_search(file: Path, ranges: str) -> str:
    """Return a sweep's file with a second search, under a new name; it takes as long for a trial as the first one."""
    sweep, text = read_sweep(file), file.read_text(encoding="utf-8")
    name, share = f'name = "{sweep.name}', tomllib.loads(ranges)["wider"]["trials"] / sweep.trials
    many = "as many" if share == 1 else "half as many" if share == 0.5 else f"{share:.2g} times as many"
    head = f"# {file.name} with a second search of {many} trials, since winners lay at an edge of their range.\n"
    text = EXPECTED.sub(f"# Expected: {expected(file) * share:.2g} hours", text)
    return head + text.replace(name, f"{name}-widened", 1) + ranges


def publish(folders: EditionFolders) -> None:
    """Publish the pages of the edition from its bundles and those of trusted submissions, which do not change.

    They are computed in a fresh store, so that whoever imports the edition gets the same.
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
            searches = [*last_searches(store)]
            findings = Findings(
                [edge for name, sweep in searches for edge in find_edges(sweep, store, name)[0]],
                [choice for name, sweep in searches for choice in list_choices(sweep, store, name)],
                remaining_hours(folders, rows),
                draw_lags(rows, store.trials_by_id([trial for row in rows for trial in row.trials]), folders),
                steps_to_learn(rows, store),
                successor,
                draws=[draw for name, sweep in searches for draw in list_draws(sweep, store, name)],
            )
            write_report(rows, findings, made, pages, folders)
        if folders.is_shown:
            ship(made, folders.shipped)
        shutil.rmtree(folders.edition)
        shutil.move(pages, folders.edition)
    size = sum(file.stat().st_size for file in folders.edition.rglob("*") if file.is_file())
    print(f"{folders.edition}: {size / 1e6:.1f} MB")


def remaining_hours(folders: EditionFolders, rows: Sequence[Row]) -> dict[str, float]:
    """Return the expected hours of each sweep without a row yet, by the stem of its file."""
    here = {name.partition("@")[0] for row in rows for name in row.sweeps}
    return {file.stem: expected(file) for file in folders.sweep_files() if read_sweep(file).name not in here}


def last_searches(store: Store) -> Iterator[tuple[str, Sweep]]:
    """Yield name and plan of each sweep of a store whose search no other one continues."""
    trials = {name: {a.id for a in store.planned(name) if a.phase == "search"} for name in store.sweeps()}
    for name, own_trials in trials.items():
        if not any(own_trials < others for others in trials.values()):
            yield name, read_searched(store, name)


def expected(file: Path) -> float:
    """Return the expected hours that a sweep file states, or 0."""
    hours = EXPECTED.search(file.read_text(encoding="utf-8"))
    return float(hours[1]) if hours else 0.0


def main(arguments: Sequence[str], folders: EditionFolders | None = None) -> None:
    """Run the command line; see the module.

    Args:
        arguments: Of the command line.
        folders: Of the edition, in place of those in the repository.
    """
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of sweep files")
    parser.add_argument("--edition", type=int, default=SHOWN, help="number of the edition")
    parser.add_argument("--workers", type=int, help="packs at a time")
    parser.add_argument(
        "--keep", action="store_true", help="train nothing; save the finished part of unfinished sweeps"
    )
    parser.add_argument("--pause", action="store_true", help="train nothing; stop what trains the edition, cleanly")
    parser.add_argument("--publish", action="store_true", help="train nothing; publish the pages")
    parser.add_argument("--widen", action="store_true", help="train nothing; write second searches over wider ranges")
    parser.add_argument(
        "--rechoose", action="store_true", help="train nothing; write sweeps of winners that the retrainings changed"
    )
    options = parser.parse_args(arguments)
    folders = folders or EditionFolders.of_edition(options.edition)
    folders.home.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    if options.publish:
        publish(folders)
        return
    files = folders.sweep_files(options.words)
    if unknown := [word for word in options.words if not folders.sweep_files([word])]:
        parser.error(f"no sweep file of edition {folders.number} has {unknown[0]!r} in its name; see {folders.sweeps}")
    if options.pause or options.keep:
        for file in files:
            pause(folders, file) if options.pause else keep(folders, file)
        return
    import_missing(folders)
    if options.widen:
        for file in files:
            widen(folders, file)
        return
    if options.rechoose:
        with Store(folders.store, create=False) as store:
            for path in write_files(list_rechosen(store.groups()), folders.sweeps):
                print(f"{path.name}: run it with: {folders.command}")
        return
    print(f"{len(files)} sweeps, expected {sum(map(expected, files)):.1f} h on two cores", flush=True)
    for file in files:
        train(folders, file, options.workers)
    publish(folders)
    print(f"took {(time.monotonic() - begun) / 3600:.2f} h")


if __name__ == "__main__":
    main(sys.argv[1:])
