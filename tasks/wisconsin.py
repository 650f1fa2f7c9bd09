"""Wisconsin: name the kind of a university's web page from its words and links, where neighbours mostly differ."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.spec import Recipe
from longwave.tasks.formats.geom_gcn import node_classes, source
from longwave.tasks.texas import FEATURES
from longwave.tasks.texas import TASK as TEXAS

FILES = source("wisconsin", "WebKB's Wisconsin", "Craven et al. 1998", 251, 515)


@cache
def _load(variant: str) -> Data[Graphs]:
    return node_classes(FILES, FEATURES, variant)


TASK = replace(
    TEXAS,
    name="wisconsin",
    title="Wisconsin",
    summary="As texas, with the pages of another university.",
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=1,
            epochs=1500,
            numbers={"weight_decay": 0.008126619200091946},
            source="GraphCON, the authors' code: best settings",
            paper="thesis",
        ),
    },
    source="Craven et al. 1998; features, classes and splits, 120/80/51 nodes, of Pei et al. 2020",
    length="251 nodes, 515 directed edges",
    files=FILES,
)
