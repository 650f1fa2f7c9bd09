"""Fetch a task's data set: download, check and unpack it, or link to an existing folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import pooch  # type: ignore[import-untyped]
import requests
from filelock import FileLock, Timeout
from requests.adapters import BaseAdapter

from longwave.platform.downloads.unpack import unpack
from longwave.tasks.base.raw import SUMS, DataError, Remote, Source, md5_of
from longwave.tasks.base.spec import TaskSpec

pooch.get_logger().setLevel("WARNING")
TIMEOUT = (10.0, 30.0)
"""Seconds to wait for a connection, and for the next bytes."""
LARGEST = 16 * 2**30
"""Maximal bytes of a download."""
LOOPBACK = {("http", name) for name in ("127.0.0.1", "localhost", "::1")}
OnProgress = Callable[[str, int, int | None], None]
"""``report(what, bytes done, total bytes)``: progress; the total is None if unknown."""


def fetch(task: TaskSpec, source: Source, report: OnProgress) -> None:
    """Make the data of ``task`` loadable: download missing or broken files, and record the MD5 of each. The task's
    default variant is loaded, which reads and checks every file. Files are written atomically, and the next call
    downloads those that failed. Concurrent calls are safe: the second waits, and then has nothing to do.

    Raises:
        DataError: The data are not available, or not as expected. The message says how to get them by hand.
    """
    with nullcontext() if source.foreign else _locked(task, source, report):
        error = _error_of_loading(task, source, report)
        if error and source.remotes:
            if source.folder.is_symlink():
                raise DataError(f"{error} {source.folder} is a link; remove it to download the files.")
            _download_all(task, source, report)
            error = _error_of_loading(task, source, report)
        if error:
            raise error
        if not (source.foreign or source.folder.is_symlink()):
            source.write_sums()


def link(task: TaskSpec, source: Source, folder: Path, report: OnProgress) -> None:
    """Use the files in ``folder``: load the task from them once, and link to them. Nothing is written there.

    Raises:
        DataError: A file is missing or broken, or there are files already at the place of the link; no link is created.
    """
    if source.foreign:
        raise DataError(f"{task.name} reads its files in {source.root}. Leave out --path {folder}.")
    target = folder.expanduser().resolve()
    with _locked(task, source, report):
        linked = source.folder
        if absent := source.missing(target):
            raise _refusal(task, source, f"{absent[0]} is not in {target}")
        previous = linked.readlink() if linked.is_symlink() else None
        if linked.is_dir() and previous is None and linked.resolve() != target:
            if present := next(linked.iterdir(), None):
                raise DataError(f"{linked} holds {present.name} already; remove that folder to use another.")
            linked.rmdir()
        try:
            if linked.resolve() != target:
                _replace_link(linked, target)
            if error := _error_of_loading(task, source, report):
                raise error
        except BaseException:
            if previous is not None:
                _replace_link(linked, previous)
            elif linked.is_symlink():
                linked.unlink()
            raise


def _error_of_loading(task: TaskSpec, source: Source, report: OnProgress) -> DataError | None:
    report(f"reading {source.title}", 0, None)
    try:
        task.load(task.variant)
    except DataError as error:
        return error
    return None


def _replace_link(link: Path, target: Path) -> None:
    """Point the symbolic link ``link`` to ``target``, atomically."""
    temporary = link.with_name(f".{link.name}.link")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)


@contextmanager
def _locked(task: TaskSpec, source: Source, report: OnProgress) -> Iterator[None]:
    """Lock this data set against other fetches, and turn OSError into DataError."""
    try:
        source.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(source.folder.with_name(f".{source.name}.lock"))
        try:
            acquired = lock.acquire(timeout=0)
        except Timeout:
            report("waiting for another fetch", 0, None)
            acquired = lock.acquire()
        with acquired:
            yield
    except OSError as error:
        raise _refusal(task, source, f"{source.folder} cannot be filled or read ({_reason(error)})") from error


def _download_all(task: TaskSpec, source: Source, report: OnProgress) -> None:
    """Download missing files, unpack archives, and move complete files to their place."""
    folder, some_missing = source.folder, bool(source.missing())
    staging = folder.with_name(f".{source.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)  # left by a process that was killed
    (unpacked := staging / "unpacked").mkdir(parents=True)
    folder.mkdir(exist_ok=True)
    (folder / SUMS).unlink(missing_ok=True)
    try:
        for remote in source.remotes:
            path = folder / remote.name
            if path.is_file() and (md5_of(path) == remote.md5 if remote.md5 else some_missing):
                continue
            try:
                downloaded = _download(remote, staging, report)
            except (OSError, ValueError) as error:
                problem = (
                    f"{remote.name} is not in {folder} and cannot be downloaded from {remote.url} ({_reason(error)})"
                )
                raise _refusal(task, source, problem) from error
            if remote.unpack:
                report(f"unpacking {remote.name}", 0, None)
                unpack(downloaded, unpacked)
            else:
                downloaded.replace(path)
        for entry in unpacked.iterdir():
            if (destination := folder / entry.name).is_dir():
                shutil.rmtree(destination)
            entry.replace(destination)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _download(remote: Remote, folder: Path, report: OnProgress) -> Path:
    """Download one file into a folder and return its path; incomplete files are removed.

    Raises:
        OSError, ValueError: The download fails, is too large, or has another MD5.
    """

    def write(url: str, path: str, _: object) -> None:
        request_headers = {"Accept-Encoding": "identity"}
        with (
            _HttpsSession() as session,
            session.get(url, stream=True, timeout=TIMEOUT, headers=request_headers) as answer,
        ):
            answer.raise_for_status()
            total = int(answer.headers.get("Content-Length", 0))
            with open(path, "wb") as file:
                for block in answer.iter_content(2**18):
                    file.write(block)
                    if max(file.tell(), total) > LARGEST:
                        raise OSError(f"it has more than {LARGEST} bytes")
                    report(remote.name, file.tell(), total or None)

    expected_hash = f"md5:{remote.md5}" if remote.md5 else None
    return Path(pooch.retrieve(remote.url, expected_hash, remote.name, folder, downloader=write))


class _HttpsSession(requests.Session):
    """A session that uses only HTTPS, also after redirects, so that nobody can read or change files in transit."""

    def get_adapter(self, url: str) -> BaseAdapter:
        parts = urlsplit(url)
        if parts.scheme != "https" and (parts.scheme, parts.hostname) not in LOOPBACK:
            raise OSError(
                f"files are downloaded only by https, not by {parts.scheme or 'no scheme'} from {parts.hostname}"
            )
        return super().get_adapter(url)


def _reason(error: BaseException) -> str:
    """Return the root cause of an error in a few words."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _refusal(task: TaskSpec, source: Source, problem: str) -> DataError:
    by_hand = f"put the files into a folder by hand and run: longwave data fetch {task.name} --path FOLDER."
    return DataError(f"{task.name} needs {source.title}: {problem}. Try again, or {by_hand} {source.by_hand}".strip())
