"""Of two winners that were both retrained, the better median validation score decides, and test scores do not."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from boards import retrained
from rechosen import list_rechosen, write_files

from longwave.platform.records.group import Group
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import fixed_trial, plan_retrainings

SEARCH = """
name = "first"
task = "adding"
variant = "N=50"
models = ["lem", "gru"]
trials = 4
retrain = 3
epochs = 2

[model.lem]
hidden = 9
grid = { batch = [25, 50] }

[space.gru]
lr = { low = 0.001, high = 0.1 }
"""


def winners(
    first: Sequence[float | str], second: Sequence[float | str], goal: str = "min", tests: bool = False
) -> tuple[Group, Group]:
    """Return two rows with these validation scores, the second that of the longer search; ``tests`` swaps tests."""
    longer = retrained("a", second, goal, hidden=9)
    earlier = retrained("a", first, goal, succeeded_by=[longer.row])
    if tests:
        swap = {False: [9.0] * 9, True: [0.0] * 9}
        earlier, longer = (
            replace(g, runs=[replace(r, test=t) for r, t in zip(g.runs, swap[g is longer], strict=False)])
            for g in (earlier, longer)
        )
    return earlier, longer


@pytest.mark.parametrize(
    ("first", "second", "goal", "changed"),
    [
        ([1.0, 2.0, 9.0], [3.0, 3.1, 3.2], "min", True),
        ([1.0, 4.0, 9.0], [3.0, 3.1, 3.2], "min", False),
        ([0.9, 0.8, 0.1], [0.7, 0.7, 0.7], "max", True),
        ([0.9, 0.6, 0.1], [0.7, 0.7, 0.7], "max", False),
        ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0], "min", False),  # a tie stays with the longer search
        ([1.0, "diverged", "diverged"], [3.0, 3.1, 3.2], "min", False),
        ([1.0, 2.0, "failed"], [3.0, 3.1, "diverged"], "min", True),
    ],
)
def test_the_median_decides_and_a_retraining_that_did_not_end_is_worse_than_any(
    first: Sequence[float | str], second: Sequence[float | str], goal: str, changed: bool
) -> None:
    for tests in (False, True):
        pair = winners(first, second, goal, tests)
        assert list_rechosen(pair) == ([pair] if changed else [])


def test_a_choice_that_was_applied_is_not_made_once_more() -> None:
    earlier, longer = winners([1.0, 2.0, 3.0], [5.0, 5.0, 5.0])
    assert list_rechosen([earlier, replace(longer, rejected_for=[earlier.row])]) == []


def test_the_file_trains_the_same_rows_with_seeds_that_did_not_choose_them(tmp_path: Path) -> None:
    (tmp_path / "a-first.toml").write_text(SEARCH, encoding="utf-8")
    cells = resolve(read_sweep(tmp_path / "a-first.toml")).cells
    points = {"lem": {"dt": 0.5, "lr": 0.25}, "gru": {"lr": 0.125}}
    chosen = [
        replace(c.base, params={**c.base.params, **points[c.base.model]}, phase="retrain") for c in (cells[1], cells[2])
    ]
    pairs = [
        (replace(retrained("a", [1.0]), config=config, sweeps=("first@abc",)), retrained("z", [1.0], hidden=9 + k))
        for k, config in enumerate(chosen)
    ]
    [path] = write_files(pairs, tmp_path)
    assert path.name == "a-first-again.toml" and tomllib.loads(path.read_text("utf-8"))["trials"] == 0
    again = read_sweep(path)
    assert again.instead_of == [second.row for _, second in pairs] and again.retrain == 3
    for cell, config in zip(resolve(again).cells, chosen, strict=True):
        new, old = (
            plan_retrainings(file, fixed)
            for file, fixed in ((again, fixed_trial(cell)), (read_sweep(tmp_path / "a-first.toml"), config))
        )
        assert {c.row for c in new} == {config.row} == {c.row for c in old}
        assert len(new) == 3 and not {c.seed for c in new} & {c.seed for c in old}
