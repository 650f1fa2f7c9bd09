"""The benchmark of sweeps: its trials are valid for every model, and its processes start warm or say why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from queue import SimpleQueue
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest

from longwave.platform.bench import sweep as bench
from longwave.platform.errors import WorkerError
from longwave.platform.registry import get_model, get_task, shipped_models
from longwave.tasks.base.sequences import Sequences


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data of FitzHugh-Nagumo takes seconds, and its version is no matter here."""

    class Data:
        version = "0"

    task = replace(get_task(bench.TASK), load=lambda _: Data())  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(bench, "get_task", lambda _: task)


def test_the_trials_of_every_model_of_sequences_have_valid_parameters() -> None:
    models = [name for name, spec in shipped_models().items() if spec.layer.READS is Sequences]
    assert {"tau_gru", "simple_delay_gru", "unicornn"} <= {*models}
    for name in models:
        spec, [config] = get_model(name), bench.some_configs(name, 1)
        for param in spec.space(bench.TASK):
            param.check(config.params[param.name])
            assert param.name == "lr" or param.low <= config.params[param.name] <= param.high
    assert bench.some_configs("unicornn", 1)[0].params["alpha"] > 0


def test_a_process_of_ray_trains_an_epoch_before_its_first_trial_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = []

    def train_trial(config: Any) -> Iterator[dict[str, float]]:
        trained.append((config.epochs, config.seed))
        yield {"began": 0.0}

    bench._warm_up.cache_clear()
    monkeypatch.setattr(bench, "_train_plain", train_trial)
    for config in bench.some_configs("gru", 3)[1:]:
        assert [*bench.plain_trial(config)] == [{"began": 0.0}]
    assert trained == [(1, 0), (1, 1), (1, 2)], "a warm-up, then two trials"


def test_a_process_that_cannot_train_says_why_and_lets_nobody_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_training(*_: object) -> None:
        raise RuntimeError("A trial ended as failed: no compiler")

    monkeypatch.setattr(bench, "keep_to", lambda _: None)
    monkeypatch.setattr(bench, "_train_pack", fail_training)
    ready, failures = Barrier(2), SimpleQueue[str]()
    [config] = bench.some_configs("gru", 1)
    bench._start_process(ready, failures, config)  # type: ignore[arg-type]
    assert ready.broken and failures.get() == "A trial ended as failed: no compiler"
    monkeypatch.setattr(bench, "_train_pack", lambda *_: None)
    bench._start_process(ready, failures, config)  # type: ignore[arg-type]
    assert failures.empty(), "it is another process that failed"


@pytest.mark.parametrize(("said", "why"), [(["no compiler"], "no compiler"), ([], "not all of 2 were ready in 120 s")])
def test_processes_that_do_not_start_are_one_line(said: list[str], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        """Processes of which none becomes ready."""

        def Barrier(self, _: int) -> Context:
            return self

        def SimpleQueue(self) -> SimpleQueue[str]:
            failures = SimpleQueue[str]()
            for text in said:
                failures.put(text)
            return failures

        def Pool(self, *_: object) -> Context:
            return self

        def __enter__(self) -> Context:
            return self

        def __exit__(self, *_: object) -> None: ...

        def wait(self, _: float) -> None:
            raise BrokenBarrierError

    monkeypatch.setattr(bench.multiprocessing, "get_context", lambda _: Context())
    with pytest.raises(WorkerError, match=f"The processes to measure did not start: {why}"):
        bench.measure_throughput("gru", 1, 1, processes=2)
