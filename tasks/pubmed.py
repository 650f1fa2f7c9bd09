"""Pubmed: name the kind of diabetes a paper is on from its words and what it cites, with 20 known papers a kind."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.spec import Recipe, note
from longwave.tasks.cora import TASK as CORA
from longwave.tasks.formats.planetoid import load_papers, source
from longwave.tasks.trivial.graphs import of_classes

FEATURES, CLASSES = 500, 3
FILES = source("pubmed", "Planetoid's Pubmed", 19717, 88648)


@cache
def _load(variant: str) -> Data[Graphs]:
    return load_papers(FILES, FEATURES, CLASSES, variant)


TASK = replace(
    CORA,
    name="pubmed",
    title="Pubmed",
    summary="As cora, with eight times the nodes and three classes.",
    inputs=FEATURES,
    outputs=CLASSES,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=1,
            epochs=599,
            optimiser="adamax",
            numbers={"weight_decay": 0.0018236722171703636, "input_dropout": 0.5},
            source="GraphCON, the authors' code: best settings of its attention; of 600 epochs it runs 599",
            paper="thesis",
        ),
    },
    length="19717 nodes, 44324 undirected edges",
    protocols=(
        *CORA.protocols,
        note("the stored settings are not those of the paper, as a comment in the code says", "thesis"),
    ),
    files=FILES,
    baselines=of_classes(CLASSES),
)
