"""The auditor of chaos: pure functions that compare the records of a sweep in a store, in MLflow and in each trial's
own log.

The reference is an undisturbed run. The functions compare plain data, so that any combination of libraries can be
audited.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CLOSE = 1e-4
"""Largest relative difference of a result whose trial was trained in another pack than in the reference."""
Curve = Mapping[int, tuple[float, float]]
"""Loss and validation metric by epoch."""
OPEN = ("", "planned", "running", "RUNNING")


@dataclass(frozen=True)
class TrialRecord:
    """The record of one trial in a store, a log or MLflow.

    Attributes:
        status: Its outcome; one of ``OPEN`` until it has ended.
        curve: Its epochs.
        ends: Final numbers by name: ``epochs``, ``best_epoch``, ``valid``, ``test``.
        pack: Trials that are trained together have the same.
    """

    status: str
    curve: Curve
    ends: Mapping[str, float | None] = field(default_factory=dict)
    pack: str | None = None


@dataclass(frozen=True)
class FinalState:
    """The final state of a disturbed sweep.

    Attributes:
        expected: Records in an undisturbed run's store, by trial.
        store: Records in this one's store.
        copies: MLflow's visible runs: trial, record, and number of duplicate values.
        logs: Each trial's own log, in order.
        again: Trials that were trained again after they had ended.
        broken: Fatal damage: a damaged store, a sweep that does not finish.
        leftovers: Leftovers: processes, leases, attempts without an end.
    """

    expected: Mapping[str, TrialRecord]
    store: Mapping[str, TrialRecord]
    copies: Sequence[tuple[str, TrialRecord, int]] = ()
    logs: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    again: Sequence[str] = ()
    broken: Sequence[str] = ()
    leftovers: Sequence[str] = ()
    copied: bool = True


@dataclass(frozen=True)
class Findings:
    """Errors, one per line, and how many results equal those of an undisturbed run, and how many bit for bit."""

    lost: Sequence[str] = ()
    duplicated: Sequence[str] = ()
    wrong: Sequence[str] = ()
    unusable: Sequence[str] = ()
    orphans: Sequence[str] = ()
    trials: int = 0
    equal: int = 0
    to_the_bit: int = 0

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong and all results are equal."""
        return not any((self.lost, self.duplicated, self.wrong, self.unusable, self.orphans)) and (
            self.equal == self.trials
        )


def audit(state: FinalState) -> Findings:
    """Return the errors in a state."""
    equal, bits = _count_equal(state)
    return Findings(
        [*_find_lost(state), *_find_lost_copies(state)],
        [*_find_duplicated(state)],
        [*_find_wrong(state), *_find_wrong_copies(state)],
        [*state.broken],
        [*state.leftovers, *(f"MLflow's run of {t} was never closed" for t, c, _ in state.copies if c.status in OPEN)],
        len(state.expected),
        equal,
        bits,
    )


def record_of_log(log: Sequence[Mapping[str, Any]]) -> TrialRecord:
    """Return the record in a trial's own log: that of its newest session, after the epochs from which it started."""
    curve: dict[int, tuple[float, float]] = {}
    status, ends, session = "", dict[str, float | None](), ""
    for line in log:
        if "began" in line:
            session, status, ends = line["session"], "", {}
            curve = {epoch: value for epoch, value in curve.items() if epoch <= line["began"]}
        elif line["session"] != session:
            continue  # belongs to a training that was replaced
        elif "end" in line:
            status, ends = line["end"], {name: line[name] for name in ("epochs", "best_epoch", "valid", "test")}
        else:
            curve[line["epoch"]] = (line["loss"], line["valid"])
    return TrialRecord(status, curve, ends)


def _find_lost(state: FinalState) -> Iterator[str]:
    for trial, expected in state.expected.items():
        record = state.store.get(trial)
        if record is None or record.status in OPEN:
            yield f"{trial} has {'no row' if record is None else 'not ended'}"
            continue
        last = int(record.ends.get("epochs") or 0)
        missing = sorted(set(range(1, last + 1)) - record.curve.keys())
        if missing and expected.status in ("ok", "stopped"):
            yield f"{trial} lacks epochs {missing}"


