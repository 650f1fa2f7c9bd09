"""Squirrel: name how much an encyclopedia's page is read from its nouns and links, where neighbours mostly differ."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.chameleon import TASK as CHAMELEON
from longwave.tasks.formats.geom_gcn import node_classes, source

FEATURES = 2089
FILES = source("squirrel", "Wikipedia's squirrel graph", "Rozemberczki et al. 2021", 5201, 217073)


@cache
def _load(variant: str) -> Data[Graphs]:
    return node_classes(FILES, FEATURES, variant)


TASK = replace(
    CHAMELEON,
    name="squirrel",
    title="Squirrel",
    summary="As chameleon, with twice the pages and three times the links of each.",
    inputs=FEATURES,
    load=_load,
    source="Rozemberczki et al. 2021; features, classes and splits, 2496/1664/1041 nodes, of Pei et al. 2020",
    length="5201 nodes, 217073 directed edges",
    files=FILES,
)
