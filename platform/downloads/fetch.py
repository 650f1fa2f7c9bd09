"""Fetch a task's data set: download it, check it, unpack it, or link to where it already is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import requests
import urllib3
from filelock import FileLock, Timeout

from longwave.platform.downloads.unpack import unpack
from longwave.tasks.base.raw import SUMS, DataError, Remote, Source, md5_of
from longwave.tasks.base.spec import TaskSpec

TIMEOUT = (10.0, 30.0)
"""Seconds a server has to accept a connection, and then to send the next bytes."""
LARGEST = 16 * 2**30
"""Most bytes of a download whose server does not say how many there are, and the most that it may say."""
LOOPBACK = {("http", name) for name in ("127.0.0.1", "localhost", "::1")}
OnProgress = Callable[[str, int, int | None], None]
"""``report(what, bytes done, bytes in all)``: how far something is; None for what has no known size."""


def fetch(task: TaskSpec, source: Source, report: OnProgress) -> None:
    """Make the data of ``task`` loadable: nothing if they are, else a download of what is missing or broken.

    Files appear whole or not at all. What a broken-off download left stays beside them as NAME.partial, and the next
    call goes on from there. Two calls at once are safe: the second waits, and finds the work done.

    Args:
        task: The task; its default variant is loaded, which reads and checks every file.
        source: Its data set.
        report: Is told how far a download is.

    Raises:
        DataError: The data cannot be had, or are not what they must be. The message says how to get them by hand.
    """
    if source.foreign:
        if broken := _load(task, source, report):
            raise broken
        return
    with _alone(task, source, report):
        broken = _load(task, source, report)
        if broken and source.remotes:
            if source.place.is_symlink():
                raise DataError(f"{broken} {source.place} is a link; remove it to download the files.")
            _download_all(task, source, report)
            broken = _load(task, source, report)
        if broken:
            raise broken
        if not source.place.is_symlink():
            source.write_sums()


def link(task: TaskSpec, source: Source, folder: Path, report: OnProgress) -> None:
    """Use the files in ``folder``: load the task from them once, and leave a link to them. Nothing is written there.

    Raises:
        DataError: A file is missing or broken, or files lie already where the link would be; there is no new link.
    """
    if source.foreign:
        raise DataError(f"{source.title} arrives with a package, in {source.place}. Leave out --path {folder}.")
    target = folder.expanduser().resolve()
    with _alone(task, source, report):
        place = source.place
        if absent := source.missing(target):
            raise _refusal(task, source, f"{absent[0]} is not in {target}")
        if place.is_dir() and not place.is_symlink() and place.resolve() != target:
            _clear(source)
        before = place.readlink() if place.is_symlink() else None
        try:
            if place.resolve() != target:
                _point(place, target)
            if broken := _load(task, source, report):
                raise broken
        except BaseException:
            if before is not None:
                _point(place, before)
            elif place.is_symlink():
                place.unlink()
            raise


def _load(task: TaskSpec, source: Source, report: OnProgress) -> DataError | None:
    """Load the task, which reads and checks every file; return what is wrong with them."""
    report(f"reading {source.title}", 0, None)
    try:
        task.load(task.variant)
    except DataError as error:
        return error
    return None


def _clear(source: Source) -> None:
    """Remove the data folder, which must hold nothing but what a download that broke off left."""
    archives = [remote.name for remote in source.remotes if remote.unpack]
    for path in source.place.iterdir():
        if path.suffix not in (".partial", ".etag") and path.name not in archives:
            raise DataError(f"{source.place} holds {path.name} already; remove that folder to use another.")
    shutil.rmtree(source.place)


def _point(place: Path, target: Path) -> None:
    """Make ``place`` a link to ``target``, whatever it linked to before."""
    new = place.with_name(f".{place.name}.link")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(place)


@contextmanager
def _alone(task: TaskSpec, source: Source, report: OnProgress) -> Iterator[None]:
    """Keep other fetches of this data set out, and turn what the disk refuses into a DataError."""
    try:
        source.place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(source.place.with_name(f".{source.name}.lock"))
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            report("waiting for another fetch", 0, None)
            held = lock.acquire()
        with held:
            yield
    except OSError as error:
        raise _refusal(task, source, f"{source.place} cannot be filled or read ({_reason(error)})") from error


def _download_all(task: TaskSpec, source: Source, report: OnProgress) -> None:
    """Download what is not there, unpack the archives, and remove them."""
    place, some_missing = source.place, bool(source.missing())
    place.mkdir(exist_ok=True)
    (place / SUMS).unlink(missing_ok=True)
    for remote in source.remotes:
        path = place / remote.name
        if path.is_file() and (md5_of(path) == remote.md5 if remote.md5 else some_missing):
            continue
        try:
            _download(remote, path, report)
        except (OSError, urllib3.exceptions.HTTPError) as error:
            what = f"{remote.name} is not in {place} and cannot be had from {remote.url} ({_reason(error)})"
            raise _refusal(task, source, what) from error
    archives = [place / remote.name for remote in source.remotes if remote.unpack]
    staging = place.with_name(f".{source.name}.unpacking")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        for archive in archives:
            report(f"unpacking {archive.name}", 0, None)
            unpack(archive, staging)
        _move(staging, place)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    for archive in archives:
        archive.unlink()


def _download(remote: Remote, path: Path, report: OnProgress) -> None:
    """Download one file, from where an earlier attempt broke off if it is still the same file.

    Raises:
        OSError, urllib3.exceptions.HTTPError: It did not come whole; what came is kept. Or it has another MD5.
    """
    partial, mark = path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.etag")
    done = partial.stat().st_size if partial.exists() and mark.exists() else 0
    with _ask(remote.url, done, mark.read_text(encoding="latin-1") if done else "") as answer:
        done = done if answer.status_code == requests.codes.partial_content else 0
        size = answer.headers.get("Content-Length", "")
        total = done + int(size) if size.isdecimal() else None
        _check_size(total or 0, LARGEST)
        with partial.open("ab" if done else "wb") as file:
            if not done:
                mark.write_text(_version(answer), encoding="latin-1")
            for block in answer.raw.stream(2**18, decode_content=False):
                _check_size(done + len(block), total or LARGEST)
                done += file.write(block)
                report(remote.name, done, total)
    if total is not None and done != total:
        raise OSError(f"it broke off after {done} of {total} bytes")
    mark.unlink()
    if remote.md5 and (found := md5_of(partial)) != remote.md5:
        partial.unlink()
        raise OSError(f"its MD5 must be {remote.md5}, got {found}")
    partial.replace(path)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise OSError(f"it has more than {most} bytes")


def _check_https(url: str) -> None:
    """Raise OSError where others could read and change what is sent: without encryption, but from this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and (parts.scheme, parts.hostname) not in LOOPBACK:
        raise OSError(f"files come by https alone, not by {parts.scheme or 'no scheme'} from {parts.hostname}")


