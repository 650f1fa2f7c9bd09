"""A score against what it costs, or against the length of the sequences: dots with intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import altair as alt

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import duration, measured, median, plain
from longwave.platform.figures.frame import Figure, Mark, axis, framed, values
from longwave.platform.figures.palette import colour

HEIGHT = 320
COSTS: dict[str, tuple[str, Callable[[Row], float | None], Callable[[float | None], str]]] = {
    "parameters": ("trainable numbers", lambda row: row.parameters, plain),
    "train": ("time to train a seed [s]", lambda row: row.train_seconds / row.asked if row.asked else None, duration),
    "find": ("time of the search [s]", lambda row: row.find_seconds or None, duration),
    "energy": ("energy of a retraining [J]", lambda row: row.joules, plain),
}
"""What a score may be set against: its axis, its value, how it is written."""


def against_cost(rows: Sequence[Row], names: Sequence[str], cost: str, log: bool) -> Figure | None:
    """Return medians with their intervals against a cost of ``COSTS``; None where no row has both.

    A step joins the rows that none is both cheaper and better than.
    """
    title, value, write = COSTS[cost]
    marks: list[Mark] = []
    for name, row in zip(names, rows, strict=True):
        spent = value(row) if row.kind == "reproduced" else None
        if spent and row.median is not None and (row.median > 0 or not log):
            tip = f"{name}: {median(row)}, {title.partition(' [')[0]} {write(spent)}"
            marks.append(
                {"name": name, "cost": float(spent), "value": row.median, "tint": colour(row.family), "tip": tip}
            )
    if not marks:
        return None
    y = alt.Y("value:Q", **axis(f"test {measured(rows[0])}", [m["value"] for m in marks], log))
    x = alt.X("cost:Q", **axis(title, [m["cost"] for m in marks], True))
    best = alt.Chart(values(_front(marks, rows[0].goal))).mark_line(
        interpolate="step-after", opacity=0.5, color="#868E97"
    )
    dots = alt.Chart(values(marks))
    return framed(
        alt.layer(
            best.encode(x=x, y=y),
            dots.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=alt.Color("tint:N", scale=None),
                                                                    tooltip=alt.Tooltip("tip:N", title=" ")),
            dots.mark_text(align="left", dx=8, dy=-6).encode(x=x, y=y, text="name:N"),
        ), f"Test {measured(rows[0])} against {title}", HEIGHT)  # fmt: skip


def against_length(rows: Sequence[Row], log: bool) -> Figure | None:
    """Return the median of each model's best row against the number in the variants; None for fewer than two.

    Args:
        rows: Rows of all variants of one task.
        log: Whether the y axis is logarithmic.
    """
    marks: list[Mark] = [
        {"model": row.title.partition(" (")[0], "length": length, "value": row.median, "tint": colour(row.family),
         "tip": f"{row.title}, {row.variant}: {median(row)}"}
        for row in rows
        if row.current and row.median is not None and (row.median > 0 or not log) and (length := _length(row.variant))
    ]  # fmt: skip
    if len({mark["length"] for mark in marks}) < 2:
        return None
    best: dict[tuple[str, float], Mark] = {}
    sign = -1 if rows[0].goal == "min" else 1
    for mark in marks:
        key = (mark["model"], mark["length"])
        if key not in best or sign * mark["value"] > sign * best[key]["value"]:
            best[key] = mark
    kept = list(best.values())
    y = alt.Y("value:Q", **axis(f"test {measured(rows[0])}", [m["value"] for m in kept], log))
    x = alt.X("length:Q", **axis("length", [float(m["length"]) for m in kept], True))
    made = alt.Chart(values(kept)).mark_line(point={"filled": True, "size": 70}).encode(
        x=x, y=y, color=alt.Color("tint:N", scale=None), detail="model:N",
        strokeDash=alt.StrokeDash("model:N", legend=alt.Legend(title=None)), tooltip=alt.Tooltip("tip:N", title=" "),
    )  # fmt: skip
    return framed(made, f"Test {measured(rows[0])} against length", HEIGHT)


def _front(marks: Sequence[Mark], goal: str) -> list[Mark]:
    """Return the marks that none is both cheaper and better than, cheapest first."""
    sign = 1 if goal == "min" else -1
    front: list[Mark] = []
    for mark in sorted(marks, key=lambda m: (m["cost"], sign * m["value"])):
        if not front or sign * mark["value"] < sign * front[-1]["value"]:
            front.append(mark)
    return front


def _length(variant: str) -> float | None:
    """Return the number in the name of a variant, ``N=500``; None where there is none, or several."""
    found = re.findall(r"\d+(?:\.\d+)?", variant)
    return float(found[0]) if len(found) == 1 else None
