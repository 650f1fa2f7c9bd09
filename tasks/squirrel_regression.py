"""Squirrel regression: how much an encyclopedia's page is read, from its nouns and links."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.chameleon_regression import TASK as CHAMELEON
from longwave.tasks.formats.musae import load_traffic, source

FEATURES = 3148
FILES = source("squirrel", 5201, 198353)


@cache
def _load(variant: str) -> Data[Graphs]:
    return load_traffic(FILES, FEATURES, variant)


TASK = replace(
    CHAMELEON,
    name="squirrel_regression",
    title="Squirrel, traffic",
    summary="As chameleon_regression, with twice the pages and three times the links of each.",
    inputs=FEATURES,
    load=_load,
    source="MUSAE, Rozemberczki et al. 2021, undirected; splits, 2496/1664/1041 nodes, of Pei et al. 2020",
    length="5201 nodes, 198493 undirected edges",
    files=FILES,
)
