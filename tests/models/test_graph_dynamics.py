"""What theory says of graph models: rates, steady states, and the energy of the corrected statements."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from dense_graphs import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from smoothing import STUDY, make_grid, study_models, trace_energies
from torch import Tensor

from longwave.models.base.geometric import Links
from longwave.models.base.graph import GraphLayer
from longwave.models.base.spec import Sizes
from longwave.models.g2 import G2
from longwave.models.graphcon import GraphCON
from longwave.platform.errors import ConfigError
from longwave.platform.registry import get_model
from longwave.tasks.base.graphs import Graphs, pad_graphs

pytest.importorskip("torch_geometric", reason="graph models need PyTorch Geometric: pip install 'longwave[graphs]'")
FLOAT64 = torch.float64


def ring(n: int, d: int, value: float | None = None) -> Graphs:
    """Return a ring of n nodes, all alike if a value is given."""
    forth = torch.stack((torch.arange(n), (torch.arange(n) + 1) % n))
    nodes = torch.randn(n, d, dtype=FLOAT64, generator=torch.Generator().manual_seed(1))
    nodes = nodes if value is None else torch.full_like(nodes, value)
    return pad_graphs([nodes], [torch.cat([forth, forth.flip(0)], 1)], [torch.zeros(n, dtype=torch.int64)])


def identity(layer: GraphLayer, *others: str) -> GraphLayer:
    """Set We and the named weights to the identity, all other weights to 0."""
    with torch.no_grad():
        for name, weight in layer.named_parameters():
            weight.zero_()
            if name in ("We", *others):
                weight.copy_(torch.eye(weight.shape[-1], dtype=FLOAT64).expand_as(weight))
    return layer


def rates(layer: G2, u: Tensor, batch: Graphs) -> Tensor:
    """Return τ of one graph, from U (V, d)."""
    return layer.rates(u.unsqueeze(0), Links.of(batch.shared(1)), layer.weights(layer.lifted_tensors()))[0]


@settings(max_examples=20)
@given(
    st.integers(0, 999), st.floats(0.2, 5.0), st.floats(1e-6, 1e3), st.sampled_from(G2.OPTIONS["aggregate"]),
    st.sampled_from(G2.OPTIONS["rate"]),
)  # fmt: skip
def test_g2s_rates_lie_in_0_to_1_and_are_0_without_neighbours(
    seed: int, p: float, size: float, aggregate: str, rate: str
) -> None:
    batch = random_graphs(seed, sizes=(8,))
    layer = G2(3, 5, p=torch.tensor(p, dtype=FLOAT64), aggregate=aggregate, rate=rate).double()
    u = size * torch.randn(8, 5, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))
    tau = rates(layer, u, batch)
    assert ((tau >= 0) & (tau <= 1)).all()
    assert not tau[-1].any(), "the last node has no edge"


@pytest.mark.parametrize("p", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("rate", ["multi", "single"])
def test_g2s_rates_are_0_where_neighbours_agree_and_their_slopes_are_finite(p: float, rate: str) -> None:
    layer = G2(2, 2, p=torch.tensor(p, dtype=FLOAT64), rate=rate, alpha=torch.tensor(0.5, dtype=FLOAT64)).double()
    u = torch.full((6, 2), 0.7, dtype=FLOAT64)
    u[3, 1] = 0.9
    u.requires_grad_()
    tau = rates(layer, u, ring(6, 2))
    apart = torch.zeros(6, 2 if rate == "multi" else 1, dtype=torch.bool)
    apart[2:5, -1] = True
    assert torch.equal(tau > 0, apart)
    tau.sum().backward()
    assert u.grad is not None and u.grad.isfinite().all()


def test_g2_with_exponent_0_is_the_plain_network_and_with_1_is_itself() -> None:
    batch, sizes = random_graphs(3), Sizes(3, 4, 2, 6)
    actual = {}
    for alpha in (None, 0.0, 1.0):
        given_alpha = {} if alpha is None else {"alpha": torch.tensor(alpha, dtype=FLOAT64)}
        layer = get_model("g2").build(sizes, layers=3, p=2.0, **given_alpha).double()
        layer.reset_parameters([torch.Generator().manual_seed(1)])
        actual[alpha] = list(layer.trace(batch))
    torch.testing.assert_close(actual[1.0][-1], actual[None][-1], rtol=1e-12, atol=1e-14)
    layer = get_model("g2").build(sizes, layers=3, p=2.0).double()
    layer.reset_parameters([torch.Generator().manual_seed(1)])
    x, w, links = (
        actual[0.0][0].flatten(0, 1).unsqueeze(0),
        layer.weights(layer.lifted_tensors()),
        Links.of(batch.shared(1)),
    )
    for _ in range(3):
        x = w.conv("gcn", x, links, 0).relu()
    torch.testing.assert_close(actual[0.0][-1].flatten(0, 1), x[0])


def test_a_channel_of_g2_stays_between_its_start_and_what_is_proposed() -> None:
    layer = get_model("g2").build(Sizes(3, 6, 2, 8), layers=32, p=2.0).double()
    batch = random_graphs(5, sizes=(8,))
    states = [s.flatten(0, 1).unsqueeze(0) for s in layer.trace(batch)]
    w, links = layer.weights(layer.lifted_tensors()), Links.of(batch.shared(1))
    for before, after in zip(states, states[1:], strict=False):
        proposed = w.conv("gcn", before, links, 0).relu()
        low, high = torch.minimum(before, proposed), torch.maximum(before, proposed)
        assert ((after >= low - 1e-12) & (after <= high + 1e-12)).all()


def test_constant_nodes_at_rest_stay_where_they_are_in_graphcon() -> None:
    layer = identity(GraphCON(2, 2, layers=64, gamma=1.0, alpha=0.5).double(), "conv_W")
    batch, links = ring(7, 2, 0.8), Links.of(ring(7, 2).shared(1))
    w = layer.weights(layer.lifted_tensors())
    c, x, y = batch.nodes, batch.nodes, torch.zeros(1, 7, 2, dtype=FLOAT64)
    for n in range(64):
        y = y + (layer.messages(x, links, w, n).relu() - x - 0.5 * y)
        x = x + y
    torch.testing.assert_close(x, c, rtol=1e-12, atol=1e-12)


def test_an_uncoupled_undamped_graphcon_turns_as_an_oscillator() -> None:
    dt, n = 0.1, 32
    layer = identity(GraphCON(1, 1, layers=n, dt=dt, gamma=1.0, alpha=0.0).double())
    batch = ring(5, 1)
    seen = torch.stack(list(layer.trace(batch)))[:, 0]
    t = torch.arange(n + 1, dtype=FLOAT64).view(-1, 1, 1) * dt
    exact = batch.nodes[0] * (t.cos() + t.sin())  # X and Y start alike
    assert (seen - exact).abs().max() < 2 * dt * batch.nodes.abs().max()
    finer = identity(GraphCON(1, 1, layers=64, dt=dt / 2, gamma=1.0, alpha=0.0).double())
    close = torch.stack(list(finer.trace(batch)))[::2, 0]
    assert (close - exact).abs().max() < 0.6 * (seen - exact).abs().max(), "of first order"


def test_the_energy_of_linear_graphcon_decays_with_damping_as_its_modes_do_and_not_without() -> None:
    n, layers = 8, 100
    for alpha in (0.0, 0.5):
        layer = identity(GraphCON(1, 1, layers=layers, gamma=1.0, alpha=alpha).double(), "conv_W")
        batch = ring(n, 1)
        batch = batch._with(nodes=batch.nodes + 100.0)  # ReLU acts as the identity
        seen = torch.stack(list(layer.trace(batch)))[:, 0, :, 0]
        modes = torch.fft.fft(seen)[:, 1:]
        grown = []
        for k in range(1, n):  # y' = y + (μ − 1) x − α y, x' = x + y', with μ the mode's share in what is heard
            mu = (1 + 2 * math.cos(2 * math.pi * k / n)) / 3
            step = np.array([[1 + (mu - 1), 1 - alpha], [mu - 1, 1 - alpha]])
            grown.append(max(abs(np.linalg.eigvals(step))))
        energy = modes.abs().square().sum(1)
        if alpha == 0:
            assert max(abs(g - 1) for g in grown) < 1e-12 and energy[50:].min() > 1e-3 * energy[0]
        else:
            assert max(grown) < 1 and energy[-1] < 1e-6 * energy[0]


@pytest.mark.integration
def test_on_the_grid_plain_networks_smooth_and_undamped_graphcon_and_g2_do_not() -> None:
    actual = {name: [energy for energy, _ in trace] for name, trace in study_models(100).items()}
    assert actual.keys() == STUDY.keys() and all(len(trace) == 100 for trace in actual.values())
    first, last = ({name: trace[k] for name, trace in actual.items()} for k in (0, -1))
    for name in ("GCN", "GAT"):
        assert last[name] < 1e-12 * first[name]
    for name in ("GraphCON-GCN, α = 0", "GraphCON-GAT, α = 0", "G²-GCN", "G²-GAT"):
        assert min(actual[name]) > 1e-3 * first[name], name
    assert last["GraphCON-GCN, α = 0.5"] < 1e-6 * first["GraphCON-GCN, α = 0.5"], "damping with ReLU does smooth"


@pytest.mark.integration
def test_through_1000_layers_g2_keeps_its_energy() -> None:
    energies = [energy for energy, _ in trace_energies("g2", 1000, make_grid(), p=2.0, shared=False)]
    assert min(energies) > 0.5 * energies[0] and trace_energies("gcn", 1000, make_grid())[-1][0] == 0


def test_a_study_of_a_number_of_layers_that_no_model_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^layers: it must be one of 1, 2, .*, 1000, got 7\.$"):
        study_models(7)
