"""Bundles that ship with the package. They are identified by SHA-256, so their content is not checked again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from longwave.platform.boards.trust import shipped
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import File
from longwave.platform.exchange.reading import read_file, unpack
from longwave.platform.records.about import About

TRIAL = re.compile(rb'"trial ([0-9a-f]{16})":"')
"""Matches the hashes of trials in a bundle written by this program."""


def are_shipped(paths: Sequence[Path]) -> bool:
    """Return whether all files are, byte for byte, bundles that ship with the package."""
    return all(_bundle_name(read_file(path)) for path in paths)


def list_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of bundles that ship with the package."""
    return [_bundle_name(read_file(path)) for path in paths]


def list_trials(paths: Sequence[Path]) -> list[str]:
    """Return the ids of their trials, without building other objects."""
    return [trial.decode() for path in paths for trial in TRIAL.findall(_read_text(path))]


def read_each(paths: Sequence[Path]) -> Iterator[File]:
    """Yield the bundles one by one; equal ``about`` records of trials are one object."""
    abouts: dict[str, About] = {}
    for path in paths:
        yield File.model_validate_json(_read_text(path), context=abouts)


def _read_text(path: Path) -> bytes:
    packed = read_file(path)
    if not _bundle_name(packed):
        raise ConfigError(f"{path} was changed while it was imported. Import it again.")
    return b"".join(unpack(packed, path))


def _bundle_name(packed: bytes) -> str:
    """Return the name of a shipped bundle from its bytes; empty if it is not shipped."""
    names = {sha256: name for name, sha256 in shipped().items()}
    return names.get(hashlib.sha256(packed).hexdigest(), "")
