"""Graph models by hand: dense float64 matrices over one graph, no PyTorch Geometric, no members; and random graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from longwave.models.base.layer import Layer
from longwave.tasks.base.graphs import Graphs, pad_graphs

Array = np.ndarray[Any, np.dtype[np.float64]]
W = Mapping[str, Array]
HEADS = 4


def random_graphs(seed: int, p: int = 3, sizes: tuple[int, ...] = (6, 1, 4)) -> Graphs:
    """Return graphs in float64 with isolated nodes, self-loops and repeated edges; the second has one node, no edge."""
    g = torch.Generator().manual_seed(seed)
    nodes = [torch.randn(v, p, generator=g, dtype=torch.float64) for v in sizes]
    edges = []
    for v in sizes:
        some = torch.randint(max(1, v - 1), (2, 2 * v if v > 1 else 0), generator=g)  # the last node has no edge
        edges.append(torch.cat([some, some[:, :2], torch.zeros(2, int(v > 1), dtype=torch.int64)], 1))
    return pad_graphs(nodes, edges, [torch.zeros(v, dtype=torch.int64) for v in sizes])


def one_graph_of(batch: Graphs, k: int) -> tuple[Array, list[tuple[int, int]]]:
    """Return features and edges, from and to, of graph ``k`` of a batch without members."""
    real = int(batch.real[k].sum())
    pairs = [(a, b) for a, b in batch.edges[k].tolist() if a < batch.positions]
    return batch.nodes[k, :real].numpy(), pairs


def weights_of(layer: Layer[Any], k: int) -> dict[str, Array]:
    """Return weights and hyper-parameters of member ``k``."""
    return {name: t[k].detach().double().numpy() for name, t in layer.raw().items()}


def adjacency(n: int, edges: list[tuple[int, int]], loops: bool) -> Array:
    """Return the number of edges from j to i at [i, j]; with ``loops``, each node has exactly one self-loop."""
    a = np.zeros((n, n))
    for begin, end in edges:
        a[end, begin] += begin != end or not loops
    return a + np.eye(n) if loops else a


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def linear(x: Array, edges: Any, w: W, prefix: str, k: int) -> Array:
    return x @ w[prefix + "W"][k].T + w[prefix + "b"][k]


def gcn(x: Array, edges: Any, w: W, prefix: str, k: int) -> Array:
    a = adjacency(len(x), edges, loops=True)
    d = a.sum(1) ** -0.5
    return d[:, None] * a * d @ x @ w[prefix + "W"][k].T + w[prefix + "b"][k]


def sage(x: Array, edges: Any, w: W, prefix: str, k: int) -> Array:
    a = adjacency(len(x), edges, loops=False)
    mean = a @ x / np.maximum(a.sum(1, keepdims=True), 1)
    return mean @ w[prefix + "W"][k].T + w[prefix + "b"][k] + x @ w[prefix + "U"][k].T


def gat(x: Array, edges: Any, w: W, prefix: str, k: int) -> Array:
    a, h = adjacency(len(x), edges, loops=True), (x @ w[prefix + "W"][k].T).reshape(len(x), HEADS, -1)
    out = np.zeros_like(h)
    for head in range(HEADS):
        scores = (h[:, head] @ w[prefix + "target"][k, head])[:, None] + h[:, head] @ w[prefix + "source"][k, head]
        shares = a * np.exp(np.where(scores > 0, scores, 0.2 * scores))
        out[:, head] = shares / shares.sum(1, keepdims=True) @ h[:, head]
    return out.reshape(len(x), -1) + w[prefix + "b"][k]


CONVS = {"linear": linear, "gcn": gcn, "gat": gat, "sage": sage}


def activated(kind: str, u: Array) -> Array:
    if kind != "gat":
        return relu(u)
    return np.where(u > 0, u, np.expm1(np.minimum(u, 0))).reshape(len(u), -1, HEADS).mean(-1)


def attention(x: Array, edges: Any, w: W, heads: int, over: str) -> Array:
    """Return A, the mean over heads of softmax of scaled dot products over edges and self-loops."""
    a = adjacency(len(x), edges, loops=True)
    queries, keys = x @ w["Q"].T + w["q"], x @ w["K"].T + w["k"]
    total = np.zeros_like(a)
    for q, k in zip(np.split(queries, heads, 1), np.split(keys, heads, 1), strict=True):
        shares = a * np.exp(q @ k.T / np.sqrt(q.shape[1]))
        total += shares / shares.sum(1 if over == "receiving" else 0, keepdims=True)
    return total / heads


def plain(kind: str, x: Array, edges: Any, w: W, options: Mapping[str, Any]) -> Array:
    x = activated(kind, CONVS[kind](x, edges, w, "first_", 0))
    for k in range(options["layers"] - 1):
        x = activated(kind, CONVS[kind](x, edges, w, "rest_", k))
    return x


def g2(x: Array, edges: Any, w: W, options: Mapping[str, Any]) -> Array:
    kind, n = options["coupling"], len(x)
    x = relu(x @ w["We"].T + w["be"])
    for k in range(options["layers"]):
        k = 0 if options["shared"] else k
        proposed = activated(kind, CONVS[kind](x, edges, w, "conv_", k))
        u = activated(kind, CONVS[kind](x, edges, w, "gate_", k)) if options["second"] else proposed
        total, leaving = np.zeros_like(u), np.zeros((n, 1))
        single = options["rate"] == "single"
        for i, j in edges:
            apart = np.abs(u[j] - u[i]) ** w["p"]
            total[i] += apart.sum() ** (1 / w["p"]) if single else apart
            leaving[i] += 1
        tau = np.tanh(total / np.maximum(leaving, 1) if options["aggregate"] == "mean" else total)
        tau = tau ** w["alpha"] if "alpha" in w else tau
        x = (1 - tau) * x + tau * proposed
    return x


def graphcon(x: Array, edges: Any, w: W, options: Mapping[str, Any]) -> Array:
    kind, residual = options["coupling"], options["residual"]
    x = x @ w["We"].T + w["be"]
    x = relu(x) if options["webkb"] else x
    y = x
    a = attention(x, edges, w, HEADS, "receiving") if kind == "tran" else None
    for n in range(options["layers"]):
        if a is not None:
            force = a @ x
        else:
            k = 0 if options["shared"] else n
            u, linear_part = CONVS[kind](x, edges, w, "conv_", k), x @ w["conv_W"][k].T
            if residual == "map":
                u = u - (linear_part @ w["R"].T + w["r"])
            elif residual != "none":
                u = u + x @ w["R"].T + w["r"] - (linear_part if residual == "difference" else 0)
            force = activated(kind, u)
        y = y + w["dt"] * (force - w["gamma"] * x - w["alpha"] * y)
        x = x + w["dt"] * y
    return x


def graphcon_citation(x: Array, edges: Any, w: W, options: Mapping[str, Any]) -> Array:
    gates = {name: 1 / (1 + np.exp(-w[name])) for name in ("a", "b1", "b2")}
    e = x @ w["We"].T + w["be"]
    v, x = e, e
    a = None if options["coupling"] == "gcn" else attention(e, edges, w, options["heads"], options["over"])
    remaining = float(w["time"])
    while remaining > 0:
        h, remaining = min(1.0, remaining), remaining - 1
        mixed = gcn(x, edges, w, "conv_", 0) if a is None else a @ x
        v = v + h * ((1 - gates["b1"]) * (mixed - x - v) + gates["b1"] * e)
        x = x + h * ((1 - gates["b2"]) * gates["a"] * v + gates["b2"] * e)
    return relu(x)


def by_hand(name: str, x: Array, edges: Any, w: W, options: Mapping[str, Any]) -> Array:
    """Return the read-out's input of each node of one graph."""
    kinds = {"gcn": "gcn", "gat": "gat", "graphsage": "sage", "mlp": "linear"}
    if name in kinds:
        return plain(kinds[name], x, edges, w, options)
    return {"g2": g2, "graphcon": graphcon, "graphcon_citation": graphcon_citation}[name](x, edges, w, options)
