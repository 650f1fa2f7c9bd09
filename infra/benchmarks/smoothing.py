"""Oversmoothing through the layers of untrained graph models, on a grid (thesis, Figures 7.2, 8.1)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import torch
import typer

from longwave.models.base.graph import DEPTHS, GraphLayer
from longwave.models.base.spec import Sizes
from longwave.platform.cli.app import ListFormat
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.registry import get_model
from longwave.platform.render.terminal import print_json, print_table
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.smoothing import dirichlet_sums, distance_sums

LISTED = ", ".join(map(str, DEPTHS))
SIDE, HIDDEN = 10, 16
"""Nodes along a side of the grid; channels. The papers do not state the channels."""
STUDY: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "GCN": ("gcn", {}),
    "GAT": ("gat", {}),
    "GraphCON-GCN, α = 0": ("graphcon", {"gamma": 1.0, "alpha": 0.0}),
    "GraphCON-GCN, α = 0.5": ("graphcon", {"gamma": 1.0, "alpha": 0.5}),
    "GraphCON-GAT, α = 0": ("graphcon", {"coupling": "gat", "gamma": 1.0, "alpha": 0.0}),
    "G²-GCN": ("g2", {"p": 2.0, "shared": False}),
    "G²-GAT": ("g2", {"coupling": "gat", "p": 2.0, "shared": False}),
}
"""The models compared: name, options and parameters."""


def make_grid() -> Graphs:
    """Return a square grid with four neighbours per node and features U[0, 1), (1, SIDE², 1), float64."""
    node = torch.arange(SIDE * SIDE).view(SIDE, SIDE)
    pairs = torch.cat([torch.stack((node[:, :-1].flatten(), node[:, 1:].flatten()), 1),
                       torch.stack((node[:-1].flatten(), node[1:].flatten()), 1)])  # fmt: skip
    nodes = torch.rand(1, SIDE * SIDE, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    edges = torch.cat([pairs, pairs.flip(1)]).unsqueeze(0)
    return Graphs(nodes, torch.ones(nodes.shape[:2], dtype=torch.bool), edges, torch.zeros(nodes.shape[:2]).long())


@torch.no_grad()
def trace_energies(model: str, layers: int, batch: Graphs, **settings: Any) -> list[tuple[float, float]]:
    """Return Dirichlet energy and mean average distance of a random network's hidden states, after each layer.

    Args:
        model: Name of a graph model with ``layers``.
        layers: Their number, which the model must support.
        batch: The input, without members, in float64.
        settings: Options and hyper-parameters.
    """
    layer = get_model(model).build(Sizes(batch.nodes.shape[-1], HIDDEN, 1, batch.positions), layers=layers, **settings)
    assert isinstance(layer, GraphLayer)
    layer.reset_parameters([torch.Generator().manual_seed(0)])
    energies = []
    for state in layer.double().eval().trace(batch):
        x = state.unsqueeze(0)
        sums = dirichlet_sums(x, batch), distance_sums(x, batch)
        energy, distance = ((total / count).item() for total, count in sums)
        energies.append((energy, distance))
    return energies[-layers:]


def study_models(layers: int = 100) -> dict[str, list[tuple[float, float]]]:
    """Return ``trace_energies`` on the grid for all models of ``STUDY``, by name.

    Raises:
        ConfigError: The models do not support that many layers, or PyTorch Geometric is not installed.
    """
    if missing := get_model("gcn").lacks():
        raise ConfigError(missing)
    if layers not in DEPTHS:
        raise ConfigError(f"layers: it must be one of {LISTED}, got {layers}.")
    return {name: trace_energies(model, layers, make_grid(), **settings) for name, (model, settings) in STUDY.items()}


def print_report(lines: Mapping[str, Sequence[tuple[float, float]]], format: str) -> None:
    """Print Dirichlet energy and mean average distance by layer: as JSON of each, as a table of a few."""
    if format == "json":
        print_json([{"name": n, "energy": [e for e, _ in t], "mad": [d for _, d in t]} for n, t in lines.items()])
        return
    count = len(next(iter(lines.values())))
    shown = [k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= count]
    for measure, quantity in enumerate(("Dirichlet energy", "mean average distance")):
        rows = [(name, *(f"{trace[k - 1][measure]:.2g}" for k in shown)) for name, trace in lines.items()]
        drop = [k for k in (2, 5, 8, 1, 4, 7, 3, 6) if k <= len(shown)]
        print_table([f"{quantity} after layer", *map(str, shown)], rows, prose=[0], drop=drop)


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure(
    layers: Annotated[int, typer.Option(help=f"Layers of the untrained graph models: {LISTED}.")] = 100,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure the differences between neighbours after each layer of untrained graph models, on a 10 × 10 grid."""
    print_report(study_models(layers), format.value)


if __name__ == "__main__":
    sys.exit(main(command=command))
