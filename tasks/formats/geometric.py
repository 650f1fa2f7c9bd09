"""PyTorch Geometric's readers of graph data sets, an optional package, and shared code of tasks on one graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs, one_graph
from longwave.tasks.base.raw import DataError, Source


def import_geometric(part: str, wanted_for: str) -> Any:
    """Return a module of PyTorch Geometric.

    Args:
        part: Its name, like ``"datasets"``.
        wanted_for: The data set, for the message.

    Raises:
        DataError: The package is not installed.
    """
    if not find_spec("torch_geometric"):
        raise DataError(f"{wanted_for} is read by PyTorch Geometric: pip install 'longwave[graphs]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit.script is deprecated
        return import_module(f"torch_geometric.{part}")


def through_dataset(files: Source, kind: str, inside: str, *named: str) -> dict[str, np.ndarray]:
    """Return the fields that PyTorch Geometric's data set reads from the files of a graph, by its own names.

    It writes next to its input and would download missing files, so it gets a separate folder with a link to the files,
    all of which exist.

    Args:
        files: The files, located and checked.
        kind: Class of the data set: ``"WebKB"``.
        inside: Folder in which it expects its files.
        named: Arguments of its class besides the folder.
    """
    made = getattr(import_geometric("datasets", files.title), kind)
    with TemporaryDirectory() as folder, redirect_stderr(StringIO()), as_one_graph(files):
        raw = Path(folder) / inside
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.symlink_to(files.root.resolve(), target_is_directory=True)
        graph = made(folder, *named)[0]
    return {name: value.numpy() for name, value in graph.to_dict().items()}


@contextmanager
def as_one_graph(files: Source) -> Iterator[None]:
    """Turn errors of PyTorch Geometric for files that are valid one by one, but inconsistent, into a DataError."""
    try:
        yield
    except (IndexError, KeyError, TypeError, ValueError, RuntimeError) as error:
        rule = f"the files must be of one graph, {files.title}"
        raise DataError(f"{files.root}: {rule}, got: {ascii(str(error).partition(chr(10))[0])}.") from None


def check_size(files: Source, arrays: Mapping[str, np.ndarray], features: int) -> None:
    """Check that a graph has the size of the original.

    Args:
        files: Their counts give the numbers of ``nodes`` and directed ``edges``.
        arrays: ``x`` (V, p) and ``edge_index`` (2, E).
        features: p.

    Raises:
        DataError: It has another size.
    """
    files.check_count("nodes", len(arrays["x"]))
    files.check_count("edges", arrays["edge_index"].shape[1])
    if (width := arrays["x"].shape[1]) != features:
        raise DataError(f"{files.root}: a node must have {features} features, as in the original, got {width}.")


def split_graph(arrays: Mapping[str, np.ndarray], masks: Mapping[str, np.ndarray]) -> Data[Graphs]:
    """Return a graph of ``x``, ``edge_index`` and ``y``; ``masks`` split its nodes: ``train``, ``valid``, ``test``."""
    x, edges, y = (torch.from_numpy(arrays[name]) for name in ("x", "edge_index", "y"))
    train, valid, test = (torch.from_numpy(masks[name]) for name in ("train", "valid", "test"))
    return one_graph(x.float(), edges, y, train, valid, test)
