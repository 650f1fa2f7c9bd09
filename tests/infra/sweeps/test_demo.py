"""The demo pays: its board says what was found, models leave the trivial predictor behind and are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from tree import ROOT

from longwave.platform.boards.separation import separation
from longwave.platform.cli.main import main
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

DEMO = ROOT / "infra/sweeps/demo.toml"


@pytest.mark.slow  # 95 trainings: two minutes of one core
def test_after_the_demo_the_board_opens_with_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/demo.db"
    assert main(["sweep", "run", str(DEMO), "--here", "--mlflow", "off", "--store", url]) == 0
    assert "demo: 95 of 95 trials done" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["board", "adding", "--store", url]) == 0
    out = capsys.readouterr().out
    assert "beat the best trivial predictor" in out and "Best median of 5 ranked rows: " in " ".join(out.split())
    with Store(url) as store:
        rows = read_board(store, "adding")
    ranked = {row.model: row for row in rows if row.rank_low is not None}
    assert len(ranked) == 5 and not any(row.loses_to or row.published or row.provisional for row in ranked.values())
    assert len(separation(rows).better) == 5, "every model is told apart from the trivial predictor"
    assert len({row.ties for row in ranked.values()}) >= 3, "models are told apart"
    assert not any(word in out for word in ("reproduced", "consistent", "undecided")), "nobody ran a paper's protocol"
    for row in ranked.values():
        assert any(departure.startswith("epochs 40 (published") for departure in row.departures)
