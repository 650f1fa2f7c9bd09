"""What torch runs while a layer's own code does, call by call; and the calls that follow from the weights alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from longwave.models.kernels.compiler.lowering import COMPARED, FORMULAS

OURS = Path(__file__).parents[2]
SKIPPED = (str(Path(torch.__file__).parent), str(OURS / "kernels"), str(OURS / "base"))
"""Folders whose lines say nothing about the layer."""
W = TypeVar("W")


class Unsupported(Exception):
    """An operation that the compiler does not know; the reference runs the layer."""


@dataclass(frozen=True)
class Recorded:
    """One call: the operation, its arguments, its results, and the line of the layer that made it."""

    op: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    results: tuple[Tensor, ...]
    line: str

    @property
    def name(self) -> str:
        """The operation's name without its overload: ``"baddbmm"``."""
        return str(self.op.overloadpacket.__name__)

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors among the arguments."""
        return flat([*self.args, *self.kwargs.values()])

    def refused(self, why: str = "") -> Unsupported:
        """Return the exception that names the operation and the line."""
        return Unsupported(f"{self.name}{why} at {self.line}")


class Recorder(TorchDispatchMode):
    """Records every call that torch runs; the tensors stay alive, so that an id is a name."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Recorded] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: torch would import its compiler to keep it away from here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = Recorded(func, args, kwargs or {}, (), line())
        if func._schema.is_mutable or torch.Tag.nondeterministic_seeded in func.tags:
            raise call.refused(", which changes a tensor or draws random numbers,")
        try:
            made = _shaped(call)
            out = made[0] if made else func(*args, **call.kwargs)
        except Exception as error:  # without numbers it cannot be done; were it a mistake, the reference would say so
            raise call.refused() from error
        self.calls.append(replace(call, results=tuple(flat(out))))
        return out


def _shaped(call: Recorded) -> tuple[Tensor, ...]:
    """Return the result of a product, unit by unit, of no tensor, of ``index_put``, or like a tensor.

    There is none where torch has to say it: it does so in Python, for which it first imports its compiler, and that
    takes longer than to import torch.
    """
    tensors, kind = call.tensors, torch.bool if call.name in COMPARED else None
    if not tensors and "device" in call.kwargs:
        return (call.op(*call.args, **{**call.kwargs, "device": "cpu"}).to("meta"),)
    if call.name == "index_put" or (call.name.endswith("_like") and not any(call.kwargs.values())):
        return (tensors[0].new_empty(tensors[0].shape),)
    if len({t.dtype for t in tensors}) != 1 or not tensors[0].is_floating_point() or call.kwargs:
        return ()
    if call.name in ("bmm", "baddbmm") and tensors[-2].shape[::2] == tensors[-1].shape[:2]:
        *added, left, right = tensors
        tensors = [left.new_empty((*left.shape[:2], right.shape[2])), *added]
    elif call.name not in FORMULAS:
        return ()
    wide = torch.broadcast_tensors(*tensors)[0]
    return (wide.new_empty(wide.shape, dtype=kind),)


def line() -> str:
    """Return the file and the line of the layer's code that runs."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(SKIPPED):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def flat(value: Any) -> list[Tensor]:
    """Return the tensors in nested lists and tuples, in order."""
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in flat(v)] if isinstance(value, (list, tuple)) else []


def leaves(w: Any) -> tuple[list[Tensor], tuple[Any, ...]]:
    """Return the tensors that a layer's weights hold, in mappings and sequences too, and all else that they say."""
    found, form = list[Tensor](), list[Any]()
    _walk(w, found, form)
    return found, tuple(form)


def _walk(value: Any, found: list[Tensor], form: list[Any]) -> None:
    if isinstance(value, Tensor):
        found.append(value)
        form.append(value.shape)
    elif isinstance(value, Mapping):
        form.append(tuple(value))
        for inner in value.values():
            _walk(inner, found, form)
    elif isinstance(value, (list, tuple)):
        form.append(len(value))
        for inner in value:
            _walk(inner, found, form)
    elif hasattr(value, "__dataclass_fields__"):
        form.append(type(value))
        for name in value.__dataclass_fields__:
            _walk(getattr(value, name), found, form)
    else:
        form.append(value)


def on_meta(w: W) -> W:
    """Return the same weights as tensors that have shapes but no numbers."""
    made: W = _changed(w, lambda t: torch.empty(t.shape, dtype=t.dtype, device="meta"))
    return made


