"""Access to tensors without values while a layer's code is traced."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any, NoReturn

from torch.overrides import TorchFunctionMode, handle_torch_function

from longwave.models.kernels.compiler.recorder import SKIPPED, Unsupported, line

NUMBERS = frozenset(
    "data_ptr item numpy storage tolist untyped_storage __array__ __dlpack__ __float__ __index__ __int__".split()
)
"""Attributes that give a tensor's values to Python."""
UNKNOWN = frozenset("grad grad_fn is_cpu is_cuda is_leaf is_meta is_mps is_xpu requires_grad".split())
"""Attributes known only in an actual call."""
SHAPES = frozenset("shape size numel nelement stride".split())
TAKES_SIZES = frozenset(
    "view reshape expand broadcast_to unflatten new_zeros new_ones new_empty new_full zeros ones empty full".split()
)
"""Operations that take sizes as arguments."""


class TracedLength(int):
    """The length of a batch or of its sequences, or a multiple: not a number to compute or to branch with."""

    def refuse(self, *_: object) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported(f"the length of a batch or of its sequences as a number at {line()}")

    def __mul__(self, other: int) -> TracedLength:
        return TracedLength(int.__mul__(self, other)) if isinstance(other, int) else self.refuse()

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TracedLength) and int.__eq__(self, other)) or self.refuse()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __float__ = __abs__ = __round__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = refuse
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = __and__ = __or__ = __xor__ = __neg__ = refuse


class TracedDevice(str):
    """A tensor's device: tensors may be created on it, but a layer's code must not depend on it."""

    __slots__ = ()

    def refuse(self, *_: object) -> NoReturn:
        """Raise Unsupported."""
        raise Unsupported(f"a condition on a tensor's device at {line()}")

    type = index = property(refuse)
    __hash__ = __eq__ = __ne__ = __str__ = __repr__ = __format__ = refuse


class ShapesOnly(TorchFunctionMode):
    """Allows the shapes of tensors only as shapes, and no attribute that exists only in an actual call.

    Args:
        lengths: Sizes that differ between calls: primes of which no other size is a multiple.
    """

    def __init__(self, lengths: Collection[int]) -> None:
        super().__init__()
        self.lengths = lengths

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return torch's result; for the layer's code, with lengths as ``TracedLength``."""
        if not _asked_by_layer():
            return func(*args, **(kwargs or {}))
        access = func.__name__ in ("__get__", "__set__")
        name = func.__self__.__name__ if access else func.__name__
        if name == "__bool__":
            raise Unsupported(f"a condition on a tensor's numbers at {line()}")
        if name in NUMBERS:
            raise Unsupported(f"a tensor's numbers ({name}) at {line()}")
        if name in UNKNOWN or func.__name__ == "__set__":
            raise Unsupported(f"a tensor's {name} at {line()}")
        sizes = [a for a in args if isinstance(a, TracedLength)]
        if sizes and name not in TAKES_SIZES:
            sizes[0].refuse()
        result = func(*args, **(kwargs or {}))
        if name == "__len__" and self._is_length(result):
            TracedLength(result).refuse()
        if name == "device" and access:
            return TracedDevice(result)
        return self._sized(result) if name in SHAPES else result

    def _is_length(self, n: int) -> bool:
        return n > 0 and any(n % length == 0 for length in self.lengths)

    def _sized(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return type(result)([TracedLength(n) if self._is_length(n) else n for n in result])
        return TracedLength(result) if self._is_length(result) else result


def _asked_by_layer() -> bool:
    """Return whether the caller is the layer's code, not torch itself."""
    frame = sys._getframe(2)
    if frame.f_code is handle_torch_function.__code__ and frame.f_back is not None:  # in a Python method
        frame = frame.f_back.f_back or frame
    return not frame.f_code.co_filename.startswith(SKIPPED)
