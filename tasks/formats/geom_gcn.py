"""Reader of the graphs of Geom-GCN (Pei et al. 2020, arXiv:2002.05287): two text files, and ten splits of the nodes."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.raw import DataError, Remote, Source, fingerprint, open_bytes
from longwave.tasks.base.spec import check_variant
from longwave.tasks.formats.geometric import check_size, split_graph, through_dataset

CLASSES, SPLITS = 5, 10
NODES, EDGES = "out1_node_feature_label.txt", "out1_graph_edges.txt"
ORIGIN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f"
PARTS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
"""Names of a split: ours, and those in the files."""
VARIANTS = {"": 0, **{f"split={k}": k for k in range(1, SPLITS)}}
VARIANTS_IN_WORDS = "empty: split 0 of the ten of Pei et al. 2020; split=1 to split=9: the others"
KINDS = {"film": ("Actor", "raw")}
"""By name: the class in PyTorch Geometric and its folder of files. All others follow their names."""


def split_files(name: str) -> tuple[str, ...]:
    """Return the file names of a graph's ten splits; they say 60 and 20 %, but contain 48, 32 and 20."""
    return tuple(f"{name}_split_0.6_0.2_{k}.npz" for k in range(SPLITS))


def split_remotes(name: str) -> tuple[Remote, ...]:
    """Return the remotes of a graph's ten splits."""
    return tuple(Remote(f"{ORIGIN}/splits/{split}", split) for split in split_files(name))


def source(name: str, title: str, cite: str, nodes: int, edges: int) -> Source:
    """Return the files of a graph; ``edges`` are directed, without duplicates."""
    texts = (NODES, EDGES)
    return Source(
        name=name,
        title=title,
        licence=f"none stated; cite Pei et al. 2020 and {cite}",
        needs=(*texts, *split_files(name)),
        remotes=(*(Remote(f"{ORIGIN}/new_data/{name}/{text}", text) for text in texts), *split_remotes(name)),
        by_hand="The raw folder of PyTorch Geometric's data set does as well.",
        counts={"nodes": nodes, "edges": edges},
    )


def node_classes(files: Source, features: int, variant: str) -> Data[Graphs]:
    """Return a graph at one of its ten splits.

    Raises:
        ValueError: There is no such variant.
        DataError: A file is missing or breaks a rule, or PyTorch Geometric is not installed.
    """
    check_variant(files.name, variant, VARIANTS)
    folder = files.locate(files.name)
    arrays = cached(
        f"{files.name}-1-{fingerprint(folder / name for name in (NODES, EDGES))}", lambda: _parse(files, features)
    )
    return split_graph(arrays, read_split(folder / split_files(files.name)[VARIANTS[variant]], len(arrays["y"])))


def read_split(path: Path, nodes: int) -> dict[str, np.ndarray]:
    """Return the nodes of each split, (V,) bool each, by ``train``, ``valid`` and ``test``.

    Raises:
        DataError: A split is missing, empty, of another size or not a mask, or two share a node.
    """
    try:
        with open_bytes(path) as file, np.load(file, allow_pickle=False) as stored:
            masks = {part: np.asarray(stored[name]) for part, name in PARTS.items()}
    except (OSError, EOFError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        rule = f"it must be a complete .npz file of {', '.join(PARTS.values())}"
        raise DataError(f"{path}: {rule}, got: {str(error).partition(chr(10))[0]}.") from None
    for part, mask in masks.items():
        if mask.shape != (nodes,) or mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
            rule = f"{PARTS[part]} must be 0 or 1 for each of the {nodes} nodes"
            raise DataError(f"{path}: {rule}, got {mask.dtype} {mask.shape}, or other numbers.")
    splits = {part: mask.astype(bool) for part, mask in masks.items()}
    shared = int((np.stack([*splits.values()]).sum(0) > 1).sum())
    if shared or not all(mask.any() for mask in splits.values()):
        got = ", ".join(f"{part} {mask.sum()}" for part, mask in splits.items())
        raise DataError(f"{path}: each part must have nodes, and none of another part, got {got}, {shared} in several.")
    return splits


def _parse(files: Source, features: int) -> dict[str, np.ndarray]:
    """Return ``x`` (V, p), ``edge_index`` (2, E) and ``y`` (V,), nodes numbered as in the files."""
    single = files.name in KINDS
    ids = _checked_nodes(files.root / NODES, features, as_indices=single)
    _checked_edges(files.root / EDGES, len(ids))
    for name in split_files(files.name):
        read_split(files.root / name, len(ids))
    if single:
        graph = through_dataset(files, *KINDS[files.name])
    elif files.name in ("chameleon", "squirrel"):
        graph = through_dataset(files, "WikipediaNetwork", f"{files.name}/geom_gcn/raw", files.name)
    else:
        graph = through_dataset(files, "WebKB", f"{files.name}/raw", files.name)
    check_size(files, graph, features)
    if not single:  # numbered by line there
        graph |= {name: graph[name][np.argsort(ids)] for name in ("x", "y")}
    return {name: graph[name] for name in ("x", "edge_index", "y")}


def _read_rows(path: Path, columns: int) -> Iterator[tuple[str, list[str]]]:
    """Yield position and cells of each line after the header."""
    with path.open(encoding="utf-8", errors="replace") as file:
        for k, line in enumerate(file, 1):
            cells = line.rstrip("\n").split("\t")
            where = f"{path}, line {k}"
            if len(cells) != columns:
                raise DataError(f"{where}: there must be {columns} tab-separated columns, got {len(cells)}.")
            if "\ufffd" in line:
                raise DataError(f"{where}: it must be UTF-8, got other bytes.")
            if not line.endswith("\n"):
                raise DataError(f"{where}: the last line must have an end, got none. Is the file complete?")
            if k > 1:
                yield where, cells


def _parse_number(cell: str, where: str, kind: str, below: int) -> int:
    """Return a whole number from 0 to ``below`` − 1."""
    if not (cell.isascii() and cell.isdecimal() and len(cell) < 10 and int(cell) < below):
        raise DataError(f"{where}: {kind} must be a whole number of 0 to {below - 1}, got {cell[:40]!r}.")
    return int(cell)


def _checked_nodes(path: Path, features: int, as_indices: bool) -> np.ndarray:
    """Return the numbers of the nodes, in the order of the lines; or raise a DataError for the first wrong line."""
    ids = []
    for where, (node, features_cell, label) in _read_rows(path, 3):
        ids.append(_parse_number(node, where, "a node", 10**6))
        _parse_number(label, where, "a class", CLASSES)
        cells = features_cell.split(",")
        if as_indices:
            for cell in cells:
                _parse_number(cell, where, "a feature", features)
        else:
            _check_values(cells, where, features)
    if sorted(ids) != list(range(len(ids))) or not ids:
        raise DataError(f"{path}: the nodes must be 0 to {len(ids) - 1}, each once, got others. Is a line missing?")
    return np.array(ids)


def _check_values(cells: list[str], where: str, features: int) -> None:
    if len(cells) != features:
        raise DataError(f"{where}: a node must have {features} features, got {len(cells)}.")
    try:
        values = np.array(cells, np.float32)
    except ValueError:
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise DataError(f"{where}: every feature must be a finite number.")


def _checked_edges(path: Path, nodes: int) -> None:
    where = ""
    for where, ends in _read_rows(path, 2):
        for end in ends:
            _parse_number(end, where, "an end of an edge", nodes)
    if not where:
        raise DataError(f"{path}: there must be edges after the first line, found none.")
