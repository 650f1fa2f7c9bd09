"""Fetch a task's data set: download it, check it, unpack it, or link to where it already is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import pooch  # type: ignore[import-untyped]
from filelock import FileLock, Timeout

from longwave.platform.downloads.unpack import unpack
from longwave.tasks.base.raw import SUMS, DataError, Remote, Source, md5_of
from longwave.tasks.base.spec import TaskSpec

pooch.get_logger().setLevel("WARNING")
TIMEOUT = (10.0, 30.0)
"""Seconds a server has to accept a connection, and then to send the next bytes."""
LARGEST = 16 * 2**30
"""Most bytes of a download whose server does not say how many there are, and the most that it may say."""
BLOCK = 2**18
"""Bytes that are written at once."""
LOOPBACK = {("http", name) for name in ("127.0.0.1", "localhost", "::1")}
if TYPE_CHECKING:
    from requests import Response
OnProgress = Callable[[str, int, int | None], None]
"""``report(what, bytes done, bytes in all)``: how far something is; None for what has no known size."""


def fetch(task: TaskSpec, source: Source, report: OnProgress) -> None:
    """Make the data of ``task`` loadable: nothing if they are, else a download of what is missing or broken.

    Files appear whole or not at all; the next call downloads those that did not come. Two calls at once are safe: the
    second waits, and finds the work done.

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
            if there := next(place.iterdir(), None):
                raise DataError(f"{place} holds {there.name} already; remove that folder to use another.")
            place.rmdir()
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
    """Download what is not there beside its place, unpack archives, and move what came whole to its place."""
    place, some_missing = source.place, bool(source.missing())
    staging = place.with_name(f".{source.name}.partial")
    shutil.rmtree(staging, ignore_errors=True)  # a process that was killed left it
    (staging / "unpacked").mkdir(parents=True)
    place.mkdir(exist_ok=True)
    (place / SUMS).unlink(missing_ok=True)
    try:
        for remote in source.remotes:
            path = place / remote.name
            if path.is_file() and (md5_of(path) == remote.md5 if remote.md5 else some_missing):
                continue
            try:
                got = _download(remote, staging, report)
            except (OSError, ValueError) as error:
                what = f"{remote.name} is not in {place} and cannot be had from {remote.url} ({_reason(error)})"
                raise _refusal(task, source, what) from error
            if remote.unpack:
                report(f"unpacking {remote.name}", 0, None)
                unpack(got, staging / "unpacked")
            else:
                got.replace(path)
        _move(staging / "unpacked", place)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _download(remote: Remote, folder: Path, report: OnProgress) -> Path:
    """Download one file into a folder and return its path; there is nothing where it does not come whole.

    Raises:
        OSError, ValueError: It does not come, is too large, or has another MD5.
    """
    _check_https(remote.url)
    with ExitStack() as answers:

        def check(answer: Response, **_: object) -> None:
            answers.callback(answer.close)  # pooch leaves it open where it does not come whole
            _check_https(urljoin(answer.url, answer.headers.get("Location", "")))

        settings = {"timeout": TIMEOUT, "headers": {"Accept-Encoding": "identity"}, "hooks": {"response": check}}
        downloader = pooch.HTTPDownloader(_Progress(remote.name, report), BLOCK, **settings)
        known = f"md5:{remote.md5}" if remote.md5 else None
        return Path(pooch.retrieve(remote.url, known, remote.name, folder, downloader=downloader))


class _Progress:
    """Takes the place of pooch's progress bar: reports how far a download is, and ends one that is too large."""

    def __init__(self, name: str, report: OnProgress) -> None:
        self.name, self.report, self.total, self.done = name, report, 0, 0

    def update(self, count: int) -> None:
        """Count bytes.

        Raises:
            OSError: There are, or are announced, too many.
        """
        self.done += count
        if max(self.done, self.total) > LARGEST:
            raise OSError(f"it has more than {LARGEST} bytes")
        self.report(self.name, self.done, self.total or None)

    def reset(self) -> None:
        """Count anew: pooch does so at the end."""
        self.done = 0

    def close(self) -> None:
        """Leave what is shown to ``report``."""


def _check_https(url: str) -> None:
    """Raise OSError where others could read and change what is sent: without encryption, but from this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and (parts.scheme, parts.hostname) not in LOOPBACK:
        raise OSError(f"files come by https alone, not by {parts.scheme or 'no scheme'} from {parts.hostname}")


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
