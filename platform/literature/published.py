"""The numbers that papers print, shipped with the package. Changes of the file need a migration, even an empty one."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from longwave.platform.records.identity import digest

FILE = Path(__file__).with_name("published.csv")
TABLES = Path(__file__).with_name("tables.csv")
NAMES = Path(__file__).with_name("names.csv")
SAME = ("task", "variant", "model", "model_variant", "metric", "value", "std", "statistic", "units")
"""Columns from which a number's identity is computed."""
ALIKE = ("task", "variant", "ours", "model", "model_variant", "block", "metric", "value", "std", "units", "paper")
"""Columns that are equal in repeated printings of one number; these may differ in the stated statistic."""
TEXTS = ("task", "variant", "ours", "model", "model_variant", "fixed", "block", "metric", "printed", "units", "paper",
         "note")  # fmt: skip
STATISTICS = ("best", "max", "mean", "median", "min", "run", "average", "reported")
"""Statistics of numbers; an ``average`` is one over tasks, and ``reported`` means that the paper does not say."""
NOWHERE = "-"
"""In place of our variant, or residual block, if none of ours matches the printed one, or that is unknown."""
SECOND_HAND = "second hand"
"""Beginning of the note of a number that is known only from other texts than the one that prints it."""
EXPONENTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
FROM_EXPONENTS = {raised: chr(plain) for plain, raised in EXPONENTS.items()}


@cache  # the file ships with the package, and each board that is read compares the store's copy with it
def published_rows() -> Sequence[Mapping[str, Any]]:
    """Return one row per published number; if it is printed in several places, ``sources`` has one line for each. Keys
    are those of the file. ``ours`` is our variant that the number belongs to, ``-`` if none; ``fixed`` the parameters
    printed with it, ``alpha=1 tau=20``; ``block`` the residual block around the model, as written by
    ``pairing.block_of``, ``-`` if none of ours; ``units`` the hidden size, in a block that of the cell; ``printed`` the
    number as in print, with trailing zeros, and its table's factor as an exponent: ``0.20e-2``; ``paper`` the key of
    the paper whose run it is, empty if the protocol is unknown.

    ``statistic`` and ``n``, the number of runs, are those of its table in ``tables.csv``, unless the line states its
    own. A table that quotes a number often omits that it is the best of several runs: a number that is only
    ``reported`` is merged with one of a stated statistic, and the ``best`` of n with a ``max`` or ``min`` of n. If the
    statistic of a number is changed, its ``id`` changes too; only its position on boards depends on that.
    """
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in _lines():
        candidates = groups.setdefault(tuple(line[name] for name in ALIKE), [])
        match = next((row for row in candidates if _same(row, line)), None)
        if match is None:
            candidates.append(_row(line))
        else:
            _merge(match, line)
    return tuple(row for rows in groups.values() for row in rows)


def rounding(printed: str) -> float:
    """Return half a unit of the last digit of a number as printed: 0.00005 for ``0.20e-2``."""
    return 10.0 ** int(Decimal(printed).as_tuple().exponent) / 2


def as_printed(printed: str) -> str:
    """Return a number for display: ``0.20 × 10⁻²`` for ``0.20e-2``."""
    digits, _, exponent = printed.partition("e")
    return f"{digits} × 10{exponent.translate(EXPONENTS)}" if exponent else digits


def with_spread(printed: str, std: float | None) -> str:
    """Return a number from ``as_printed`` with its standard deviation in the same unit: ``(10.89 ± 0.96) × 10⁻²``."""
    if std is None:
        return printed
    digits, _, power = printed.partition(" × 10")
    scaled = std / 10.0 ** int(power.translate(FROM_EXPONENTS) or 0)
    decimals = max(len(text.partition(".")[2]) for text in (digits, f"{scaled:g}"))
    both = f"{digits} ± {scaled:.{decimals}f}"
    return f"({both}) × 10{power}" if power else both


@cache
def tables() -> dict[tuple[str, str], dict[str, str]]:
    """Return ``statistic``, ``n_runs`` and ``why`` of each table's numbers, by source and table."""
    with TABLES.open(newline="", encoding="utf-8") as file:
        return {(line["source"], line["table"]): line for line in csv.DictReader(file)}


def title(number: Mapping[str, Any]) -> str:
    """Return the name in print of a number's model, with its form and block in print: ``coRNN (256 units)``."""
    block = [part.replace("=", " ") for part in number["block"].split() if part != NOWHERE]
    forms = ", ".join(filter(None, (number["model_variant"].strip("()"), *block)))
    model: str = number["model"]
    return names().get(model, model) + (f" ({forms})" if forms else "")


@cache
def names() -> dict[str, str]:
    """Return the names in print of all models with published numbers, by key."""
    with NAMES.open(newline="", encoding="utf-8") as file:
        return {line["model"]: line["name"] for line in csv.DictReader(file)}


def _lines() -> list[dict[str, str]]:
    """Return the lines of the file with their statistics, in the order of ``STATISTICS``."""
    with FILE.open(newline="", encoding="utf-8") as file:
        lines = [line if line["statistic"] else {**line, **_labels(line)} for line in csv.DictReader(file)]
    return sorted(lines, key=lambda line: STATISTICS.index(line["statistic"]))


def _labels(line: Mapping[str, str]) -> dict[str, str]:
    table = tables()[line["source"], line["table"]]
    return {name: table[name] for name in ("statistic", "n_runs")}


def _same(row: dict[str, Any], line: dict[str, str]) -> bool:
    """Return whether a line that agrees with ``row`` in ``ALIKE`` is the same number."""
    n = _number(line["n_runs"])
    statistics = {row["statistic"], line["statistic"]}
    if len(statistics) == 1 or "reported" in statistics:
        return n is None or row["n"] is None or n == row["n"]
    return "best" in statistics and bool(statistics & {"max", "min"}) and n == row["n"] is not None


def _row(line: dict[str, str]) -> dict[str, Any]:
    return {
        **{name: line[name] for name in (*TEXTS, "statistic")},
        "id": digest([line[name] for name in SAME]),
        "value": float(line["value"]),
        "std": float(line["std"]) if line["std"] else None,
        "n": _number(line["n_runs"]),
        "layers": _number(line["layers"]),
        "params": _number(line["params"]),
        "sources": _source(line),
    }


def _merge(row: dict[str, Any], line: dict[str, str]) -> None:
    """Add a line's source to the row, with its number of parameters if that differs."""
    params = _number(line["params"])
    differs = f", {params} parameters" if params and row["params"] and params != row["params"] else ""
    row["sources"] += f"\n{_source(line)}{differs}"
    row["note"] = "; ".join(dict.fromkeys(filter(None, (row["note"], line["note"]))))
    row["printed"] = min(row["printed"], line["printed"], key=rounding)
    for name, number in (("n", _number(line["n_runs"])), ("layers", _number(line["layers"])), ("params", params)):
        row[name] = number if row[name] is None else row[name]


def _source(line: dict[str, str]) -> str:
    return f"{line['source']}, {line['table']} ({line['origin']})"


def _number(cell: str) -> int | None:
    return int(cell) if cell else None
