"""A log per trial, for audits: the reports of its training before they reach a driver. Off by default."""

from __future__ import annotations

import json
import os
import secrets
from collections import defaultdict
from pathlib import Path
from typing import Any

from longwave.platform.records.report import Report
from longwave.platform.redaction import make_logger

VARIABLE = "LONGWAVE_JOURNAL"
"""Environment variable with the folder of the journals; without it none are written. Workers inherit it."""
LOG = make_logger(__name__)


class Journal:
    """Appends the parts of reports to one file per trial, ``FOLDER/TRIAL.jsonl``, one JSON line each.

    Every line has ``trial`` and ``session``, a name of this training. The rest is one of

    - ``began``: the last valid epoch; it supersedes earlier lines on later epochs;
    - ``epoch``, ``loss``, ``valid``: an epoch, new or repeated from a checkpoint;
    - ``end``, ``epochs``, ``best_epoch``, ``valid``, ``test``: the outcome.
    """

    def __init__(self) -> None:
        folder = os.environ.get(VARIABLE)
        self.folder = Path(folder) if folder else None
        self.session = secrets.token_hex(8)

    def write(self, report: Report) -> None:
        """Append a report; if a file cannot be written, log a warning and continue."""
        if self.folder is None:
            return
        lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for trial, epoch in report.began.items():
            lines[trial].append({"began": epoch})
        for p in report.points:
            lines[p.trial].append({"epoch": p.epoch, "loss": p.loss, "valid": p.valid})
        for r in report.runs:
            facts = {"epochs": r.epochs, "best_epoch": r.best_epoch, "valid": r.valid, "test": r.test}
            lines[r.trial].append({"end": r.status, **facts})
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for trial, messages in lines.items():
                lines_of_trial = [json.dumps({"trial": trial, "session": self.session, **line}) for line in messages]
                _append(self.folder / f"{trial}.jsonl", "\n".join(lines_of_trial) + "\n")
        except OSError as error:
            LOG.warning("A journal could not be written; training continues without it: %s", error)


def _append(path: Path, text: str) -> None:
    """Append in one write, so that lines of several processes never mix, and short ones are never truncated."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
