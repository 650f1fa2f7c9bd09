"""Formatting of a board's values, the same in every view."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from longwave.platform.boards.numbers import (
    MINUS,
    MOST_PLACES,
    TINY,
    column_power,
    factor_text,
    number_text,
    power_text,
    score_text,
    three_digits,
)
from longwave.platform.boards.row import Row
from longwave.platform.boards.verification import UNTRUSTED
from longwave.platform.statistics.stats import Estimate, arrow
from longwave.platform.wording import describe_count

DASH = "—"
"""Text for a missing value, which is not zero."""
DIGITS = 8
"""Digits of a row's name in a table: enough to distinguish the rows of a store."""
NONE = "none"
"""Text for a count of 0."""
DIVERGED = "diverged"
WORSE = "†"
"""Mark after a number if a trivial predictor is better."""
ACRONYMS = {"mse", "rmse", "nrmse", "mae", "bpc", "l2"}
"""Parts of metrics' names that are written in capitals."""


def plain(value: Any) -> str:
    """Return any value as text: floats with four digits, integers in full, lists joined by semicolons, a dash for
    none."""
    if value is None or value in ("", [], (), {}):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".translate(MINUS)
    if isinstance(value, float):
        return f"{value:.4g}".translate(MINUS)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def metric_words(metric: str) -> str:
    """Return a metric in words: ``free RMSE`` for ``free_rmse``."""
    return " ".join(word.upper() if word in ACRONYMS else word for word in metric.split("_"))


def measured(row: Row) -> str:
    """Return the metric with its direction and unit: ``accuracy ↑ [%]``."""
    return f"{metric_words(row.metric)} {arrow(row.goal)}" + ("" if row.unit == "1" else f" [{row.unit}]")


def shown(mean: float | None, std: float | None, power: int = 0) -> str:
    """Return ``mean ± std`` in units of ``10 ** power``: two digits of std, as many decimals of the mean; a dash for
    none.
    """
    if mean is None:
        return DASH
    if not std:
        alone = three_digits(mean, power) if power else f"{mean:.4g}".translate(MINUS)
        return alone if std is None else f"{alone} ± 0"
    of_both = f"{three_digits(mean, power)} ± {three_digits(std, power)}"
    mean, std = mean / 10.0**power, std / 10.0**power
    if std < 10.0**-MOST_PLACES or max(abs(mean), std) >= 10.0**MOST_PLACES:
        return of_both
    decimals = max(0, 1 - int(f"{std:.1e}".partition("e")[2]))
    return f"{mean:,.{decimals}f} ± {std:,.{decimals}f}".translate(MINUS)


def span(low: int | None, high: int | None) -> str:
    """Return a range of ranks: ``2``, ``1–3``, or a dash."""
    if low is None:
        return DASH
    return str(low) if low == high else f"{low}–{high}"


def rank(row: Row) -> str:
    """Return the range of a row's ranks, or ``untrusted``."""
    return UNTRUSTED if row.untrusted else span(row.rank_low, row.rank_high)


def estimate(value: Estimate | None, digits: int = 2) -> str:
    """Return a value with its interval: ``0.93 [0.90, 0.96]``, or a dash."""
    if value is None:
        return DASH
    ends = "" if value.low is None or value.high is None else f" [{value.low:.{digits}f}, {value.high:.{digits}f}]"
    return f"{value.value:.{digits}f}{ends}"


def duration(seconds: float | None) -> str:
    """Return a time with its unit: ``0.4 s``, ``23 s``, ``12.5 min``, ``3.2 h``; a dash for none."""
    if not seconds:
        return DASH
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def result(row: Row, power: int = 0) -> str:
    """Return ``mean ± std (n)`` in units of ``10 ** power``, or the row's state; see ``counted``."""
    if row.mean is None:
        return row.state
    number = shown(row.mean, row.std, power)
    if row.kind != "retrained":
        return number + (f" ({row.n})" if row.n else "") + f" ({row.kind})"
    return f"{number} ({counted(row)}{', provisional' if row.provisional else ''})"


def counted(row: Row) -> str:
    """Return the number of seeds in a mean: ``5``, ``4 of 5`` if one diverged, ``5, untrusted`` for an imported row."""
    return (f"{row.n} of {row.seed_count}" if row.diverged else str(row.n)) + (
        f", {UNTRUSTED}" if row.untrusted else ""
    )


