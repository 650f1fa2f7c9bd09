"""Editions on disk: one folder of files that never change. A folder is there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from longwave.platform.editions.edition import SCHEMA, Edition, edition, load
from longwave.platform.editions.figures import epochs
from longwave.platform.editions.files import draw_files
from longwave.platform.editions.results import FOLDER, pack_results
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import limits
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

    Raises:
        ConfigError: The folder holds something, no board has a row, or ``previous`` is no sound edition.
    """
    _check_free(folder)
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
    write(folder, made, {**draw_files(made, rows, before, why, curves), **bundles})
    return made


def read(folder: Path) -> Edition:
    """Return the edition in ``folder``, every file checked against the manifest.

    Raises:
        ConfigError: It is no edition, or a file was changed after publishing.
    """
    files = _read_manifest(folder)
    if "board.json" not in files:
        raise ConfigError(f"{folder} is no edition: manifest.json does not name board.json.")
    if not (folder / "board.json").exists():
        steps = f"longwave import {folder}, then longwave publish NEW-FOLDER"
        raise ConfigError(f"{folder} has no pages, which are drawn from its bundles. Draw them with: {steps}")
    _check_files(folder, files)
    return load(_json(folder / "board.json"), str(folder / "board.json"))


def find_results(folder: Path) -> list[Path]:
    """Return the bundles of the edition in ``folder``, each checked against the manifest.

    Its pages may be absent, and are not looked at: they are views of an earlier day, drawn from these bundles.

    Raises:
        ConfigError: It is no edition, or a bundle was changed after publishing.
    """
    files = {name: sha256 for name, sha256 in _read_manifest(folder).items() if name.startswith(f"{FOLDER}/")}
    return [folder / name for name in _check_files(folder, files)]


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
        raise ConfigError(f"{folder} is not an empty folder, and an edition is never changed. Name a new one.")


def _read_manifest(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of an edition's files by their names."""
    manifest = _json(folder / "manifest.json")
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or not all(_is_own(name) for name in files):
        raise ConfigError(f"{folder} is no edition: manifest.json does not name its files.")
    return files


def _is_own(name: str) -> bool:
    """Return whether a name is that of a file in an edition's folder or among its bundles."""
    return Path(name).name == name.removeprefix(f"{FOLDER}/") != ".."


def _check_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the names of files of an edition, each found to be the one that was published."""
    for name, sha256 in files.items():
        file = folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
            raise ConfigError(f"{file} is not the file that was published: see manifest.json. Take a sound copy.")
    return list(files)


def _json(file: Path) -> Any:
    """Return the content of a JSON file of an edition."""
    try:
        if (size := file.stat().st_size) > limits.BYTES:
            raise ValueError(f"it has {size} bytes, {limits.BYTES} at most")
        text = file.read_bytes()
        limits.check_count(text, file)
        return json.loads(text.decode("utf-8"), parse_constant=_refuse)
    except (OSError, RecursionError, ValueError) as error:
        raise ConfigError(f"{file.parent} is no edition: {file.name} cannot be read: {error}.") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")
