"""Film: classify an actor from the words of a page and from who is named together with them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.chameleon import RECIPE
from longwave.tasks.formats.geom_gcn import node_classes, source
from longwave.tasks.texas import GATING_NOTE, SPLIT_NOTE
from longwave.tasks.texas import TASK as TEXAS

FEATURES = 932
FILES = source("film", "the actors of films", "Tang et al. 2009", 7600, 30019)


@cache
def _load(variant: str) -> Data[Graphs]:
    return node_classes(FILES, FEATURES, variant)


TASK = replace(
    TEXAS,
    name="film",
    title="Film",
    summary="Structure: actors who are named together, in five kinds; edges carry almost no information.",
    inputs=FEATURES,
    load=_load,
    recipes={"": RECIPE},
    source="Tang et al. 2009; features, classes and splits, 3648/2432/1520 nodes, of Pei et al. 2020",
    licence=FILES.licence,
    length="7600 nodes, 30019 directed edges",
    protocols=(SPLIT_NOTE, GATING_NOTE),
    files=FILES,
)
