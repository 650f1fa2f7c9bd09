"""The tables of an edition: its rows and their retrainings. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.columns import of
from longwave.platform.editions.edition import Edition

if TYPE_CHECKING:
    from pandas import DataFrame

TYPES = {"text": "string", "flag": "boolean", "whole": "Int64", "number": "Float64"}
"""Type in Parquet by the kind of a column; nested values become JSON texts."""
OF_TRIAL = {
    "trial": ("text", "Identity of the retraining."),
    "row": ("text", "Key of its row."),
    "task": ("text", "Registry key of the task."),
    "variant": ("text", "Form of the task."),
    "model": ("text", "Registry key of the model."),
    "status": ("text", "How it ended: ok, diverged, failed; or that it has not ended."),
    "reason": ("text", "Why it did not end ok."),
    "seed": ("whole", "Its seed."),
    "epochs": ("whole", "Epochs trained."),
    "best_epoch": ("whole", "Epoch of the best validation metric."),
    "test": ("number", "Test metric, in the unit of its board."),
    "valid": ("number", "Best validation metric, in the unit of its board."),
    "seconds": ("number", "Its share of the time of its pack, in s."),
    "joules": ("number", "Its share of the energy of its pack, in J, where that is known."),
}
"""Kind and meaning of the columns of ``trials.parquet``."""


def draw_tables(edition: Edition) -> dict[str, DataFrame]:
    """Return the tables of an edition by file name; columns and types are the same in every edition."""
    shared = ("task", "variant", "model")
    seeds = [
        {**seed, "row": row["key"], **{k: row[k] for k in shared}} for row in edition.rows for seed in row["seeds"]
    ]
    return {
        "rows.parquet": _table(edition.rows, {column.key: column.kind for column in of("parquet")}),
        "trials.parquet": _table(seeds, {name: kind for name, (kind, _) in OF_TRIAL.items()}),
    }


def _table(lines: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> DataFrame:
    import pandas as pd

    types = {name: TYPES.get(kind, "") for name, kind in columns.items()}
    content = {
        name: [line.get(name) if kind else _text(line.get(name)) for line in lines] for name, kind in types.items()
    }
    return pd.DataFrame(content, dtype=object).astype({name: kind or "string" for name, kind in types.items()})


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
