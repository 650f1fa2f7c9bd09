"""Checkpoints of packs: one safetensors file each, written whole or not at all. Nothing is ever unpickled."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longwave.files import whole

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds: tensors by name, and plain JSON data."""

    tensors: dict[str, Tensor]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of one pack.

    Attributes:
        path: Its file; on a cluster a path all nodes share.
    """

    path: Path

    def save(self, saved: Saved) -> None:
        """Write the file anew."""
        from safetensors.torch import save_file

        tensors = {name: tensor.contiguous() for name, tensor in saved.tensors.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with whole(self.path) as partial:
            save_file(tensors, partial, {"facts": json.dumps(saved.facts)})

    def load(self) -> Saved | None:
        """Return the checkpoint, or None if there is none or it cannot be read: the pack then starts anew."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path, "pt") as file:
                facts = json.loads((file.metadata() or {})["facts"])
                return Saved({k: file.get_tensor(k) for k in file.keys()}, facts)  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, ValueError):
            return None

    def remove(self) -> None:
        """Delete the file if it is there."""
        self.path.unlink(missing_ok=True)
