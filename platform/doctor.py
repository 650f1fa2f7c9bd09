"""``longwave doctor``: is this installation fit to run a sweep?"""

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

SECONDS, LEAST_SECONDS = 7.0, 0.1
"""Seconds for all checks together, and those of a check once they are over: the command ends within ten."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what, whether it is good (None: the check did not end), and the details."""

    what: str
    good: bool | None
    detail: str


def collect_findings(store: str | None, say: Callable[[str], None] = lambda what: None) -> list[Finding]:
    """Return the findings, in the order of a reader's questions. Changes nothing but a file made and removed.

    Args:
        store: URL of the store; by default this user's.
        say: Called with what is checked next.
    """
    looks = {
        "packages": _check_packages,
        "models and tasks": _check_registry,
        "device": _check_device,
        "sweeps": _check_placement,
        "commit": _describe_commit,
        "data folder": lambda: _check_writable(home()),
        "generated data": _check_cache,
    }
    end = time.monotonic() + SECONDS
    of_store = _start("store", lambda: _check_store(store))  # at once, since a server may take seconds to answer
    findings = list[Finding]()
    for what, look in looks.items():
        say(f"Checking {what}")
        findings += _result_by(end, what, _start(what, partial(lambda what, look: [_look(what, look)], what, look)))
    say("Checking store")
    return [*findings, *_result_by(end, "store", of_store)]


def _start(what: str, check: Callable[[], Sequence[Finding]]) -> Future[Sequence[Finding]]:
    """Return what a check will find, in a thread that holds no process if it hangs."""
    found: Future[Sequence[Finding]] = Future()

    def run() -> None:
        try:
            found.set_result(check())
        except BaseException as error:  # raised where the result is read
            found.set_exception(error)

    threading.Thread(target=run, name=what, daemon=True).start()
    return found


def _result_by(end: float, what: str, found: Future[Sequence[Finding]]) -> Sequence[Finding]:
    """Return what a check found, or that it has not ended by then; one that begins late has ``LEAST_SECONDS``."""
    wait([found], max(end - time.monotonic(), LEAST_SECONDS))
    if found.done():
        return found.result()
    return [Finding(what, None, f"not finished after {SECONDS + time.monotonic() - end:.0f} s")]


def _look(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, redacted(look()))
    except (LongwaveError, ImportError, OSError, TypeError, ValueError) as error:
        return Finding(what, False, redacted(str(error)).splitlines()[0])


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

    blind = device().type == "cpu" and energy.driver() != "unknown"
    why = f" NVIDIA's driver {energy.driver()} is here, but torch finds no GPU that it may use." if blind else ""
    return f"train on {describe_devices_here(Workers(None, home()))}.{why}"


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


def _check_store(given: str | None) -> list[Finding]:
    """Return what is found of the store: one line, or one of each thing that is wrong with it."""
    from longwave.platform.storage.engine import without_password
    from longwave.platform.storage.integrity import find_damage_at

    url = store_url(given)
    if given is None and not Path(url.removeprefix("sqlite:///")).exists():
        return [Finding("store", True, "none yet; the first sweep makes it")]
    try:
        wrong = find_damage_at(url)
    except LongwaveError as error:
        return [Finding("store", False, str(error))]
    if not wrong:
        return [_look("store", lambda: f"{without_password(url)}: {_list_results(url)}"), *_check_secrets(url)]
    cure = (
        f"longwave doctor --repair --store {without_password(url)}"
        if url.startswith("sqlite")
        else "a backup of the server's"
    )
    line = f"{without_password(url)} is damaged; what is right of it is saved by: {cure}"
    return [Finding("store", False, line), *(Finding("store", False, fault) for fault in wrong)]


def _check_secrets(url: str) -> list[Finding]:
    """Return a finding if texts of a sound store hold passwords."""
    from longwave.platform.storage.database import Database
    from longwave.platform.storage.engine import without_password
    from longwave.platform.storage.secrets import count_secrets

    with Database(url, create=False) as store:
        count = count_secrets(store)
    cure = f"longwave doctor --repair --store {without_password(url)}"
    return [Finding("passwords", False, f"{count} texts of the store hold what may be one. Remove: {cure}")] * bool(
        count
    )


def _list_results(url: str) -> str:
    from longwave.platform.storage.store import Store

    with Store(url, create=False) as store:
        return f"sound, results on {', '.join(store.tasks()) or 'no task yet'}"
