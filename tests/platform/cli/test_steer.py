"""What the commands that control a sweep say of one that is over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from longwave.platform.about import about
from longwave.platform.cli.main import main
from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials


@pytest.mark.parametrize("command", ["pause", "continue", "stop"])
def test_a_sweep_that_is_over_stays_as_it_is(
    tmp_path: Path, tiny: Callable[..., SweepFile], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    url, trials = f"sqlite:///{tmp_path}/s.db", all_trials(resolve(tiny()), {})
    with Store(url) as store:
        store.add_sweep("tiny", {})
        store.add_trials("tiny", trials, [about(trial) for trial in trials])
        assert main(["sweep", command, "tiny", "--store", url]) == 0
        output = capsys.readouterr().out
        assert f"there is no running driver to {command}. Start one with: longwave sweep resume tiny --store" in output
        before = store.sweep("tiny").state
        with Leases(store, "tiny") as driver:
            driver.take([trial.id for trial in trials])
            driver.write(Report(runs=[Run(trial.id, "ok", epochs=1, valid=0.1) for trial in trials]))
        store.set_state("tiny", "")
        assert main(["sweep", command, "tiny", "--store", url]) == 0
        assert capsys.readouterr().out == f"tiny is over: there is nothing to {command}.\n"
        assert store.sweep("tiny").state == "" and before == {"continue": ""}.get(command, command)
