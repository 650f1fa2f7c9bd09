"""What the benchmark of the Lab says of its times; the times themselves are not tested."""

from __future__ import annotations

from dataclasses import replace

import lab_speed
import pytest
from lab_speed import LabReport


def test_the_labs_times_are_judged_by_their_medians_and_its_report_names_the_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = {"home": [900.0, 5000.0, 1400.0]}
    report = LabReport({"browser": "1"}, 10, 20, times, [100.0, 301.0, 400.0], [2000.0, 10.0, 20.0], 601.0, 1.0)
    assert [(target.ratio, target.met) for target in report.targets] == [
        (1400.0, True),
        (301.0, False),
        (20.0, True),
        (601.0, False),
    ]
    record = report.to_dict()
    assert record["versions"] == {"browser": "1"} and [t["met"] for t in record["targets"]] == [
        True,
        False,
        True,
        False,
    ]
    lab_speed.print_report(report, "table")
    output = capsys.readouterr().out
    assert "20 sessions" in output and "floor" not in output
    lab_speed.print_report(
        replace(report, floor={"to open": [900.0, 700.0, 800.0], "to change a filter": [90.0]}), "table"
    )
    assert "in the same run: to open 800 ms, to change a filter 90 ms." in " ".join(capsys.readouterr().out.split())
