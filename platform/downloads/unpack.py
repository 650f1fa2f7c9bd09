"""Unpack downloaded archives. They are not trusted: no member may leave its folder or be more than a plain file."""

from __future__ import annotations

import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PureWindowsPath

from longwave.tasks.base.raw import DataError

BROKEN = (EOFError, RuntimeError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile, zlib.error)
"""What the standard library raises for an archive that is cut off, damaged or of an unknown kind."""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into ``folder``: .tar.gz, .tgz, .zip, or .gz of one file.

    Raises:
        DataError: It is broken, and has been removed; or a member is not a plain file inside the folder.
    """
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as packed:
                for info in packed.infolist():
                    _check_member(archive, info.filename, not stat.S_ISLNK(info.external_attr >> 16))
                packed.extractall(folder)
        elif archive.name.endswith((".tar.gz", ".tgz")):
            with gzip.open(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
                for member in tar:
                    _extract(archive, tar, member, folder)
                while stream.read(2**20):  # tar stops before the checksum, which stands at the end
                    pass
        else:
            with gzip.open(archive) as stream, (folder / archive.stem).open("wb") as file:
                shutil.copyfileobj(stream, file, 2**20)
    except BROKEN as error:
        archive.unlink()
        raise DataError(f"{archive} must be a whole archive, got: {error}. It is removed; fetch it again.") from error


def _extract(archive: Path, tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write one file's content or make one folder: tarfile's own filters came only with Python 3.11.4."""
    _check_member(archive, member.name, member.isreg() or member.isdir())
    path = folder / member.name
    (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
    if content := tar.extractfile(member):
        with content, path.open("wb") as file:
            shutil.copyfileobj(content, file, 2**20)


def _check_member(archive: Path, name: str, plain: bool) -> None:
    path = PureWindowsPath(name)  # takes / and \ for separators
    if not plain or path.drive or path.root or ".." in path.parts:
        raise DataError(f"{archive}: every member must be a plain file inside the archive's folder, got {name!r}.")
