"""An optimiser and a schedule, each added to a copy of the tree as one file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from copies import copied

pytestmark = pytest.mark.integration

LION = '''
"""Lion."""

import torch

from longwave.models.base.param import Param
from longwave.platform.training.optimiser import Optimiser, Update, average

KEEP = Param("lion_beta", "β", 0.5, 0.99, False, "1", "What stays.", most=1.0, searched=False, default=0.9)


def step(u: Update) -> None:
    """Update by the sign of the running mean."""
    average(u.state["mean"], u.grad, u.numbers["lion_beta"])
    u.values.sub_(u.rate() * torch.sign(u.state["mean"]))


OPTIMISER = Optimiser("lion", "Lion", "a test", (KEEP,), ("mean",), step)
'''
LINE = '''
"""A line to 0."""

from longwave.platform.training.schedule import Schedule

SCHEDULE = Schedule("line", "line", "a test", (), lambda at, numbers: 1 - at.step / at.steps, each_step=True)
'''
PROGRAM = """
import json
from trials import present_trial
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.train import train
ends, points = [], []
configs = [
    present_trial("adding", "N=20", "here", "lem", {}, {"lr": 0.01, "dt": 0.5, "lion_beta": beta}, 8, 10, 3,
        "search", 1, steps=5, optimiser="lion", schedule="line")
    for beta in (0.5, 0.8)
]
train(configs, lambda r: (points.extend(r.points), ends.extend(r.runs)))
print(json.dumps([[r.status for r in ends], len(points), len({p.loss for p in points})]))
"""


def test_an_optimiser_and_a_schedule_are_one_file_each(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    copy.insert("platform/training/optimisers/lion.py", LION, "")
    copy.insert("platform/training/schedules/line.py", LINE, "")
    assert json.loads(copy.run(PROGRAM).splitlines()[-1]) == [["ok", "ok"], 6, 6]


def test_a_file_that_binds_no_optimiser_of_its_name_stops_with_its_name(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    copy.insert("platform/training/optimisers/tiger.py", LION, "")
    with pytest.raises(AssertionError, match=r"optimisers/tiger\.py must bind OPTIMISER = Optimiser\(name='tiger'"):
        copy.run("from longwave.platform.training.rules import optimisers; optimisers()")