def _changed(w: Any, change: Any) -> Any:
    if isinstance(w, Tensor):
        return change(w)
    if is_dataclass(w):
        return replace(w, **{f.name: _changed(getattr(w, f.name), change) for f in fields(w)})  # type: ignore[type-var]
    if isinstance(w, Mapping):
        return {key: _changed(value, change) for key, value in w.items()}
    return type(w)(_changed(v, change) for v in w) if isinstance(w, (list, tuple)) else w


class Invariants:
    """The part of a trace that follows from the weights: it is computed again in torch, with autograd, at each call.

    A tensor of it is known by a number. Equal calls on equal tensors give one number.

    Args:
        given: The weights that the layer was traced with.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.roots = leaves(given)[0]
        self.numbers = {id(t): k for k, t in enumerate(self.roots)}
        self.count = len(self.numbers)
        self.kept: list[Any] = []
        self.calls: list[tuple[Recorded, int]] = []  # and the number of the first result
        self._same: dict[Any, int] = {}

    def __contains__(self, t: Tensor) -> bool:
        return id(t) in self.numbers

    def add(self, call: Recorded) -> None:
        """Take in a call, all of whose tensors are known.

        Raises:
            Unsupported: It reads a tensor from elsewhere.
        """
        fresh = call.name in ("lift_fresh", "_to_copy") and not any(t in self for t in call.tensors)
        if not fresh and not all(t in self for t in call.tensors):
            raise call.refused(" of a tensor that is neither state, drive nor weight")
        self.kept.append(call)
        key = (call.op, self._key(call.args), self._key(sorted(call.kwargs.items())))
        try:
            first = self._same.setdefault(key, self.count)
        except TypeError:
            first = self.count
        for k, t in enumerate(call.results):
            self.numbers[id(t)] = first + k
        if first == self.count:
            self.calls.append((call, first))
            self.count += len(call.results)

    def origin(self, number: int, flipped: bool) -> tuple[int, bool]:
        """Return the tensor that a transpose is of, with ``flipped`` turned; the same where it is no transpose."""
        for call, first in self.calls:
            turns = call.name == "transpose" and {a % 3 for a in call.args[1:]} == {1, 2} and call.results[0].ndim == 3
            if first == number and turns:
                return self.numbers[id(call.args[0])], not flipped
        return number, flipped

    def replay(self, wanted: Sequence[int]) -> Replay:
        """Return what computes the tensors of these numbers from weights."""
        needed, calls = set(wanted), list[tuple[Recorded, int]]()
        for call, first in reversed(self.calls):
            if any(first + k in needed for k in range(len(call.results))):
                calls.append((call, first))
                needed |= {self.numbers[id(t)] for t in call.tensors if t in self}
        return Replay(self, needed & set(range(len(self.roots))), tuple(reversed(calls)))

    def _key(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return ("tensor", self.numbers.get(id(value), -id(value)))
        return tuple(map(self._key, value)) if isinstance(value, (list, tuple)) else value


class Replay:
    """Computes invariants again, from the weights of the numbers ``needed``; see ``Invariants``."""

    def __init__(self, of: Invariants, needed: set[int], calls: tuple[tuple[Recorded, int], ...]) -> None:
        self.of, self.needed, self.calls = of, needed, calls

    def __call__(self, weights: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Return the wanted tensors, by number, from the weights by number, and these too."""
        # What was traced lay in one piece, and a view of it may need that.
        found = {k: t.contiguous() for k, t in weights.items()}
        device = next(iter(found.values())).device if found else None

        for call, first in self.calls:
            more = {k: self._of(found, v) for k, v in call.kwargs.items()}
            result = call.op(*self._of(found, call.args), **(more | ({"device": device} if more.get("device") else {})))
            found |= {first + k: t for k, t in enumerate(flat(result))}
        return found

    def _of(self, found: Mapping[int, Tensor], value: Any) -> Any:
        """Return an argument of a call with the tensors that were found in place of those traced."""
        # A nested function that calls itself would keep the graph alive until Python looks for cycles.
        if isinstance(value, Tensor):
            return found[self.of.numbers[id(value)]] if value in self.of else value
        return type(value)(self._of(found, v) for v in value) if isinstance(value, (list, tuple)) else value
