"""Recordings of real sweeps, thinned: the store's data about their packs at any moment, and the remaining time.

``record`` writes one from a SQLite store with a finished sweep that was trained by a single driver.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from longwave.platform.records.stored import PackAttempt, PackPart

EVERY = 5
"""Epochs between two recorded ones."""


@dataclass(frozen=True)
class RecordedSweep:
    """A finished sweep; all times are seconds since its driver began.

    Attributes:
        file: Trials, halving and races as in its sweep file, and the number of models.
        packs: In their order: cell, phase, when it was planned; ``attempts`` with begin and end; ``epochs``, each with
            the time of its report and a trial's share until then; ``ends``, each with time, status, epochs, number of
            trials and the share of each.
    """

    file: dict[str, Any]
    packs: Sequence[dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> RecordedSweep:
        """Return a recording from a file."""
        return cls(**json.loads(path.read_text()))

    @property
    def end(self) -> float:
        """When the last trial ended."""
        return max(end[0] for pack in self.packs for end in pack["ends"])

    def parts(self, now: float) -> list[PackPart]:
        """Return the result of ``Store.pack_parts`` at that time."""
        parts: list[PackPart] = []
        for key, pack in enumerate(self.packs):
            if pack["planned"] > now:
                continue
            where = pack["cell"], pack["phase"], str(key)
            past = [end for end in pack["ends"] if end[0] <= now]
            parts += [PackPart(*where, *end[1:]) for end in past]
            if still := sum(end[3] for end in pack["ends"] if end not in past):
                _, epoch, share = self._last_report(pack, now)
                parts.append(PackPart(*where, "", epoch, still, share))
        return parts

    def attempts(self, now: float) -> list[PackAttempt]:
        """Return the result of ``Store.pack_attempts`` at that time."""
        begun = [(a, key, pack) for key, pack in enumerate(self.packs) for a in pack["attempts"] if a[0] <= now]
        return [
            PackAttempt(str(key), start, end if end <= now else None, self._last_report(pack, now)[0])
            for (start, end), key, pack in sorted(begun, key=lambda each: each[0])
        ]

    @staticmethod
    def _last_report(pack: dict[str, Any], now: float) -> tuple[float | None, int, float]:
        k = bisect_right([at for at, *_ in pack["epochs"]], now)
        return tuple(pack["epochs"][k - 1]) if k else (None, 0, 0.0)


def record(database: Path, sweep: str, file: dict[str, Any], path: Path) -> None:
    """Write the recording of a sweep."""
    with sqlite3.connect(database) as connection:
        ask = connection.execute
        [(began,)] = ask("select min(started) from drivers where sweep = ?", (sweep,))
        of_sweep = "join sweep_trials s on s.trial = t.id where s.sweep = ? order by s.position"
        columns = "t.id, s.cell, t.phase, t.pack, t.status, t.epochs, t.seconds, t.ended"
        trials = ask(f"select {columns} from trials t {of_sweep}", (sweep,)).fetchall()
        curve = "select t.id, c.epoch, c.at, c.seconds from curves c join trials t on t.id = c.trial"
        points = ask(f"{curve} {of_sweep}", (sweep,)).fetchall()
        attempt = "select t.id, a.number, a.started, a.ended from attempts a join trials t on t.id = a.trial"
        attempts = ask(f"{attempt} {of_sweep}", (sweep,)).fetchall()
    pack_of = {trial[0]: trial[3] for trial in trials}
    packs: dict[str, dict[str, Any]] = {}
    ends: dict[str, Counter[tuple[float, str, int]]] = defaultdict(Counter)
    shares: dict[tuple[str, tuple[float, str, int]], float] = {}
    for _, cell, phase, pack, status, epochs, share, ended in trials:
        packs.setdefault(pack, {"cell": cell, "phase": phase})
        end = round(_seconds(ended) - began, 2), status, epochs
        ends[pack][end] += 1
        shares[pack, end] = round(share, 3)
    spans: dict[tuple[str, int], list[float]] = {}
    for trial, number, started, ended in attempts:
        span = spans.setdefault((pack_of[trial], number), [1e18, 0.0])
        span[:] = min(span[0], _seconds(started) - began), max(span[1], _seconds(ended) - began)
    reports: dict[str, dict[int, list[float]]] = defaultdict(dict)
    for trial, epoch, at, share in points:
        if epoch % EVERY == 0:
            reports[pack_of[trial]][epoch] = [round(at - began, 2), epoch, round(share, 3)]
    planned = _planned(
        packs, {pack: min(span[0] for (p, _), span in spans.items() if p == pack) for pack in packs}, ends
    )
    for key, pack in packs.items():
        pack["planned"] = planned[key]
        pack["attempts"] = [[round(t, 2) for t in span] for (p, _), span in sorted(spans.items()) if p == key]
        pack["epochs"] = [reports[key][epoch] for epoch in sorted(reports[key])]
        pack["ends"] = [[*end, count, shares[key, end]] for end, count in sorted(ends[key].items())]
    path.write_text(json.dumps({"file": file, "packs": [*packs.values()]}, separators=(",", ":")) + "\n")


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _planned(packs: dict[str, Any], starts: dict[str, float], ends: dict[str, Any]) -> dict[str, float]:
    """Return when packs were planned: at the end of the previous round, before the first of them begins."""
    planned, moment, over, phase = dict[str, float](), 0.0, 0.0, ""
    for key in sorted(packs, key=lambda key: starts[key]):
        if starts[key] > over or packs[key]["phase"] != phase:
            moment, phase = over, packs[key]["phase"]
        planned[key], over = moment, max(over, *(end[0] for end in ends[key]))
    return planned
