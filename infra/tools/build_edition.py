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

import sys
import time
import tomllib
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from edition_bundles import import_missing, keep_begun, keep_finished, keep_unfinished
from edition_folders import EXPECTED, SHOWN, EditionFolders, expected_hours, longwave, query, read_state
from edition_pages import publish
from rechosen import list_rechosen, write_files

from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep


def train(folders: EditionFolders, file: Path, workers: int | None = None) -> None:
    """Run a sweep to its end, and save its results.

    Raises:
        SystemExit: It was interrupted or failed; the part from which others can continue is saved.
    """
    settings = read_sweep(file)
    hours = expected_hours(file)
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


def pause(folders: EditionFolders, file: Path) -> None:
    """Stop the drivers of a sweep cleanly, if it is being trained."""
    name = read_sweep(file).name
    if any(driver["alive"] for driver in read_state(folders, name).get("drivers", ())):
        longwave(folders, "sweep", "stop", name)


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
    text = EXPECTED.sub(f"# Expected: {expected_hours(file) * share:.2g} hours", text)
    return head + text.replace(name, f"{name}-widened", 1) + ranges


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
            pause(folders, file) if options.pause else keep_begun(folders, file)
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
    many = f"{len(files)} sweep{'s' * (len(files) > 1)}"
    print(f"{many}, expected {sum(map(expected_hours, files)):.1f} h on two cores", flush=True)
    for file in files:
        train(folders, file, options.workers)
    publish(folders)
    print(f"took {(time.monotonic() - begun) / 3600:.2f} h")


if __name__ == "__main__":
    main(sys.argv[1:])
