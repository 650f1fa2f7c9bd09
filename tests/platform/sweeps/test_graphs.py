"""Graphs through packs, sweeps and boards: members as alone, what is measured beside, and what is said without PyG."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import smoothing
from tree import ROOT
from trials import present_trial

from longwave.models.base import geometric
from longwave.platform.cli.main import main
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.training.pack import Pack

pytest.importorskip("torch_geometric", reason="graph models need PyTorch Geometric: pip install 'longwave[graphs]'")
DEMO = ROOT / "infra/sweeps/graphs_demo.toml"
SWEEP = """
name = "clubs"
task = "karate"
models = ["gcn", "g2", "mlp"]
trials = 1
retrain = 2
hidden = 8
epochs = 8
"""


def trial(model: str, k: int) -> TrialConfig:
    """Return a trial of a graph model on the block model, with dropout where it has one."""
    params = {"g2": {"p": 2.0}, "graphcon": {"gamma": 1.0, "alpha": 0.5, "dropout": 0.2}}.get(model, {"dropout": 0.2})
    data = get_task("sbm").load("h75").version
    return present_trial("sbm", "h75", data, model, {}, {"lr": 0.002 * (k + 1), **params}, 8, 1, 6, "search", k)


@pytest.mark.parametrize("model", ["gcn", "graphsage", "gat", "g2", "graphcon"])
def test_a_trial_alone_and_in_a_pack_gives_the_same_curve(model: str) -> None:
    configs, data = [trial(model, k) for k in range(4)], get_task("sbm").load("h75")
    curves = []
    for pack in (Pack(configs, data), Pack(configs[2:3], data)):
        for _ in range(6):
            pack.train_epoch()
            pack.close_epoch()
        curves.append([(p.loss, p.valid) for p in pack.report.points if p.trial == configs[2].id])
    assert len(curves[0]) == 6
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-4)


@pytest.mark.integration
def test_a_sweep_over_graphs_stands_on_a_board_with_energy_and_distance_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from longwave.platform.storage.store import Store

    file, store = tmp_path / "clubs.toml", f"sqlite:///{tmp_path / 'store.db'}"
    file.write_text(SWEEP)
    assert main(["tasks", "karate"]) == 0
    assert "4 places of one example to train, 10 to validate, 20 to test" in capsys.readouterr().out
    assert main(["sweep", "run", str(file), "--here", "--mlflow", "off", "--store", store]) == 0
    capsys.readouterr()
    assert main(["board", "karate", "--format", "json", "--store", store]) == 0
    board = {row["model"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"gcn", "g2", "mlp", "majority", "ridge on 2 hops"} <= board.keys()
    assert board["gcn"]["layers"] == 2 and board["gcn"]["n"] == 2
    [group] = [g for g in Store(store).groups("karate") if g.config.model == "gcn"]
    for run in (t.run for t in Store(store).trials_by_id([r.id for r in group.runs])):
        assert run is not None and {m.key for m in run.measures} == {"dirichlet_energy", "mad"}
        assert all(m.value > 0 for m in run.measures)


def test_the_demo_asks_for_each_depth_of_each_model_with_settings_that_are_fixed() -> None:
    sweep = resolve(read_sweep(DEMO))
    assert len(sweep.cells) == 18 and sweep.file.retrain == 5
    assert {e.base.options.get("layers", 2) for e in sweep.cells} == {2, 4, 8, 16, 32, 64}
    assert not sweep.file.trials and not any(e.space for e in sweep.cells)


def test_without_pyg_a_sweep_of_graph_models_is_refused_in_one_line_before_it_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(geometric, "find_spec", lambda name: None)
    assert main(["sweep", "run", str(DEMO), "--here", "--store", f"sqlite:///{tmp_path / 'store.db'}"]) == 2
    message = capsys.readouterr().err
    line = "graphs_demo: models: gcn: Graph models need PyTorch Geometric: pip install 'longwave[graphs]'"
    assert re.sub(r"\s+", " ", message).strip() == f"longwave: {line}"
    assert main(["models"]) == 0 and main([], smoothing.command) == 2
    assert "longwave[graphs]" in capsys.readouterr().err
