"""Builds an edition: trains the missing models of its boards, saves each one, and publishes the pages.

``make edition EDITION=2`` runs the files of ``infra/sweeps/edition2``, one a board, in order of name, from their own
store in ``.edition-2``; without a number it is the edition that the README shows. Each model of a board is searched and
retrained in a sweep of its own. A finished one is saved as a bundle in the edition's ``results``, named by its hash,
which is listed in ``platform/boards/trust.txt``; commit both. No bundle there is ever rewritten. A checkout without
that store starts from these bundles, so nothing in them is trained again. The pages are published only from them.
Ctrl-C, or ``WORDS=--pause`` from another terminal, stops it cleanly, and the same command continues. The finished part
of an unfinished sweep is saved in ``infra/board/unfinished-2``, as one file of at most 1 MB that replaces the previous
one; ``WORDS=--keep`` writes it while the sweep runs. Once it is committed, another machine can continue.

WORDS are:

    b1 parity       boards whose file names contain one of these; by default all
    --models A,B    only these models; by default all
    --workers N     packs at a time; by default as many as there are cores
    --keep          save the finished part of unfinished sweeps; train nothing
    --pause         stop the process that trains the edition, cleanly
    --publish       publish the pages; train nothing
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

from edition.bundles import import_missing, keep_finished, keep_unfinished
from edition.folders import FIRST, EditionFolders, longwave, query, read_state
from edition.pages import publish
from edition.sweeps import ModelSweep, list_missing, list_sweeps
from longwave.platform.errors import NoStoreError
from longwave.platform.storage.store import Store


def train_model(folders: EditionFolders, sweep: ModelSweep, workers: int | None = None) -> None:
    """Run the sweep of one model to its end, and save its results.

    Raises:
        SystemExit: It was interrupted or failed; the part from which others can continue is saved.
    """
    print(f"{sweep.name}: expected {sweep.hours:.1f} h", flush=True)
    try:
        if read_state(folders, sweep.name).get("state") != "over":
            file = sweep.write_file(folders.home / "sweeps")
            longwave(folders, "sweep", "run", file, "--mlflow", "off", *(("--workers", workers) if workers else ()))
        state = read_state(folders, sweep.name)
        ends = f"{state['ok']} ok, {state['stopped']} stopped, {state['diverged']} diverged, {state['failed']} failed"
        print(query(folders, "sweep", "edges", sweep.name).stdout, end="", flush=True)
        took = f"took {state['spent']['ran'] / 3600:.2f} h of {sweep.hours:.1f} h expected"
        print(f"{sweep.name}: {took}: {ends}", flush=True)
        if state["state"] != "over":
            sys.exit(f"{sweep.name} is {state['state']}. Continue with: {folders.command}")
    except SystemExit:
        keep_unfinished(folders, sweep.name)
        raise
    keep_finished(folders, sweep.name)


def list_begun(folders: EditionFolders, sweeps: Sequence[ModelSweep]) -> list[str]:
    """Return the names of the sweeps that have begun in this store and are not over."""
    try:
        with Store(folders.store, create=False, read_only=True) as store:
            begun = {*store.sweeps()}
    except NoStoreError:
        return []
    names = [sweep.name for sweep in sweeps if sweep.name in begun]
    return [name for name in names if read_state(folders, name)["state"] != "over"]


def pause_sweep(folders: EditionFolders, name: str) -> None:
    """Stop the drivers of a sweep cleanly, if it is being trained."""
    if any(driver["alive"] for driver in read_state(folders, name)["drivers"]):
        longwave(folders, "sweep", "stop", name)


def main(arguments: Sequence[str], folders: EditionFolders | None = None) -> None:
    """Run the command line; see the module.

    Args:
        arguments: Of the command line.
        folders: Of the edition, in place of those in the repository.
    """
    parser = ArgumentParser("python -m edition", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of boards' files")
    parser.add_argument("--models", type=lambda text: text.split(","), default=[], help="models, with commas between")
    parser.add_argument("--edition", type=int, default=FIRST, help="number of the edition")
    parser.add_argument("--workers", type=int, help="packs at a time")
    parser.add_argument(
        "--keep", action="store_true", help="train nothing; save the finished part of unfinished sweeps"
    )
    parser.add_argument("--pause", action="store_true", help="train nothing; stop what trains the edition, cleanly")
    parser.add_argument("--publish", action="store_true", help="train nothing; publish the pages")
    options = parser.parse_args(arguments)
    folders = folders or EditionFolders.of_edition(options.edition)
    if not folders.sweeps.is_dir():
        parser.error(f"there is no edition {folders.number}: no folder {folders.sweeps}")
    folders.home.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    if options.publish:
        publish(folders)
        return
    if unknown := [word for word in options.words if not folders.sweep_files([word])]:
        parser.error(f"no sweep file of edition {folders.number} has {unknown[0]!r} in its name; see {folders.sweeps}")
    sweeps = list_sweeps(folders.sweep_files(options.words), options.models)
    if unknown := [model for model in options.models if model not in {sweep.model for sweep in sweeps}]:
        parser.error(f"none of these boards has a model {unknown[0]!r}; see {folders.sweeps}")
    if options.pause or options.keep:
        begun = list_begun(folders, sweeps)
        for name in begun:
            pause_sweep(folders, name) if options.pause else keep_unfinished(folders, name)
        if not begun:
            print(f"None of these sweeps of edition {folders.number} is unfinished in {folders.home}.")
        return
    import_missing(folders)
    missing = list_missing(folders, sweeps)
    hours = sum(sweep.hours for sweep in missing)
    print(f"models to train: {len(missing)} of {len(sweeps)}, expected {hours:.1f} h on two cores", flush=True)
    for sweep in missing:
        train_model(folders, sweep, options.workers)
    publish(folders)
    print(f"took {(time.monotonic() - started) / 3600:.2f} h")


if __name__ == "__main__":
    main(sys.argv[1:])
