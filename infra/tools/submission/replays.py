"""Trains drawn trials of a submission again, in separate processes, and compares each."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import BundledTrial
from longwave.platform.exchange.replay import Retraced, compare
from longwave.platform.render.harmless import one_line
from longwave.platform.statistics.scale import scale_of
from longwave.platform.sweeps.reproduce import agreement
from longwave.rules import describe_rule
from submission.checks import Submission
from submission.limited import LimitError, Limits, run_limited

Label = Literal["replayed", "untrusted"]
Outcome = Literal["same", "inside", "outside", "unknown"]
"""Outcome of a replay: ``inside`` and ``outside`` the interval of its row, on another machine."""
REPLAYED = 3
"""Number of trials to train again."""
TRIAL = Path(__file__).with_name("trial.py")


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
    return random.Random(commit).sample(trials, min(REPLAYED, len(trials)))


def replay_trial(submission: Submission, entry: BundledTrial, home: Path, limits: Limits) -> Replay:
    """Train a trial again in a separate process, and compare.

    Raises:
        ConfigError: The code does not run, or on the same machine it gives another result.
    """
    environment = submission.file.content.environments.get(entry.place or "", {})
    name, request, answer = f"trial {entry.config.id}", home / "request.json", home / "answer.json"
    request.write_text(json.dumps({"config": entry.config.to_dict(), "packed": entry.run.members > 1}))
    answer.unlink(missing_ok=True)
    threads = environment.get("threads", "")
    try:
        command = [sys.executable, *map(str, (TRIAL, submission.folder, request, answer))]
        status, printed = run_limited(command, home, limits, int(threads) if threads.isdecimal() else 0)
    except LimitError as limit:
        return Replay(entry, None, "unknown", f"cannot be trained again here: {limit}")
    if status or not answer.is_file():
        last = one_line((printed.strip().splitlines() or ["nothing was printed"])[-1])
        raise ConfigError(
            f"replay: the code of {name} fails when it is trained again: {last.rstrip('.')}. Submit code that runs."
        )
    result = json.loads(answer.read_text())
    if "unable" in result:
        return Replay(entry, None, "unknown", f"cannot be trained again here: {one_line(str(result['unable']))}")
    return judge(submission, entry, read_trained(result.get("trained")))


def read_trained(result: object) -> Retraced:
    """Return the result of a trial, as written by another process.

    Raises:
        ConfigError: It is not the result of a complete training.
    """
    try:
        trained = TypeAdapter(Retraced).validate_python(result)
    except ValidationError as error:
        reason = describe_rule(error.errors(include_url=False)[0])
        raise ConfigError(f"replay: its code wrote no valid result: {reason}. Submit code that runs.") from None
    run = trained.run
    if run is None or len(trained.points) != run.epochs - (run.status == "diverged"):
        raise ConfigError(
            f"replay: a trial must be trained to its end, got {len(trained.points)} epochs. Submit code that runs."
        )
    return trained


def judge(submission: Submission, entry: BundledTrial, trained: Retraced) -> Replay:
    """Return the outcome of a replay.

    Raises:
        ConfigError: All relevant facts are equal, but its result differs.
    """
    test = trained.run.test if trained.run else None
    finding = compare(entry, trained, submission.file.content.environments.get(entry.place or "", {}))
    if finding is None:
        return Replay(entry, test, "same", f"gives the same result in each of {len(trained.points)} epochs")
    if finding.severity == "reject":
        step = "A model that differs from its rows is refused; train it again."
        raise ConfigError(f"replay: {finding.message.rstrip('.')}. {step}")
    row = [other.run for other in submission.retrainings if other.config.row == entry.config.row]
    scores = [run.test for run in row if run.test is not None]
    about, diverged = entry.about, sum(run.status == "diverged" for run in row)
    assert trained.run, "read_trained has seen it"
    scale = scale_of(about.metric, about.goal, about.unit, about.floor)
    position = agreement(trained.run, scores, diverged, scale)
    difference = finding.message.removeprefix(f"trial {entry.config.id} ").rstrip(".")
    if position == "undecided":
        return Replay(entry, test, "unknown", f"{difference}; the interval of its row is inconclusive")
    return Replay(entry, test, position, f"{difference}; {position} the interval of its row")


def choose_label(replays: Sequence[Replay]) -> Label:
    """Return the label of a submission whose drawn trials were trained again.

    Raises:
        ConfigError: Several were, and all fall outside the intervals of their rows: one honest seed in 20 does.
    """
    outcomes = {replay.outcome for replay in replays}
    if outcomes == {"outside"} and len(replays) > 1:
        all_of = f"all {len(replays)} trials fall outside the intervals of their rows"
        raise ConfigError(f"replay: a model that differs from its rows is refused: {all_of}. Train it again.")
    return "replayed" if outcomes and outcomes <= {"same", "inside"} else "untrusted"
