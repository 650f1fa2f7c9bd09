"""How packs are run, and who hears of it. Any executor takes the first and talks to the second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from longwave.platform.records.run import Point, Run
from longwave.platform.training.checkpoint import Checkpoint


class Sink(Protocol):
    """Takes what packs report. Reports may come twice: after a restart a pack repeats what it had said."""

    def started(self, pack: str) -> None:
        """Note that a pack has a worker."""

    def report(self, pack: str, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Take epochs and ends."""

    def ended(self, pack: str, error: str = "") -> None:
        """Note that a pack is over; with ``error`` its worker died and some of its trials have not ended."""


@dataclass(frozen=True)
class Workers:
    """How to run packs.

    Attributes:
        count: Packs at a time.
        storage: Folder of checkpoints; on a cluster a path all nodes share.
        address: Ray cluster to use; ``None`` starts a local one.
        gpus: GPUs a pack, fractions allowed.
        here: Run in this process, without Ray.
    """

    count: int
    storage: Path
    address: str | None = None
    gpus: float = 0.0
    here: bool = False

    def checkpoint(self, pack: str) -> Checkpoint:
        """Return the checkpoint of a pack."""
        return Checkpoint(self.storage / "checkpoints" / f"{pack}.safetensors")
