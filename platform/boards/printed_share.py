"""How rows stand to printed numbers, in one sentence: how many repeat no paper, and which comes nearest to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import judged
from longwave.platform.literature.pairing import NOT_RUN, OTHER_PROTOCOL

NEAREST = ("reproduced", "consistent")
"""Words that say that a number was met, the stronger first; after them the ratio decides."""


def verdict_share(rows: Iterable[Row]) -> str:
    """Return how many verdicts have which word, why most may be none, and what comes nearest to a reproduction.

    Nearest are the numbers that were met, then those of the paper's own protocol whose ratio of errors is nearest to 1;
    where there is none of its own protocol, the nearest of all. Empty if no row can be compared with a published
    number.
    """
    numbers = [(row, n) for row in rows if row.current for n in row.published if n["verdict"] != NOT_RUN]
    if not numbers:
        return ""
    counts = Counter(number["verdict"] for _, number in numbers)
    others, total = counts.pop(OTHER_PROTOCOL, 0), len(numbers)
    words = [f"{count} {word}" for word, count in counts.most_common()]
    words += [f"0 {word}" for word in NEAREST[:1] if not counts[word]]
    if others:
        words.insert(
            0,
            f"{others} {OTHER_PROTOCOL} (recipe, data, form or statistic differs from the paper's, so that a word "
            "would judge the difference and not the model)",
        )
    row, number = min(numbers, key=lambda pair: _distance(pair[1]))
    near = f"{row.label} on {row.board} beside {number['printed']}, {judged(number)}"
    verdicts = f"Verdict{'s' * (total > 1)} of current rows on {total} printed number{'s' * (total > 1)}"
    return f"{verdicts}: {', '.join(words)}; nearest to a reproduction is {near}."


def _distance(number: Mapping[str, Any]) -> tuple[int, float]:
    """Return what numbers are ordered by, the nearest to a reproduction first."""
    word, ratio = number["verdict"], number["ratio"]
    far = abs(math.log(ratio)) if ratio else math.inf
    return NEAREST.index(word) if word in NEAREST else len(NEAREST) + (word == OTHER_PROTOCOL), far
