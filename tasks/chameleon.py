"""Chameleon: name how much an encyclopedia's page is read from its nouns and links, where neighbours mostly differ."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.spec import Recipe, note
from longwave.tasks.formats.geom_gcn import node_classes, source
from longwave.tasks.texas import GATING_NOTE, SPLIT_NOTE
from longwave.tasks.texas import TASK as TEXAS

FEATURES = 2325
FILES = source("chameleon", "Wikipedia's chameleon graph", "Rozemberczki et al. 2021", 2277, 36101)
RECIPE = Recipe(
    hidden=256,
    batch=1,
    epochs=200,
    numbers={"weight_decay": 0.01, "input_dropout": 0.5, "output_dropout": 0.1},
    source="ours: the defaults of G²'s script, which stops at epoch 200; the settings of its table are not printed",
)
TWINS_NOTE = note(
    "many pages are duplicated, some across splits (Platonov et al. 2023, arXiv:2302.11640); kept, as in the papers",
    minor=True,
)


@cache
def _load(variant: str) -> Data[Graphs]:
    return node_classes(FILES, FEATURES, variant)


TASK = replace(
    TEXAS,
    name="chameleon",
    title="Chameleon",
    summary="Structure: pages in five classes by how much they are read, where neighbours mostly differ.",
    inputs=FEATURES,
    load=_load,
    recipes={"": RECIPE},
    source="Rozemberczki et al. 2021; features, classes and splits, 1092/729/456 nodes, of Pei et al. 2020",
    licence=FILES.licence,
    length="2277 nodes, 36101 directed edges",
    protocols=(SPLIT_NOTE, GATING_NOTE, TWINS_NOTE),
    files=FILES,
)
