"""Cornell: name the kind of a university's web page from its words and links, where neighbours mostly differ."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.spec import Recipe
from longwave.tasks.formats.geom_gcn import node_classes, source
from longwave.tasks.texas import FEATURES
from longwave.tasks.texas import TASK as TEXAS

FILES = source("cornell", "WebKB's Cornell", "Craven et al. 1998", 183, 298)


@cache
def _load(variant: str) -> Data[Graphs]:
    return node_classes(FILES, FEATURES, variant)


TASK = replace(
    TEXAS,
    name="cornell",
    title="Cornell",
    summary="As texas, with the pages of another university.",
    load=_load,
    recipes={
        "": Recipe(
            hidden=256,
            batch=1,
            epochs=1500,
            numbers={"weight_decay": 0.0012708787092020595},
            source="GraphCON, the authors' code: best settings",
            paper="thesis",
        ),
    },
    length="183 nodes, 298 directed edges",
    files=FILES,
)
