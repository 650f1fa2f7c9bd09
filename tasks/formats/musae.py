"""Wikipedia graphs of MUSAE (Rozemberczki et al. 2021), with the traffic of each page as its target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.raw import DataError, Remote, Source, check_ended, fingerprint
from longwave.tasks.base.spec import check_variant
from longwave.tasks.formats.geom_gcn import VARIANTS, read_split, split_files, split_remotes
from longwave.tasks.formats.geometric import split_graph

ORIGIN = "https://raw.githubusercontent.com/benedekrozemberczki/MUSAE/master/input"


def source(animal: str, nodes: int, edges: int) -> Source:
    """Return the files of the pages on an animal; ``edges`` is their smallest number, counted once each way."""
    names = {part: f"{animal}_{part}" for part in ("edges.csv", "target.csv", "features.json")}
    return Source(
        name=f"{animal}_regression",
        title=f"MUSAE's Wikipedia graph {animal}",
        licence="none stated for the data; cite Rozemberczki et al. 2021 and Pei et al. 2020",
        needs=(*names.values(), *split_files(animal)),
        remotes=(
            *(Remote(f"{ORIGIN}/{part.partition('.')[0]}/{name}", name) for part, name in names.items()),
            *split_remotes(animal),
        ),
        by_hand="Or put MUSAE's three files and Geom-GCN's ten splits into one folder.",
        counts={"nodes": nodes, "edges": edges},
    )


def load_traffic(files: Source, features: int, variant: str) -> Data[Graphs]:
    """Return a graph at one of the ten splits of Pei et al.; targets are divided by the root of the mean of all nodes.

    So the mean squared error is the papers' NMSE, which divides by the mean.

    Raises:
        ValueError: There is no such variant.
        DataError: A file is missing or breaks a rule.
    """
    check_variant(files.name, variant, VARIANTS)
    folder = files.locate(files.name)
    key = f"{files.name}-1-{fingerprint(folder / name for name in files.needs[:3])}"
    graph = cached(key, lambda: _parse(files, features))
    for name in files.needs[3:]:
        masks = read_split(folder / name, len(graph["y"]))
        if name.endswith(f"_{VARIANTS[variant]}.npz"):
            split = masks
    return split_graph(graph, split)


def _parse(files: Source, features: int) -> dict[str, np.ndarray]:
    """Return ``x`` (V, p), ``edge_index`` (2, E), both ways, and ``y`` (V, 1) float32."""
    edges, targets, words = (files.root / name for name in files.needs[:3])
    rows = _read_table(targets)
    if sorted(rows[:, 0].tolist()) != list(range(len(rows))):
        raise DataError(f"{targets}: the nodes must be 0 to {len(rows) - 1}, each once, got others.")
    monthly = rows[np.argsort(rows[:, 0]), 1].astype(np.float64)
    if not (monthly > 0).all():
        raise DataError(f"{targets}: a page must have a traffic above 0, got {monthly.min():g}.")
    y = monthly / monthly.max()
    pairs = _read_table(edges)
    if pairs.max() >= len(y):
        raise DataError(f"{edges}: an end of an edge must be 0 to {len(y) - 1}, got {pairs.max()}.")
    once = np.unique(np.sort(pairs, 1), axis=0)
    files.check_count("edges", len(once), at_least=True)
    both = np.unique(np.concatenate([once, once[:, ::-1]]), axis=0)
    x = _read_features(words, len(y), features)
    files.check_count("nodes", len(y))
    return {"x": x, "edge_index": both.T.copy(), "y": (y / np.sqrt(y.mean())).astype(np.float32)[:, None]}


def _read_table(path: Path) -> np.ndarray:
    """Return a table of two columns of whole numbers from 0, (N, 2), without its header."""
    check_ended(path)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    for k, line in enumerate(lines, 2):
        cells = line.split(",")
        if len(cells) != 2 or not all(c.isascii() and c.isdecimal() and len(c) < 16 for c in cells):
            raise DataError(f"{path}, line {k}: there must be two whole numbers, got {line[:40]!r}.")
    if not lines:
        raise DataError(f"{path}: there must be lines after the header, found none.")
    return np.array([line.split(",") for line in lines], np.int64)


def _read_features(path: Path, nodes: int, features: int) -> np.ndarray:
    """Return which nouns each page has, (V, p) float32 of 0 and 1."""
    try:
        nouns_of: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: it must be complete JSON, got: {str(error)[:80]!r}.") from None
    if not isinstance(nouns_of, dict) or set(nouns_of) != {str(k) for k in range(nodes)}:
        raise DataError(f"{path}: there must be the features of nodes 0 to {nodes - 1}, of each once, got others.")
    x = np.zeros((nodes, features), np.float32)
    for node, nouns in nouns_of.items():
        if not isinstance(nouns, list) or not all(type(k) is int and 0 <= k < features for k in nouns):
            raise DataError(f"{path}: features must be 0 to {features - 1}, those of node {node} are not.")
        x[int(node), nouns] = 1
    return x
