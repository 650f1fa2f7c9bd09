"""The tracker: a sweep is a run, its cells are child runs, and their trials children of these.

Runs are found again by the tags with which they are created. The tag ``epoch`` is sent with each batch of points, so
that a copy that was killed continues where it was. MLflow counts equal points once.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from longwave.platform.paths import sqlite_file
from longwave.platform.records.run import Point
from longwave.platform.storage.sweeps import MAY_CHANGE
from longwave.platform.sweeps.trackers.mlflow.client import connect
from longwave.platform.sweeps.trackers.tracker import (
    LoggedTrial,
    TrackedCell,
    TrackedSweep,
    TrackedTrial,
    Tracker,
    TrackerError,
)
from longwave.tasks.cards.write import to_toml

EXPERIMENT = "longwave"
"""The experiment, unless MLFLOW_EXPERIMENT_NAME names another."""
LONGEST = 6000
"""Characters that MLflow keeps of a parameter."""
LOADER = "longwave.platform.api.mlflow_model"
"""The module that turns saved weights into a predictor, for ``mlflow.pyfunc.load_model``."""
SOURCE = {"mlflow.source.name": "longwave sweep run", "mlflow.source.type": "LOCAL"}
COMMIT = "mlflow.source.git.commit"
SWEEP = "sweep"
"""The tag ``part`` of a sweep's run; for a trial it is the id."""
PARENT = "mlflow.parentRunId"
STATUSES = {"ok": "FINISHED", "stopped": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
"""MLflow's statuses of trials that have ended."""
ENDS = ("FINISHED", "FAILED", "KILLED")
EPOCHS = 100
"""Epochs in a request. MLflow would send more than 1,000 values in several requests, and the tag ``epoch`` first."""


class MLflowTracker(Tracker):
    """Sends a sweep to a tracking server, or a SQLite file of this machine."""

    def load(self) -> None:
        """Load MLflow, which takes seconds."""
        connect(self.name.address)

    def begin_sweep(self, sweep: TrackedSweep) -> Mapping[str, LoggedTrial]:
        """Find or create the run of a sweep, and return what MLflow has of its trials."""
        self.client, self.sweep, self.commit = connect(self.name.address), sweep, ""
        self.runs, self.ended, self.with_params = dict[str, str](), set[str](), set[str]()
        self.with_reason = set[str]()
        self.experiment, logged = self._experiment(), {}
        found = self._find_runs_and_delete_doubles()
        for run in found:
            part, tags = run.data.tags["part"], run.data.tags
            self.runs[part] = run.info.run_id
            self.ended |= {part} if run.info.status in ENDS else set()
            self.with_params |= {part} if run.data.params else set()
            self.with_reason |= {part} if "reason" in tags else set()
            if "trial" in tags:
                status = tags.get("status", "") if part in self.ended else ""
                logged[part] = LoggedTrial(int(tags.get("epoch", 0)), status)
        run_id = self.runs.get(SWEEP) or self._create(SWEEP, sweep.name, sweep.began, {})
        self._restore_parents(found)
        self.client.log_text(run_id, to_toml(sweep.settings), "sweep.toml")
        return logged

    def log_epochs(self, trial: TrackedTrial, points: Sequence[Point]) -> None:
        """Append epochs to a trial's run, which is created with the first of them, its parameters and its data."""
        cell, config = _part(trial.cell), trial.record.config
        if cell not in self.runs:
            tags = {"cell": trial.cell_name, "model": config.model, "task": config.task, "variant": config.variant}
            self._create(cell, trial.cell_name, trial.began, tags, SWEEP)
        if trial.id not in self.runs:
            self._create(trial.id, trial.name, trial.began, trial.tags, cell)
        for part in (SWEEP, cell, trial.id):
            if part in self.ended:
                self.client.update_run(self.runs[part], "RUNNING")
                self.ended.remove(part)
        first, run = not points or points[0].epoch == 1, self.runs[trial.id]
        if first:
            self._log_data(run, trial)
        for start in range(0, max(len(points), 1), EPOCHS):
            sent = points[start : start + EPOCHS]
            metrics = [
                (name, value, int(point.at * 1000), point.epoch)
                for point in sent
                for name, value in trial.measures_of(point).items()
            ]
            reached = {"epoch": str(sent[-1].epoch)} if sent else {}
            self._log(run, metrics, trial.params if first and not start else {}, reached)

    def end_trial(self, trial: TrackedTrial) -> None:
        """Log the model, the test metric and the end."""
        end, at, run = trial.run, int(trial.ended * 1000), self.runs[trial.id]
        assert end
        if trial.weights:
            self._log_model(run, trial)
        test = [(trial.metric("test"), end.test, at, end.best_epoch or 0)] if end.test is not None else []
        self.commit = trial.tags.get("commit", self.commit)
        if end.reason:
            self.with_reason.add(trial.id)
        elif trial.id in self.with_reason:  # it had failed and was tried again
            self.client.delete_tag(run, "reason")
            self.with_reason.remove(trial.id)
        self._log(run, test, tags={**trial.tags, COMMIT: trial.tags.get("commit", "")})
        self._end(trial.id, STATUSES[end.status], at)

    def end_cell(self, cell: TrackedCell) -> None:
        """Log mean, std and median of its retrainings, with the setting that they share."""
        if (run := self.runs.get(part := _part(cell.number))) is None:
            return
        at, params = int(cell.ended * 1000), dict[str, Any]()
        metrics = [(name, value, at, len(cell.retrained)) for name, value in cell.measures.items()]
        tags = {"verdict": cell.verdict, "commit": self.commit, COMMIT: self.commit}
        for trial in cell.retrained[:1]:
            tags["row"] = trial.record.config.row
            for each in (run, self.runs[SWEEP]):
                self._log_data(each, trial)
            params = {} if part in self.with_params else trial.shared_params
        self._log(run, metrics, params, tags)
        self.with_params.add(part)
        self._end(part, "FINISHED", at)

    def end_sweep(self, over: bool) -> None:
        """End all open runs; if the sweep is not over, they are KILLED until it continues."""
        self._find_runs_and_delete_doubles()
        settings = {name: value for name, value in self.sweep.settings.items() if name not in MAY_CHANGE}
        plain = {name: value for name, value in settings.items() if not isinstance(value, dict)}
        self._log(self.runs[SWEEP], [], plain, {"commit": self.commit, COMMIT: self.commit})
        for part in self.runs.keys() - self.ended:
            self._end(part, "FINISHED" if over else "KILLED", None)

    def _experiment(self) -> str:
        """Return the id of the experiment, which is created if it is missing."""
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        if experiment := self.client.get_experiment_by_name(name):
            if experiment.lifecycle_stage == "deleted":
                raise TrackerError(
                    f"The experiment {name} was deleted in MLflow. Restore it there, or name another with "
                    "MLFLOW_EXPERIMENT_NAME."
                )
            return str(experiment.experiment_id)
        if name == EXPERIMENT:  # it may have another name by now
            everywhere = [each.experiment_id for each in self.client.search_experiments()]
            for run in self.client.search_runs(everywhere, f"tags.sweep_id = '{self.sweep.id}'", max_results=1):
                return str(run.info.experiment_id)
        file = sqlite_file(self.name.address)
        artifacts = file.absolute().with_suffix(".artifacts").as_uri() if file else None  # by default in the cwd
        return str(self.client.create_experiment(name, artifacts))

    def _find_runs_and_delete_doubles(self) -> list[Any]:
        """Return the runs of the sweep, one for each part of it; further runs of a part are deleted.

        There may be two: a request that creates a run and is not answered in time is repeated, or its process is
        killed, and the server may carry it out later. The run in use is kept, else one that has others below it or
        more epochs.
        """
        found, kept = [*self._search(f"tags.sweep_id = '{self.sweep.id}'")], dict[str, Any]()
        used, parents = {*self.runs.values()}, {run.data.tags.get(PARENT) for run in found}
        for run in sorted(
            found, key=lambda r: (r.info.run_id in used, r.info.run_id in parents, int(r.data.tags.get("epoch", 0)))
        ):
            if second := kept.get(part := run.data.tags["part"]):
                self.client.delete_run(second.info.run_id)
            kept[part] = run
        return [*kept.values()]

    def _restore_parents(self, found: Sequence[Any]) -> None:
        """Create the runs of cells that were deleted in MLflow, and put those below a deleted run below the new one."""
        kept = {*self.runs.values()}
        for run in found:
            tags, parent = run.data.tags, SWEEP
            if tags["part"] == SWEEP or tags.get(PARENT) in kept:
                continue
            if "trial" in tags:
                parent = _part(self.sweep.cells.index(tags["cell"]))
                if parent not in self.runs:
                    facts = {name: tags[name] for name in ("cell", "model", "task", "variant") if name in tags}
                    self._create(parent, tags["cell"], run.info.start_time / 1000, facts, SWEEP)
            self.client.set_tag(run.info.run_id, PARENT, self.runs[parent])

    def _search(self, query: str) -> Iterator[Any]:
        """Yield the runs that a query finds, each once: a page begins with some of the last one if a run is added."""
        token, known = None, set[str]()
        while True:
            page = self.client.search_runs([self.experiment], query, max_results=1000, page_token=token)
            new_runs = {run.info.run_id: run for run in page if run.info.run_id not in known}
            yield from new_runs.values()
            known |= new_runs.keys()
            if not new_runs or not (token := page.token):
                return

    def _create(self, part: str, name: str, began: float, tags: Mapping[str, str], parent: str = "") -> str:
        """Create the run of a part of the sweep, and return its id."""
        from mlflow.tracking.context.default_context import DefaultRunContext

        tags = {"sweep": self.sweep.name, "sweep_id": self.sweep.id, "part": part, **SOURCE, **tags}
        tags |= {PARENT: self.runs[parent]} if parent else {}
        context: Any = DefaultRunContext()
        tags["mlflow.user"] = context.tags()["mlflow.user"]
        run = self.client.create_run(self.experiment, int(began * 1000), tags, name)
        if not run.info.run_id:
            raise TrackerError(
                f"{self.name.title} does not answer like an MLflow server: it returned no id for a new run."
            )
        self.runs[part] = str(run.info.run_id)
        return self.runs[part]

    def _log(
        self,
        run: str,
        metrics: Sequence[tuple[str, float, int, int]] = (),
        params: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Log to a run in one request: metrics with Unix time in ms and step; empty tags are left out."""
        from mlflow.entities import Metric, Param, RunTag

        self.client.log_batch(
            run,
            [Metric(*metric) for metric in metrics],
            [Param(name, str(value)[:LONGEST]) for name, value in (params or {}).items()],
            [RunTag(name, text) for name, text in (tags or {}).items() if text],
        )

    def _end(self, part: str, status: str, at: int | None) -> None:
        self.client.set_terminated(self.runs[part], status, at)
        self.ended.add(part)

    def _log_data(self, run: str, trial: TrackedTrial) -> None:
        """Log the data of a trial as an input of a run."""
        from mlflow.data.code_dataset_source import CodeDatasetSource
        from mlflow.entities import Dataset, DatasetInput, InputTag

        config = trial.record.config
        source = CodeDatasetSource({"task": config.task, "variant": config.variant, "version": config.data}).to_json()
        data = Dataset(f"{config.task} {config.variant}".strip(), config.data[:36], "code", source)
        self.client.log_inputs(run, [DatasetInput(data, [InputTag("mlflow.data.context", "training")])])

    def _log_model(self, run: str, trial: TrackedTrial) -> None:
        """Upload weights as a model that MLflow can load; nothing in it is pickled."""
        assert trial.weights
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
            import mlflow.pyfunc

            weights, model = Path(folder, "weights.safetensors"), Path(folder, "model")
            weights.write_bytes(trial.weights.read_bytes())
            mlflow.pyfunc.save_model(model, loader_module=LOADER, data_path=weights, pip_requirements=["longwave"])
            self.client.log_artifacts(run, str(model), "model")


def _part(cell: int) -> str:
    return f"cell {cell}"
