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
from longwave.platform.editions.results import NAME as RESULTS
from longwave.platform.editions.results import collected
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle, limits
from longwave.platform.exchange.bundle import File
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
    tell: Callable[[str], object] = str,
    trust: Sequence[str] = (),
) -> Edition:
    """Write an edition of all boards in ``store`` to ``folder`` and return it.

    Args:
        folder: Where to.
        store: What is published.
        title: Its heading.
        commit: Of the code that writes it.
        previous: Folder of the edition before; what changed is told.
        results: Whether all runs are put in; see ``results.collected``.
        tell: Hears in a line why they are not.
        trust: Bundles whose trainings count like those made here; see ``Pool``.

    Raises:
        ConfigError: The folder holds something, no board has a row, or ``previous`` is no sound edition.
    """
    _check_free(folder)
    before = read(previous) if previous else None
    rows = read_board(store, pool=Pool(trust=trust))
    if not rows:
        raise ConfigError("There is no row to publish yet. Run a sweep with: longwave sweep run FILE")
    made = edition(rows, store.retrainings(), title, datetime.now(UTC).isoformat(timespec="seconds"), commit)
    packed, why = collected(store, made, results)
    if why:
        tell(f"Without {RESULTS}: {why}")
    trials = [seed["trial"] for row in made.rows for seed in row["seeds"]]
    write(folder, made, rows, before, packed, why, epochs(store.curves(trials)))
    return made


def read(folder: Path) -> Edition:
    """Return the edition in ``folder``, every file checked against the manifest.

    Raises:
        ConfigError: It is no edition, or a file was changed after publishing.
    """
    return _read(folder)[0]


def received(folder: Path) -> tuple[Edition, File]:
    """Return the edition in ``folder``, as ``read`` does, and its results, as ``bundle.read`` does.

    Raises:
        ConfigError: As these two; or it has no results.
    """
    made, files = _read(folder)
    if RESULTS not in files:
        raise ConfigError(f"{folder} has no {RESULTS}: nothing can be imported. Ask for: longwave publish --results")
    return made, bundle.read(folder / RESULTS)


def write(
    folder: Path,
    made: Edition,
    rows: Sequence[Row],
    before: Edition | None,
    results: bytes,
    lacks: str,
    curves: Curves,
) -> None:
    """Write the edition made of ``rows`` to ``folder``, with what changed since ``before`` and packed results, if any.

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
    results: bytes,
    lacks: str,
    curves: Curves,
) -> None:
    """Write all files into an empty folder and make them read-only."""
    changes = difference(before, made) if before else []
    for name, text in texts(made, rows, before.id if before else None, changes, lacks, curves).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    if results:
        (folder / RESULTS).write_bytes(results)
    for name, table in tables(made).items():
        table.to_parquet(folder / name, index=False)
    files = {file.name: _sha256(file) for file in sorted(folder.iterdir())}
    head = {"schema": SCHEMA, "edition": made.id, "sha256": made.sha256}
    (folder / "manifest.json").write_text(as_json({**head, "files": files}) + "\n", encoding="utf-8", newline="\n")
    for file in folder.iterdir():
        file.chmod(0o444)


def _check_free(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not an empty folder, and an edition is never changed. Name a new one.")


def _read(folder: Path) -> tuple[Edition, Mapping[str, str]]:
    """Return an edition, and the hashes of its files by name, each found to be right."""
    manifest = _json(folder / "manifest.json")
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or "board.json" not in files or any(Path(name).name != name for name in files):
        raise ConfigError(f"{folder} is no edition: manifest.json does not name its files.")
    for name, sha256 in files.items():
        file = folder / name
        if not file.is_file() or _sha256(file) != sha256:
            raise ConfigError(f"{file} is not the file that was published: see manifest.json. Take a sound copy.")
    return load(_json(folder / "board.json"), str(folder / "board.json")), files


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
