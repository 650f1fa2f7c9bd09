"""Pickles of data sets. Nothing that they name is run, but for what builds arrays and tensors of numbers."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.raw import DataError, open_bytes

Nameable = Mapping[tuple[str, str], Any]
"""What a pickle may name, by module and name, and what it gets."""
BROKEN = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError,
    ArithmeticError, MemoryError, RuntimeError,
)  # fmt: skip
"""What reading a damaged pickle raises."""


@dataclass(frozen=True)
class PickledTensor:
    """A tensor whose numbers are still packed: of 220,000 molecules a task may want 10,000.

    Attributes:
        storage: As torch packs a storage.
        offset, size, stride: Of the tensor in it.
    """

    storage: bytes
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def tensor(self) -> Tensor:
        """Return the tensor; a ValueError where its numbers are not what torch packs."""
        try:
            storage = torch.load(io.BytesIO(self.storage), weights_only=True)
            rebuilt: Tensor = torch._utils._rebuild_tensor_v2(
                storage, self.offset, self.size, self.stride, False, OrderedDict()
            )
        except BROKEN as error:
            raise ValueError(f"a tensor is broken: {_describe(error)}") from None
        return rebuilt


def _tensor(storage: bytes, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object) -> PickledTensor:
    return PickledTensor(storage, offset, size, stride)


TENSORS: Nameable = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch.storage", "_load_from_bytes"): bytes,
    ("collections", "OrderedDict"): OrderedDict,
    ("_codecs", "encode"): lambda text, _: text.encode("latin1"),
}
"""What tensors are pickled by; they come as ``PickledTensor``."""


def array_types() -> Nameable:
    """Return what numpy's arrays, SciPy's sparse matrices and dictionaries of lists are pickled by, old or new."""
    import copyreg

    import numpy as np
    from scipy.sparse import csr_matrix

    made = np.ndarray.__reduce__(np.zeros(0))[0]  # _reconstruct, which lies where numpy likes
    return {
        **{(f"numpy.{core}.multiarray", "_reconstruct"): made for core in ("core", "_core")},
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        **{(f"scipy.sparse.{csr}", "csr_matrix"): csr_matrix for csr in ("csr", "_csr")},
        **{(module, "_reconstructor"): copyreg._reconstructor for module in ("copy_reg", "copyreg")},  # type: ignore[attr-defined]
        **{(module, "object"): object for module in ("__builtin__", "builtins")},
        **{(module, "list"): list for module in ("__builtin__", "builtins")},
        ("collections", "defaultdict"): defaultdict,
        ("_codecs", "encode"): TENSORS["_codecs", "encode"],
    }


def unpickle(path: Path, known: Nameable) -> Any:
    """Return what a file holds, strings of Python 2 as latin-1.

    Raises:
        DataError: It is no whole pickle, or names anything else than what is ``known``.
    """
    with open_bytes(path) as file:
        try:
            return _Plain(file, known).load()
        except (*BROKEN, RecursionError) as error:
            rule = "it must be a whole pickle of numbers alone"
            raise DataError(f"{path}: {rule}, got: {_describe(error)}.") from None


class _Plain(pickle.Unpickler):
    """Builds what is known, and refuses all else."""

    def __init__(self, file: Any, known: Nameable) -> None:
        super().__init__(file, encoding="latin1")
        self._known = known

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        """Return what stands for a name; an UnpicklingError for one that is not known."""
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        known: Callable[..., Any] = self._known[module, name]
        return known


def _describe(error: BaseException) -> str:
    """Return what went wrong in a few words of one line."""
    return ascii(str(error).strip().partition("\n")[0][:120]).strip("'\"") or type(error).__name__
