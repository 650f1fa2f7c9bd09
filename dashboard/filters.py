"""Ranked rows, filters and order: which rows are ranked together, which are shown, and how sorted, from the URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from longwave.dashboard import state, table_frames
from longwave.dashboard.board_table import ALWAYS
from longwave.platform.boards import columns
from longwave.platform.boards.landmarks import EQUAL_WITHIN
from longwave.platform.boards.row import Row
from longwave.platform.records.group import Pool
from longwave.platform.statistics.verdict import ENOUGH

VERDICTS = ("reproduced", "consistent", "better", "worse", "not tuned", "other protocol", "undecided", "not run")
KEYS = {
    "models": "models", "families": "families", "seeds": "seeds", "q": "search", "verdict": "verdict",
    "protocol": "protocol", "size": "equal size", "budget": "equal search", "sort": "order", "largest": "largest first",
    "columns": "columns",
}  # fmt: skip
"""Names of the pickers by their keys in the URL."""
OfRow = Callable[[Row], float | str | None]
SORTS: dict[str, tuple[str, OfRow]] = {
    "rank": ("rank", lambda row: None),
    "model": ("model", lambda row: row.label.lower()),
    "mean": ("mean", lambda row: row.mean),
    "seeds": ("seeds", lambda row: row.seed_count),
    "diverged": ("diverged", lambda row: row.share.value if row.share else None),
    "parameters": ("parameters", lambda row: row.parameters),
    "searched": ("searched", lambda row: row.searched),
    "train": ("time to train", lambda row: row.train_seconds),
    "find": ("time to find", lambda row: row.find_seconds),
    "energy": ("energy", lambda row: row.joules),
}
"""Sort keys of a table: heading, and the number or text."""


def describe_filters() -> str:
    """Return the end of a sentence that lists the pickers that differ from their defaults."""
    changed = [name for key, name in KEYS.items() if state.address_value(key)]
    return f"; set: {', '.join(changed)}." if changed else "."


def draw_pool_filter(rows: Sequence[Row]) -> Pool:
    """Draw the pickers of the pool and return it: ranks are computed among its rows."""
    models = sorted({row.model for row in rows if row.kind == "retrained"})
    families = sorted({row.family for row in rows if row.family})
    left, middle, right = st.columns(3)
    return Pool(
        models=tuple(state.draw_choices("Models", "models", models, container=left)),
        families=tuple(state.draw_choices("Families", "families", families, container=middle)),
        min_seeds=state.draw_number_field("Minimum seeds", "seeds", 0, max(ENOUGH, 20), container=right),
    )


def draw_row_filters(rows: Sequence[Row]) -> list[Row]:
    """Draw the filters and return the rows that pass them.

    Filters hide rows without changing ranks. Only the text search applies to rows that were not trained here.
    """
    first, second, third = st.columns(3)
    text = state.draw_text_field("Search", "q", container=first, hint="model, family, protocol, row").lower()
    verdicts = state.draw_choices("Verdict", "verdict", VERDICTS, container=second)
    paper_protocol = state.draw_switch("Paper's protocol only", "protocol", container=third)
    ours = [row for row in rows if row.kind == "retrained"]
    names = dict(zip((row.key for row in ours), table_frames.row_labels(ours), strict=True))
    sizes = draw_similarity_filter("Same size as", "size", ours, names, lambda row: row.parameters, first)
    budgets = draw_similarity_filter(
        "Same search budget as", "budget", ours, names, lambda row: row.searched or None, second
    )

    def passes(row: Row) -> bool:
        searched_text = f"{row.label} {row.model} {row.family} {row.config} {'; '.join(row.departures)}".lower()
        if row.kind != "retrained":
            return text in searched_text
        return (
            text in searched_text
            and (not verdicts or any(number["verdict"] in verdicts for number in row.published))
            and not (paper_protocol and row.departures)
            and sizes(row)
            and budgets(row)
        )

    return [row for row in rows if passes(row)]


def draw_similarity_filter(
    label: str, key: str, rows: Sequence[Row], names: dict[str, str], number: OfRow, container: Any
) -> Callable[[Row], bool]:
    """Draw a picker of a row; return a test of whether another row has about the same quantity (``EQUAL_WITHIN``)."""
    quantities = {row.key: float(value) for row in rows if (value := number(row))}
    options = ["", *quantities]
    if (
        state.address_value(key) and state.address_value(key) not in quantities
    ):  # a row without this quantity, or outside the pool
        state.write_address(key, "")
    chosen = state.draw_choice(label, key, options, lambda name: names.get(name, "any"), container)
    if not chosen:
        return lambda row: True
    reference = quantities[chosen]
    return lambda row: row.key in quantities and 1 / EQUAL_WITHIN <= quantities[row.key] / reference <= EQUAL_WITHIN


def draw_column_choice() -> list[str]:
    """Draw the choice of columns, and return their keys; empty means those in which some row has an entry."""
    options = {column.key: column.heading for column in columns.of("dashboard") if column.key not in ALWAYS}
    return state.draw_choices("Columns", "columns", list(options), options.__getitem__)


def draw_sort_order(rows: Sequence[Row], container: Any = st) -> list[Row]:
    """Draw the choice of order and return the sorted rows; rows without a value come last, ties are in order of
    rank."""
    key = state.draw_choice("Sort by", "sort", list(SORTS), lambda name: SORTS[name][0], container)
    largest = state.draw_switch("Largest first", "largest", container=container)
    if key == "rank":
        return list(rows)[::-1] if largest else list(rows)
    value = SORTS[key][1]
    with_value: list[Any] = [(number, k) for k, row in enumerate(rows) if (number := value(row)) is not None]
    with_value.sort(key=lambda pair: pair[0], reverse=largest)
    without_value = [k for k, row in enumerate(rows) if value(row) is None]
    return [rows[k] for k in [*(k for _, k in with_value), *without_value]]
