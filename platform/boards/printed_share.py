"""One sentence on rows and published numbers: how many have which verdict, and which comes nearest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from longwave.platform.boards.printed import write_verdict
from longwave.platform.boards.row import Row
from longwave.platform.literature.pairing import NOT_RUN, OTHER_PROTOCOL
from longwave.platform.wording import describe_count

NEAREST = ("reproduced", "consistent")
"""Verdicts for a number that was met, the stronger first; other numbers are ordered by ratio."""


def verdict_share(rows: Iterable[Row]) -> str:
    """Return the number of rows with each verdict, and the one nearest to a reproduction. Numbers that were met come
    first, then those under the paper's protocol by ratio of errors, then all others. Several rows can stand beside one
    number. Empty if no row has a published number to compare with.
    """
    numbers = [(row, n) for row in rows if row.current for n in row.published if n["verdict"] != NOT_RUN]
    if not numbers:
        return ""
    counts = Counter(number["verdict"] for _, number in numbers)
    others, total = counts.pop(OTHER_PROTOCOL, 0), len(numbers)
    printed = len(
        {(row.task, row.model, n["model_variant"], n["printed"], n["units"], *n["sources"]) for row, n in numbers}
    )
    parts = [f"{count} {word}" for word, count in counts.most_common()]
    parts += [f"0 {word}" for word in NEAREST[:1] if not counts[word]]
    if others:
        parts.insert(
            0,
            f"{others} {OTHER_PROTOCOL} (the recipe, data, model form or statistic differs from the paper's, so there "
            "is no verdict)",
        )
    row, number = min(numbers, key=lambda pair: _distance(pair[1]))
    nearest = f"{row.label} on {row.board} against {number['printed']}, {write_verdict(number)}"
    verdicts = f"{describe_count(total, 'verdict')} of current rows on {describe_count(printed, 'printed number')}"
    return f"{verdicts}: {', '.join(parts)}. Nearest to a reproduction: {nearest}."


def _distance(number: Mapping[str, Any]) -> tuple[int, float]:
    """Return the sort key of numbers, the nearest to a reproduction first."""
    word, ratio = number["verdict"], number["ratio"]
    distance = abs(math.log(ratio)) if ratio else math.inf
    return NEAREST.index(word) if word in NEAREST else len(NEAREST) + (word == OTHER_PROTOCOL), distance
