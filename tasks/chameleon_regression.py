"""Chameleon regression: how much an encyclopedia's page is read, from its nouns and links."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.smoothing import SMOOTHING
from longwave.tasks.base.spec import Recipe, TaskSpec, note
from longwave.tasks.chameleon import TWINS_NOTE
from longwave.tasks.formats.geom_gcn import VARIANTS_IN_WORDS
from longwave.tasks.formats.musae import load_traffic, source
from longwave.tasks.texas import SPLIT_NOTE
from longwave.tasks.trivial.constant import Mean
from longwave.tasks.trivial.graphs import FeatureRidge

FEATURES = 3132
FILES = source("chameleon", 2277, 31371)
NMSE = replace(
    MSE,
    name="nmse",
    definition="mean squared error over the test nodes, divided by the mean of the targets of all nodes",
)


@cache
def _load(variant: str) -> Data[Graphs]:
    return load_traffic(FILES, FEATURES, variant)


TASK = TaskSpec(
    name="chameleon_regression",
    title="Chameleon, traffic",
    family="graph",
    summary="Structure: a page's monthly traffic, a share of the largest, from its nouns and links.",
    inputs=FEATURES,
    outputs=1,
    targets="at the nodes of a split",
    loss=mean_squared_error,
    metric=NMSE,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=64,
            batch=1,
            epochs=200,
            numbers={"weight_decay": 0.0001, "input_dropout": 0.2, "output_dropout": 0.3},
            source="ours: the defaults of G²'s script for squirrel, which stops at epoch 200",
        ),
    },
    variants=VARIANTS_IN_WORDS,
    source="MUSAE, Rozemberczki et al. 2021, undirected; splits, 1092/729/456 nodes, of Pei et al. 2020",
    licence=FILES.licence,
    length="2277 nodes, 31421 undirected edges",
    lag="one edge and more",
    protocols=(
        SPLIT_NOTE,
        TWINS_NOTE,
        note(
            "G²'s code numbers the nodes of the edges by first appearance, and features, targets and splits by name;"
            " where the two numberings differ, its edges join other pages; here edges are those of the files",
            "thesis",
        ),
        note(
            "targets are divided by the root of their mean, so that the mean squared error is the papers' NMSE; G²'s"
            " code divides the error only, and rectifies the output",
            "thesis",
        ),
    ),
    files=FILES,
    further=SMOOTHING,
    baselines={"mean": Mean(), "ridge on own features": FeatureRidge()},
)
