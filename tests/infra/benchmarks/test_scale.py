"""The simulated scale: what virtual workers said is what the store holds, also after a driver that ended at half."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import scale
import sqlalchemy as sa
from scale import ScaleReport, ScaleRun
from scale_page import scale_report
from scale_parts import CELLS, NAME, ScaleSize, audit_results, measure_plan, measure_run, percentiles
from scale_shares import CHECKSUMS, LEASES, READS, WRITES, part_of
from tree import ROOT

from longwave.platform.cli.main import main
from longwave.platform.storage.schema import CurveRow
from longwave.platform.storage.store import Store
from longwave.platform.training.journal import VARIABLE

SIZE = ScaleSize(trials=200, workers=7, pack=5, epochs=5, earlier=0)
RETRAININGS = 5 * CELLS

pytestmark = pytest.mark.usefixtures("alone")


class Ended(Exception):
    """In place of a driver's death."""


def read_journal(journal: Path) -> tuple[dict[str, dict[int, float]], dict[str, dict[str, Any]], int]:
    """Return the curve and the end of each trial as its workers logged them, and how many epochs they reported."""
    curves: dict[str, dict[int, float]] = defaultdict(dict)
    ends: dict[str, dict[str, Any]] = {}
    count = 0
    for file in journal.iterdir():
        for line in map(json.loads, file.read_text().splitlines()):
            trial = line["trial"]
            if "began" in line:
                curves[trial] = {e: v for e, v in curves[trial].items() if e <= line["began"]}
            elif "epoch" in line:
                curves[trial][line["epoch"]] = line["valid"]
                count += 1
            else:
                ends[trial] = line
    return curves, ends, count


@pytest.mark.integration
def test_the_store_holds_what_the_workers_said_and_nothing_twice(
    any_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "journal"))
    assert measure_plan(any_store_url, SIZE)["trials"] == SIZE.trials
    took = measure_run(any_store_url, SIZE, str(tmp_path))
    curves, ends, count = read_journal(tmp_path / "journal")
    with Store(any_store_url, create=False) as store:
        trials = {t.config.id: t.run for t in store.trials(NAME)}
        stored: dict[str, dict[int, float]] = defaultdict(dict)
        for point in store.curves([*trials]):
            stored[point.trial][point.epoch] = point.valid
        attempts = store.attempts([*trials])
    assert len(trials) == SIZE.trials + RETRAININGS == len(ends)
    assert stored == {trial: curve for trial, curve in curves.items() if curve}
    for trial, run in trials.items():
        assert run and (run.status, run.valid, run.test) == tuple(ends[trial][k] for k in ("end", "valid", "test"))
    again = [ways for ways in attempts.values() if len(ways) > 1]
    assert again and all(
        ways[:-1] == ["left"] * (len(ways) - 1) and ways[-1] in ("ok", "diverged") for ways in again
    ), "a pack's worker died, and of its trials those that had not ended were begun again"
    assert took["epochs"] == count > sum(map(len, stored.values())), "epochs told again were reported, too"
    assert audit_results(any_store_url) == {"trials": len(trials), "lost": 0, "duplicated": 0}


