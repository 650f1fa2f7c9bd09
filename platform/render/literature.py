"""Output of published numbers: one per line, with our variant that it belongs to, or why there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from longwave.platform.boards.texts import DASH, metric_words
from longwave.platform.literature.pairing import credited, unpaired
from longwave.platform.literature.published import SECOND_HAND, as_printed, title, with_spread
from longwave.platform.render.export import Format
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import print_tables

COLUMNS = ("task", "variant", "model", "metric", "number", "what it is", "units", "printed in", "run of", "belongs to")
RIGHT, PROSE = {"number", "units"}, {*COLUMNS} - {"units"}
DROP = ("units", "run of", "printed in", "what it is", "metric", "variant")


def print_numbers(
    numbers: Sequence[Mapping[str, Any]],
    metrics: Mapping[str, str],
    forms: Mapping[str, Collection[str]],
    only_unpaired: bool,
    format: Format,
) -> None:
    """Print published numbers and how many of them can be compared with a row of ours.

    What all numbers share is said once, below the table, which leaves the width to what differs.

    Args:
        numbers: From ``published_rows``.
        metrics, forms: As for ``unpaired``.
        only_unpaired: Whether to print only numbers that cannot be compared, ordered by reason.
        format: The format.
    """
    pairs = [(number, unpaired(number, metrics, forms)) for number in numbers]
    paired = sum(not why for _, why in pairs)
    if only_unpaired:
        pairs = sorted((pair for pair in pairs if pair[1]), key=lambda pair: pair[1])
    records = [{**number, "why": why} for number, why in pairs]
    cells = [dict(zip(COLUMNS, number_line(number, why), strict=True)) for number, why in pairs]
    shared = [
        name
        for name in COLUMNS
        if name not in ("model", "number") and len(cells) > 1 and len({line[name] for line in cells}) == 1
    ]
    columns = [name for name in COLUMNS if name not in shared]
    caption = f"{paired} of {len(numbers)} can be compared with a row of ours."
    if said := [f"{name}: {cells[0][name]}" for name in shared if cells[0][name] != DASH]:
        caption += f" All numbers: {'; '.join(said)}."
    table = Table(
        "",
        columns,
        [[line[name] for name in columns] for line in cells],
        caption,
        records=records,
        right=frozenset(k for k, name in enumerate(columns) if name in RIGHT),
        prose=frozenset(k for k, name in enumerate(columns) if name in PROSE),
        drop=[columns.index(name) for name in DROP if name in columns],
        keys=[*(numbers[0] if numbers else ()), "why"],
    )
    print_tables([table], format)


def number_line(number: Mapping[str, Any], why: str) -> list[str]:
    """Return the cells of ``COLUMNS`` for a published number and why no row of ours can be compared with it, if so."""
    sources = dict.fromkeys(source.partition(" (")[0] for source in number["sources"].split("\n"))
    count = f" of {number['n']}" if number["n"] else ""
    return [
        number["task"],
        number["variant"] or DASH,
        title(number),
        metric_words(number["metric"]),
        with_spread(as_printed(number["printed"]), number["std"]),
        number["statistic"] + count,
        number["units"] or DASH,
        "; ".join(sources) + (", second hand" if number["note"].startswith(SECOND_HAND) else ""),
        credited(number),
        f"none: {why}" if why else f"{number['task']} {number['ours']}".rstrip(),
    ]
