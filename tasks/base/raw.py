"""Data sets on disk: where their files are, which are required, and the error if one is missing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from longwave.files import atomic_file
from longwave.tasks.base.cache import folder

SHIPPED = Path(__file__).resolve().parents[2] / "raw"
"""Where ``longwave sweep submit --ship`` puts data sets, inside the package."""
SUMS = "MD5SUMS"
"""File next to the data that lists their MD5, as written by ``md5sum``."""


class DataError(Exception):
    """A data file is missing or breaks a rule. The message is one line that names the file and the rule."""


@dataclass(frozen=True)
class Remote:
    """A file to download.

    Attributes:
        url: Where it is.
        name: File name to store it under, without a folder.
        md5: Its MD5, as given by its publisher; empty if unknown.
        unpack: Whether it is an archive (.gz of one file, .tar.gz, .zip) to be unpacked in the same folder.
    """

    url: str
    name: str
    md5: str = ""
    unpack: bool = False


@dataclass(frozen=True)
class Source:
    """A data set that several tasks may share.

    Attributes:
        name: Its folder's name: ``"mnist"``.
        title: Its common name.
        licence: Terms of use, in one sentence.
        needs: Required files, and folders, whose names end in a slash; relative to the folder.
        remotes: Files to download; empty if that is not allowed.
        by_hand: How to get it by hand, in one sentence.
        counts: Number of each kind of item in the original: ``{"series": 259}``.
    """

    name: str
    title: str
    licence: str
    needs: tuple[str, ...]
    remotes: tuple[Remote, ...] = ()
    by_hand: str = ""
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)

    @property
    def folder(self) -> Path:
        """The folder that holds the files, or a link to where they are; that of files shipped with Longwave, if any."""
        return shipped if (shipped := SHIPPED / self.name).is_dir() else folder() / "raw" / self.name

    @property
    def foreign(self) -> bool:
        """Whether the files belong to others, so that nothing is fetched, linked or written next to them."""
        return False

    def command(self, task: str) -> str:
        """Return the command that gets the files for a task."""
        return f"longwave data fetch {task}" + ("" if self.remotes else " --path FOLDER")

    @property
    def root(self) -> Path:
        """The folder to which file names are relative."""
        return self.folder

    def missing(self, folder: Path | None = None) -> list[str]:
        """Return the needed files that are not in ``folder``, by default in this source's own folder."""
        return [name for name in self.needs if not ((folder or self.folder) / name).exists()]

    def locate(self, task: str) -> Path:
        """Return the folder with the files. Those listed in its MD5SUMS are checked against it, once per process.

        Raises:
            DataError: A file is missing, and the message says which, where it was searched, and what to do; or it is a
                folder, or differs from the file that was fetched.
        """
        if absent := self.missing():
            problem = f"{task} needs {self.title}: {absent[0]} is not in {self.folder}."
            raise DataError(f"{problem} Get it with: {self.command(task)}. {self.by_hand}".strip())
        for path, folder_wanted in ((self.root / name, name.endswith("/")) for name in self.needs):
            if path.is_dir() != folder_wanted:
                expected, actual = ("folder", "file") if folder_wanted else ("file", "folder")
                raise DataError(f"{path}: it must be a {expected}, got a {actual}.")
            _check_has_end(path)
        _check_sums(self.root, self.needs)
        return self.root

    def check_count(self, kind: str, count: int, at_least: bool = False) -> None:
        """Check that the files have as many of ``kind`` as the original, or ``at_least`` as many.

        Raises:
            DataError: They do not: one is truncated, has duplicates, or is another file.
        """
        expected = self.counts[kind]
        if count < expected or (count > expected and not at_least):
            rule = f"there must be {expected}{' or more' if at_least else ''} {kind}, as in the original"
            raise DataError(f"{self.root}: {rule}, got {count}. Is a file truncated, or does it have duplicates?")

    def write_sums(self) -> None:
        """Write the MD5 of each needed file into MD5SUMS, so that a file that changes later is noticed."""
        files = [name for name in self.needs if (self.root / name).is_file()]
        with atomic_file(self.root / SUMS) as partial:
            partial.write_text("".join(f"{md5_of(self.root / name)}  {name}\n" for name in files), encoding="utf-8")


@cache
def _check_sums(folder: Path, names: tuple[str, ...]) -> None:
    """Check those of the files ``names`` that MD5SUMS lists; it may contain other lines too."""
    if not (folder / SUMS).is_file():
        return
    lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace")
    listed = {name: md5 for md5, name in re.findall(r"^([0-9a-f]{32}) [ *](.+)$", lines, re.MULTILINE)}
    for name in names:
        if name in listed and (folder / name).is_file():
            check_md5(folder / name, listed[name])


def md5_of(path: Path) -> str:
    """Return the MD5 of a file, 32 hex digits."""
    digest = hashlib.md5(usedforsecurity=False)
    for block in _read_blocks(path):
        digest.update(block)
    return digest.hexdigest()


def check_md5(path: Path, md5: str) -> None:
    """Check the MD5 of a file.

    Raises:
        DataError: The file has another MD5.
    """
    if (digest := md5_of(path)) != md5:
        raise DataError(f"{path}: its MD5 must be {md5}, got {digest}. Fetch it again.")


def fingerprint(paths: Iterable[Path]) -> str:
    """Return 12 hex digits of the SHA-256 of the files' contents, in order: the cache key of data derived from them."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.stat().st_size}:".encode())
        for block in _read_blocks(path):
            digest.update(block)
    return digest.hexdigest()[:12]


def open_bytes(path: Path) -> BinaryIO:
    """Return a file opened for reading bytes.

    Raises:
        DataError: It is a folder, a pipe or a device, or not readable.
    """
    _check_has_end(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: it must be a file that can be read, got: {error.strerror}.") from None


def _check_has_end(path: Path) -> None:
    """Raise DataError for a pipe, a socket or a device: reading one may never end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{path}: it must be a file, got a pipe or a device. Write its content to a file.")


def check_ended(path: Path) -> None:
    """Check that the last line of a text has a line end: without it the last number or word may be cut off.

    Raises:
        DataError: It has none.
    """
    with open_bytes(path) as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - 1))
        if size and file.read() != b"\n":
            raise DataError(
                f"{path}: its last line must have an end, got none. If the file is complete, add a line end."
            )


def _read_blocks(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as file:
        while block := file.read(2**20):
            yield block
