"""Graph models against dense float64 formulas, with their derivatives, and what no renumbering of nodes may change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from cases import graph_models
from dense_graphs import by_hand, one_graph_of, random_graphs, weights_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call

from longwave.models.base import geometric
from longwave.models.base.graph import GraphLayer
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.platform.registry import get_model
from longwave.tasks.base.graphs import Graphs, pad_graphs
from longwave.tasks.base.sequences import Sequences

pytest.importorskip("torch_geometric", reason="graph models need PyTorch Geometric: pip install 'longwave[graphs]'")
FLOAT64 = torch.float64
NUMBERS = {"dt": [0.5, 0.8], "gamma": [0.3, 0.0], "alpha": [0.4, 0.9], "p": [2.5, 0.7], "time": [2.3, 4.0]}
"""Hyper-parameters of two members."""


def forms() -> Iterator[Any]:
    """Yield each model at its defaults with one layer, then with three and each combination of its words."""
    for name, spec in graph_models().items():
        one = {**spec.defaults, **({"layers": 1} if "layers" in spec.layer.OPTIONS else {})}
        yield pytest.param(name, one, id=f"{name}-one")
        few = {key: {"layers": (3,), "width": (16,)}.get(key, choices) for key, choices in spec.layer.OPTIONS.items()}
        for chosen in product(*few.values()):
            options = dict(zip(few, chosen, strict=True))
            if options.get("coupling") != "tran" or options.get("residual", "none") == "none":
                yield pytest.param(name, options, id="-".join([name, *map(str, chosen)]))


FORMS = list(forms())
FEW = [pytest.param(name, spec.defaults, id=name) for name, spec in graph_models().items()]


def layer_of(name: str, options: dict[str, Any], members: int | None = 2, d: int = 4) -> GraphLayer[Any]:
    """Return a layer in float64, of members with other numbers and random weights."""
    spec = get_model(name)
    requested = {k: torch.tensor(v, dtype=FLOAT64) for k, v in NUMBERS.items() if k in {x.name for x in spec.params}}
    if members is None:
        requested = {k: v[0] for k, v in requested.items()}
    layer = spec.build(Sizes(3, d, 2, 6), members, **requested, **options).double()
    assert isinstance(layer, GraphLayer)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(0.6 * torch.randn(weight.shape, generator=generator, dtype=FLOAT64))
    return layer.eval()


@pytest.mark.parametrize("name, options", FORMS)
def test_a_model_is_what_dense_matrices_give_for_each_member_and_graph(name: str, options: dict[str, Any]) -> None:
    layer, batch = layer_of(name, options), random_graphs(1)
    seen, _ = layer.features(batch.shared(2))
    for member, k in product(range(2), range(len(batch))):
        x, edges = one_graph_of(batch, k)
        expected = by_hand(name, x, edges, weights_of(layer, member), options)
        np.testing.assert_allclose(seen[member, k, : len(x)].detach().numpy(), expected, rtol=1e-9, atol=1e-11)


def test_counts_are_those_of_one_members_trained_numbers() -> None:
    for name, options in (case.values for case in FORMS):
        numbers = sum(p[0].numel() for p in layer_of(name, options).parameters())
        assert numbers + 10 == get_model(name).count(3, 4, 2, **options), (name, options)


@pytest.mark.parametrize("name, options", FEW)
def test_derivatives_are_those_of_small_differences(name: str, options: dict[str, Any]) -> None:
    layer, batch = layer_of(name, {**options, **({"width": 8} if "width" in options else {})}, d=2), random_graphs(2)
    sourced = name == "graphcon_citation"  # no gradient flows into its source, so none to the encoder is whole
    names = [n for n, _ in layer.named_parameters() if not (sourced and n in ("We", "be"))]

    def run(nodes: Tensor, *weights: Tensor) -> Tensor:
        given = dict(zip((f"layer.{n}" for n in names), weights, strict=True))
        return functional_call(_Features(layer), given, (batch._with(nodes=nodes).shared(2),))

    weights = [layer.get_parameter(n) for n in names]
    inputs = (batch.nodes if sourced else batch.nodes.requires_grad_(), *weights)
    assert torch.autograd.gradcheck(run, inputs, eps=1e-7, atol=1e-5, fast_mode=True)


class _Features(torch.nn.Module):
    def __init__(self, layer: GraphLayer[Any]) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, batch: Graphs) -> Tensor:
        return self.layer.features(batch)[0]


def test_no_gradient_flows_into_the_source_of_graphcons_code_for_citation_graphs() -> None:
    layer, batch = layer_of("graphcon_citation", {"coupling": "gcn"}, members=None), random_graphs(0, sizes=(7,))
    with torch.no_grad():
        for name, value in {"b1": 50.0, "b2": 50.0, "be": 100.0}.items():  # x = e + T e, the second e as a source
            layer.get_parameter(name).fill_(value)
    layer.features(batch)[0].sum().backward()
    torch.testing.assert_close(layer.get_parameter("be").grad, torch.full((4,), 7.0, dtype=FLOAT64))


@pytest.mark.parametrize("name, options", FEW)
@settings(max_examples=5)
@given(seed=st.integers(0, 99))
def test_nodes_in_another_order_give_the_same_in_that_order(name: str, options: dict[str, Any], seed: int) -> None:
    layer, batch = layer_of(name, options, members=None), random_graphs(seed, sizes=(7,))
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    other = pad_graphs([batch.nodes[0, order]], [order.argsort()[batch.edges[0].mT]], [batch.targets[0]])
    torch.testing.assert_close(layer.features(other)[0], layer.features(batch)[0][:, order], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name, options", FEW)
def test_what_stands_at_padded_nodes_and_which_graphs_are_beside_changes_nothing(
    name: str, options: dict[str, Any]
) -> None:
    layer, batch = layer_of(name, options, members=None), random_graphs(3)
    seen = layer.features(batch)[0]
    for filled in (99.0, torch.nan):
        other = replace(batch, nodes=batch.nodes.masked_fill(~batch.real.unsqueeze(-1), filled))
        torch.testing.assert_close(layer.features(other)[0][batch.real], seen[batch.real])
    alone = layer.features(batch.take(torch.tensor([2, 0])))[0]
    torch.testing.assert_close(alone, seen[[2, 0]], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name, options", FEW)
def test_of_a_graph_as_a_whole_the_sum_over_its_own_nodes_is_read(name: str, options: dict[str, Any]) -> None:
    layer, batch = layer_of(name, options), random_graphs(4)
    nodes = batch.nodes.masked_fill(~batch.real.unsqueeze(-1), torch.nan)
    whole = replace(batch, nodes=nodes, targets=torch.zeros(len(batch), dtype=torch.int64))
    seen, expected = layer.features(whole.shared(2))[0], layer.features(batch.shared(2))[0]
    torch.testing.assert_close(seen, (expected * batch.real.unsqueeze(-1)).sum(2))


@pytest.mark.parametrize("name, options", FEW)
def test_members_with_other_graphs_give_each_what_it_gives_alone(name: str, options: dict[str, Any]) -> None:
    layer, batch = layer_of(name, options), random_graphs(5)
    index = torch.tensor([[0, 2], [2, 1]])
    together = layer.features(batch.take(index))[0]
    for k in range(2):
        assert torch.equal(layer.features(batch.take(index[[k, k]]))[0][k], together[k])


@pytest.mark.parametrize("name", ["gcn", "gat", "graphsage"])
def test_a_convolution_starts_and_computes_as_pygs_own_layer(name: str) -> None:
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv

    theirs = {
        "gcn": lambda: GCNConv(3, 40),
        "gat": lambda: GATConv(3, 40, heads=4),
        "graphsage": lambda: SAGEConv(3, 40),
    }
    held = {"lin.weight": "W", "lin_l.weight": "W", "bias": "b", "lin_l.bias": "b", "lin_r.weight": "U",
            "att_src": "source", "att_dst": "target"}  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        layer, own = get_model(name).build(Sizes(3, 40, 2, 1), layers=1), theirs[name]()
    for key, weight in own.named_parameters():
        ours = getattr(layer, f"first_{held[key]}").detach()
        assert ours.abs().max() == pytest.approx(weight.abs().max().item(), rel=0.15), "of one uniform law"
        weight.data = ours.reshape(weight.shape).clone()
    batch = random_graphs(6, sizes=(8,)).to("cpu", torch.float32)
    actual = own(batch.nodes[0], batch.edges[0].mT)
    expected = torch.nn.functional.elu(actual).view(8, -1, 4).mean(-1) if name == "gat" else actual.relu()
    torch.testing.assert_close(layer.features(batch)[0][0], expected, rtol=1e-5, atol=1e-6)


def test_a_graph_layer_says_what_it_reads_and_what_is_wrong() -> None:
    layer, batch = layer_of("gcn", {"layers": 1}), random_graphs(7)
    wrong = Sequences(torch.zeros(2, 3, 1), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"^GCN reads Graphs, got Sequences\.$"):
        layer.features(wrong)
    with pytest.raises(ValueError, match=re.escape("GCN: nodes must be (2, B, V, 3), got (3, 6, 3).")):
        layer.features(batch)
    with pytest.raises(
        ValueError, match=r"^GCN: nodes must have the weights' dtype torch\.float64, got torch\.float32"
    ):
        layer.features(batch.to("cpu", torch.float32).shared(2))


def test_without_pyg_a_graph_model_says_how_to_get_it_and_is_listed_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = "Graph models need PyTorch Geometric: pip install 'longwave[graphs]'"
    monkeypatch.setattr(geometric, "find_spec", lambda name: None)
    geometric.pyg.cache_clear()
    specs: dict[str, ModelSpec] = graph_models()
    assert {name for name, spec in specs.items() if spec.lacks() == line} == specs.keys() - {"mlp"}
    assert specs["mlp"].lacks() == "" and get_model("lem").lacks() == ""
    with pytest.raises(ValueError, match=re.escape(line)):
        layer_of("gcn", {"layers": 1}).features(random_graphs(1).shared(2))
