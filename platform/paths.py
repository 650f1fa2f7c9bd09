"""Where Longwave keeps things when nobody says otherwise."""

from __future__ import annotations

import os
import secrets
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.files import own_folder
from longwave.platform.errors import ConfigError, first_line
from longwave.platform.redaction import redacted

if TYPE_CHECKING:
    from upath import UPath

    AnyPath = Path | UPath
    """A path of this machine, or of an object store or server that fsspec knows; both are used alike."""


MLFLOW = ("http", "https", "sqlite", "postgresql", "mysql", "mssql", "file", "databricks")
"""Kinds of addresses that MLflow takes as a tracking server."""


def check_is_file(path: Path, what: str = "") -> int:
    """Return the bytes that a file has; nothing is read. ``what`` says what kind of file it is, for messages.

    Raises:
        ConfigError: There is no such file, or it is a folder, a pipe or a device, of which nobody knows the end.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"Cannot read {what and f'{what} '}{path}: {error.strerror}.") from None
    if not stat.S_ISREG(status.st_mode):
        kinds = {"a folder": stat.S_ISDIR, "a pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
        kind = next((kind for kind, is_kind in kinds.items() if is_kind(status.st_mode)), "a device")
        raise ConfigError(f"{path} is {kind}, and a file is read. Write its content to a file, and name that.")
    return status.st_size


def home() -> Path:
    """Return the data folder: ``LONGWAVE_HOME``, else the user data folder of the system."""
    given = os.environ.get("LONGWAVE_HOME")
    if given:
        return Path(given).absolute()
    from platformdirs import user_data_path

    return user_data_path("longwave")


def store_url(given: str | None) -> str:
    """Return the store's URL: the one given, else ``LONGWAVE_STORE``, else SQLite in the data folder.

    Relative SQLite paths become absolute.
    """
    given = given if given is not None else os.environ.get("LONGWAVE_STORE") or None
    if given is None:
        own_folder(home())
        return f"sqlite:///{home() / 'longwave.db'}"
    head, _, file = given.partition(":///")
    return f"{head}:///{Path(file).absolute()}" if head == "sqlite" and file else given


def sweep_storage(given: str | None, sweep: str) -> AnyPath:
    """Return the folder of a sweep's checkpoints: in the folder or below the URL given, else in the data folder.

    Raises:
        ConfigError: A file is in its place, or nothing here reaches such a URL.
    """
    if not given:
        return home() / "sweeps" / sweep
    storage = to_path(given)
    there = (
        next((p for p in (storage, *storage.parents) if p.exists()), storage) if isinstance(storage, Path) else storage
    )
    if isinstance(there, Path) and there.exists() and not there.is_dir():
        raise ConfigError(f"--storage is a folder or an address such as s3://..., got {given}: {there} is a file.")
    return storage / sweep


def weights_file(storage: AnyPath, trial: str) -> AnyPath:
    """Return where the weights of a trial lie in a sweep's storage."""
    return storage / "weights" / f"{trial}.safetensors"


def to_path(where: str) -> AnyPath:
    """Return the path that a name stands for: one of this machine, or for a URL one of an object store or a server.

    Raises:
        ConfigError: Nothing here reaches such a URL.
    """
    if "://" not in where:
        return Path(where).absolute()
    from upath import UPath

    scheme = where.partition("://")[0]
    try:
        with warnings.catch_warnings(action="ignore"):  # of schemes that are rare
            path = UPath(where, use_listings_cache=False)
            path.fs  # noqa: B018  it is made here, or not at all
    except ImportError as error:
        advice = f"Install what fsspec asks for, where drivers and workers run: {error}"
        raise ConfigError(f"No file system for {scheme}:// is installed. {advice}") from None
    except ValueError as error:
        raise ConfigError(f"{redacted(where)} is no place for checkpoints: {error}") from None
    return Path(path.path) if scheme in ("file", "local") else path


def make_ready(folder: AnyPath) -> None:
    """Make a folder for its owner alone; of one that is elsewhere, see that files can be put, copied and read there.

    Raises:
        ConfigError: They cannot.
    """
    if isinstance(folder, Path):
        own_folder(folder)
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
        raise ConfigError(f"Checkpoints cannot be kept at {redacted(str(folder))}: what is read is not what was put.")


@contextmanager
def raise_os_errors(path: AnyPath) -> Iterator[None]:
    """Turn whatever a library of an object store raises inside the block into OSError, as local files do."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(redacted(f"{path}: {first_line(error)}")) from error


def mlflow_server(given: str | None) -> str | None:
    """Return the tracking URI to copy to: the one given, MLFLOW_TRACKING_URI, else SQLite in the data folder.

    ``"off"`` gives None: no copy. So does nothing given where MLflow is not installed.

    Raises:
        ConfigError: It is no address that MLflow knows, or a folder or a file is in its place.
    """
    chosen = given or os.environ.get("MLFLOW_TRACKING_URI")
    if chosen is None and find_spec("mlflow") is None:
        return None
    chosen = chosen or f"sqlite:///{home() / 'mlflow.db'}"
    if chosen == "off":
        return None
    scheme, _, rest = chosen.partition("://")
    if not rest or scheme.partition("+")[0] not in MLFLOW:
        advice = "An MLflow server is http://127.0.0.1:5000, a file as sqlite:///mlflow.db, or off for none"
        raise ConfigError(f"{advice}; got {redacted(chosen)!r}.")
    if scheme == "sqlite" and Path(rest[1:]).is_dir():
        raise ConfigError(f"MLflow's SQLite file is a file, and {rest[1:]} is a folder. Name a file in it.")
    return chosen
