"""Bundles of an edition: finished sweeps, and the finished part of unfinished ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

from edition.folders import EditionFolders, longwave, trust_bundle
from longwave.files import atomic_file
from longwave.platform.editions.folder import FOLDER
from longwave.platform.editions.results import pack_part
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.parts import split
from longwave.platform.storage.store import Store

LARGEST_FILE = 1_000_000
"""Largest file of an unfinished sweep, in bytes: it is rewritten at every interruption."""


def import_missing(folders: EditionFolders) -> None:
    """Import the bundles that are not in the store yet.

    The finished ones come first: they ship with the package, so their data need no check. An unfinished one comes with
    those that it continues, as a second search continues a first.
    """
    for paths in (folders.results, *([*continued_by(folders, path), path] for path in folders.unfinished)):
        known = folders.known_bundles()
        if missing := {path: name for path in paths if (name := bundle.read(path).name) not in known}:
            longwave(folders, "import", *paths, *folders.plugins)
            for path, name in missing.items():
                folders.note_bundle(name, path.name)


def continued_by(folders: EditionFolders, unfinished: Path) -> list[Path]:
    """Return the finished bundles of the sweeps that an unfinished one continues: its name starts with theirs."""
    return [path for path in folders.results if unfinished.name.startswith(f"{path.name.rpartition('-')[0]}-")]


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


def keep_finished(folders: EditionFolders, sweep: str) -> None:
    """Save a sweep as a trusted bundle, unless earlier bundles contain all of it.

    Bundles of unfinished sweeps of which nothing is missing in the finished ones are removed.
    """
    for name, packed in pack_new(folders, sweep).items():
        trusted = write_bundle(folders, folders.edition / FOLDER / name, packed)
        trust_bundle(folders.trust, trusted, hashlib.sha256(packed).hexdigest(), f"edition {folders.number}, {sweep}")
    if unfinished := folders.unfinished:
        finished = [bundle.read(path).content for path in folders.results]
        for path in unfinished:
            if not split(bundle.read(path).content, finished):
                path.unlink()


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
