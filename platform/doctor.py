"""``longwave doctor``: can this installation run a sweep?"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from longwave.platform.errors import LongwaveError
from longwave.platform.paths import home, store_url
from longwave.platform.redaction import redacted
from longwave.platform.wording import describe_count

SECONDS, LEAST_SECONDS = 7.0, 0.1
"""Seconds for all checks together, and for each check after that: the command ends within ten."""


@dataclass(frozen=True)
class Finding:
    """The result of a check: its subject, whether it is good (None if the check did not finish), and details."""

    what: str
    good: bool | None
    detail: str


def collect_findings(store: str | None, show_progress: Callable[[str], None] = lambda subject: None) -> list[Finding]:
    """Return the findings in display order. Nothing is changed, except that a temporary file is created.

    Args:
        store: URL of the store; by default this user's.
        show_progress: Called with the name of each check.
    """
    checks = {
        "packages": _check_packages,
        "models and tasks": _check_registry,
        "device": _check_device,
        "sweeps": _check_placement,
        "commit": _describe_commit,
        "data folder": lambda: _check_writable(home()),
        "generated data": _check_cache,
    }
    end = time.monotonic() + SECONDS
    store_result = _start("store", lambda: _check_store(store))  # first, because a server may take seconds to answer
    findings = list[Finding]()
    for subject, check in checks.items():
        show_progress(f"Checking {subject}")
        findings += _result_by(
            end, subject, _start(subject, partial(lambda subject, check: [_look(subject, check)], subject, check))
        )
    show_progress("Checking store")
    return [*findings, *_result_by(end, "store", store_result)]


def _start(subject: str, check: Callable[[], Sequence[Finding]]) -> Future[Sequence[Finding]]:
    """Run a check in a daemon thread, which cannot block the exit of the process; return its future findings."""
    result: Future[Sequence[Finding]] = Future()

    def run() -> None:
        try:
            result.set_result(check())
        except BaseException as error:  # raised where the result is read
            result.set_exception(error)

    threading.Thread(target=run, name=subject, daemon=True).start()
    return result


def _result_by(end: float, subject: str, future: Future[Sequence[Finding]]) -> Sequence[Finding]:
    """Return a check's findings, or that it did not finish by ``end``; it has at least ``LEAST_SECONDS``."""
    wait([future], max(end - time.monotonic(), LEAST_SECONDS))
    if future.done():
        return future.result()
    return [Finding(subject, None, f"not finished after {SECONDS + time.monotonic() - end:.0f} s")]


def _look(subject: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(subject, True, redacted(check()))
    except (LongwaveError, ImportError, OSError, TypeError, ValueError) as error:
        return Finding(subject, False, redacted(str(error)).splitlines()[0])


def _check_packages() -> str:
    from importlib.metadata import version

    from longwave.platform.sweeps.on_ray.client import import_ray

    extra = [name for name in ("ray", "mlflow", "streamlit") if importlib.util.find_spec(name)]
    if "ray" in extra:
        import_ray()
    names = ("torch", "optuna", "sqlalchemy", *extra)
    for name in names:
        importlib.import_module(name)
    return ", ".join(f"{name} {version(name)}" for name in names)


def _check_registry() -> str:
    from longwave.platform.registry import all_models, all_tasks

    return f"{len(all_models())} models, {len(all_tasks())} tasks"


def _check_device() -> str:
    from longwave.models.lem import LEM
    from longwave.platform.training.environment import describe, device

    return f"{describe()['device']}; time loops by {LEM(1, 128).to(device()).why()}"


def _check_placement() -> str:
    from longwave.platform.sweeps.place.workers import Workers
    from longwave.platform.sweeps.run.estimate import describe_devices_here
    from longwave.platform.training import energy
    from longwave.platform.training.environment import device

    unused_gpu = device().type == "cpu" and energy.driver() != "unknown"
    note = f" NVIDIA's driver {energy.driver()} is here, but torch finds no GPU that it may use." if unused_gpu else ""
    return f"train on {describe_devices_here(Workers(None, home()))}.{note}"


def _describe_commit() -> str:
    from longwave.platform.training.environment import describe

    facts = describe()
    return facts["commit"][:12] + (", with changes not committed" if facts["dirty"] == "true" else "")


def _check_writable(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return f"{folder}, {shutil.disk_usage(folder).free / 2**30:.0f} GiB free"


def _check_cache() -> str:
    from longwave.tasks.base.cache import folder

    return _check_writable(folder())


def _check_store(requested: str | None) -> list[Finding]:
    """Return one finding on a sound store, or one for each fault."""
    from longwave.platform.storage.engine import without_password
    from longwave.platform.storage.integrity import find_damage_at

    url = store_url(requested)
    if requested is None and not Path(url.removeprefix("sqlite:///")).exists():
        return [Finding("store", True, "none yet; the first sweep creates it")]
    try:
        if not (faults := find_damage_at(url)):
            return [_look("store", lambda: f"{without_password(url)}: {_list_results(url)}"), *_check_secrets(url)]
    except LongwaveError as error:
        return [Finding("store", False, str(error))]
    remedy = (
        f"longwave doctor --repair --store {without_password(url)}"
        if url.startswith("sqlite")
        else "a backup of the server's"
    )
    line = f"{without_password(url)} is damaged; save its intact records with: {remedy}"
    return [Finding("store", False, line), *(Finding("store", False, fault) for fault in faults)]


def _check_secrets(url: str) -> list[Finding]:
    """Return a finding if texts of a store may contain passwords."""
    from longwave.platform.storage.database import Database
    from longwave.platform.storage.engine import without_password
    from longwave.platform.storage.secrets import count_secrets

    with Database(url, create=False) as store:
        count = count_secrets(store)
    texts = f"{describe_count(count, 'text')} of the store may contain one"
    remedy = f"longwave doctor --repair --store {without_password(url)}"
    return [Finding("passwords", False, f"{texts}. Remove them with: {remedy}")] * bool(count)


def _list_results(url: str) -> str:
    from longwave.platform.storage.store import Store

    with Store(url, create=False) as store:
        return f"sound, results on {', '.join(store.tasks()) or 'no task yet'}"
