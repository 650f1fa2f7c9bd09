"""Trains drawn trials of a submission again, in separate processes, and compares each."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from limited import LimitError, Limits, run_limited
from pydantic import TypeAdapter, ValidationError
from submission_checks import Submission

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import BundledTrial
from longwave.platform.exchange.replay import Retraced, compare
from longwave.platform.render.harmless import one_line
from longwave.platform.statistics.scale import scale_of
from longwave.platform.sweeps.reproduce import agreement

Label = Literal["replayed", "guest"]
Outcome = Literal["same", "inside", "outside", "unknown"]
"""Outcome of a replay: ``inside`` and ``outside`` the interval of its row, on another machine."""
DRAWN = 3
"""Number of trials to train again."""
TRIAL = Path(__file__).with_name("submission_trial.py")


@dataclass(frozen=True)
class Replay:
    """A replayed trial.

    Attributes:
        entry: The trial.
        test: Its test metric here, or None.
        outcome: The outcome.
        why: The outcome in words.
    """

    entry: BundledTrial
    test: float | None
    outcome: Outcome
    why: str


def draw_trials(submission: Submission, commit: str) -> list[BundledTrial]:
    """Return the retrainings drawn by the hash of a commit."""
    trials = submission.retrainings
    return random.Random(commit).sample(trials, min(DRAWN, len(trials)))


def replay_trial(submission: Submission, entry: BundledTrial, home: Path, limits: Limits) -> Replay:
    """Train a trial again in a separate process, and compare.

    Raises:
        ConfigError: The code does not run, or on the same machine it gives another result.
    """
    there = submission.file.content.environments.get(entry.place or "", {})
    name, asked, answer = f"trial {entry.config.id}", home / "asked.json", home / "answer.json"
    asked.write_text(json.dumps({"config": entry.config.to_dict(), "packed": entry.run.members > 1}))
    answer.unlink(missing_ok=True)
    threads = there.get("threads", "")
    try:
        command = [sys.executable, *map(str, (TRIAL, submission.folder, asked, answer))]
        status, printed = run_limited(command, home, limits, int(threads) if threads.isdecimal() else 0)
    except LimitError as limit:
        return Replay(entry, None, "unknown", f"cannot be trained again here: {limit}")
    if status or not answer.is_file():
        last = one_line((printed.strip().splitlines() or ["nothing was printed"])[-1])
        raise ConfigError(f"replay: {name} is trained again, but its code fails: {last.rstrip('.')}. Submit what runs.")
    said = json.loads(answer.read_text())
    if "unable" in said:
        return Replay(entry, None, "unknown", f"cannot be trained again here: {one_line(str(said['unable']))}")
    return judge(submission, entry, read_trained(said.get("trained")))


def read_trained(said: object) -> Retraced:
    """Return the result of a trial, as written by another process.

    Raises:
        ConfigError: It is not the result of a complete training.
    """
    try:
        trained = TypeAdapter(Retraced).validate_python(said)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise ConfigError(f"replay: its code writes no training, got: {reason}. Submit what runs.") from None
    run = trained.run
    if run is None or len(trained.points) != run.epochs - (run.status == "diverged"):
        raise ConfigError(f"replay: a trial is trained to its end, got {len(trained.points)} epochs. Submit what runs.")
    return trained


def judge(submission: Submission, entry: BundledTrial, trained: Retraced) -> Replay:
    """Return the outcome of a replay.

    Raises:
        ConfigError: All relevant facts are equal, but its result differs.
    """
    test = trained.run.test if trained.run else None
    finding = compare(entry, trained, submission.file.content.environments.get(entry.place or "", {}))
    if finding is None:
        return Replay(entry, test, "same", f"is what it was in each of {len(trained.points)} epochs")
    if finding.severity == "reject":
        step = "A model that differs from its rows is refused; train it again."
        raise ConfigError(f"replay: {finding.message.rstrip('.')}. {step}")
    row = [other.run for other in submission.retrainings if other.config.row == entry.config.row]
    known = [run.test for run in row if run.test is not None]
    about, diverged = entry.about, sum(run.status == "diverged" for run in row)
    assert trained.run, "read_trained has seen it"
    found = agreement(trained.run, known, diverged, scale_of(about.goal, about.unit, about.floor))
    said = finding.message.removeprefix(f"trial {entry.config.id} ").rstrip(".")
    if found == "undecided":
        return Replay(entry, test, "unknown", f"{said}; the interval of its row decides nothing")
    return Replay(entry, test, found, f"{said}; {found} the interval of its row")


def choose_label(replays: Sequence[Replay]) -> Label:
    """Return the label of a submission whose drawn trials were trained again.

    Raises:
        ConfigError: Several were, and all fall outside the intervals of their rows: one honest seed in 20 does.
    """
    outcomes = {replay.outcome for replay in replays}
    if outcomes == {"outside"} and len(replays) > 1:
        all_of = f"all {len(replays)} trials fall outside the intervals of their rows"
        raise ConfigError(f"replay: a model that differs from its rows is refused: {all_of}. Train it again.")
    return "replayed" if outcomes and outcomes <= {"same", "inside"} else "guest"
