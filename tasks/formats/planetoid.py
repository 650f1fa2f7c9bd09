"""Citation graphs of Planetoid (Yang et al. 2016, arXiv:1603.08861), split as in Shchur et al. 2018.

The files are pickles: the names in them are checked before PyTorch Geometric reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.raw import DataError, Remote, Source, fingerprint
from longwave.tasks.base.spec import check_variant
from longwave.tasks.formats.geometric import as_one_graph, check_size, import_geometric, split_graph
from longwave.tasks.formats.pickles import array_types, unpickle

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
DEVELOPMENT, EACH = 1500, 20
"""Nodes for training and validation together, and training nodes per class."""
SEEDS = {"": 12345, "seed=1": 1, "seed=2": 2, "seed=3": 3, "seed=4": 4}
VARIANTS_IN_WORDS = (
    "empty: the split of seed 12345, as GraphCON's code draws it; seed=1 to seed=4: others drawn the same way"
)


def source(name: str, title: str, nodes: int, edges: int) -> Source:
    """Return the files of a graph; ``edges`` are directed, without self-loops and duplicates."""
    needs = tuple(f"ind.{name}.{part}" for part in PARTS)
    return Source(
        name=name,
        title=title,
        licence="none stated; cite Sen et al. 2008 and Yang et al. 2016",
        needs=needs,
        remotes=tuple(
            Remote(f"https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/{n}", n) for n in needs
        ),
        by_hand="The raw folder of PyTorch Geometric's data set does as well.",
        counts={"nodes": nodes, "edges": edges},
    )


def load_papers(files: Source, features: int, classes: int, variant: str) -> Data[Graphs]:
    """Return the largest component of a graph at one of its splits.

    Raises:
        ValueError: There is no such variant.
        DataError: A file is missing or breaks a rule, or PyTorch Geometric is not installed.
    """
    check_variant(files.name, variant, SEEDS)
    folder = files.locate(files.name)
    key = f"{files.name}-1-{fingerprint(folder / name for name in files.needs)}"
    graph = cached(key, lambda: largest_component(_parse(files, features, classes)))
    return split_graph(graph, draw_split(graph["y"], SEEDS[variant]))


def draw_split(classes: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Return the nodes for training, validation and test, (V,) bool each, drawn as in GraphCON's code.

    Of ``DEVELOPMENT`` random nodes, ``EACH`` per class are for training and the rest for validation; all others are for
    testing.

    Raises:
        DataError: There are too few nodes, or too few of a class among those drawn.
    """
    if len(classes) <= DEVELOPMENT:
        raise DataError(f"The largest component must have more than {DEVELOPMENT} nodes, got {len(classes)}.")
    nodes = np.random.RandomState(seed).choice(len(classes), DEVELOPMENT, replace=False)
    random, train = np.random.RandomState(seed), np.zeros(len(classes), bool)
    for k in range(classes.max() + 1):
        of_class = nodes[classes[nodes] == k]
        if len(of_class) < EACH:
            raise DataError(
                f"Each class must have {EACH} of the nodes drawn to train on, class {k} has {len(of_class)}."
            )
        train[random.choice(of_class, EACH, replace=False)] = True
    development = np.zeros(len(classes), bool)
    development[nodes] = True
    return {"train": train, "valid": development & ~train, "test": ~development}


def largest_component(graph: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the largest connected component of ``x``, ``edge_index`` and ``y``; nodes keep their order."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    begin, end = graph["edge_index"]
    n = len(graph["y"])
    _, of = connected_components(coo_matrix((np.ones(len(begin)), (begin, end)), (n, n)), directed=False)
    largest = of == np.bincount(of).argmax()
    number = largest.cumsum() - 1
    inside = largest[begin]
    edges = np.stack([number[begin[inside]], number[end[inside]]])
    return {"x": graph["x"][largest], "edge_index": edges, "y": graph["y"][largest]}


def _parse(files: Source, features: int, classes: int) -> dict[str, np.ndarray]:
    """Return ``x`` (V, p) float32, ``edge_index`` (2, E) and ``y`` (V,) of the whole graph."""
    paths = {part: files.root / name for part, name in zip(PARTS, files.needs, strict=True)}
    types = array_types()
    rows = {
        part: _checked_rows(paths[part], unpickle(paths[part], types), classes if "y" in part else features)
        for part in PARTS[:6]
    }
    for table, labels in (("x", "y"), ("tx", "ty"), ("allx", "ally")):
        if rows[table] != rows[labels]:
            rule = f"there must be a row for each of the {rows[table]} of {paths[table].name}"
            raise DataError(f"{paths[labels]}: {rule}, got {rows[labels]}.")
    nodes = _checked_links(paths["graph"], unpickle(paths["graph"], types))
    _check_test(paths["test.index"], rows["allx"], rows["tx"], nodes)
    files.check_count("nodes", nodes)
    reader = import_geometric("io", files.title)
    with as_one_graph(files):
        data = reader.read_planetoid_data(str(files.root), files.name)
    graph = {name: data[name].numpy() for name in ("x", "edge_index", "y")}
    check_size(files, graph, features)
    return graph


def _checked_rows(path: Path, table: Any, columns: int) -> int:
    """Return the number of rows of a table, dense or sparse, of finite numbers; one of classes has a 1 in each row."""
    from scipy.sparse import csr_matrix

    shape: tuple[int, ...] = ()
    try:
        if isinstance(table, csr_matrix):
            table.check_format(full_check=True)
        values = table.data if isinstance(table, csr_matrix) else table
        numbers = isinstance(values, np.ndarray) and values.dtype.kind in "biuf" and np.isfinite(values).all()
        shape = table.shape if numbers else ()
    except (ValueError, TypeError, AttributeError, IndexError):
        pass
    if len(shape) != 2 or shape[1] != columns:
        raise DataError(f"{path}: there must be rows of {columns} finite numbers, got others.")
    if not isinstance(table, csr_matrix) and not (np.isin(table, (0, 1)).all() and (table.sum(1) <= 1).all()):
        raise DataError(f"{path}: each row must hold a single 1, a node's class, and 0 elsewhere, got others.")
    return int(shape[0])


def _checked_links(path: Path, links: Any) -> int:
    """Return the number of nodes whose neighbours are in a dictionary."""
    nodes = len(links) if isinstance(links, dict) else 0
    if not nodes or set(links) != set(range(nodes)):
        raise DataError(f"{path}: there must be the neighbours of nodes 0, 1, 2, ..., without a gap, got others.")
    for node, others in links.items():
        if not isinstance(others, list) or not all(isinstance(k, int) and 0 <= k < nodes for k in others):
            raise DataError(f"{path}: neighbours must be nodes 0 to {nodes - 1}, those of {node} are not.")
    return nodes


def _check_test(path: Path, first: int, count: int, nodes: int) -> None:
    """Raise a DataError unless the test nodes are ``count`` of those after the ``first``."""
    words = path.read_text(encoding="utf-8", errors="replace").split()
    named = {int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 10}
    if len(words) != count or len(named) != count or min(named) != first or max(named) != nodes - 1:
        rule = f"there must be {count} nodes of {first} to {nodes - 1}, each once, the first and the last among them"
        raise DataError(f"{path}: {rule}, got others.")