def median(row: Row, power: int = 0, interval: bool = True) -> str:
    """Return the median over all seeds with its interval: ``0.0121 [0.0117, 0.0128]``, ``diverged [0.2, diverged]``.

    For a trivial predictor or a published number it is that number. The level follows the interval if it is not 94 to
    95 %. Of the ends, the smaller number comes first.

    Args:
        row: The row.
        power: Numbers are in units of ``10 ** power``; see ``column_power``.
        interval: Whether to add the interval.
    """
    perfect = row.scale.perfect if row.goal == "max" else None
    if row.kind != "retrained":
        if row.mean is None:
            return DASH
        return number_text(row.mean) if perfect is None and not power else score_text(row.mean, perfect, power)
    if not row.seed_count:
        return DASH
    own_power = 0 if power or not row.median or abs(row.median) >= TINY else column_power([row])
    unit = f" × {power_text(own_power)}" if own_power else ""
    ends = (row.median, row.median_best, row.median_worst)
    middle, best, worst = (DIVERGED if end is None else score_text(end, perfect, power or own_power) for end in ends)
    if not interval or row.median_level is None or row.median_best is None:
        return middle + unit
    low, high = (best, worst) if row.goal == "min" else (worst, best)
    level = "" if 0.935 <= row.median_level < 0.955 else f" ({100 * row.median_level:.3g} %)"
    return f"{middle} [{low}, {high}]{unit}{level}"


def marked_median(row: Row, power: int = 0, interval: bool = True) -> str:
    """Return the median, with † if a trivial predictor is better; see ``median``."""
    middle, space, interval_text = median(row, power, interval).partition(" ")
    return f"{middle}{WORSE * bool(row.loses_to)}{space}{interval_text}"


def share(row: Row) -> str:
    """Return the share of seeds that diverged with its 95 % interval: ``20 % [1, 72]``; ``none``, or a dash."""
    if row.kind != "retrained" or row.share is None:
        return DASH
    value, *ends = (100 * (part or 0.0) for part in (row.share.value, row.share.low, row.share.high))
    return f"{value:.0f} % [{ends[0]:.0f}, {ends[1]:.0f}]" if row.diverged else NONE


def interval(row: Row) -> str:
    """Return the ends of the mean's interval: ``0.9 to 1.1``, or a dash."""
    return DASH if row.low is None else f"{row.low:.4g} to {row.high:.4g}".translate(MINUS)


def seeds(row: Row) -> str:
    """Return how the retrainings ended: ``5 ok``, ``3 ok, 1 diverged, 1 missing``."""
    ends = {"ok": row.n, "diverged": row.diverged, "failed": row.failed, "missing": row.missing}
    ended = ", ".join(f"{count} {end}" for end, count in ends.items() if count)
    return ended if ended and row.kind == "retrained" else DASH


def searched(row: Row) -> str:
    """Return how many trials the search drew, trained to the last epoch, and lost to divergence.

    ``32 drawn, 2 completed, 1 diverged``; ``none`` without a search.
    """
    if row.kind != "retrained":
        return DASH
    diverged = f", {row.search_diverged:,} diverged" if row.search_diverged else ""
    return f"{row.searched:,} drawn, {row.search_whole:,} completed{diverged}" if row.searched else "none"


def optimism(row: Row) -> str:
    """Return the error of the median retraining over that of the search score: ``× 1.31``, or a dash."""
    return DASH if row.optimism is None else f"× {factor_text(row.optimism)}"


def at_edge(row: Row) -> str:
    """Return which parameters of a row are at an edge of their search range; ``none``, or a dash if unknown.

    ``lr at the high end of 0.0001 to 0.1``.
    """
    return DASH if row.at_edge is None else "; ".join(row.at_edge) or NONE


def protocol(row: Row) -> str:
    """Return ``protocol_parts`` as one text, or a dash."""
    return "; ".join(protocol_parts(row)) or DASH


def protocol_parts(row: Row) -> list[str]:
    """Return the recipe, departures from it, known differences, differences from published numbers, and how the
    settings were searched; nothing for rows that were not retrained here.
    """
    if row.kind != "retrained":
        return []
    recipe = _recipe(row.recipe)
    known_text = f"{describe_count(len(row.known), 'known difference')}: {'; '.join(row.known)}"
    stated = {recipe, *row.departures, *row.known}
    differences = [(number, [d for d in number["departures"] if d not in stated]) for number in row.published]
    printed = [
        f"beside {number['printed']}: {', '.join(listed_differences)}"
        for number, listed_differences in differences
        if listed_differences
    ]
    return [recipe, *row.departures, *([known_text] if row.known else []), *printed, *row.ways]


def _recipe(source: str) -> str:
    """Return the name of a recipe: ``recipe of LEM, Table 4``, ``recipe ours, ...``."""
    first_word = source.partition(" ")[0]
    if not source:
        return "recipe not recorded"
    return (
        f"recipe {source}"
        if first_word.strip(",:;") == "ours"
        else f"recipe{':' if first_word[-1] == ':' else ' of'} {source}"
    )


def lost(row: Row) -> list[str]:
    """Return ``loses to ridge(32)`` if a trivial predictor is better than the row's median, else nothing."""
    return [f"loses to {row.loses_to}"] if row.loses_to else []


def listed(names: Sequence[str], limit: int = 4) -> str:
    """Return names as a list in a sentence."""
    return listed_of(names, len(names), limit)


def listed_of(names: Sequence[str], count: int, limit: int = 4) -> str:
    """Return the first of ``count`` names as a list in a sentence, and how many more there are."""
    if not names:
        return describe_count(count, "other")
    if count > len(names[:limit]):
        return f"{', '.join(names[:limit])} and {count - len(names[:limit])} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
