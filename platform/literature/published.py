"""The numbers the papers print, shipped with the package. A change of the file needs a migration, however empty."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

from longwave.platform.records.identity import digest

FILE = Path(__file__).with_name("published.csv")
NAMES = Path(__file__).with_name("names.csv")
SAME = ("task", "variant", "model", "model_variant", "metric", "value", "std", "statistic", "units")
"""Columns that give a number its identity."""
ALIKE = ("task", "variant", "model", "model_variant", "metric", "value", "std", "units")
"""Columns in which two printings of one number agree; they may differ in what is called its statistic."""


def published_rows() -> list[dict[str, Any]]:
    """Return one row a published number; a number printed in several places is one row, its ``sources`` one a line.

    A table that quotes a number need not say that it is the best of several runs: a number only ``reported`` is the
    same as one of a stated statistic, and the ``best`` of n is the same as a ``max`` or ``min`` of n.
    """
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in _lines():
        alike = found.setdefault(tuple(line[name] for name in ALIKE), [])
        same = next((row for row in alike if _same(row, line)), None)
        if same is None:
            alike.append(_row(line))
        else:
            _merge(same, line)
    return [row for rows in found.values() for row in rows]


@cache
def names() -> dict[str, str]:
    """Return the name in print of each model of which a number is published, by its key."""
    with NAMES.open(newline="", encoding="utf-8") as file:
        return {line["model"]: line["name"] for line in csv.DictReader(file)}


def _lines() -> list[dict[str, str]]:
    """Return the lines of the file by statistic: ``best`` first and ``reported`` last."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return sorted(csv.DictReader(file), key=lambda line: line["statistic"])


def _same(row: dict[str, Any], line: dict[str, str]) -> bool:
    """Return whether a line that agrees with ``row`` otherwise prints the same number."""
    n = _number(line["n_runs"])
    words = {row["statistic"], line["statistic"]}
    if len(words) == 1 or "reported" in words:
        return n is None or row["n"] is None or n == row["n"]
    return "best" in words and bool(words & {"max", "min"}) and n == row["n"] is not None


def _row(line: dict[str, str]) -> dict[str, Any]:
    return {
        **{name: line[name] for name in SAME},
        "id": digest([line[name] for name in SAME]),
        "value": float(line["value"]),
        "std": float(line["std"]) if line["std"] else None,
        "n": _number(line["n_runs"]),
        "params": _number(line["params"]),
        "sources": _source(line),
        "note": line["note"],
    }


def _merge(row: dict[str, Any], line: dict[str, str]) -> None:
    """Add a line's source to the row; where it prints another number of parameters, say so."""
    params = _number(line["params"])
    differs = f", {params} parameters" if params and row["params"] and params != row["params"] else ""
    row["sources"] += f"\n{_source(line)}{differs}"
    row["note"] = "; ".join(dict.fromkeys(filter(None, (row["note"], line["note"]))))
    row["n"] = _number(line["n_runs"]) if row["n"] is None else row["n"]
    row["params"] = params if row["params"] is None else row["params"]


def _source(line: dict[str, str]) -> str:
    return f"{line['source']}, {line['table']} ({line['origin']})"


def _number(cell: str) -> int | None:
    return int(cell) if cell else None
