"""The numbers the papers print, shipped with the package."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from longwave.platform.records import digest

FILE = Path(__file__).with_name("published.csv")
SAME = ("task", "variant", "model", "model_variant", "metric", "value", "std", "statistic", "units")
"""Columns that make two printed numbers the same number."""


def published_rows() -> list[dict[str, Any]]:
    """Return one row a published number; a number printed in several places is one row that cites them all."""
    rows: dict[str, dict[str, Any]] = {}
    with FILE.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            key = digest([line[name] for name in SAME])
            source = f"{line['source']}, {line['table']} ({line['origin']})"
            if key in rows:
                rows[key]["sources"] += f"; {source}"
                continue
            rows[key] = {
                **{name: line[name] for name in SAME},
                "id": key,
                "value": float(line["value"]),
                "std": float(line["std"]) if line["std"] else None,
                "n": int(line["n_runs"]) if line["n_runs"] else None,
                "params": int(line["params"]) if line["params"] else None,
                "sources": source,
            }
    return list(rows.values())
