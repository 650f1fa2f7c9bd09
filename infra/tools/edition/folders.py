"""Paths of an edition, and Longwave's commands for its store."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tree import ROOT

from longwave.files import atomic_file
from longwave.platform.boards.trust import shipped
from longwave.platform.editions.folder import FOLDER
from longwave.platform.editions.shipped import file_of
from longwave.platform.exchange.bundle import ENDING

LONGWAVE = [sys.executable, "-m", "longwave"]
"""The command, in this Python."""
FIRST = 1
"""Number of the edition that is meant if none is named."""


@dataclass(frozen=True)
class EditionFolders:
    """Paths of an edition.

    Attributes:
        sweeps: Folder of the sweep files.
        board: Folder of the edition, and of what is being trained.
        home: Data folder of the training, with its store.
        trust: List of trusted hashes in the package.
        readme: The README, which shows the edition's answer.
        shipped: The edition's file in the package.
        submissions: Folder of submissions by others.
        number: Of the edition.
    """

    sweeps: Path = ROOT / "infra/sweeps/edition1"
    board: Path = ROOT / "infra/board"
    home: Path = ROOT / ".edition-1"
    trust: Path = ROOT / "platform/boards/trust.txt"
    readme: Path = ROOT / "README.md"
    shipped: Path = file_of(FIRST)
    submissions: Path = ROOT / "submissions"
    number: int = 1

    @classmethod
    def of_edition(cls, number: int) -> EditionFolders:
        """Return the folders of an edition of the repository."""
        return cls(
            sweeps=ROOT / f"infra/sweeps/edition{number}",
            home=ROOT / f".edition-{number}",
            shipped=file_of(number),
            number=number,
        )

    @property
    def command(self) -> str:
        """The command that trains and publishes it: ``make edition EDITION=2``."""
        return "make edition" + (f" EDITION={self.number}" if self.number != FIRST else "")

    @property
    def next_edition(self) -> EditionFolders:
        """The folders of the edition after it."""
        number = self.number + 1
        sweeps, file = self.sweeps.with_name(f"edition{number}"), self.shipped.with_name(file_of(number).name)
        return replace(self, sweeps=sweeps, shipped=file, number=number)

    @property
    def edition(self) -> Path:
        """The edition's folder."""
        return self.board / f"edition-{self.number}"

    @property
    def heat_map(self) -> Path:
        """The picture of its models by its boards, for the README."""
        return self.board / f"heat-map-{self.number}.svg"

    def lag_figure(self, board: str) -> Path:
        """Return the path of the figure of scores by length or lag on a board, a task with its variant."""
        return self.board / f"lag-{self.number}-{board.replace(' ', '-').replace('=', '')}.svg"

    @property
    def surprises(self) -> Path:
        """Remarks that people wrote about it, for its report."""
        return self.board / f"surprises-{self.number}.md"

    @property
    def results(self) -> list[Path]:
        """The bundles of finished sweeps, none of which is ever rewritten."""
        return sorted((self.edition / FOLDER).glob(f"*{ENDING}"))

    @property
    def submitted(self) -> list[Path]:
        """The bundles of trusted submissions, such as replayed ones."""
        paths = sorted(self.submissions.glob(f"*/*{ENDING}"))
        hashes = set(shipped(self.trust).values())
        return [path for path in paths if hashlib.sha256(path.read_bytes()).hexdigest() in hashes]

    @property
    def carried(self) -> list[Path]:
        """The bundles in the edition; of a submission, its current one."""
        return list({path.name: path for path in (*self.results, *self.submitted)}.values())

    @property
    def plugins(self) -> list[str]:
        """The code of submissions, as options of a command."""
        return [word for path in self.submitted for word in ("--plugins", str(path.parent))]

    @property
    def unfinished(self) -> list[Path]:
        """The bundles of unfinished sweeps, one per sweep."""
        return sorted(self.unfinished_at("*").parent.glob(f"*{ENDING}"))

    def unfinished_at(self, sweep: str) -> Path:
        """Return the path of the bundle of an unfinished sweep."""
        return self.board / f"unfinished-{self.number}" / f"{sweep}{ENDING}"

    @property
    def store(self) -> str:
        """URL of the store."""
        return f"sqlite:///{self.home / 'longwave.db'}"

    def sweep_files(self, words: Sequence[str] = ()) -> list[Path]:
        """Return the sweep files whose names contain any of ``words``, in order; a whole name means its file only."""
        files = sorted(self.sweeps.glob("*.toml"), key=lambda file: file.stem)
        parts = {*words} - {file.stem for file in files}
        return [file for file in files if not words or file.stem in words or any(part in file.stem for part in parts)]

    def known_bundles(self) -> dict[str, str]:
        """Return the names of the bundles imported into or exported from the store, with their file names."""
        listed = self.home / "bundles.json"
        return dict(json.loads(listed.read_text())) if listed.exists() else {}

    def note_bundle(self, name: str, file: str) -> None:
        """Note that the store contains a bundle."""
        with atomic_file(self.home / "bundles.json") as listed:
            listed.write_text(json.dumps(self.known_bundles() | {name: file}))


def trust_bundle(trust: Path, name: str, sha256: str, why: str) -> None:
    """Add a bundle's name and its file's hash to the list of trusted ones, unless it is listed."""
    text = trust.read_text(encoding="utf-8")
    if name not in text:
        with atomic_file(trust) as written:
            written.write_text(f"{text.rstrip()}\n{name} {sha256}  # {why}\n", encoding="utf-8")


def longwave(folders: EditionFolders, *arguments: object) -> None:
    """Run a command of Longwave; a signal that ends this process first stops it cleanly.

    Raises:
        SystemExit: It failed; with its status.
    """
    command = [*LONGWAVE, *map(str, arguments), "--store", folders.store]
    child = subprocess.Popen(command, env={**os.environ, "LONGWAVE_HOME": str(folders.home)})
    before = {n: signal.signal(n, lambda number, _: child.send_signal(number)) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if status:
        sys.exit(status)


def read_state(folders: EditionFolders, name: str) -> dict[str, Any]:
    """Return the status of a sweep; empty if it is not in the store."""
    done = query(folders, "sweep", "status", name, "--format", "json")
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def query(folders: EditionFolders, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the output of a command that only reads the store."""
    return subprocess.run([*LONGWAVE, *arguments, "--store", folders.store], capture_output=True, text=True)
