"""Observation of a layer's code during a trace: the functions that run, what they can read, what they change."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from longwave.models.kernels.compiler.locations import Location
from longwave.models.kernels.compiler.names import Reads, is_library, is_ours, names_of
from longwave.models.kernels.compiler.reads import Snapshot
from longwave.models.kernels.compiler.recorder import Unsupported

P = ParamSpec("P")
R = TypeVar("R")
INSTALLED = str(Path(torch.__file__).parents[1])
"""The folder of installed packages."""


class Refused(Unsupported):
    """Something a layer does that no loop can do, as a verb and its object: ``changes self.calls``."""


def unchanged(tensor: Tensor) -> Tensor:
    """Return a tensor as it is: a hook that keeps the caller's own hooks for saved tensors away from a trace."""
    return tensor


class Watch:
    """Runs a layer's code such that all reads are known, and all changes are undone.

    As a context manager it surrounds the whole trace; ``watched`` wraps each part of the layer's code in it. Before a
    function runs, everything that it can name is recorded; values that cannot be compared are refused before they are
    used.

    Args:
        roots: Objects from which names start, by label: the layer is ``self``.

    Attributes:
        reads: What the executed code can name, and what it changed.
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.roots, self.reads = roots, Reads()
        self._locations: dict[tuple[int, type, str], Location] = {}
        self._functions = {*Snapshot(self.reads, roots).functions}
        self._inner: set[CodeType] = set()
        self._met: dict[int, CodeType] = {}
        self._refusal: Refused | None = None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        changed = [location for location in self._locations.values() if location.changed()]
        labels = [location.named() for location in changed]
        for location in changed:
            location.restore()
        if changed:
            self.reads = replace(self.reads, ignored=frozenset(labels))
        if error is None or isinstance(error, Unsupported):
            if self._refusal is not None and error is not self._refusal:  # the layer caught it
                raise self._refusal
            if changed and self._refusal is None:
                raise Refused(f"changes {labels[0]}, which a fused loop would not do") from None

    def watched(self, run: Callable[P, R]) -> Callable[P, R]:
        """Return the function wrapped so that it is watched."""

        def watched(*args: P.args, **kwargs: P.kwargs) -> R:
            with self._traced():
                return run(*args, **kwargs)

        return watched

    @contextmanager
    def _traced(self) -> Iterator[None]:
        before, collects = sys.gettrace(), gc.isenabled()
        gc.disable()  # it may call code outside the layer
        sys.settrace(self._event)
        try:
            yield
        except Unsupported:
            raise
        except Exception as error:  # impossible without values; a real mistake would also fail in the reference
            raise Refused(f"raises {type(error).__name__} on tensors without numbers: {error}") from error
        finally:
            sys.settrace(before)
            if collects:
                gc.enable()

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and id(frame.f_code) not in self._met:
            self._met[id(frame.f_code)] = frame.f_code
            self._begin(frame)

    def _begin(self, frame: FrameType) -> None:
        """Record a function that is about to run for the first time.

        Raises:
            Refused: It can read a value that cannot be compared.
        """
        code, home = frame.f_code, str(frame.f_globals.get("__name__"))
        if is_library(home) or code in self._inner or _finds_modules(frame):
            return
        if not is_ours(home) and code not in self._functions:
            if not _is_installed(frame):
                line = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
                self._refuse(f"calls {code.co_name} ({line}), to which no name that it reads leads")
            return
        names, reads = names_of(code), self.reads
        if not is_ours(home):
            if names.imports:
                raise self._refuse(f"imports {min(names.imports)} while it runs")
            computed = reads.computed or "__dict__" in names.all
            reads = replace(reads, codes=reads.codes | {code}, computed=computed)
            self._inner |= names.codes
        self.reads = replace(reads, names=reads.names | names.all)
        snapshot = Snapshot(self.reads, self.roots)
        if snapshot.computed and not self.reads.computed:
            self.reads = replace(self.reads, computed=True)
            snapshot = Snapshot(self.reads, self.roots)
        self._functions |= snapshot.functions.keys()
        for location in (*snapshot.locations, *snapshot.tensors):
            self._locations.setdefault((id(location.owner), type(location), location.key), location)
        if snapshot.obstacle:
            raise self._refuse(snapshot.obstacle)

    def _refuse(self, rule: str) -> Refused:
        """Return the exception; it is raised again at the end, as the layer may catch it."""
        self._refusal = self._refusal or Refused(rule)
        return self._refusal


def _finds_modules(frame: FrameType) -> bool:
    """Return whether Python's import system calls it: torch imports some of its modules at first use."""
    return frame.f_back is not None and frame.f_back.f_globals.get("__name__") == "importlib._bootstrap_external"


def _is_installed(frame: FrameType) -> bool:
    """Return whether code belongs to an installed package, or was generated by one without a file."""
    file, home = frame.f_code.co_filename, str(frame.f_globals.get("__name__"))
    made = file.startswith("<") and frame.f_back is not None and _is_installed(frame.f_back)
    return made or file.startswith(INSTALLED) or is_library(home)
