"""What a tracker is. One Python file that binds ``TRACKER`` adds one; this one writes a line an epoch::

    from pathlib import Path

    from longwave.platform.sweeps.trackers.tracker import Tracker


    class Lines(Tracker):
        def log_epochs(self, trial, points):
            with Path("epochs.txt").open("a") as file:
                file.writelines(f"{trial.name} {point.epoch} {point.loss} {point.valid}\\n" for point in points)


    TRACKER = Lines

``longwave sweep run FILE --tracker lines.py`` runs it beside the sweep, which neither waits for it nor
fails because of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from longwave.platform.errors import ConfigError, LongwaveError, did_you_mean
from longwave.platform.records.run import Point, Run
from longwave.platform.records.stored import Trial
from longwave.platform.redaction import redact_document, redacted

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

LOGGED = ("hidden", "width", "batch", "epochs", "steps", "clip", "optimiser", "schedule", "seed", "precision")
"""Fields of a trial that trackers show, in addition to parameters, training numbers and options."""
SHIPPED = {"mlflow": "MLflow", "wandb": "W&B"}
"""The trackers of this folder, with their display names."""


class TrackerError(LongwaveError):
    """A tracker could not accept what it was sent."""


class TrackerName(NamedTuple):
    """A tracker to use: one of ``SHIPPED``, or a Python file; and its server's address, if it has one."""

    name: str
    address: str = ""

    @property
    def title(self) -> str:
        """Its display name, without a password."""
        where = f" at {redacted(self.address)}" if self.address else ""
        return f"{SHIPPED.get(self.name, self.name)}{where}"


class LoggedTrial(NamedTuple):
    """What a tracker has of a trial: its last epoch, and how it ended; "" if it has not."""

    epoch: int = 0
    status: str = ""


@dataclass(frozen=True)
class TrackedSweep:
    """A sweep.

    Attributes:
        id: Unique, also among sweeps of the same name in other stores.
        settings: Those in its file.
        began: Unix time at which it was planned.
        cells: Names of its cells, in order.
    """

    name: str
    id: str
    settings: Mapping[str, Any]
    began: float
    cells: Sequence[str]


@dataclass(frozen=True)
class TrackedTrial:
    """A trial with its results so far.

    Attributes:
        sweep: Name of its sweep.
        cell, cell_name: Number and name of its cell.
        record: All that the store has of it; ``record.run`` is None until it has ended.
        began: Unix time.
        weights: Its saved weights, a safetensors file; None if none were saved.
    """

    sweep: str
    cell: int
    cell_name: str
    record: Trial
    began: float
    weights: AnyPath | None = None

    @property
    def id(self) -> str:
        """Its identity."""
        return self.record.config.id

    @property
    def name(self) -> str:
        """Its display name: ``lem retrain 3f9c12``."""
        return f"{self.record.config.model} {self.record.config.phase} {self.id[:6]}"

    @property
    def run(self) -> Run | None:
        """How it ended."""
        return self.record.run

    @property
    def ended(self) -> float:
        """Unix time of its end, or of its beginning while it has not ended."""
        return max(self.began, self.record.ended.timestamp() if self.record.ended else 0.0)

    @property
    def params(self) -> dict[str, Any]:
        """Its settings; those that are not set are left out."""
        config = self.record.config
        params = {**config.params, **config.options, **{name: getattr(config, name) for name in LOGGED}}
        return {name: value for name, value in redact_document(params).items() if value not in (None, "")}

    @property
    def shared_params(self) -> dict[str, Any]:
        """The settings that all retrainings of its row share."""
        return {name: value for name, value in self.params.items() if name != "seed"}

    @property
    def tags(self) -> dict[str, str]:
        """Facts by which it can be found."""
        config = self.record.config
        tags = {"sweep": self.sweep, "cell": self.cell_name, "trial": config.id, "row": config.row}
        tags |= {name: str(getattr(config, name)) for name in ("phase", "model", "task", "variant", "data")}
        if self.run:
            tags |= {"status": self.run.status, "reason": self.run.reason}
            tags |= {"commit": self.run.environment.get("commit", "")}
        return {name: text for name, text in redact_document(tags).items() if text}

    def measures_of(self, point: Point) -> dict[str, float]:
        """Return what was measured in an epoch, by name: ``train/loss``, ``valid/mse``."""
        return {"train/loss": point.loss, self.metric("valid"): point.valid}

    def metric(self, split: str) -> str:
        """Return the name of its metric on a split, in characters that trackers allow: ``test/accuracy``."""
        return f"{split}/{re.sub(r'[^a-zA-Z0-9_. -]', '_', self.record.about.metric)}"


