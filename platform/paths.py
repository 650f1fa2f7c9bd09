"""Default places of Longwave's files, and addresses given by the user."""

from __future__ import annotations

import os
import secrets
import shlex
import sqlite3
import stat
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.files import own_folder
from longwave.platform.errors import ConfigError, first_line
from longwave.platform.redaction import redacted

if TYPE_CHECKING:
    from upath import UPath

    AnyPath = Path | UPath
    """A local path, or one on an object store or server that fsspec supports; both have the same interface."""


MLFLOW = ("http", "https", "sqlite", "postgresql", "mysql", "mssql", "file", "databricks")
"""URL schemes of MLflow's tracking servers."""


def check_is_file(path: Path, what: str = "") -> int:
    """Return the size of a file in bytes, without reading it; ``what`` is the kind of file for messages.

    Raises:
        ConfigError: There is no such file, or it is not a regular file, and so may have no end.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"Cannot read {what and f'{what} '}{path}: {error.strerror}.") from None
    if not stat.S_ISREG(status.st_mode):
        kinds = {"a folder": stat.S_ISDIR, "a pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
        kind = next((kind for kind, is_kind in kinds.items() if is_kind(status.st_mode)), "a device")
        advice = "Name a file in it" if kind == "a folder" else "Write its content to a file, and name that"
        raise ConfigError(f"{path} is {kind}, and a file is read. {advice}.")
    return status.st_size


def home() -> Path:
    """Return the data folder: ``LONGWAVE_HOME``, else the user data folder of the system."""
    folder = os.environ.get("LONGWAVE_HOME")
    if folder:
        return Path(folder).absolute()
    from platformdirs import user_data_path

    return user_data_path("longwave")


def check_home() -> None:
    """Raise ConfigError if ``LONGWAVE_HOME`` is a file or below one; a folder that this user may not enter passes."""
    if not os.environ.get("LONGWAVE_HOME"):
        return
    for file in ((folder := home()), *folder.parents):
        if os.path.isfile(file):  # Path.is_file raises on such a folder
            raise ConfigError(f"LONGWAVE_HOME must name a folder, got {folder}: {file} is a file. Name another place.")


def make_folder(folder: Path) -> Path:
    """Create a folder and its missing parents, for their owner only; return it.

    Raises:
        ConfigError: It cannot be made; the message names ``LONGWAVE_HOME`` for one in the data folder.
    """
    try:
        return own_folder(folder)
    except OSError as error:
        in_home = f"Set LONGWAVE_HOME to a folder that you can write to; the data folder is now {home()}"
        advice = in_home if folder.is_relative_to(home()) else "Name another folder"
        raise ConfigError(f"The folder {folder} cannot be made: {error.strerror}. {advice}.") from None


def store_url(url: str | None) -> str:
    """Return the store's URL: ``url`` if given, else ``LONGWAVE_STORE``, else SQLite in the data folder.

    SQLite paths become absolute: relative ones and those with ``~``. The data folder is made if the store is there.
    """
    if url is None and not os.environ.get("LONGWAVE_STORE"):
        make_folder(home())
    return _complete_url(url)


def _complete_url(url: str | None) -> str:
    """Return what ``store_url`` does, and make no folder."""
    url = url if url is not None else os.environ.get("LONGWAVE_STORE") or f"sqlite:///{home() / 'longwave.db'}"
    head, _, file = url.partition(":///")
    return f"{head}:///{Path(file).expanduser().absolute()}" if head == "sqlite" and file else url


def sqlite_file(url: str) -> Path | None:
    """Return the file of a database that is a SQLite file; None of any other."""
    head, _, file = url.partition(":///")
    return Path(file.partition("?")[0]) if head.partition("+")[0] == "sqlite" and file else None


def has_other_tables(file: Path, table: str) -> bool:
    """Return whether a SQLite file belongs to another program: it has tables, but not ``table``. One that does not
    exist has none.
    """
    if not file.exists():
        return False
    with closing(sqlite3.connect(file)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return bool(tables) and (table,) not in tables


def store_option(url: str) -> str:
    """Return the option that an advised command needs for the store at ``url``: empty for the default store. It is
    quoted for a shell, and a password in it is left out; ``url`` may lack it already.
    """
    shown = redacted(url)
    return "" if shown == redacted(_complete_url(None)) else f" --store {shlex.quote(shown)}"


def format_sweep_command(verb: str, sweep: str, url: str) -> str:
    """Return the command that does ``verb`` with a sweep of the store at ``url``: ``longwave sweep resume demo``."""
    return f"longwave sweep {verb} {sweep}{store_option(url)}"


def sweep_storage(place: str | None, sweep: str) -> AnyPath:
    """Return the folder of a sweep's checkpoints: in ``place``, a folder or a URL, if given, else in the data folder.

    Raises:
        ConfigError: There is a file in its place, or no installed package supports such a URL.
    """
    if not place:
        return home() / "sweeps" / sweep
    storage = to_path(place)
    nearest = (
        next((p for p in (storage, *storage.parents) if p.exists()), storage) if isinstance(storage, Path) else storage
    )
    if isinstance(nearest, Path) and nearest.exists() and not nearest.is_dir():
        raise ConfigError(f"--storage is a folder or an address such as s3://..., got {place}: {nearest} is a file.")
    return storage / sweep


def weights_file(storage: AnyPath, trial: str) -> AnyPath:
    """Return the file of a trial's weights in a sweep's storage."""
    return storage / "weights" / f"{trial}.safetensors"


def to_path(name: str) -> AnyPath:
    """Return the path of a folder name or a URL: local, or on an object store or a server.

    Raises:
        ConfigError: No installed package supports such a URL.
    """
    if "://" not in name:
        return Path(name).absolute()
    from upath import UPath

    scheme = name.partition("://")[0]
    try:
        with warnings.catch_warnings(action="ignore"):  # some schemes warn
            path = UPath(name, use_listings_cache=False)
            path.fs  # noqa: B018  creates the file system, or raises
    except ImportError as error:
        advice = f"Install what fsspec asks for, where drivers and workers run: {error}"
        raise ConfigError(f"No file system for {scheme}:// is installed. {advice}") from None
    except ValueError as error:
        raise ConfigError(f"{redacted(name)} is no place for checkpoints: {error}") from None
    return Path(path.path) if scheme in ("file", "local") else path


def make_ready(folder: AnyPath) -> None:
    """Create a folder for its owner only; on an object store, check that files can be written, copied and read there.

    Raises:
        ConfigError: They cannot.
    """
    if isinstance(folder, Path):
        make_folder(folder)
        return
    probe, copy = (folder / f"probe-{secrets.token_hex(6)}{end}" for end in ("", ".copy"))
    try:
        with raise_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            folder.fs.pipe_file(probe.path, probe.name.encode())
            folder.fs.cp_file(probe.path, copy.path)
            content = copy.read_bytes()
            for file in (probe, copy):
                file.unlink()
    except OSError as error:
        raise ConfigError(f"Checkpoints cannot be kept at {redacted(str(folder))}: {error}") from None
    if content != probe.name.encode():
        raise ConfigError(
            f"Checkpoints cannot be kept at {redacted(str(folder))}: what is read there differs from what was written."
        )


@contextmanager
def raise_os_errors(path: AnyPath) -> Iterator[None]:
    """Turn any exception of an object store's library inside the block into OSError, as for local files."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(redacted(f"{path}: {first_line(error)}")) from error


def mlflow_server(uri: str | None) -> str | None:
    """Return the tracking URI to copy to: ``uri`` if given, else MLFLOW_TRACKING_URI, else SQLite in the data folder.
    ``"off"`` gives None, for no copy; so does no URI if MLflow is not installed.

    Raises:
        ConfigError: It is not an address of an MLflow server, or there is a folder in place of its SQLite file.
    """
    chosen = uri or os.environ.get("MLFLOW_TRACKING_URI")
    if chosen is None and find_spec("mlflow") is None:
        return None
    chosen = chosen or f"sqlite:///{home() / 'mlflow.db'}"
    if chosen == "off":
        return None
    scheme, _, address = chosen.partition("://")
    if not address or scheme.partition("+")[0] not in MLFLOW:
        advice = "An MLflow server is http://127.0.0.1:5000, a file as sqlite:///mlflow.db, or off for none"
        raise ConfigError(f"{advice}; got {redacted(chosen)!r}.")
    if scheme == "sqlite" and Path(address[1:]).is_dir():
        raise ConfigError(f"MLflow's SQLite file is a file, and {address[1:]} is a folder. Name a file in it.")
    return chosen
