"""Small graphs in the formats of the real files: Planetoid, Geom-GCN, MUSAE and ZINC."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix

from longwave.tasks.formats.geom_gcn import EDGES, NODES

Written = dict[str, Any]
"""What was written: ``x``, ``y``, ``pairs``, masks."""


def links(random: np.random.RandomState, n: int, edges: int) -> np.ndarray:
    """Return directed edges without self-loops, (E, 2), each once; a cycle first, so that the graph is connected."""
    circle = np.stack([np.arange(n), (np.arange(n) + 1) % n], 1)
    more = random.randint(0, n, (edges, 2))
    return np.unique(np.concatenate([circle, more[more[:, 0] != more[:, 1]]]), axis=0)


def write_splits(folder: Path, name: str, n: int) -> list[dict[str, np.ndarray]]:
    """Write ten splits of n nodes and return their masks."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = []
    for k in range(10):
        part = np.random.RandomState(k).permutation(n) * 25 // n
        masks = {"train_mask": part < 12, "val_mask": (part >= 12) & (part < 20), "test_mask": part >= 20}
        np.savez(folder / f"{name}_split_0.6_0.2_{k}.npz", **{m: v.astype(np.uint8) for m, v in masks.items()})  # type: ignore[arg-type]
        splits.append(masks)
    return splits


def write_geom_gcn(folder: Path, name: str, features: int, n: int = 50) -> Written:
    """Write a graph of n nodes, its lines in random order; for film, features are indices of words."""
    random = np.random.RandomState(sum(name.encode()))
    x, y = (random.rand(n, features) < 0.1).astype(int), random.randint(0, 5, n)
    x[:, -1] = 1
    pairs, masks = links(random, n, 3 * n), write_splits(folder, name, n)
    features_text = [",".join(map(str, row.nonzero()[0] if name == "film" else row)) for row in x]
    lines = [f"{k}\t{features_text[k]}\t{y[k]}" for k in random.permutation(n)]
    (folder / NODES).write_text("\n".join(["node_id\tfeature\tlabel", *lines]) + "\n")
    twice = [f"{a}\t{b}" for a, b in [*pairs, pairs[0]]]
    (folder / EDGES).write_text("\n".join(["node_id\tnode_id", *twice]) + "\n")
    return {"x": x, "y": y, "pairs": pairs, "masks": masks}


def dumped(value: object) -> bytes:
    """Return a pickle as written by Python 2 with numpy and SciPy of that time."""
    plain = pickle.dumps(value, protocol=2)
    return plain.replace(b"numpy._core.", b"numpy.core.").replace(b"scipy.sparse._csr", b"scipy.sparse.csr")


def write_planetoid(folder: Path, name: str, features: int, classes: int, n: int = 1700, gap: int = 0) -> Written:
    """Write a graph of n nodes; the first 30 form a separate component, and ``gap`` test nodes are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    random, first = np.random.RandomState(sum(name.encode())), n - 100
    x, y = (random.rand(n, features) < 0.02).astype(np.float32), np.arange(n) % classes
    x[:, 0] = np.arange(n) / n
    small, large = links(random, 30, 40), links(random, n - 30, 2 * n) + 30
    graph = defaultdict(list, {k: [] for k in range(n)})
    for a, b in np.concatenate([small, large]).tolist():
        graph[a] += [b]
        graph[b] += [a]
    graph[40] += [40, graph[40][0]]
    order = first + random.permutation(100)
    test = np.array([k for k in order if not (first + 10 <= k < first + 10 + gap)])
    one_hot = np.eye(classes, dtype=np.int32)[y]
    rows = {"x": x[:140], "tx": x[test], "allx": x[:first], "y": one_hot[:140], "ty": one_hot[test]}
    for part, rows_of_part in (rows | {"ally": one_hot[:first]}).items():
        (folder / f"ind.{name}.{part}").write_bytes(dumped(csr_matrix(rows_of_part) if "x" in part else rows_of_part))
    (folder / f"ind.{name}.graph").write_bytes(dumped(graph))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{k}\n" for k in test))
    pairs = np.unique(np.array([(a, b) for a in graph for b in graph[a] if a != b]), axis=0)
    return {"x": x, "y": y, "pairs": pairs, "test": test}


def write_musae(folder: Path, animal: str, features: int, n: int = 50) -> Written:
    """Write pages with targets in random order, and links of which one is listed both ways and one is a self-loop."""
    random, masks = np.random.RandomState(sum(animal.encode())), write_splits(folder, animal, n)
    pairs = links(random, n, 3 * n)
    x, y = (random.rand(n, features) < 0.01).astype(int), random.randint(1, 10**5, n)
    lines = [f"{a},{b}" for a, b in [*pairs.tolist(), pairs[0][::-1].tolist(), [3, 3]]]
    (folder / f"{animal}_edges.csv").write_text("\n".join(["id1,id2", *lines]) + "\n")
    target_lines = [f"{k},{y[k]}" for k in random.permutation(n)]
    (folder / f"{animal}_target.csv").write_text("\n".join(["id,target", *target_lines]) + "\n")
    nouns = {str(k): row.nonzero()[0].tolist() for k, row in enumerate(x)}
    (folder / f"{animal}_features.json").write_text(json.dumps(nouns))
    return {"x": x, "y": y, "pairs": pairs, "masks": masks}


def molecule(random: np.random.RandomState) -> dict[str, Any]:
    """Return a molecule as it is pickled."""
    n = random.randint(2, 9)
    bonds = torch.from_numpy(random.randint(0, 4, (n, n))).triu(1)
    return {
        "num_atom": n,
        "atom_type": torch.from_numpy(random.randint(0, 28, n)),
        "bond_type": bonds + bonds.mT,
        "logP_SA_cycle_normalized": torch.tensor([random.randn()], dtype=torch.float32),
    }


def write_zinc(folder: Path, count: int = 12) -> dict[str, list[int]]:
    """Write molecules and the indices of those that are used; return the indices."""
    (folder / "molecules").mkdir(parents=True, exist_ok=True)
    indices = {}
    for seed, (part, n) in enumerate({"train": count, "val": 6, "test": 6}.items()):
        random = np.random.RandomState(seed)
        molecules = [molecule(random) for _ in range(n)]
        (folder / f"molecules/{part}.pickle").write_bytes(pickle.dumps(molecules, protocol=4))
        indices[part] = random.permutation(n)[: n - 2].tolist()
        (folder / f"{part}.index").write_text(",".join(map(str, indices[part])) + "\n")
    return indices
