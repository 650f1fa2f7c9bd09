"""The benchmark of stores writes what it says it writes, from real processes; its times are not tested."""

from __future__ import annotations

import json

import pytest
import store_speed

from longwave.platform.cli.main import main

pytestmark = pytest.mark.integration


def test_the_benchmark_prints_points_and_commits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_speed, "empty_databases", lambda folder: iter([f"sqlite:///{folder}/a.db"]))
    sizes = ["--points", "500", "--commits", "100", "--writers", "2"]
    assert main([*sizes, "--format", "json"], store_speed.command) == 0
    points, commits = json.loads(capsys.readouterr().out)
    assert (points["name"], points["rows"], points["writers"]) == ("points", 500, 1)
    assert (commits["name"], commits["rows"], commits["writers"]) == ("commits", 100, 2)
    assert commits["ratio"] == pytest.approx(commits["per_second"] / 1000)
