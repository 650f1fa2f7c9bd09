"""How far a row's numbers have been verified on this machine. A pure function of the facts its runs were stored with.

A run that was imported has two more facts than one that was trained here: ``bundle``, the name of what it came in, and
``checked``, ``yes`` or ``flags``. A further training of a row has the fact ``rerun``, its outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from longwave.platform.schema import EnvironmentRow, TrialRow
from longwave.platform.store import Store


@dataclass(frozen=True)
class Verification:
    """Where a row's numbers come from, and how often it was trained again here.

    Attributes:
        origin: ``here``: all were trained on this machine; ``checked``: some were imported and every check passed;
            ``claimed``: some were imported although a check raised a flag.
        inside, outside: Re-runs here that fell inside the row's interval, and outside of it.
    """

    origin: Literal["here", "checked", "claimed"] = "here"
    inside: int = 0
    outside: int = 0

    def __str__(self) -> str:
        """Return the level in words: ``schema-checked``, ``re-run twice, 1 outside its interval``."""
        level = {"here": "trained here", "checked": "schema-checked", "claimed": "claimed"}[self.origin]
        n = self.inside + self.outside
        if n:
            level = f"re-run {'once' if n == 1 else f'{n} times'}"
        flags = ", claimed with flags" if n and self.origin == "claimed" else ""
        return level + flags + (f", {self.outside} outside its interval" if self.outside else "")


def verification(environments: Iterable[Mapping[str, str]]) -> Verification:
    """Return the level of a row from the facts of each of its retrainings that ended.

    Re-runs that others made and sent are claims like any other: only those made here are counted.
    """
    checked = {"yes": 0, "flags": 0}
    reruns: Counter[str] = Counter()
    for facts in environments:
        if "bundle" in facts:
            checked["yes" if facts.get("checked") == "yes" else "flags"] += 1
        elif "rerun" in facts:
            reruns[facts["rerun"]] += 1
    origin: Literal["here", "checked", "claimed"] = (
        "claimed" if checked["flags"] else "checked" if checked["yes"] else "here"
    )
    return Verification(origin, reruns["inside"], reruns["outside"])


def verifications(store: Store, task: str | None = None) -> dict[str, Verification]:
    """Return the level of every row of ``task``, or of all, by the row's name."""
    facts = [EnvironmentRow.facts[name].as_string().label(name) for name in ("bundle", "checked", "rerun")]
    of_runs = sa.select(TrialRow.row, *facts).outerjoin(EnvironmentRow).where(TrialRow.phase == "retrain")
    runs = (of_runs if task is None else of_runs.where(TrialRow.task == task)).subquery()
    found: dict[str, list[Mapping[str, str]]] = {}
    with store.transaction() as connection:
        for row, *values, n in connection.execute(sa.select(runs, sa.func.count()).group_by(*runs.columns)):
            told = {fact.name: value for fact, value in zip(facts, values, strict=True) if value is not None}
            found.setdefault(row, []).extend([told] * n)
    return {row: verification(environments) for row, environments in found.items()}
