"""The numbers the papers print, shipped with the package. A change of the file needs a migration, however empty."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from longwave.platform.records.identity import digest

FILE = Path(__file__).with_name("published.csv")
TABLES = Path(__file__).with_name("tables.csv")
NAMES = Path(__file__).with_name("names.csv")
SAME = ("task", "variant", "model", "model_variant", "metric", "value", "std", "statistic", "units")
"""Columns that give a number its identity."""
ALIKE = ("task", "variant", "ours", "model", "model_variant", "block", "metric", "value", "std", "units", "paper")
"""Columns in which two printings of one number agree; they may differ in what is called its statistic."""
TEXTS = ("task", "variant", "ours", "model", "model_variant", "fixed", "block", "metric", "printed", "units", "paper",
         "note")  # fmt: skip
STATISTICS = ("best", "max", "mean", "median", "min", "run", "average", "reported")
"""What a number may be called; an ``average`` is one over tasks, ``reported`` where the paper does not say."""
NOWHERE = "-"
"""Stands for our variant, or our residual block, where none of ours is the printed one or that is not known."""
SECOND_HAND = "second hand"
"""How the note of a number begins that is known from other texts than the one that prints it."""
EXPONENTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def published_rows() -> list[dict[str, Any]]:
    """Return one row a published number; a number printed in several places is one row, its ``sources`` one a line.

    Its keys are those of the file. ``ours`` is the one variant of ours that the number belongs to, ``-`` if none;
    ``fixed`` the parameters that are printed with it, ``alpha=1 tau=20``; ``block`` the residual block that the model
    stands in, as ``pairing.block_of`` writes it, ``-`` if none of ours; ``units`` the hidden size, in a block that of
    the cell; ``printed`` the number as in print, zeros at its end too, with its table's factor as an exponent:
    ``0.20e-2``; ``paper`` the key of the paper whose run it is, empty for one whose protocol nothing here tells.

    What a number is called, ``statistic`` of ``n`` runs, is its table's in ``tables.csv``, but where it says its own. A
    table that quotes a number need not say that it is the best of several runs: a number only ``reported`` is the
    same as one of a stated statistic, and the ``best`` of n is the same as a ``max`` or ``min`` of n. A number that
    gets another statistic gets another ``id``: nothing but its place on boards hangs on that.
    """
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for line in _lines():
        alike = groups.setdefault(tuple(line[name] for name in ALIKE), [])
        same = next((row for row in alike if _same(row, line)), None)
        if same is None:
            alike.append(_row(line))
        else:
            _merge(same, line)
    return [row for rows in groups.values() for row in rows]


def rounding(printed: str) -> float:
    """Return half a unit of the last digit of a number as printed: 0.00005 for ``0.20e-2``."""
    return 10.0 ** int(Decimal(printed).as_tuple().exponent) / 2


def as_printed(printed: str) -> str:
    """Return a number as readers know it: ``0.20 × 10⁻²`` for ``0.20e-2``."""
    digits, _, exponent = printed.partition("e")
    return f"{digits} × 10{exponent.translate(EXPONENTS)}" if exponent else digits


@cache
def tables() -> dict[tuple[str, str], dict[str, str]]:
    """Return what each table's numbers are, by source and table: ``statistic``, ``n_runs``, and ``why``."""
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
    """Return the name in print of each model of which a number is published, by its key."""
    with NAMES.open(newline="", encoding="utf-8") as file:
        return {line["model"]: line["name"] for line in csv.DictReader(file)}


def _lines() -> list[dict[str, str]]:
    """Return the lines of the file, each with its statistic, in the order of these: ``best`` first."""
    with FILE.open(newline="", encoding="utf-8") as file:
        lines = [line if line["statistic"] else {**line, **_labels(line)} for line in csv.DictReader(file)]
    return sorted(lines, key=lambda line: STATISTICS.index(line["statistic"]))


def _labels(line: Mapping[str, str]) -> dict[str, str]:
    table = tables()[line["source"], line["table"]]
    return {name: table[name] for name in ("statistic", "n_runs")}


def _same(row: dict[str, Any], line: dict[str, str]) -> bool:
    """Return whether a line that agrees with ``row`` otherwise prints the same number."""
    n = _number(line["n_runs"])
    words = {row["statistic"], line["statistic"]}
    if len(words) == 1 or "reported" in words:
        return n is None or row["n"] is None or n == row["n"]
    return "best" in words and bool(words & {"max", "min"}) and n == row["n"] is not None


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
    """Add a line's source to the row; where it prints another number of parameters, say so."""
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