def _find_lost_copies(state: FinalState) -> Iterator[str]:
    copied = {trial: copy for trial, copy, _ in state.copies}
    for trial, record in state.store.items() if state.copied else ():
        if trial not in copied:
            yield f"MLflow has no run of {trial}"
        elif missing := record.curve.keys() - copied[trial].curve.keys():
            yield f"MLflow's run of {trial} lacks epochs {sorted(missing)}"


def _find_duplicated(state: FinalState) -> Iterator[str]:
    for trial in state.store.keys() - state.expected.keys():
        yield f"{trial} is in the store, but not in the reference"
    for trial in state.again:
        yield f"{trial} was trained again after it had ended"
    for trial, count in Counter(trial for trial, *_ in state.copies).items():
        if count > 1:
            yield f"MLflow has {count} runs of {trial}"
    for trial, _, more in state.copies:
        if more:
            yield f"MLflow's run of {trial} has {more} values twice"


def _find_wrong(state: FinalState) -> Iterator[str]:
    """Compare the store with the logs, bit for bit, and with the reference."""
    for trial, record in state.store.items():
        if trial in state.logs:
            logged = record_of_log(state.logs[trial])
            yield from (f"{trial}: {text} (store against its log)" for text in _list_differences(record, logged))
        elif record.status not in OPEN:
            yield f"{trial} ended in the store, but none of its trainings left a log"
        expected = state.expected.get(trial)
        if expected and record.status not in OPEN:
            within = 0.0 if _same_pack(expected, record) else CLOSE
            for text in _list_differences(record, expected, within):
                yield f"{trial}: {text} (store against the reference)"


def _find_wrong_copies(state: FinalState) -> Iterator[str]:
    for trial, copy, _ in state.copies:
        if (record := state.store.get(trial)) is None:
            yield f"MLflow has a run of {trial}, which is not in the store"
            continue
        for epoch, value in copy.curve.items():
            if not _are_close(value, record.curve.get(epoch, (math.nan, math.nan)), 1e-12):
                yield f"{trial}: epoch {epoch} differs between MLflow and the store"
                break


def _count_equal(state: FinalState) -> tuple[int, int]:
    """Return how many results equal those of an undisturbed run within tolerance, and how many bit for bit."""
    must = bits = 0
    for trial, expected in state.expected.items():
        if (record := state.store.get(trial)) and record.status not in OPEN:
            bit = not [*_list_differences(record, expected)]
            bits += bit
            must += bit or (not _same_pack(expected, record) and not [*_list_differences(record, expected, CLOSE)])
    return must, bits


def _same_pack(expected: TrialRecord, record: TrialRecord) -> bool:
    return expected.pack is not None and expected.pack == record.pack


def _list_differences(record: TrialRecord, other: TrialRecord, within: float = 0.0) -> Iterator[str]:
    if record.status != other.status:
        yield f"status {record.status or 'open'} instead of {other.status or 'open'}"
        return
    for name in record.ends.keys() & other.ends.keys():
        ours, theirs = record.ends[name], other.ends[name]
        exact = 0.0 if name in ("epochs", "best_epoch") else within
        if (ours is None) != (theirs is None) or (ours is not None and not _are_close([ours], [theirs or 0.0], exact)):
            yield f"{name} {ours} instead of {theirs}"
    for epoch in sorted(record.curve.keys() | other.curve.keys()):
        ours_at, theirs_at = record.curve.get(epoch), other.curve.get(epoch)
        if ours_at is None or theirs_at is None or not _are_close(ours_at, theirs_at, within):
            yield f"epoch {epoch}: {ours_at} instead of {theirs_at}"
            return


def _are_close(ours: Sequence[float], theirs: Sequence[float], within: float) -> bool:
    return all(
        a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=within, abs_tol=0.0)
        for a, b in zip(ours, theirs, strict=True)
    )
