"""Trials, runs and curves of a small study, and functions to read the Lab's pages."""

from __future__ import annotations

from typing import Any

import pandas as pd
from streamlit import dataframe_util
from streamlit.testing.v1 import AppTest

from longwave.platform.records.about import About
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import Phase, TrialConfig

FACTS = {"commit": "abc1234", "dirty": "false", "device": "H200", "kernel": "fused", "torch": "2.15.0"}
TITLES = {"lem": "LEM", "lstm": "LSTM", "cornn": "coRNN", "gru": "GRU"}


def trial(
    model: str, seed: int, task: str = "fitzhugh_nagumo", variant: str = "", phase: Phase = "retrain"
) -> TrialConfig:
    return TrialConfig(
        task=task, variant=variant, data="d1", model=model, options={"damping": "explicit"} if model == "cornn" else {},
        params={"lr": 0.01}, hidden=16, batch=32, epochs=3, phase=phase, seed=seed, task_version="1", model_version="2",
    )  # fmt: skip


def about(config: TrialConfig) -> About:
    fast = config.task == "fitzhugh_nagumo"
    return About(
        task="FitzHugh–Nagumo" if fast else "Adding problem",
        model=TITLES[config.model],
        metric="l2_error" if fast else "mse",
        unit="1",
        goal="min",
        departures=("epochs 3 (published 400)",),
        recipe="LEM, Table 4",
        paper="lem",
    )


def ok(config: TrialConfig, test: float | None, seconds: float = 2.0) -> Run:
    return Run(config.id, "ok", "", 3, 2, 0.5, test, seconds, 1, 1233, FACTS)


def curve(config: TrialConfig, valid: list[float]) -> list[Point]:
    return [Point(config.id, k, 10 * v, v, float(k), 0.0) for k, v in enumerate(valid, 1)]


def printed(element: Any) -> pd.DataFrame:
    """Return a table's cells as displayed."""
    return dataframe_util.convert_arrow_bytes_to_pandas_df(element.proto.arrow_data.styler.display_values)


def marks(page: AppTest, k: int = 0) -> list[dict[str, Any]]:
    """Return the marks of a figure of a page, each once."""
    sets = page.get("vega_lite_chart")[k].proto.datasets
    frames = [dataframe_util.convert_arrow_bytes_to_pandas_df(part.data.data) for part in sets]
    all_marks = [mark for frame in frames for mark in frame.to_dict("records")]
    return list({repr(mark): mark for mark in all_marks}.values())


def notes(page: AppTest) -> str:
    """Return all text of a page outside tables."""
    return "\n".join(element.value for kind in (page.markdown, page.caption, page.info, page.code) for element in kind)
