"""The sweeps of an edition: one for each model of each board, so that an interruption costs at most one model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from edition.folders import EditionFolders
from longwave.files import atomic_file
from longwave.platform.exchange import bundle
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.tasks.cards.write import to_toml

EXPECTED = re.compile(r"^# Expected: ([\d.]+) hours of two cores(.*)\.$", re.MULTILINE)
"""The hours that a board's file states, for all models, then for those that take longer: ``, 0.9 for mamba``."""


@dataclass(frozen=True)
class ModelSweep:
    """The sweep of one model of a board.

    Attributes:
        file: Sweep file of the board.
        board: Name of the sweep in that file.
        model: One of its models.
        hours: That it is expected to take on two cores.
    """

    file: Path
    board: str
    model: str
    hours: float

    @property
    def name(self) -> str:
        """Its own name: ``edition2-b1-parity-lem``."""
        return f"{self.board}-{self.model}"

    def write_file(self, folder: Path) -> Path:
        """Write its sweep file into a folder: that of the board, with this model alone."""
        content = tomllib.loads(self.file.read_text(encoding="utf-8"))
        content |= {"name": self.name, "models": [self.model]}
        for key in ("model", "space"):
            content[key] = {name: table for name, table in content.get(key, {}).items() if name == self.model}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.toml"
        with atomic_file(path) as written:
            written.write_text(to_toml(content), encoding="utf-8")
        return path


def list_sweeps(files: Sequence[Path], models: Collection[str] = ()) -> list[ModelSweep]:
    """Return the sweeps of some boards, in order, of all their models or of some."""
    return [
        ModelSweep(file, sweep.name, model, hours)
        for file in files
        for sweep in [read_sweep(file)]
        for model, hours in expected_hours(file, sweep.models).items()
        if not models or model in models
    ]


def list_missing(folders: EditionFolders, sweeps: Sequence[ModelSweep]) -> list[ModelSweep]:
    """Return the sweeps that no bundle in the edition's results has.

    A bundle can have several models of a board; the name of its sweep is then the board's, or begins with it.
    """
    finished = {
        (sweep.content["name"], model)
        for path in folders.results
        for sweep in bundle.read(path).content.sweeps
        for model in sweep.content["models"]
    }
    return [
        sweep
        for sweep in sweeps
        if not any(model == sweep.model and f"{name}-".startswith(f"{sweep.board}-") for name, model in finished)
    ]


def expected_hours(file: Path, models: Sequence[str]) -> dict[str, float]:
    """Return the hours of two cores that each model of a board is expected to take, as its file states them.

    Models that it does not name share the rest equally.
    """
    line = EXPECTED.search(file.read_text(encoding="utf-8"))
    if line is None:
        return dict.fromkeys(models, 0.0)
    named = {model: float(hours) for hours, model in re.findall(r"([\d.]+) for (\w+)", line[2])}
    rest = (float(line[1]) - sum(named.values())) / max(len(models) - len(named), 1)
    return {model: named.get(model, rest) for model in models}
