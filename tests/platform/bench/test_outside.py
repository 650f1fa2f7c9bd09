"""What a small sweep spends outside of its training: all of the command's time that its trials did not record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longwave.platform.bench import outside as bench
from longwave.platform.errors import WorkerError


def test_each_way_is_run_in_turns_and_the_first_turn_which_makes_the_store_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran, count = list[tuple[str, ...]](), os.cpu_count() or 1

    def run(home: Path, name: str, text: str, options: tuple[str, ...]) -> tuple[float, float, float]:
        assert f'name = "{name}"' in text and "trials = 16" in text and "epochs = 2" in text
        ran.append((name, *options))
        return 100.0 if len(ran) <= 3 else 3.0 + len(ran), 4.0 + len(ran), 2.0

    monkeypatch.setattr(bench, "_run_command", run)
    plain, here, ray = bench.measure_outside("lem", 16, 2, 2)
    options = [(), ("--here",), ("--workers", str(count))]
    assert ran == [(f"small{k}", *options[k % 3]) for k in range(9)]
    assert (plain.way, here.way, ray.way) == ("sweep run", "sweep run --here", f"sweep run --workers {count}")
    assert (plain.seconds, plain.processor, plain.training, plain.outside) == (8.5, 9.5, 2.0, 6.5)
    assert (ray.seconds, ray.training, ray.outside) == (10.5, 2.0 / count, 10.5 - 2.0 / count)


def test_a_sweep_that_fails_is_told_of_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="A sweep to measure failed: longwave: .*trials: is missing"):
        bench._run_command(tmp_path, "small", 'name = "small"\ntask = "adding"\nmodels = ["lem"]\n', ())


@pytest.mark.integration
def test_the_seconds_of_training_are_those_that_the_trials_recorded(tmp_path: Path) -> None:
    text = bench.FILE.format(name="small", task="fitzhugh_nagumo", model="lem", trials=1, epochs=1, seed=0)
    seconds, processor, training = bench._run_command(tmp_path, "small", text, ("--here", "--mlflow", "off"))
    assert 0 < training < seconds and training < processor
