"""Editions on disk: one folder of files that never change, written atomically."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from longwave.platform.boards.trust import resolve_trust
from longwave.platform.editions.data import check_names, describe_data
from longwave.platform.editions.edition import SCHEMA, Edition, edition, load
from longwave.platform.editions.figures import epochs
from longwave.platform.editions.files import draw_files
from longwave.platform.editions.folder import FOLDER, check_files, find_results, read_json, read_manifest
from longwave.platform.editions.results import pack_results
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Pool
from longwave.platform.render.export import as_json
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store


def publish(
    folder: Path,
    store: Store,
    title: str,
    commit: str,
    previous: Path | None = None,
    results: bool | None = None,
    report: Callable[[str], object] = str,
    trust: Sequence[str] = (),
    packed: Sequence[Path] = (),
    licence: str = "",
    hub: str = "",
    note: str = "",
) -> Edition:
    """Write an edition of all boards in ``store`` to ``folder`` and return it.

    Args:
        folder: The new folder.
        store: The store to publish.
        title: Its heading.
        commit: Commit of the code that writes it.
        previous: Folder of the previous edition: changes since it are listed, and its bundles are copied unchanged.
        results: Whether to include all runs; see ``pack_results``.
        report: Called with a line on why they are not included.
        trust: Bundles whose trainings count like those made here; see ``Pool``.
        packed: Further existing bundles to copy.
        licence, hub: See ``data.describe_data``.
        note: A sentence above the boards of its page.

    Raises:
        ConfigError: The folder is not empty, no board has a row, ``previous`` is not an intact edition, or title,
            licence or hub is not a valid name.
    """
    _check_free(folder)
    check_names(title, licence, hub)
    previous_edition = read(previous) if previous else None
    trust = resolve_trust(trust, store.bundles())
    rows = read_board(store, pool=Pool(trust=trust))
    if not rows:
        raise ConfigError("There is no row to publish yet. Run a sweep with: longwave sweep run FILE")
    published = edition(rows, store.retrainings(), title, datetime.now(UTC).isoformat(timespec="seconds"), commit)
    packed = [*packed, *(find_results(previous) if previous else ())]
    bundles, why = pack_results(store, published, results, packed, trust)
    if why:
        report(f"Without {FOLDER}: {why}")
    curves = epochs(store.curves([seed["trial"] for row in published.rows for seed in row["seeds"]]))
    files = draw_files(published, rows, previous_edition, why, curves, note)
    write(folder, published, {**files, **describe_data(published, files, licence, hub), **bundles})
    return published


def read(folder: Path) -> Edition:
    """Return the edition in ``folder``, every file checked against the manifest.

    Raises:
        ConfigError: It is not an edition, or a file was changed after publishing.
    """
    files = read_manifest(folder)
    if "board.json" not in files:
        raise ConfigError(f"{folder} is not an edition: manifest.json does not list board.json.")
    if not (folder / "board.json").exists():
        steps = f"longwave import {folder}, then longwave publish NEW-FOLDER"
        raise ConfigError(f"{folder} has no pages. Draw them from its bundles with: {steps}")
    check_files(folder, files)
    return load(read_json(folder / "board.json"), str(folder / "board.json"))


def write(folder: Path, edition: Edition, contents: Mapping[str, bytes]) -> None:
    """Write the files of an edition with a manifest to ``folder``, read-only.

    Raises:
        ConfigError: The folder is not empty, or cannot be written.
    """
    _check_free(folder)
    folder = folder.absolute()
    hashes = {name: hashlib.sha256(contents[name]).hexdigest() for name in sorted(contents)}
    manifest = as_json({"schema": SCHEMA, "edition": edition.id, "sha256": edition.sha256, "files": hashes}) + "\n"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
            staged = Path(temporary) / "edition"
            for name, content in {**contents, "manifest.json": manifest.encode()}.items():
                (staged / name).parent.mkdir(parents=True, exist_ok=True)
                (staged / name).write_bytes(content)
                (staged / name).chmod(0o444)
            with suppress(FileNotFoundError):
                folder.rmdir()
            staged.rename(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}. Name another folder.") from None


def _check_free(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not empty, and an edition is never changed. Name a new folder.")
