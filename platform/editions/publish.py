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

from longwave.platform.boards.row import Row
from longwave.platform.editions.changes import difference
from longwave.platform.editions.edition import SCHEMA, Edition, edition, load
from longwave.platform.editions.figures import Curves, epochs
from longwave.platform.editions.files import tables, texts
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
    trials = [seed["trial"] for row in made.rows for seed in row["seeds"]]
    write(folder, made, rows, before, bundles, why, epochs(store.curves(trials)))
    return made


def read(folder: Path) -> Edition:
    """Return the edition in ``folder``, every file checked against the manifest.

    Raises:
        ConfigError: It is no edition, or a file was changed after publishing.
    """
    _check_files(folder)
    return load(_json(folder / "board.json"), str(folder / "board.json"))


def find_results(folder: Path) -> list[Path]:
    """Return the bundles of the edition in ``folder``, every file checked against the manifest.

    What its pages show is not looked at: they are views of an earlier day, drawn from these bundles.

    Raises:
        ConfigError: It is no edition, or a file was changed after publishing.
    """
    return [folder / name for name in _check_files(folder) if name.startswith(f"{FOLDER}/")]


def write(
    folder: Path,
    made: Edition,
    rows: Sequence[Row],
    before: Edition | None,
    results: Mapping[str, bytes],
    lacks: str,
    curves: Curves,
) -> None:
    """Write the edition made of ``rows`` to ``folder``, with what changed since ``before`` and bundles by their names.

    Without results, ``lacks`` says why; ``curves`` are the epochs of its retrainings.

    Raises:
        ConfigError: The folder holds something, or cannot be written.
    """
    _check_free(folder)
    folder = folder.absolute()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as kept:
            new = Path(kept) / "edition"
            new.mkdir()
            _fill(new, made, rows, before, results, lacks, curves)
            with suppress(FileNotFoundError):
                folder.rmdir()
            new.rename(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror}. Name another folder.") from None


def _fill(
    folder: Path,
    made: Edition,
    rows: Sequence[Row],
    before: Edition | None,
    results: Mapping[str, bytes],
    lacks: str,
    curves: Curves,
) -> None:
    """Write all files into an empty folder and make them read-only."""
    changes = difference(before, made) if before else []
    for name, text in texts(made, rows, before.id if before else None, changes, lacks, curves).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    if results:
        (folder / FOLDER).mkdir()
    for name, content in results.items():
        (folder / FOLDER / name).write_bytes(content)
    for name, table in tables(made).items():
        table.to_parquet(folder / name, index=False)
    files = {file.relative_to(folder).as_posix(): _sha256(file) for file in sorted(_files(folder))}
    head = {"schema": SCHEMA, "edition": made.id, "sha256": made.sha256}
    (folder / "manifest.json").write_text(as_json({**head, "files": files}) + "\n", encoding="utf-8", newline="\n")
    for file in _files(folder):
        file.chmod(0o444)


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def _check_free(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not an empty folder, and an edition is never changed. Name a new one.")


def _check_files(folder: Path) -> list[str]:
    """Return the names of an edition's files, each found to be the one that was published."""
    manifest = _json(folder / "manifest.json")
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or any(Path(name).name != name.removeprefix(f"{FOLDER}/") for name in files):
        raise ConfigError(f"{folder} is no edition: manifest.json does not name its files.")
    for name, sha256 in files.items():
        file = folder / name
        if not file.is_file() or _sha256(file) != sha256:
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


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
