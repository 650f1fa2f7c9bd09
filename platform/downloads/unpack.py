"""Unpack downloaded archives. They are not trusted: no member may leave its folder or be more than a plain file, and
none may grow beyond what a data set needs.
"""

from __future__ import annotations

import gzip
import shutil
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PureWindowsPath
from urllib.parse import unquote

from longwave.tasks.base.raw import DataError

BROKEN = (
    EOFError, NotImplementedError, RuntimeError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""What the standard library raises for an archive that is cut off, damaged or of an unknown kind."""
BYTES = 32 * 2**30
"""Most bytes of an unpacked archive; Speech Commands, the largest data set here, has a tenth of it."""
MEMBERS = 1_000_000
"""Most files and folders; the Large Movie Review Dataset has a tenth of it."""
RATIO = 200
"""Most bytes that a packed one may become; text as in .ts files shrinks to a tenth."""
SLACK = 2**26
"""Bytes that any archive may have unpacked, however small it is."""
HEADER = 2**24
"""Most bytes that are read at once, as tarfile reads extended headers."""
DEVICES = {"con", "prn", "aux", "nul", *(f"{kind}{k}" for kind in ("com", "lpt") for k in range(10))}
"""Names that Windows takes for devices, whatever stands behind their first dot."""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into ``folder``: .tar.gz, .tgz, .zip, or .gz of one file.

    Raises:
        DataError: It is broken, and has been removed; or a member is not a plain file inside the folder, or there are
            too many, or they are too large.
    """
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as packed:
                _check_zip(archive, packed.infolist())
                packed.extractall(folder)  # nosec B202  # every member was checked
        elif archive.name.endswith((".tar.gz", ".tgz")):
            with _Bounded(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
                for number, member in enumerate(tar, 1):
                    _check_most(archive, number, MEMBERS, "members")
                    tar.members = []  # type: ignore[attr-defined]  # else tarfile keeps all of them
                    _extract(archive, tar, member, folder)
                while stream.read(2**20):  # tar stops before the checksum, which stands at the end
                    pass
        else:
            with _Bounded(archive) as stream, (folder / archive.stem).open("wb") as file:
                shutil.copyfileobj(stream, file, 2**20)
    except BROKEN as error:
        archive.unlink()
        raise DataError(f"{archive} must be a whole archive, got: {error}. It is removed; fetch it again.") from error


class _Bounded(gzip.GzipFile):
    """A gzip file that refuses to become too large."""

    def __init__(self, archive: Path) -> None:
        super().__init__(archive)
        self._archive, self._most = archive, _most(archive)

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes; DataError beyond the limits."""
        _check_most(self._archive, size or 0, HEADER, "bytes in a header")
        found = super().read(size)
        _check_most(self._archive, self.tell(), self._most, "bytes unpacked")
        return found


def _check_zip(archive: Path, members: Iterable[zipfile.ZipInfo]) -> None:
    """Raise DataError for too many or too large members, or one that is no plain file; sizes are kept by zipfile."""
    size, most = 0, _most(archive)
    for number, info in enumerate(members, 1):
        kind = stat.S_IFMT(info.external_attr >> 16)
        _check_member(archive, info.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
        size += info.file_size
        _check_most(archive, number, MEMBERS, "members")
        _check_most(archive, size, most, "bytes unpacked")


def _extract(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write one file's content or make one folder: tarfile's own filters came only with Python 3.11.4."""
    _check_member(archive, member.name, (member.isreg() and not member.issparse()) or member.isdir())
    path = folder / member.name
    (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
    if content := tar.extractfile(member):
        with content, path.open("wb") as file:
            shutil.copyfileobj(content, file, 2**20)


def _check_member(archive: Path, name: str, plain: bool) -> None:
    if not plain or not _inside(name):
        raise DataError(f"{archive}: every member must be a plain file inside the archive's folder, got {name!r}.")


def _inside(name: str) -> bool:
    """Return whether a name stays in its folder, on any system and however often somebody decodes it."""
    return all(map(_plain, (name, unquote(name), unquote(unquote(name)))))


def _plain(name: str) -> bool:
    """Return whether a name is one of a file or a folder inside; Windows takes both slashes for separators."""
    path = PureWindowsPath(unicodedata.normalize("NFKC", name))
    parts = [part.rstrip(" .").partition(".")[0].rstrip().lower() for part in path.parts]  # as Windows cuts them
    acts = any(unicodedata.category(sign) in ("Cc", "Cs") or sign == ":" for sign in name)
    up = any(not part.strip(" .") for part in path.parts)
    odd = acts or up or path.drive or path.root or name.startswith("~") or DEVICES & {*parts}
    return bool(path.parts or name in (".", "./")) and not odd


def _most(archive: Path) -> int:
    return min(BYTES, SLACK + RATIO * archive.stat().st_size)


def _check_most(archive: Path, count: int, most: int, what: str) -> None:
    if count > most:
        raise DataError(f"{archive} has more than {most:,} {what}: no data set has. It is not unpacked.")