@dataclass(frozen=True)
class TrackedCell:
    """A cell whose trials have ended.

    Attributes:
        retrained: Retrainings of the setting that its search chose; empty if nothing was retrained.
        measures: ``test/mse_mean``, ``_std`` (with n − 1) and ``_median``, a diverged one counted as worst.
        verdict: How its row compares with published numbers and trivial predictors, in the words of its board.
        ended: Unix time of the last end.
    """

    number: int
    name: str
    retrained: Sequence[TrackedTrial]
    measures: Mapping[str, float]
    verdict: str
    ended: float


class Tracker:
    """Receives a sweep as it is trained. A subclass overrides what it needs; its exceptions are reported in one line.

    One process follows a sweep. If it is killed, the next one continues from where ``begin_sweep`` says that the
    tracker is.

    Args:
        name: Name and address. The address may contain a password; ``name.title`` contains none.
    """

    def __init__(self, name: TrackerName) -> None:
        self.name = name

    def load(self) -> None:
        """Load its library; called while the sweep is planned. ``begin_sweep`` may be called without it."""

    def begin_sweep(self, sweep: TrackedSweep) -> Mapping[str, LoggedTrial]:
        """Begin or resume a sweep, and return what the tracker has of its trials, by id."""
        return {}

    def log_epochs(self, trial: TrackedTrial, points: Sequence[Point]) -> None:
        """Receive new epochs of a trial, in order; none if it ends without an epoch."""

    def end_trial(self, trial: TrackedTrial) -> None:
        """Receive a trial's end, after its last epoch."""

    def end_cell(self, cell: TrackedCell) -> None:
        """Receive the end of a cell, once all its trials have ended; further trials may still follow."""

    def end_sweep(self, over: bool) -> None:
        """Receive the end of a driver: the sweep is over, or will continue later."""

    def close(self) -> None:
        """Release what it holds: the last call, also after an exception. It must raise none itself."""


def load_tracker(tracker: TrackerName) -> Tracker:
    """Return a new tracker.

    Raises:
        ConfigError: There is none of this name, or the file cannot be run, or binds no ``TRACKER``.
    """
    path = check_tracker(tracker.name)
    try:
        if path:
            spec = spec_from_file_location(f"longwave_tracker_{path.stem}", path)
            assert spec and spec.loader
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = import_module(f"longwave.platform.sweeps.trackers.{tracker.name}")
        loaded = module.TRACKER(tracker)
    except LongwaveError:
        raise
    except Exception as error:
        raise ConfigError(f"The tracker {tracker.name} cannot be used: {describe_error(error)}") from None
    if not isinstance(loaded, Tracker):
        raise ConfigError(f"{tracker.name}: TRACKER must be a subclass of Tracker, got {type(loaded).__name__}.")
    return loaded


def check_tracker(name: str) -> Path | None:
    """Return the file of a tracker that is one; None of those that are shipped.

    Raises:
        ConfigError: There is no such tracker, or its library is not installed.
    """
    if name in SHIPPED:
        if find_spec(name) is None:
            raise ConfigError(f"{SHIPPED[name]} is not installed. Install it with: pip install 'longwave[{name}]'")
        return None
    if not name.endswith(".py"):
        raise ConfigError(did_you_mean("tracker", name, SHIPPED, "Your own is a Python file that binds TRACKER."))
    if not (path := Path(name).absolute()).is_file():
        raise ConfigError(f"There is no tracker {name}. Give a Python file that binds TRACKER.")
    return path


def describe_error(error: BaseException, secret: str = "") -> str:
    """Return what an error says, in one line without a password."""
    text = str(error).replace(secret, redacted(secret)) if secret else str(error)
    lines = redacted(text, secret).strip().splitlines()
    return lines[0] if lines else type(error).__name__
