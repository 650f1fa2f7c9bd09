"""What the status of a sweep says of its cost, and of the commands that go on with it."""

from __future__ import annotations

import pytest

from longwave.platform.records.stored import SweepCost
from longwave.platform.render.sweeps import cost_lines, print_status, watch_status
from longwave.platform.sweeps.run.status import SweepStatus


@pytest.mark.parametrize(
    ("state", "took"), [("over", "took"), ("running", "so far it took"), ("paused", "so far it took")]
)
def test_only_a_sweep_that_is_over_took_its_time(state: str, took: str) -> None:
    spent = SweepCost(ran=67.0, used={"cpu": 5400.0}, expected={"cpu": 3600.0, "": 1.0})
    status = SweepStatus("s", state, {}, 9, 0, None, None, {}, [], {}, spent)
    assert list(cost_lines(status, {"cpu": 2.0})) == [
        f"{took} 1 min 07 s, 1.5 core hours, cost 3.00",
        "estimated for the finished packs: 1 core hour, cost 2.00",
        "1 pack has no cost estimate",
    ]


STORE = "sqlite:////a/folder/whose/name/is/longer/than/the/terminal/store.db"
INTERRUPTED = SweepStatus("s", "interrupted", {"done": 1}, 9, 0, None, None, {}, [], {"worker died": 1}, store=STORE)


def test_commands_in_a_status_are_whole_lines_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_status(INTERRUPTED, "table", {})
    lines = capsys.readouterr().out.splitlines()
    for words in ("resume it with: longwave sweep resume", "Queue them again with: longwave sweep retry"):
        assert sum(line.endswith(f"{words} s --store {STORE}") for line in lines) == 1


def test_a_watched_sweep_that_is_interrupted_leaves_its_command_whole_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with watch_status() as show:
        show(INTERRUPTED)
        shown = capsys.readouterr().out
    assert "s: interrupted" in shown and STORE not in shown, "in place it is one line"
    left = f"s: interrupted, 1 of 9 trials done, resume it with: longwave sweep resume s --store {STORE}\n"
    assert capsys.readouterr().out.endswith(left)
