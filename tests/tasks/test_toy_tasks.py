"""A task of one's own is one file: of sequences, and of another kind of example. It is listed, swept and boarded."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from more_files import with_files
from tree import ROOT

SIGN = '''"""Sign: whether the first of twelve numbers is positive."""

from functools import cache

import torch

from longwave.tasks.trivial.constant import Majority
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant


def sequences(seed, n):
    x = torch.randn(n, 12, 1, generator=torch.Generator().manual_seed(seed))
    return Sequences(x, (x[:, 0, 0] > 0).long())


@cache
def _load(variant):
    check_variant("toy_sign", variant)
    return Data(valid=sequences(2**31 + 1, 50), test=sequences(2**31 + 2, 50), stream=sequences)


TASK = TaskSpec(
    name="toy_sign", title="Sign", family="recall", summary="Memory: hold one sign.", inputs=1, outputs=2,
    loss=cross_entropy, metric=ACCURACY, chance=50.0, load=_load,
    recipes={"": Recipe(hidden=8, batch=10, epochs=2, steps=5, source="this test")}, source="this test",
    licence="generated, none", length="12", lag="12", baselines={"majority": Majority(2)},
)
'''
SWEEP = """
name = "{name}"
task = "{task}"
models = {models}
trials = 3
retrain = 2
"""
CLI = "from longwave.platform.cli.main import main\n"
PACKS = """
import json, torch
from dataclasses import replace
from trials import present_trial
from longwave.platform.registry import get_task
from longwave.platform.training.pack import Pack

found = {}
for variant in ("nodes", "graphs"):
    data, spec = get_task("toy_graph").load(variant), get_task("toy_graph")
    configs = [
        present_trial(spec.name, variant, "here", "toy_convolution", {}, {"lr": 0.01 * (k + 1)}, 8, 30, 4, "search", k)
        for k in range(4)
    ]
    packs = [Pack(configs, data), Pack(configs[2:3], data)]
    for pack in packs:
        for _ in range(4):
            pack.train_epoch()
            pack.close_epoch()
    whole = data.test.shared(4)
    with torch.no_grad():
        right = packs[0].network(whole).argmax(-1) == whole.targets
    there = data.test.real if variant == "nodes" else torch.ones(len(data.test), dtype=torch.bool)
    other = replace(data.test, nodes=data.test.nodes.masked_fill(~data.test.real.unsqueeze(-1), -7.0))
    found[variant] = {
        "together": [[p.loss, p.valid] for p in packs[0].report.points if p.trial == configs[2].id],
        "alone": [[p.loss, p.valid] for p in packs[1].report.points],
        "weights": (packs[0].parameters.values[2] - packs[1].parameters.values[0]).abs().max().item(),
        "score": packs[0].score(data.test)[0].tolist(),
        "by hand": [100 * row[there].double().mean().item() for row in right],
        "padded otherwise": packs[0].score(other)[0].tolist(),
        "losses": [p.loss for p in packs[0].report.points],
    }
print(json.dumps(found))
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder with one more model and two more tasks, one file each; ``within`` makes them parts of the tree."""
    support = ROOT / "tests/support"
    for folder, name in (("models", "toy_convolution"), ("tasks", "toy_graph")):
        (tmp_path / folder).mkdir()
        shutil.copy(support / f"{name}.py", tmp_path / folder)
    (tmp_path / "tasks/toy_sign.py").write_text(SIGN, encoding="utf-8")
    return tmp_path


def within(plugins: Path, program: str, code: int = 0) -> str:
    """Run a program in a process that sees the toys among models and tasks; return what it prints."""
    return with_files({part: plugins / part for part in ("models", "tasks")}, program, code)


def swept(plugins: Path, task: str, models: list[str]) -> tuple[str, dict[str, dict[str, str]]]:
    """Return the page of a task, and its board after a sweep of these models, a row a model."""
    file = plugins / "toy.toml"
    file.write_text(SWEEP.format(name="toy", task=task, models=json.dumps(models)))
    run = f"assert main(['sweep', 'run', {str(file)!r}, '--here', '--mlflow', 'off']) == 0\nprint('BOARD')\n"
    page = f"assert main(['tasks', {task!r}]) == 0\n"
    out = within(plugins, f"{CLI}{page}{run}sys.exit(main(['board', {task!r}, '--format', 'csv']))")
    before, _, board = out.partition("BOARD\n")
    return before, {row["model"]: row for row in csv.DictReader(io.StringIO(board))}


@pytest.mark.integration
def test_a_task_is_one_file_and_stands_on_the_board(plugins: Path) -> None:
    page, board = swept(plugins, "toy_sign", ["gru", "lem"])
    assert "Sign (toy_sign@1), recall" in page and "2, at the last step" in page and "majority" in page
    assert board.keys() == {"gru", "lem", "majority"}


@pytest.mark.integration
def test_a_task_on_graphs_is_one_file_and_stands_on_the_board(plugins: Path) -> None:
    page, board = swept(plugins, "toy_graph", ["toy_convolution"])
    assert "2, at every node" in page and "200 examples to train, 90 to validate, 140 to test" in page
    assert board.keys() == {"toy_convolution", "majority"}
    assert float(board["toy_convolution"]["mean"]) > 90 > float(board["majority"]["mean"])


@pytest.mark.integration
def test_graphs_train_in_a_pack_as_alone_and_padded_nodes_do_not_count(plugins: Path) -> None:
    output: dict[str, Any] = json.loads(within(plugins, PACKS).splitlines()[-1])
    for of in output.values():
        for together, alone in zip(of["together"], of["alone"], strict=True):
            assert together == pytest.approx(alone, rel=1e-4)
        assert len(of["together"]) == 4 and of["weights"] < 1e-4
        assert of["score"] == pytest.approx(of["by hand"], rel=1e-6) and of["score"] == of["padded otherwise"]
        assert min(of["losses"]) < 0.9 * of["losses"][0]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("task", "models", "rule"),
    [
        (
            "toy_graph",
            ["lem"],
            "lem reads Sequences, but toy_graph gives Graphs. Leave lem out, or choose another task.",
        ),
        ("toy_sign", ["gru", "toy_convolution"], "toy_convolution reads Graphs, but toy_sign gives Sequences."),
    ],
)
def test_a_model_that_cannot_read_a_tasks_batches_is_refused_in_one_line(
    plugins: Path, task: str, models: list[str], rule: str
) -> None:
    file = plugins / "wrong.toml"
    file.write_text(SWEEP.format(name="wrong", task=task, models=json.dumps(models)))
    out = within(plugins, f"{CLI}sys.exit(main(['sweep', 'run', {str(file)!r}, '--here']))", code=2)
    assert rule in " ".join(out.split()) and "Traceback" not in out
