"""A checksum over all that was recorded of a trial: whoever finds another one knows that something was changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from longwave.platform.records.identity import sha256
from longwave.platform.records.run import Measure, Point

PLANNED = ("id", "task", "model", "phase", "row", "config", "about")
"""What a seal covers of a trial from its plan on."""
ENDS = (
    "status", "reason", "epochs", "best_epoch", "valid", "test", "seconds", "members", "parameters", "joules",
    "environment", "origin", "rerun",
)  # fmt: skip
"""What it covers once the trial has ended, beside its curve and its measures. A new fact needs a new form of seal."""
HALF = 32
"""Digits of the seal of a plan; those of an end follow."""


def seal(record: Mapping[str, Any], points: Sequence[Point] | None = None, measures: Iterable[Measure] = ()) -> str:
    """Return the seal of a trial: 32 hex digits for its plan, and 32 more for its end, with SHA-256.

    It depends on values alone: not on the order of keys, points or measures, nor on the database they lie in.

    Args:
        record: The values of ``PLANNED`` and ``ENDS`` by name; configuration and explanation as plain JSON data.
        points: All epochs of its curve; None of a trial that has not ended. Numbers that are not finite count, too.
        measures: Its other numbers.
    """
    plan = sha256([record[name] for name in PLANNED])[:HALF]
    if points is None:
        return plan
    curve = sorted((p.epoch, repr(p.loss), repr(p.valid), repr(p.seconds), repr(p.at)) for p in points)
    more = sorted((m.key, m.x_name, repr(m.x), m.unit, repr(m.value)) for m in measures)
    return plan + sha256([[record[name] for name in ENDS], curve, more])[:HALF]
