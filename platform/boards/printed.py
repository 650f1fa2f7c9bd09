"""Formatting of published numbers and of the verdicts on them, the same in every view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longwave.platform.boards.numbers import factor_text
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH
from longwave.platform.literature.published import with_spread
from longwave.platform.statistics.verdict import UNSETTLED


def quote_numbers(row: Row) -> str:
    """Return the published numbers; see ``quote_number``."""
    return "; ".join(quote_number(number) for number in row.published) or DASH


def write_verdicts(row: Row) -> str:
    """Return the verdict on each published number, in short: ``better (0.22)``; see ``write_verdict`` for more."""
    numbers = row.published if row.kind == "retrained" else ()
    short = [f"{n['verdict']}" + (f" ({factor_text(n['ratio'])})" if n["ratio"] is not None else "") for n in numbers]
    return "; ".join(short) or DASH


def quote_number(number: Mapping[str, Any]) -> str:
    """Return a published number with its digits in print, statistic and sources."""
    count = f" of {number['n']}" if number["n"] else ""
    sources = dict.fromkeys(source.partition(" (")[0].replace(", ", " ", 1) for source in number["sources"])
    return f"{with_spread(number['printed'], number['std'])} ({number['statistic']}{count}, {', '.join(sources)})"


def write_verdict(number: Mapping[str, Any]) -> str:
    """Return the verdict on a published number: ``reproduced: error ratio 1.09 (1.06–1.12)``.

    The ratio is our error over the published one, with its 90 % interval. If undecided, it adds what would settle it.
    """
    return ": ".join(filter(None, (number["verdict"], write_evidence(number))))


def write_evidence(number: Mapping[str, Any]) -> str:
    """Return the evidence for a verdict: ``error ratio 1.09 (1.06–1.12)``."""
    ratio = write_ratio(number)
    return "; ".join(filter(None, (f"error ratio {ratio}" if ratio else "", write_what_settles(number))))


def write_what_settles(number: Mapping[str, Any]) -> str:
    """Return what would settle an undecided verdict, or that nothing would; empty for the others."""
    if number["verdict"] != "undecided":
        return ""
    why = str(number["why"]).rstrip(".")
    return UNSETTLED if number["limit"] else why[:1].lower() + why[1:]


def write_ratio(number: Mapping[str, Any]) -> str:
    """Return our error over the published one with its 90 % interval: ``1.09 (1.06–1.12)``; empty without a ratio."""
    if number["ratio"] is None:
        return ""
    ends = [number["ratio_low"], number["ratio_high"]]
    return factor_text(number["ratio"]) + ("" if None in ends else f" ({'–'.join(map(factor_text, ends))})")