@pytest.mark.integration
def test_after_a_driver_that_ended_at_half_another_goes_on_and_nothing_is_lost(
    any_store_url: str, tmp_path: Path
) -> None:
    def die(_: dict[str, Any]) -> None:
        raise Ended("at half")

    measure_plan(any_store_url, SIZE)
    with pytest.raises(Ended, match="at half"):
        measure_run(any_store_url, SIZE, str(tmp_path), SIZE.trials // 2, die)
    with Store(any_store_url, create=False) as store:
        assert any(a.open for a in store.planned(NAME)), "how much of it was written depends on how it came"
    took = measure_run(any_store_url, SIZE, str(tmp_path))
    assert 0 < took["first"] < took["seconds"] and sum(took["shares"].values()) == pytest.approx(1)
    assert audit_results(any_store_url) == {"trials": SIZE.trials + RETRAININGS, "lost": 0, "duplicated": 0}
    assert not [*(tmp_path / "checkpoints").iterdir()], "checkpoints of packs that are over are removed"


@pytest.mark.integration
def test_the_audit_sees_one_epoch_that_is_gone_and_one_trial_that_was_begun_again(
    tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    size, url = replace(SIZE, trials=20), f"sqlite:///{tmp_path / 'a.db'}"
    measure_plan(url, size)
    measure_run(url, size, str(tmp_path))
    store = open_store(url)
    one, two = [a.id for a in store.planned(NAME) if a.status == "ok"][:2]
    with store.transaction() as connection:
        connection.execute(sa.delete(CurveRow).where(CurveRow.trial == one, CurveRow.epoch == 2))
        connection.execute(
            sa.text("INSERT INTO attempts (trial, number, owner, fence, started) VALUES (:t, 9, '', 0, :at)"),
            {"t": two, "at": "2026-01-01 00:00:00"},
        )
    assert audit_results(url) == {"trials": 20 + RETRAININGS, "lost": 1, "duplicated": 1}


def test_overhead_is_the_drivers_cpu_for_each_epoch_it_heard_of() -> None:
    times = percentiles([0.001 * k for k in range(1, 101)])
    assert times == pytest.approx({"count": 100, "p50": 51.0, "p95": 96.0, "p99": 100.0, "most": 100.0})
    part = {"seconds": 12.0, "cpu": 3.0, "epochs": 6_000, "reports": 600, "peak": 200.0, "first": 2.0}
    part |= {"latencies": {"write": times}, "shares": {"store: leases": 0.75, "waiting for workers": 0.25}}
    run = ScaleRun(
        "sqlite", {"seconds": 9.0, "trials": 1_000, "base": 700.0, "peak": 1_700.0},
        {**part, "cpu": 99.0, "peak": 300.0}, part, {"sweep status": times},
        {"trials": 1_050, "lost": 0, "duplicated": 1}, {"before": 0.5},
    )  # fmt: skip
    assert (run.overhead, run.pace) == (0.5, 600.0)
    assert [(t.ratio, t.met) for t in run.targets] == [
        (9.0, True), (2.0, True), (0.5, True), (1_700.0, False), (300.0, True), (1, False),
    ]  # fmt: skip
    report = ScaleReport({"device": "a machine", "system": "x", "python": "3"}, SIZE, [run])
    assert not report.sound and json.loads(json.dumps(report.to_dict()))["runs"][0]["overhead"] == 0.5
    text = scale_report(report)
    assert "| 1000 trials on sqlite: MiB of a driver that resumes | 300 | 1024 | met |" in text
    assert "| 1000 trials on sqlite: MiB to plan them | 1.7e+03 | 1024 | not met |" in text
    assert "**Memory**: 1000700 MiB to plan, 230070 MiB of a driver that resumes" in text
    assert "**Plan**: 9000 s" in text and "**First pack of a resume**: 2000 s" in text


def test_a_stack_is_told_by_what_of_the_store_it_is_in_else_by_its_innermost_part() -> None:
    store = [
        ("x/storage/database.py", "transaction"),
        ("x/storage/leases.py", "take"),
        ("x/platform/sweeps/run/queue.py", "j"),
    ]
    assert part_of(store) == LEASES and part_of(store[:1]) == READS
    written = [
        ("x/storage/leases.py", "_write"),
        ("x/storage/leases.py", "write"),
        ("x/storage/leases.py", "retried"),
        ("x/platform/sweeps/run/recorder.py", "settle"),
    ]
    assert part_of(written) == WRITES and part_of([("x/storage/checksums.py", "write"), *written]) == CHECKSUMS
    assert part_of([("y/json/decoder.py", "decode"), ("x/client.py", "run")]) == "JSON of events and work"
    assert part_of([("x/client.py", "_arriving"), ("x/client.py", "run")]) == "waiting for workers"
    assert part_of([("x/platform/sweeps/plan/trials.py", "following_trials")]) == "planning"
    assert part_of([("z.py", "main")]) == "all else"


def test_a_database_that_is_none_ends_the_command_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--database", "oracle"], scale.command) == 2
    assert "--database must be sqlite or postgresql, got 'oracle'." in capsys.readouterr().err


def test_a_database_that_is_not_installed_is_an_error_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scale, "empty_databases", lambda folder: [f"sqlite:///{folder}/a.db"])
    out = tmp_path / "a.json"
    assert main(["--database", "postgresql", "--out", str(out)], scale.command) == 2
    assert "--database postgresql needs pgserver. Install it with: pip install pgserver" in capsys.readouterr().err
    assert not out.exists()


def test_the_page_about_scale_is_that_of_its_measurements() -> None:
    measured = json.loads((ROOT / "infra/benchmarks/scale-postgresql.json").read_text(encoding="utf-8"))
    runs = [ScaleRun(**{field.name: run[field.name] for field in fields(ScaleRun)}) for run in measured["runs"]]
    report = ScaleReport(measured["versions"], ScaleSize(**measured["size"]), runs)
    assert report.to_dict() == measured
    assert scale_report(report) == (ROOT / "infra/scale.md").read_text(encoding="utf-8")


@pytest.mark.slow  # five processes load all they need, one after another
def test_the_command_kills_a_driver_at_half_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--trials", "200", "--workers", "9", "--pack", "5", "--earlier", "0", "--database", "sqlite"]
    files = ["--out", str(tmp_path / "a.json"), "--page", str(tmp_path / "a.md")]
    assert main([*sizes, *files, "--format", "json"], scale.command) == 0
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert run["audit"] == {"trials": 200 + RETRAININGS, "lost": 0, "duplicated": 0}
    assert run["first"]["epochs"] > 0 < run["second"]["epochs"] and run["asked"]["sweep status"]["count"] >= 1
    assert (
        json.loads((tmp_path / "a.json").read_text())["runs"] == [run] and "sqlite" in (tmp_path / "a.md").read_text()
    )
