"""Weights of retrainings, one safetensors file per trial, written atomically and with a hash of the content.

Nothing is ever unpickled. Any safetensors reader can read such a file. Names are those of ``Network``: ``layer.Wz``,
and ``weight`` and ``bias`` of the read-out; tensors have no members axis.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from longwave.files import atomic_file
from longwave.platform.errors import ConfigError
from longwave.platform.paths import raise_os_errors, weights_file
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.redaction import make_logger
from longwave.platform.training.pack import Pack

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

LOG = make_logger(__name__)


@dataclass(frozen=True)
class SavedWeights:
    """The weights of a trial.

    Attributes:
        tensors: The parameters by name.
        config: The trial.
        test: Its test metric with these weights, when they were saved.
        positions: Sequence length of the data.
        every_step: Whether every step was read out, and not only the last one.
        file: Content of the file.
    """

    tensors: Mapping[str, Tensor]
    config: TrialConfig
    test: float
    positions: int
    every_step: bool
    file: bytes


def keep(folder: AnyPath, pack: Pack, member: int, run: Run) -> None:
    """Save a member's current weights, as those at the end of its training.

    A failure to write them, as on a full disk, is logged and does not end the training.
    """
    from safetensors.torch import save

    state = pack.network.state_dict()
    tensors = {name: tensor[member].detach().cpu().contiguous() for name, tensor in state.items()}
    facts = {
        "config": pack.configs[member].to_dict(),
        "test": run.test,
        "places": pack.data.valid.positions,
        "every_step": bool(getattr(pack.data.valid, "every_step", False)),
    }
    metadata = json.dumps(facts, sort_keys=True)
    path = weights_file(folder, run.trial)
    try:
        _put(path, save(tensors, {"format": "pt", "longwave": metadata, "sha256": _hash(tensors, metadata)}))
    except OSError as error:
        LOG.warning("The weights of trial %s could not be saved: %s", run.trial, error)


def read(path: AnyPath) -> SavedWeights | None:
    """Return the weights in a file; None where there is none.

    Raises:
        ConfigError: The file is damaged or was not written by Longwave.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        with raise_os_errors(path):
            content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        tensors, facts = load(content), json.loads(metadata["longwave"])
        if metadata["sha256"] != _hash(tensors, metadata["longwave"]):
            raise ValueError("another hash")
        config, test = TrialConfig.from_dict(facts["config"]), float(facts["test"])
        return SavedWeights(tensors, config, test, int(facts["places"]), bool(facts["every_step"]), content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, SafetensorError):
        raise ConfigError(f"{path} is damaged or was not written by Longwave. Delete it and train again.") from None


def _hash(tensors: Mapping[str, Tensor], metadata: str) -> str:
    """Return the SHA-256 of the metadata and of all tensors, by name."""
    hashed = sha256(metadata.encode())
    for name, tensor in sorted(tensors.items()):
        hashed.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode())
        hashed.update(tensor.numpy().tobytes())
    return hashed.hexdigest()


def _put(path: AnyPath, content: bytes) -> None:
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path, private=True) as partial:
            partial.write_bytes(content)
        return
    with raise_os_errors(path):
        path.fs.pipe_file(path.path, content)