def _ask(url: str, done: int, version: str) -> requests.Response:
    """Ask for a file without its first ``done`` bytes; for all of it where they are of another version."""
    _check_https(url)
    headers = {"Accept-Encoding": "identity"}
    if resume := bool(done and version):
        headers |= {"Range": f"bytes={done}-", "If-Range": version}
    answer = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    try:
        for step in (*answer.history, answer):
            _check_https(step.url)
    except OSError:
        answer.close()
        raise
    code, starts = answer.status_code, answer.headers.get("Content-Range", "").startswith(f"bytes {done}-")
    if code == requests.codes.ok or (resume and code == 206 and starts and _version(answer) in ("", version)):
        return answer
    answer.close()
    if resume and code in (206, 416):
        return _ask(url, 0, "")
    raise OSError(f"HTTP {code} {answer.reason}")


def _version(answer: requests.Response) -> str:
    """Return what tells this version of a file from others: its strong ETag, else its date, else nothing."""
    etag = answer.headers.get("ETag", "W/")
    return answer.headers.get("Last-Modified", "") if etag.startswith("W/") else etag


def _move(staging: Path, place: Path) -> None:
    """Move what was unpacked to its place, each top-level file or folder in one step."""
    for new in staging.iterdir():
        old = place / new.name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        new.replace(old)


def _reason(error: BaseException) -> str:
    """Return in a few words what first went wrong."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _refusal(task: TaskSpec, source: Source, what: str) -> DataError:
    by_hand = f"put the files into a folder by hand and run: longwave data fetch {task.name} --path FOLDER."
    return DataError(f"{task.name} needs {source.title}: {what}. Try again, or {by_hand} {source.by_hand}".strip())
