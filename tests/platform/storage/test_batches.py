"""What many packs say at once, written in one transaction, is what writing one report after another leaves."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from rich.console import Console
from tiers import list_seeds

from longwave.platform.about import about
from longwave.platform.records.report import Report, split_reports
from longwave.platform.records.run import Measure, Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.in_clause import in_clause
from longwave.platform.storage.lease_tables import ArchiveRow, AttemptRow
from longwave.platform.storage.leases import LeaseLostError, Leases
from longwave.platform.storage.schema import CurveRow, TrialRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.cluster import ProbeTable
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run.progress import Progress
from longwave.platform.sweeps.run.recorder import ResultRecorder

Tiny = Callable[..., SweepFile]
OpenStore = Callable[[str], Store]


def filled(store: Store, tiny: Tiny) -> list[TrialConfig]:
    configs = all_trials(resolve(tiny(models=["lem"])), {})
    store.add_sweep("tiny", {})
    store.add_trials("tiny", configs, [about(c) for c in configs])
    return configs


def some_reports(trials: list[str], rng: random.Random) -> Iterator[Report]:
    """Yield what two packs say whose workers die now and then and go on from an earlier epoch."""
    for pack in (trials[:2], trials[2:]):
        epoch = 0
        for _ in range(5):
            epoch = rng.randint(0, epoch)
            points = [Point(t, e, 1.0 / e, rng.random(), e, e) for t in pack for e in range(1, epoch + 1)]
            yield Report(points, began=dict.fromkeys(pack, epoch))
            for _ in range(rng.randint(0, 3)):
                epoch += 1
                runs = [Run(t, "failed", f"at {epoch}", epoch) for t in pack if rng.random() < 0.15]
                yield Report([Point(t, epoch, 1.0 / epoch, rng.random(), epoch, epoch) for t in pack], runs)


def held(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that reports can change, but for moments."""
    t, a = TrialRow, AttemptRow
    queries = {
        "curves": sa.select(CurveRow.__table__),
        "archive": sa.select(ArchiveRow.__table__),
        "attempts": sa.select(a.trial, a.number, a.epoch, a.status, a.reason),
        "ends": sa.select(t.id, t.status, t.reason, t.epochs),
    }
    with store.reading() as connection:
        return {name: sorted(tuple(row) for row in connection.execute(query)) for name, query in queries.items()}


@pytest.mark.parametrize("seed", list_seeds(6, 2))
def test_a_batch_leaves_what_its_reports_leave_one_after_another(
    seed: int, tmp_path: Path, open_store: OpenStore, tiny: Tiny
) -> None:
    contents = []
    for name in ("batch", "alone"):
        store = open_store(f"sqlite:///{tmp_path / name}.db")
        trials = [c.id for c in filled(store, tiny)]
        reports = list(some_reports(trials, random.Random(seed)))
        random.Random(seed).shuffle(halves := [reports[: len(reports) // 2], reports[len(reports) // 2 :]])
        with Leases(store, "tiny") as leases:
            leases.take(trials)
            if name == "batch":
                leases.write(*(report for half in halves for report in half))
            else:
                for report in (report for half in halves for report in half):
                    leases.write(report)
            contents.append(held(store))
    assert contents[0] == contents[1] and contents[0]["archive"] and contents[0]["curves"]


def test_reports_are_taken_together_until_one_begins_anew_what_was_told_of() -> None:
    first, other = Report(began={"a": 0}), Report([Point("b", 1, 1.0, 1.0, 1.0, 1.0)])
    reported, again = Report([Point("a", 1, 1.0, 1.0, 1.0, 1.0)]), Report(began={"a": 1})
    assert [*split_reports([first, other, reported, again, reported])] == [[first, other, reported], [again, reported]]
    over = Report(runs=[Run("b", "failed", "x")])
    assert [*split_reports([over, reported, other])] == [[over, reported], [other]]
    assert [*split_reports([first, Report(began={"b": 0})])] == [[first, Report(began={"b": 0})]] and [
        *split_reports([])
    ] == []


def test_of_a_batch_that_tells_of_a_lost_trial_what_came_before_it_is_kept(
    store: Store, tiny: Tiny, tmp_path: Path
) -> None:
    configs = filled(store, tiny)
    jobs = {key: Job([config]) for key, config in zip("abcd", configs, strict=True)}
    view = Progress(resolve(tiny(models=["lem"])), Console(file=io.StringIO()))
    view.plan(store.planned("tiny"))
    with Leases(store, "tiny") as zombie, Leases(store, "tiny") as heir:
        zombie.take([c.id for c in configs])
        recorder = ResultRecorder(store, zombie, Workers(1, tmp_path, here=True), view, ProbeTable([]), StallWatch())
        recorder.add_jobs(jobs)
        for key, config in zip("abc", configs, strict=False):
            recorder.started(key, Slot())
            recorder.report(key, Report(began={config.id: 0}))
        recorder.flush()
        with store.transaction() as connection:  # as if nothing had been heard of it for long
            connection.execute(sa.text("UPDATE leases SET owner = '' WHERE trial = :t"), {"t": configs[1].id})
        heir.take([configs[1].id])
        for key, config in zip("abc", configs, strict=False):
            recorder.report(key, Report(runs=[Run(config.id, "ok", valid=1.0)]))
            recorder.ended(key, "over")
        with pytest.raises(LeaseLostError, match="1 of these trials"):
            recorder.flush()
    assert [a.status for a in store.planned("tiny")] == ["ok", "planned", "planned", "planned"]


def test_any_number_of_texts_is_asked_for_at_once(any_store_url: str, open_store: OpenStore, tiny: Tiny) -> None:
    store = open_store(any_store_url)
    known = {c.id for c in filled(store, tiny)}
    hostile = ["'; DROP TABLE trials; --", '"', "{a,b}", "\\", "é", "NULL", ""]
    with store.reading() as connection:
        query = sa.select(TrialRow.id)
        many = [*known, *hostile, *(f"{k:016x}" for k in range(50_000))]
        assert {*connection.scalars(query.where(in_clause(TrialRow.id, many)))} == known
        assert [*connection.scalars(query.where(in_clause(TrialRow.id, [])))] == []
        assert {*connection.scalars(query.where(~in_clause(TrialRow.id, hostile)))} == known


def test_measures_are_read_along_their_axis_as_bundles_have_them(store: Store, tiny: Tiny) -> None:
    """In an order by value a bundle of the same trials would be another."""
    trial = filled(store, tiny)[0].id
    along = (Measure("nrmse", "1", 2.0, "step", 50.0), Measure("nrmse", "1", 1.0, "step", 100.0))
    store.write([], [Run(trial, "ok", epochs=1, best_epoch=1, valid=1.0, measures=along[::-1])])
    [read] = store.trials_by_id([trial])
    assert read.run and tuple(read.run.measures) == along
