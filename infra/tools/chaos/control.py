"""The control of fault injection: the usual combination of Ray Tune, OptunaSearch and MLflow's callback.

``python -m chaos.control FOLDER`` runs or restores it, as in their documentation; all else disturbs and audits it.
"""

from __future__ import annotations

import json
import math
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaos.audit import FinalState, TrialRecord
from chaos.faults import Setup, damage_file
from chaos.sweep import Running, kill_process, read_copies, read_logs

TRIALS, EPOCHS = 12, 12
SECONDS = 25.0
"""About its duration when undisturbed."""
LIMIT = 240.0


def train_lstm(config: Mapping[str, float]) -> None:
    """Train an LSTM on the adding problem, with a checkpoint each epoch, and write its own log."""
    import time

    import torch
    from ray import tune

    trial, session = tune.get_context().get_trial_name(), secrets.token_hex(8)
    torch.manual_seed(0)
    lstm, readout = torch.nn.LSTM(2, 8), torch.nn.Linear(8, 1)
    parts = torch.nn.ModuleList([lstm, readout])
    optimiser = torch.optim.Adam(parts.parameters(), lr=config["lr"])
    first, value = 1, math.nan
    if checkpoint := tune.get_checkpoint():
        with checkpoint.as_directory() as folder:
            state = torch.load(Path(folder) / "state.pt")
        parts.load_state_dict(state["parts"])
        optimiser.load_state_dict(state["optimiser"])
        first, value = state["epoch"] + 1, state["value"]
    append_log(trial, session, {"began": first - 1})
    for epoch in range(first, EPOCHS + 1):
        for step in range(5):
            x = torch.rand(60, 20, 2, generator=torch.Generator().manual_seed(100 * epoch + step))
            loss = ((readout(lstm(x)[0][-1])[:, 0] - x[0, :, 0] - x[-1, :, 0]) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        time.sleep(0.2)
        value = loss.item()
        append_log(trial, session, {"epoch": epoch, "loss": value, "valid": value})
        with tempfile.TemporaryDirectory() as checkpoint_folder:
            state = {"parts": parts.state_dict(), "optimiser": optimiser.state_dict()}
            state |= {"epoch": epoch, "value": value}
            torch.save(state, Path(checkpoint_folder) / "state.pt")
            tune.report({"loss": value, "valid": value}, checkpoint=tune.Checkpoint.from_directory(checkpoint_folder))
    append_log(trial, session, {"end": "ok", "epochs": EPOCHS, "best_epoch": None, "valid": value, "test": None})


def append_log(trial: str, session: str, line: Mapping[str, Any]) -> None:
    """Append to the trial's own log."""
    folder = Path(os.environ["LONGWAVE_JOURNAL"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{trial}.jsonl").open("a") as log:
        log.write(json.dumps({"trial": trial, "session": session, **line}) + "\n")


def main(folder: Path) -> None:
    """Run it, or restore it after an interruption, and write Tune's records of its trials."""
    import ray
    from ray import tune
    from ray.air.integrations.mlflow import MLflowLoggerCallback
    from ray.tune.search.optuna import OptunaSearch

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    trainable = tune.with_resources(train_lstm, {"cpu": 1})
    if tune.Tuner.can_restore(str(folder / "tune/sweep")):
        tuner = tune.Tuner.restore(str(folder / "tune/sweep"), trainable, resume_errored=True)
    else:
        callback = MLflowLoggerCallback(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", experiment_name="sweep")
        search = OptunaSearch({"lr": __import__("optuna").distributions.FloatDistribution(1e-4, 1e-1, log=True)},
                              metric="valid", mode="min", seed=0)  # fmt: skip
        tuner = tune.Tuner(
            trainable,
            tune_config=tune.TuneConfig(
                search_alg=search, num_samples=TRIALS, max_concurrent_trials=2, reuse_actors=True
            ),
            run_config=tune.RunConfig(
                name="sweep",
                storage_path=str(folder / "tune"),
                verbose=0,
                callbacks=[callback],
                failure_config=tune.FailureConfig(max_failures=3),
            ),
        )
    rows = {}
    for result in tuner.fit():
        frame = result.metrics_dataframe
        curve = {} if frame is None else {int(r.training_iteration): (r.loss, r.valid) for r in frame.itertuples()}
        rows[Path(result.path).name] = {"curve": curve, "error": str(result.error or "")[:200]}
    (folder / "results.json").write_text(json.dumps(rows))


class Control(Running):
    """One sweep of the control."""

    def start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "driver.log").open("ab") as log:
            env = {**self.environment(), "RAY_AIR_NEW_OUTPUT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
            command = [sys.executable, "-m", "chaos.control", str(self.folder)]
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def finish(self, driver: subprocess.Popen[bytes] | None = None) -> None:
        driver = driver or self.start()
        if driver.returncode is None and not self.ended(driver, LIMIT):
            self.broken.append(f"a driver did not end in {LIMIT:g} s: {self.last_output()}")
            self.processes()
            kill_process(driver)

    def final_state(self, expected: Mapping[str, TrialRecord]) -> FinalState:
        leftovers = self._leftovers()
        try:
            rows = json.loads((self.folder / "results.json").read_text())
        except FileNotFoundError:
            rows = {}
        trials = read_logs(self.journal)
        store = {trial: _record_of_row(row) for trial in trials for name, row in rows.items() if name.startswith(trial)}
        expected_records = {
            **{t: replace(record, status="ok") for t, record in store.items()},
            **{f"trial {k}": TrialRecord("ok", {}) for k in range(len(store), TRIALS)},
        }
        again = [trial for trial in trials if trial not in store] if rows else []
        copies = []
        if (self.folder / "mlflow.db").exists():
            copies = [*read_copies(self.folder / "mlflow.db", "trial_name", "loss", "valid")]
        logs = {trial: [{**line, "trial": trial} for line in log] for trial, log in trials.items()}
        return FinalState(expected_records, store, copies, logs, again, self.broken, leftovers)


def _record_of_row(row: Mapping[str, Any]) -> TrialRecord:
    curve = {int(epoch): (loss, valid) for epoch, (loss, valid) in row["curve"].items()}
    return TrialRecord("failed" if row["error"] else "ok", curve, {"epochs": EPOCHS})


def driver_kills(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Kill -9 its drivers."""
    return _interrupt_driver(folder, draw, max_faults, lambda sweep, remaining: 1)


def corrupt_checkpoints(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Flip bits of its checkpoints while its driver is dead."""

    def flip(sweep: Control, remaining: int) -> int:
        sweep.quiet()
        files = sorted(sweep.folder.rglob("state.pt"), key=lambda file: file.stat().st_mtime)[-remaining:][-2:]
        for file in files:
            damage_file(file, draw)
        return len(files)

    return _interrupt_driver(folder, draw, max_faults, flip)


def _interrupt_driver(
    folder: Path, draw: random.Random, max_faults: int, then: Callable[[Control, int], int]
) -> tuple[int, FinalState]:
    sweep, faults, starts = Control(folder, folder, ()), 0, 0
    while faults < max_faults and starts < 3 * max_faults:
        driver, starts = sweep.start(), starts + 1
        if sweep.ended(driver, draw.uniform(0, SECONDS)):
            return faults, sweep.final_state({})
        sweep.processes()
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        faults += then(sweep, max_faults - faults)
    sweep.finish()
    return faults, sweep.final_state({})


def worker_kills(setup: Setup, folder: Path, draw: random.Random, max_faults: int) -> tuple[int, FinalState]:
    """Kill -9 its workers."""
    sweep, faults = Control(folder, folder, ()), 0
    driver = sweep.start()
    while faults < max_faults and not sweep.ended(driver, draw.uniform(0.2, SECONDS / max_faults)):
        if workers := sweep.workers():
            kill_process(draw.choice(workers))
            faults += 1
    sweep.finish(driver)
    return faults, sweep.final_state({})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
