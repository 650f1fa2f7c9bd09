"""Editions on disk: one folder of files that never change. A folder is there whole or not at all."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

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
        folder: Where to.
        store: What is published.
        title: Its heading.
        commit: Of the code that writes it.
        previous: Folder of the edition before: what changed is listed, and its bundles are taken as they are.
        results: Whether all runs are put in; see ``results.pack_results``.
        report: Is called with a line that says why they are not.
        trust: Bundles whose trainings count like those made here; see ``Pool``.
        packed: Further bundles that were packed before.
        licence, hub: See ``data.describe_data``.
        note: A sentence above the boards of its page.

    Raises:
        ConfigError: The folder holds something, no board has a row, ``previous`` is no sound edition, or licence or hub
            has a name that none can have.
    """
    _check_free(folder)
    check_names(licence, hub)
    before = read(previous) if previous else None
    rows = read_board(store, pool=Pool(trust=trust))
    if not rows:
        raise ConfigError("There is no row to publish yet. Run a sweep with: longwave sweep run FILE")
    made = edition(rows, store.retrainings(), title, datetime.now(UTC).isoformat(timespec="seconds"), commit)
    packed = [*packed, *(find_results(previous) if previous else ())]
    bundles, why = pack_results(store, made, results, packed)
    if why:
        report(f"Without {FOLDER}: {why}")
    curves = epochs(store.curves([seed["trial"] for row in made.rows for seed in row["seeds"]]))
    files = draw_files(made, rows, before, why, curves, note)
    write(folder, made, {**files, **describe_data(made, files, licence, hub), **bundles})
    return made


def read(folder: Path) -> Edition:
    """Return the edition in ``folder``, every file checked against the manifest.

    Raises:
        ConfigError: It is no edition, or a file was changed after publishing.
    """
    files = read_manifest(folder)
    if "board.json" not in files:
        raise ConfigError(f"{folder} is not an edition: manifest.json does not list board.json.")
    if not (folder / "board.json").exists():
        steps = f"longwave import {folder}, then longwave publish NEW-FOLDER"
        raise ConfigError(f"{folder} has no pages. Draw them from its bundles with: {steps}")
    check_files(folder, files)
    return load(read_json(folder / "board.json"), str(folder / "board.json"))


def write(folder: Path, made: Edition, contents: Mapping[str, bytes]) -> None:
    """Write files of an edition and a manifest of them to ``folder``, read-only.

    Raises:
        ConfigError: The folder holds something, or cannot be written.
    """
    _check_free(folder)
    folder = folder.absolute()
    hashes = {name: hashlib.sha256(contents[name]).hexdigest() for name in sorted(contents)}
    manifest = as_json({"schema": SCHEMA, "edition": made.id, "sha256": made.sha256, "files": hashes}) + "\n"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as kept:
            new = Path(kept) / "edition"
            for name, content in {**contents, "manifest.json": manifest.encode()}.items():
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(content)
                (new / name).chmod(0o444)
            with suppress(FileNotFoundError):
                folder.rmdir()
            new.rename(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}. Name another folder.") from None


def _check_free(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not empty, and an edition is never changed. Name a new folder.")
