"""How the values of a board are written, the same in every view."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from longwave.platform.boards.row import Row
from longwave.platform.statistics.stats import Estimate

DASH = "—"
"""What stands where there is no value. Missing is not zero."""
DIGITS = 8
"""Of a row's name in a table: enough to tell the rows of a store apart."""
MINUS = str.maketrans("-", "−")


def plain(value: Any) -> str:
    """Return any value as text: numbers with four digits, counts in full, a list by semicolons, a dash for nothing."""
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


def shown(mean: float | None, std: float | None) -> str:
    """Return ``mean ± std`` with two digits of std and as many decimals in the mean; a dash for no mean."""
    if mean is None:
        return DASH
    if not std:
        return f"{mean:.4g}"
    decimals = max(0, 1 - int(f"{std:.1e}".partition("e")[2]))
    return f"{mean:.{decimals}f} ± {std:.{decimals}f}"


def span(low: int | None, high: int | None) -> str:
    """Return a range of ranks: ``2``, ``1–3``, or a dash."""
    if low is None:
        return DASH
    return str(low) if low == high else f"{low}–{high}"


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


def result(row: Row) -> str:
    """Return ``mean ± std (n)``, or the state it is in; what is provisional, published or trivial says so."""
    if row.mean is None:
        return row.state
    number = shown(row.mean, row.std)
    if row.kind != "reproduced":
        return number + (f" ({row.n})" if row.n else "") + f" ({row.kind})"
    return f"{number} ({row.n}{', provisional' if row.provisional else ''})"


def interval(row: Row) -> str:
    """Return the ends of the mean's interval: ``0.9 to 1.1``, or a dash."""
    return DASH if row.low is None else f"{row.low:.4g} to {row.high:.4g}".translate(MINUS)


def seeds(row: Row) -> str:
    """Return how the retrainings ended: ``5 ok``, ``3 ok, 1 diverged, 1 missing``."""
    ends = {"ok": row.n, "diverged": row.diverged, "failed": row.failed, "missing": row.missing}
    ended = ", ".join(f"{count} {end}" for end, count in ends.items() if count)
    return ended if ended and row.kind == "reproduced" else DASH


def searched(row: Row) -> str:
    """Return how many trials the search had, and how many of them diverged."""
    return f"{row.searched:,} ({row.search_diverged:,} diverged)" if row.kind == "reproduced" else DASH


def protocol(row: Row) -> str:
    """Return how the training differs from the recipe."""
    return DASH if row.kind != "reproduced" else "; ".join(row.departures) or "as published"


def published(row: Row) -> str:
    """Return the published numbers; see ``quoted``."""
    return "; ".join(quoted(number) for number in row.published) or DASH


def verdicts(row: Row) -> str:
    """Return the verdict on each published number, in their order; see ``judged``."""
    told = row.published if row.kind == "reproduced" else ()
    return "; ".join(judged(number) for number in told) or DASH


def quoted(number: Mapping[str, Any]) -> str:
    """Return a published number with its statistic and all its sources."""
    of = f" of {number['n']}" if number["n"] else ""
    places = dict.fromkeys(source.partition(" (")[0].replace(", ", " ", 1) for source in number["sources"])
    return f"{shown(number['value'], number['std'])} ({number['statistic']}{of}, {', '.join(places)})"


def judged(number: Mapping[str, Any]) -> str:
    """Return the verdict on a published number: ``worse −1.3 sd, n 5 and 10, hidden 128 (printed 256)``."""
    gap = "" if number["gap"] is None else f" {number['gap']:+.1f} sd".translate(MINUS)
    basis = "" if number["alike"] or not number["basis"] else f"our {number['basis']} against {number['statistic']}"
    counts = f"n {number['n_ours']} and {number['n'] or '?'}"
    doubt = "too good: look for a leak" if number["too_good"] else ""
    parts = [number["verdict"] + gap, doubt, counts, basis, *number["departures"]]
    return ", ".join(filter(None, parts))
