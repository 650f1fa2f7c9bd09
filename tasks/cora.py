"""Cora: name the field of a paper from its words and what it cites, with 20 known papers a field."""

from __future__ import annotations

from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.smoothing import SMOOTHING
from longwave.tasks.base.spec import Recipe, TaskSpec, note
from longwave.tasks.formats.planetoid import VARIANTS_IN_WORDS, load_papers, source
from longwave.tasks.trivial.graphs import of_classes

FEATURES, CLASSES = 1433, 7
FILES = source("cora", "Planetoid's Cora", 2708, 10556)


@cache
def _load(variant: str) -> Data[Graphs]:
    return load_papers(FILES, FEATURES, CLASSES, variant)


TASK = TaskSpec(
    name="cora",
    title="Cora",
    family="graph",
    summary="Structure: few labelled nodes in a graph of mostly similar neighbours; deep models over-smooth.",
    inputs=FEATURES,
    outputs=CLASSES,
    targets="at the nodes of a split",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=80,
            batch=1,
            epochs=99,
            optimiser="adamax",
            numbers={"weight_decay": 0.00507685443154266, "input_dropout": 0.5},
            source="GraphCON, the authors' code: best settings of its attention; of 100 epochs it runs 99",
            paper="thesis",
        ),
    },
    variants=VARIANTS_IN_WORDS,
    source="Sen et al. 2008, files of Yang et al. 2016; largest component, divided as in Shchur et al. 2018",
    licence=FILES.licence,
    length="2485 nodes, 5069 undirected edges",
    lag="one edge and more",
    protocols=(
        note("the papers print the mean over random splits whose seeds are lost; a row here is of one split"),
        note("GraphCON's code also selects the integration time of its output, by validation", "thesis"),
    ),
    files=FILES,
    further=SMOOTHING,
    baselines=of_classes(CLASSES),
)
