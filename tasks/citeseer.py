"""Citeseer: name the field of a paper from its words and what it cites, with 20 known papers a field."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.spec import Recipe
from longwave.tasks.cora import TASK as CORA
from longwave.tasks.formats.planetoid import load_papers, source
from longwave.tasks.trivial.graphs import of_classes

FEATURES, CLASSES = 3703, 6
FILES = source("citeseer", "Planetoid's Citeseer", 3327, 9104)


@cache
def _load(variant: str) -> Data[Graphs]:
    return load_papers(FILES, FEATURES, CLASSES, variant)


TASK = replace(
    CORA,
    name="citeseer",
    title="Citeseer",
    summary="As cora, with sparser edges and more words.",
    inputs=FEATURES,
    outputs=CLASSES,
    load=_load,
    recipes={
        "": Recipe(
            hidden=80,
            batch=1,
            epochs=249,
            source="GraphCON, the authors' code: its weight decay, 0.1, and input dropout, 0.68, lie beyond our ranges",
            paper="thesis",
            unstated=("numbers",),
        ),
    },
    length="2120 nodes, 3679 undirected edges",
    files=FILES,
    baselines=of_classes(CLASSES),
)
