"""A board as text: table, CSV, Markdown, LaTeX or JSON."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console

from longwave.platform.board import Row, shown
from longwave.platform.render import as_json, table

COLUMNS = ("rank", "model", "metric", "mean ± std (n)", "published", "verdict", "diverged", "searched", "protocol")

PLAIN = ["task", "variant", "model", "config", "metric", "unit", "goal", "mean", "std", "n", "low", "high", "diverged"]
PLAIN += ["failed", "searched", "provisional", "rank_low", "rank_high", "hidden", "parameters"]
PLAIN += ["train_seconds", "find_seconds", "trivial"]
"""Fields of a row that are one CSV cell each."""


def show(rows: Sequence[Row], format: str) -> None:
    """Print boards, one a task and variant."""
    if format == "json":
        as_json([row.to_dict() for row in rows])
    elif format == "csv":
        _csv(rows)
    else:
        boards: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            boards.setdefault((row.task, row.variant), []).append(row)
        printers = {"latex": _latex, "markdown": _markdown, "table": _table}
        for (task, variant), group in boards.items():
            printers[format](f"{task} {variant}".strip(), group)


def cells(row: Row) -> tuple[str, ...]:
    """Return the row's cells under ``COLUMNS``."""
    if row.trivial:
        metric = f"{row.metric} [{row.unit}] {'↑' if row.goal == 'max' else '↓'}"
        return ("—", row.title, metric, f"{shown(row.mean, None)} (trivial)", *["—"] * 5)
    rank = "—" if row.rank_low is None else str(row.rank_low)
    if row.rank_high is not None and row.rank_high != row.rank_low:
        rank += f"–{row.rank_high}"
    return (
        rank,
        row.title,
        f"{row.metric} [{row.unit}] {'↑' if row.goal == 'max' else '↓'}",
        f"{shown(row.mean, row.std)} ({row.n}{', provisional' if row.provisional else ''})",
        "; ".join(quoted(p) for p in row.published) or "—",
        "; ".join(p["verdict"] for p in row.published) or "—",
        f"{row.diverged} of {len(row.trials)}" + (f", {row.failed} failed" if row.failed else ""),
        f"{row.searched} ({row.search_diverged} diverged)",
        "; ".join(row.departures) or "as published",
    )


def quoted(number: Mapping[str, Any]) -> str:
    """Return a published number with its statistic and source."""
    value = shown(number["value"], number["std"])
    of = f" of {number['n']}" if number["n"] else ""
    variant = f" {number['model_variant']}" if number["model_variant"] else ""
    return f"{value}{variant} ({number['statistic']}{of}, {number['source']} {number['table'].partition(' (')[0]})"


def _table(task: str, rows: Sequence[Row]) -> None:
    table(COLUMNS, [cells(row) for row in rows], title=task, show_lines=False)


def _markdown(task: str, rows: Sequence[Row]) -> None:
    from rich.table import Table

    made = Table(*COLUMNS, box=box.MARKDOWN)
    for row in rows:
        made.add_row(*[cell.replace("|", "\\|") for cell in cells(row)])
    wide = Console(width=10_000, force_terminal=False)
    print(f"### {task}\n")
    with wide.capture() as captured:
        wide.print(made)
    print("\n".join(line.strip() for line in captured.get().splitlines() if line.strip()), end="\n\n")


def _latex(task: str, rows: Sequence[Row]) -> None:
    import pandas as pd

    caption = f"{task}: mean ± std (n − 1) of the test metric over n retrainings with fresh seeds."
    frame = pd.DataFrame([cells(row) for row in rows], columns=list(COLUMNS))
    print(frame.to_latex(index=False, escape=True, caption=caption.replace("_", r"\_")))


def _csv(rows: Sequence[Row]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*PLAIN, "params", "published", "departures"])
    for row in rows:
        params = " ".join(f"{k}={v:g}" for k, v in row.params.items())
        published = "; ".join(f"{quoted(p)}: {p['verdict']}" for p in row.published)
        cells = [getattr(row, name) for name in PLAIN]
        writer.writerow(["" if c is None else c for c in cells] + [params, published, "; ".join(row.departures)])
