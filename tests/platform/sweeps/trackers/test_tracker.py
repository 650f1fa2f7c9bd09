"""A tracker is one file that binds TRACKER; what is wrong with one is a line before anything is trained."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import pytest
from tracked import fill, points

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers import tracker
from longwave.platform.sweeps.trackers.follow import send_sweep
from longwave.platform.sweeps.trackers.tracker import TrackerName, check_tracker, load_tracker


def test_the_example_of_a_tracker_works_as_it_is_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = (inspect.getdoc(tracker) or "").partition("::\n\n")[2].partition("\n\n``longwave")[0]
    Path("lines.py").write_text(textwrap.dedent(code))
    [config] = fill(store, 1, 2)
    send_sweep(store, "filled", tmp_path, TrackerName("lines.py"))
    want = [f"lem retrain {config.id[:6]} {p.epoch} {p.loss} {p.valid}" for p in points(config)]
    assert Path("epochs.txt").read_text().splitlines() == want


@pytest.mark.parametrize(
    "code, line",
    [
        ("1 /", "The tracker .* cannot be used: invalid syntax"),
        ("raise ValueError('no')", "The tracker .* cannot be used: no$"),
        ("Tracker = int", "The tracker .* cannot be used: module .* has no attribute 'TRACKER'"),
        ("TRACKER = lambda name: name", "TRACKER must be a subclass of Tracker, got TrackerName"),
    ],
)
def test_a_file_that_is_no_tracker_is_one_line(code: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(code)
    with pytest.raises(ConfigError, match=line):
        load_tracker(TrackerName(str(tmp_path / "own.py")))


def test_an_unknown_tracker_ends_a_sweep_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "find_spec", lambda name: None)
    (tmp_path / "tiny.toml").write_text('name = "t"\ntask = "adding"\nmodels = ["lem"]\ntrials = 1\n')
    lines = {
        "wandbb": "No tracker 'wandbb'. Did you mean wandb?",
        "gone.py": "There is no tracker gone.py.",
        "wandb": "W&B is not installed. Install it with: pip install 'longwave[wandb]'",
    }
    for name, line in lines.items():
        assert main(["sweep", "run", str(tmp_path / "tiny.toml"), "--here", "--tracker", name]) == 2
        assert line in capsys.readouterr().err


def test_what_is_shipped_is_known_by_a_name_without_a_password() -> None:
    assert check_tracker("mlflow") is None
    assert TrackerName("mlflow", "http://me:s3cret@host").title == "MLflow at http://***@host"
    assert TrackerName("wandb").title == "W&B" and TrackerName("own.py").title == "own.py"
