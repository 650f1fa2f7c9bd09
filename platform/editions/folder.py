"""The folder of an edition: its files, verified against the manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.reading import check_json, read_file

FOLDER = "results"
"""Subfolder of an edition for its results."""
SCORES = "eval_results"
"""Subfolder of an edition for each model's scores for the Hugging Face Hub."""


def find_results(folder: Path) -> list[Path]:
    """Return the bundles of the edition in ``folder``, each checked against the manifest.

    Its pages are not checked and may be absent, because they are only views of these bundles.

    Raises:
        ConfigError: It is not an edition, or a bundle was changed after publishing.
    """
    files = {name: sha256 for name, sha256 in read_manifest(folder).items() if name.startswith(f"{FOLDER}/")}
    return [folder / name for name in check_files(folder, files)]


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of an edition's files by name."""
    manifest = read_json(folder / "manifest.json")
    files = manifest.get("files") if isinstance(manifest, dict) else None
    if not isinstance(files, dict) or not all(_is_own(name) for name in files):
        raise ConfigError(f"{folder} is not an edition: manifest.json does not list its files.")
    return files


def _is_own(name: str) -> bool:
    """Return whether a name is a file in an edition's folder or in one of its subfolders."""
    folder, _, file = name.rpartition("/")
    return folder in ("", FOLDER, SCORES) and file == Path(file).name not in ("", "..")


def check_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the names of files of an edition after checking their hashes.

    Raises:
        ConfigError: A file is missing or was changed.
    """
    for name, sha256 in files.items():
        file = folder / name
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
            raise ConfigError(
                f"{file} differs from the published file, whose hash is in manifest.json. Get an intact copy."
            )
    return list(files)


def read_json(file: Path) -> Any:
    """Return the content of a JSON file of an edition."""
    try:
        return json.loads(check_json([read_file(file)], file))
    except ConfigError as error:
        raise ConfigError(f"{file.parent} is not an edition: {error}") from None
