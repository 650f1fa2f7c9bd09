"""Which rows are ranked against each other, and which of them are shown: from the address to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from longwave.dashboard import state
from longwave.platform.boards.row import Row
from longwave.platform.records.group import Pool
from longwave.platform.statistics.verdict import ENOUGH

WORDS = ("reproduced", "consistent", "not reproduced", "other protocol", "undecided", "not run")


def pool(rows: Sequence[Row], place: Any = st) -> Pool:
    """Draw what decides the pool, and return it: ranks are computed anew among its rows."""
    models = sorted({row.model for row in rows if row.kind == "reproduced"})
    families = sorted({row.family for row in rows if row.family})
    left, middle, right = place.columns(3)
    return Pool(
        models=tuple(state.several("Models", "models", models, place=left)),
        families=tuple(state.several("Families", "families", families, place=middle)),
        min_seeds=state.number("Seeds at least", "seeds", 0, max(ENOUGH, 20), place=right),
    )


def shown(rows: Sequence[Row], place: Any = st) -> list[Row]:
    """Draw what hides rows without another ranking, and return those that are left."""
    left, middle, right = place.columns(3)
    text = state.words("Search", "q", place=left, hint="model, option, row").lower()
    verdicts = state.several("Verdict", "verdict", WORDS, place=middle)
    kinds = state.several("Rows", "rows", ("reproduced", "published", "trivial"), place=right)
    return [
        row
        for row in rows
        if text in f"{row.title} {row.model} {row.family} {row.config}".lower()
        and (not kinds or row.kind in kinds)
        and (not verdicts or any(number["verdict"] in verdicts for number in row.published))
    ]
