"""Runs of pytest in a copy of the tree, each forked from one process that has already imported the large libraries.

Starting Python and importing torch takes longer than most modules' tests.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import math
import os
import resource
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from tree import ROOT

LARGE = (
    "torch", "scipy.stats", "scipy.optimize", "sklearn.linear_model", "sqlalchemy.orm", "alembic.command", "optuna",
    "pydantic", "typer", "rich.console", "hypothesis", "pandas", "psutil", "safetensors.torch", "ray", "torchvision",
    "networkx", "altair", "jinja2",
)  # fmt: skip
"""Modules imported before the first run, none of the tree: each run imports those from its copy."""
CACHES = {"LONGWAVE_CACHE": "longwave", "TORCH_EXTENSIONS_DIR": "torch_extensions"}
"""Folders of generated data and of compiled cells: a copy has its own, initially copied from the user's."""
OPTIONS = (
    "-q", "-x", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:processor_times",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",  # of plugins that are imported already
)  # fmt: skip
UNIMPORTABLE = "ImportError while loading conftest"


def import_large_libraries() -> None:
    """Import them once, with the settings that tests/conftest.py makes before importing them."""
    os.environ |= {"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "token"}
    for name in LARGE:
        importlib.import_module(name)


@dataclass(frozen=True)
class Copy:
    """A copy of the tree in which lines may be broken.

    Attributes:
        folder: Its path.
    """

    folder: Path

    @classmethod
    def of_tree(cls, folder: Path) -> Copy:
        """Return a copy in ``folder`` of all files that are, or may be, committed, and commit them there."""
        for name in _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
            if name and (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        _git(folder, "init", "--quiet")
        _git(folder, "add", "--all")
        _git(folder, "-c", "user.name=mutants", "-c", "user.email=", "commit", "--quiet", "--message=As it is")
        copy, unfinished = cls(folder), shutil.ignore_patterns("tmp*")
        copy.outside.mkdir()
        for variable, cache in CACHES.items():
            if (here := Path(os.environ.get(variable) or Path.home() / ".cache" / cache)).is_dir():
                shutil.copytree(here, copy.outside / cache, ignore=unfinished)
        return copy

    @property
    def outside(self) -> Path:
        """The folder of files outside the tree: caches, temporary files, output of pytest."""
        return self.folder / ".mutants"

    def first_failure(self, words: Sequence[str], longest: int, generate: bool = False) -> str:
        """Return the first test that fails when pytest runs with these words; empty if all pass, or there is none.

        Args:
            words: Files of tests and options.
            longest: CPU seconds that a test may take.
            generate: Whether to generate data again, ignoring the cache.
        """
        log, running, temporary = self.outside / "log", self.outside / "running", self.outside / "tmp"
        temporary.mkdir()
        running.write_text("the collection of tests", encoding="utf-8")
        if not (child := os.fork()):
            os.environ |= {name: str(self.outside / cache) for name, cache in CACHES.items()}
            os.environ["LONGWAVE_EXAMPLES"] = "failing"
            os.environ |= {"LONGWAVE_CACHE": str(temporary / "cache")} if generate else {}
            self._become_pytest([f"--basetemp={temporary}/pytest", *words], log, _Watch(running, longest))
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, 9)  # processes left by the tests, or all of them if this process is interrupted
        shutil.rmtree(temporary, ignore_errors=True)
        text = log.read_text(encoding="utf-8", errors="replace")
        if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR) and UNIMPORTABLE not in text:
            raise RuntimeError(f"pytest {' '.join(words)} ended with {status}:\n{text}")
        passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return "" if passed else running.read_text(encoding="utf-8")

    def _become_pytest(self, words: Sequence[str], log: Path, watch: _Watch) -> None:
        """Run pytest in this process, which ends with it."""
        os.setsid()
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(self.folder)
        package = os.environ["PYTHONPATH"] = str(self.folder / "infra/typing")
        sys.path[:] = [package, *(p for p in sys.path if p and not _is_in_tree(Path(p)))]
        for name in [name for name, module in sys.modules.items() if _is_ours(module)]:
            del sys.modules[name]
        sys.modules["__main__"] = ModuleType("__main__")
        status = 3
        try:
            status = int(pytest.main([*OPTIONS, *words], plugins=[watch]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


class _Watch:
    """Records the running test, and kills the process if the test does not end."""

    def __init__(self, running: Path, longest: int) -> None:
        self.running, self.longest = running, longest
        self._allow()

    def _allow(self) -> None:
        """Set a CPU time limit for the next test, and a far longer wall-clock limit for a busy machine."""
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + self.longest, resource.RLIM_INFINITY))
        faulthandler.dump_traceback_later(20 * self.longest, exit=True)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running.write_text(nodeid, encoding="utf-8")
        self._allow()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.running.write_text(report.nodeid, encoding="utf-8")


def _git(folder: Path, *command: str) -> str:
    return subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True, text=True).stdout


def _is_ours(module: object) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and _is_in_tree(Path(str(file)))


def _is_in_tree(path: Path) -> bool:
    """Return whether a path belongs to the running tests or programs, not to the copy."""
    return path.is_relative_to(ROOT / "tests") or path.is_relative_to(ROOT / "infra")
