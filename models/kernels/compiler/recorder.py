"""A recorder of torch's calls while a layer's own code runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.utils._python_dispatch import TorchDispatchMode

from longwave.models.kernels.compiler.lowering import COMPARED, FORMULAS

OURS = Path(__file__).parents[2]
SKIPPED = (str(Path(torch.__file__).parent), str(OURS / "kernels"), str(OURS / "base"))
"""Folders whose lines are not part of the layer."""
W = TypeVar("W")
T = TypeVar("T")


class Unsupported(Exception):
    """An operation that the compiler does not support; the reference runs the layer."""


@dataclass(frozen=True)
class Recorded:
    """One call: the operation, its arguments, its results, and the line of the layer.

    ``differentiated`` says whether gradients pass: not under ``torch.no_grad()``.
    """

    op: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    results: tuple[Tensor, ...]
    line: str
    differentiated: bool = True

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
    """Records every call of torch; the tensors stay alive, so that ids are unique."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Recorded] = []
        self._hooks = _saving_hooks()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False; otherwise torch would import its compiler to disable it here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = Recorded(func, args, kwargs or {}, (), line(), torch.is_grad_enabled())
        if func._schema.is_mutable or torch.Tag.nondeterministic_seeded in func.tags:
            raise call.refused(", which changes a tensor or draws random numbers,")
        if _saving_hooks() != self._hooks:
            raise call.refused(" under torch.utils.checkpoint, or other hooks on tensors saved for the backward pass,")
        try:
            made = _shaped(call)
            out = made[0] if made else func(*args, **call.kwargs)
        except Exception as error:  # impossible without values; a real mistake would also fail in the reference
            raise call.refused() from error
        self.calls.append(replace(call, results=tuple(flat(out))))
        return out


def record(run: Callable[[], T]) -> tuple[T, list[Recorded]]:
    """Return the result of ``run``, and its calls, whose ``differentiated`` depends on ``run``, not on the caller.

    Raises:
        Unsupported: It cannot be recorded, or it changes the gradient of an operation.
    """
    with torch.inference_mode(False), torch.enable_grad(), Recorder() as recorder:
        result = run()
        if not torch.is_grad_enabled():
            raise Unsupported("torch.set_grad_enabled(False) without a with block")
    for call in recorder.calls:
        _check_gradients(call)
    used = {id(t) for call in recorder.calls for t in call.tensors} | {id(t) for t in leaves(result)[0]}
    # Torch itself detaches tensors that it saves for its backward pass, and nothing reads them here.
    return result, [call for call in recorder.calls if call.name != "detach" or id(call.results[0]) in used]


def _check_gradients(call: Recorded) -> None:
    for t in call.results:
        function = t.grad_fn
        if function is not None and (isinstance(function, BackwardCFunction) or not call.differentiated):
            name = type(function).__name__.removesuffix("Backward")
            raise Unsupported(f"torch.autograd.Function ({name}) at {call.line}")
    if any(t._backward_hooks for t in (*call.tensors, *call.results)):
        raise call.refused(", on whose gradient there is a hook,")


def _saving_hooks() -> Any:
    return torch._C._autograd._top_saved_tensors_default_hooks(True)


def _shaped(call: Recorded) -> tuple[Tensor, ...]:
    """Return the result of a product, unit by unit, of no tensor, of ``index_put``, or like a tensor.

    In other cases torch has to infer it, for which it first imports its compiler, which takes longer than importing
    torch.
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
    """Return file and line of the running layer code."""
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
    """Return the tensors in a layer's weights, including mappings and sequences, and the other values in them."""
    tensors, form = list[Tensor](), list[Any]()
    _walk(w, tensors, form)
    return tensors, tuple(form)


def _walk(value: Any, tensors: list[Tensor], form: list[Any]) -> None:
    if isinstance(value, Tensor):
        tensors.append(value)
        form.append(value.shape)
    elif isinstance(value, Mapping):
        form.append(tuple(value))
        for inner in value.values():
            _walk(inner, tensors, form)
    elif isinstance(value, (list, tuple)):
        form.append(len(value))
        for inner in value:
            _walk(inner, tensors, form)
    elif hasattr(value, "__dataclass_fields__"):
        form.append(type(value))
        for name in value.__dataclass_fields__:
            _walk(getattr(value, name), tensors, form)
    else:
        form.append(value)


def on_meta(w: W) -> W:
    """Return the same weights as tensors with shapes but no values."""
    made: W = _changed(w, lambda t: unnumbered(t.shape, t.dtype))
    return made


def unnumbered(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return a tensor without values computed from another one, so that it may be modified and has a gradient."""
    return torch.empty(shape, dtype=dtype, device="meta", requires_grad=dtype.is_floating_point).clone()


def _changed(w: Any, change: Any) -> Any:
    if isinstance(w, Tensor):
        return change(w)
    if is_dataclass(w):
        return replace(w, **{f.name: _changed(getattr(w, f.name), change) for f in fields(w)})  # type: ignore[type-var]
    if isinstance(w, Mapping):
        return {key: _changed(value, change) for key, value in w.items()}
    return type(w)(_changed(v, change) for v in w) if isinstance(w, (list, tuple)) else w
