"""Data sets on disk: where their files lie, what must be there, and what is said when something is not."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from longwave.files import whole
from longwave.tasks.base.cache import folder

SUMS = "MD5SUMS"
"""File beside the data that lists their MD5, as ``md5sum`` writes it."""


class DataError(Exception):
    """A data file is missing or breaks a rule. The message is one line that names the file and the rule."""


@dataclass(frozen=True)
class Remote:
    """A file to download.

    Attributes:
        url: Where it is.
        name: File name to keep it under, without a folder.
        md5: Its MD5, as its publisher prints it; empty where none is known.
        unpack: Whether it is an archive (.gz of one file, .tar.gz, .zip) to be unpacked beside itself.
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
        title: As people call it.
        licence: Terms of use, in one sentence.
        needs: Files or folders that must be there, relative to the folder.
        remotes: What to download; empty where that is not allowed.
        by_hand: How to get it by hand, in one sentence.
    """

    name: str
    title: str
    licence: str
    needs: tuple[str, ...]
    remotes: tuple[Remote, ...] = ()
    by_hand: str = ""

    @property
    def place(self) -> Path:
        """The folder that holds the files, or a link to where they are."""
        return folder() / "raw" / self.name

    def missing(self, place: Path | None = None) -> list[str]:
        """Return the needed files that are not in ``place``, by default in this source's own folder."""
        return [name for name in self.needs if not ((place or self.place) / name).exists()]

    def locate(self, task: str) -> Path:
        """Return the folder with the files. Those listed in its MD5SUMS are checked against it, once a process.

        Raises:
            DataError: Some file is missing; the message says which, where it was looked for, and what to do. Or it
                is not the file that was fetched.
        """
        if absent := self.missing():
            get = f"longwave data fetch {task}" + ("" if self.remotes else " --path FOLDER")
            what = f"{task} needs {self.title}: {absent[0]} is not in {self.place}."
            raise DataError(f"{what} Get it with: {get}. {self.by_hand}".strip())
        _check_sums(self.place, self.needs)
        return self.place

    def write_sums(self) -> None:
        """Write the MD5 of each needed file into MD5SUMS, so that a file that changes later is noticed."""
        files = [name for name in self.needs if (self.place / name).is_file()]
        with whole(self.place / SUMS) as partial:
            partial.write_text("".join(f"{md5_of(self.place / name)}  {name}\n" for name in files), encoding="utf-8")


@cache
def _check_sums(place: Path, names: tuple[str, ...]) -> None:
    """Check the files ``names`` that MD5SUMS lists. It may list others, and lines of other forms."""
    if not (place / SUMS).is_file():
        return
    lines = (place / SUMS).read_text(encoding="utf-8", errors="replace")
    listed = {name: md5 for md5, name in re.findall(r"^([0-9a-f]{32}) [ *](.+)$", lines, re.MULTILINE)}
    for name in names:
        if name in listed and (place / name).is_file():
            check_md5(place / name, listed[name])


def md5_of(path: Path) -> str:
    """Return the MD5 of a file, 32 hex digits."""
    digest = hashlib.md5(usedforsecurity=False)
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def check_md5(path: Path, md5: str) -> None:
    """Do nothing for a file with this MD5.

    Raises:
        DataError: The file has another MD5.
    """
    if (found := md5_of(path)) != md5:
        raise DataError(f"{path}: its MD5 must be {md5}, got {found}. Fetch it again.")


def fingerprint(paths: Iterable[Path]) -> str:
    """Return 12 hex digits of the SHA-256 of the files' contents, in order: the key of what is made from them."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.stat().st_size}:".encode())
        for block in _blocks(path):
            digest.update(block)
    return digest.hexdigest()[:12]


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(2**20):
            yield block
