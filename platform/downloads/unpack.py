"""Unpack downloaded archives, which are not trusted: only plain files inside their folder, of limited size."""

from __future__ import annotations

import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path

from longwave.tasks.base.raw import DataError

BROKEN = (
    EOFError, NotImplementedError, RuntimeError, ValueError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip
"""Exceptions of the standard library for an archive that is truncated, damaged or of an unknown kind."""
BYTES = 32 * 2**30
"""Maximal bytes of an unpacked archive; Speech Commands, the largest data set here, has a tenth of that."""
RATIO, SLACK = 200, 2**26
"""Maximal ratio of unpacked to packed bytes, and bytes that any archive may have on top. Text as in .ts files has a
ratio of ten."""
HEADER = 2**24
"""Maximal bytes per read, which limits tarfile's extended headers."""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into ``folder``: .tar.gz, .tgz, .zip, or .gz of one file.

    Raises:
        DataError: The archive is broken or too large, or a member is not a plain file inside the folder.
    """
    try:
        if archive.suffix == ".zip":
            _unzip(archive, folder)
        elif archive.name.endswith((".tar.gz", ".tgz")):
            _untar(archive, folder)
        else:
            with _Bounded(archive) as stream, (folder / archive.stem).open("wb") as file:
                shutil.copyfileobj(stream, file, 2**20)
    except BROKEN as error:
        raise DataError(f"{archive} must be a complete archive, got: {error}. Fetch it again.") from error


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            _check_member(archive, folder, info.filename, kind in (0, stat.S_IFREG, stat.S_IFDIR))
        _check_size(archive, sum(info.file_size for info in packed.infolist()))  # zipfile reads at most the stated size
        packed.extractall(folder)  # nosec B202  # every member was checked


def _untar(archive: Path, folder: Path) -> None:
    """Unpack member by member, because tarfile's filters need Python 3.11.4."""
    with _Bounded(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
        for member in tar:
            plain = member.isdir() or (member.isreg() and not member.issparse())
            _check_member(archive, folder, member.name, plain)
            path = folder / member.name
            (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
            if content := tar.extractfile(member):
                with content, path.open("wb") as file:
                    shutil.copyfileobj(content, file, 2**20)
        while stream.read(2**20):  # tarfile stops before the checksum at the end of the file
            pass


class _Bounded(gzip.GzipFile):
    """A gzip file with a limit on its unpacked size."""

    def __init__(self, archive: Path) -> None:
        super().__init__(archive)
        self._archive = archive

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes; raise DataError beyond the limits."""
        if size and size > HEADER:
            raise DataError(f"{self._archive} has more than {HEADER:,} bytes in a header. It was not unpacked.")
        block = super().read(size)
        _check_size(self._archive, self.tell())
        return block


def _check_member(archive: Path, folder: Path, name: str, plain: bool) -> None:
    path = folder / name.replace("\\", "/")  # on Windows both slashes are separators
    if not plain or ":" in name or not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{archive}: every member must be a plain file inside the archive's folder, got {name!r}.")


def _check_size(archive: Path, size: int) -> None:
    if size > (limit := min(BYTES, SLACK + RATIO * archive.stat().st_size)):
        raise DataError(
            f"{archive} has more than {limit:,} bytes unpacked, more than any data set. It was not unpacked."
        )
