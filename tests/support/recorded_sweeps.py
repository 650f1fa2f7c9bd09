"""Recordings of real sweeps, thinned: the store's data about their packs at any moment, and the remaining time."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.platform.records.stored import PackAttempt, PackPart


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
