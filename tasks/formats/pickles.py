"""Pickles of data sets. They may call nothing but constructors of numeric arrays and tensors."""

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
"""Names that a pickle may use, by module and name, and the object that each resolves to."""
BROKEN = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError,
    ArithmeticError, MemoryError, RuntimeError,
)  # fmt: skip
"""Exceptions raised by damaged pickles."""


@dataclass(frozen=True)
class PickledTensor:
    """A tensor that is not unpacked yet: a task may need 10,000 of 220,000 molecules.

    Attributes:
        storage: A storage as saved by torch.
        offset, size, stride: Of the tensor in it.
    """

    storage: bytes
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]

    def tensor(self) -> Tensor:
        """Return the tensor. Raises ValueError if the storage is not in torch's format."""
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
"""Names in pickled tensors; they are read as ``PickledTensor``."""


def array_types() -> Nameable:
    """Return the names in pickles of numpy arrays, SciPy sparse matrices and dictionaries of lists, old or new."""
    import copyreg

    import numpy as np
    from scipy.sparse import csr_matrix

    made = np.ndarray.__reduce__(np.zeros(0))[0]  # _reconstruct, whose module depends on numpy's version
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


def unpickle(path: Path, allowed: Nameable) -> Any:
    """Return the content of a file, with strings of Python 2 as latin-1.

    Raises:
        DataError: It is not a complete pickle, or uses a name that is not in ``allowed``.
    """
    with open_bytes(path) as file:
        try:
            return _Plain(file, allowed).load()
        except (*BROKEN, RecursionError) as error:
            rule = "it must be a complete pickle that contains only numbers"
            raise DataError(f"{path}: {rule}, got: {_describe(error)}.") from None


class _Plain(pickle.Unpickler):
    """Unpickler that resolves only known names."""

    def __init__(self, file: Any, allowed_names: Nameable) -> None:
        super().__init__(file, encoding="latin1")
        self._known = allowed_names

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        """Return the object for a name. Raises UnpicklingError if it is not known."""
        if (module, name) not in self._known:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        resolved: Callable[..., Any] = self._known[module, name]
        return resolved


def _describe(error: BaseException) -> str:
    """Return the error in a few words on one line."""
    return ascii(str(error).strip().partition("\n")[0][:120]).strip("'\"") or type(error).__name__
