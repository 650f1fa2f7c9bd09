"""The whole state of a pack in training, to keep and to take up again."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from longwave.platform.records.report import Report
from longwave.platform.training.checkpoint import Saved
from longwave.platform.training.pack import Pack

CARRIED = "state"
"""How the names of the tensors begin that a text carries from segment to segment."""


def snapshot(pack: Pack) -> Saved:
    """Return the whole state of a pack, to take up by ``restore``."""
    pack.read_meter()
    facts = {
        "alive": [c.id for c in pack.configs],
        "epoch": pack.epoch,
        "step": pack.step,
        "steps": pack.steps,
        "said": pack.said.to_dict(),
    }
    return Saved(pack.tensors() | {f"{CARRIED}{k}": s for k, s in enumerate(pack.state or [])}, facts)


def restore(pack: Pack, saved: Saved) -> bool:
    """Take up the state in ``saved``; return False and change nothing if it does not serve this pack's trials.

    It may be that of a larger pack, some of whose trials have ended or go on elsewhere.
    """
    place = {trial: k for k, trial in enumerate(saved.facts["alive"])}
    said, mine = Report.from_dict(saved.facts["said"]), [c.id for c in pack.configs]
    ended = {r.trial for r in said.runs}
    if not all(trial in place or trial in ended for trial in mine) or not _fits(pack, saved.tensors, len(place)):
        return False
    pack.keep(torch.tensor([k for k, trial in enumerate(mine) if trial in place], dtype=torch.int64))
    rows = torch.tensor([place[c.id] for c in pack.configs], dtype=torch.int64)
    tensors = {k: v[rows].to(pack.best.device) for k, v in saved.tensors.items()}
    pack.parameters.attach(tensors.pop("values"))
    pack.optimiser = {name: tensors.pop(f"optimiser.{name}") for name in pack.optimiser}
    carried = tuple(tensors.pop(f"{CARRIED}{k}") for k in range(sum(name.startswith(CARRIED) for name in tensors)))
    pack.state = list(pack.network.layer.taken_up(carried)) if carried and pack.configs else None
    for name, tensor in tensors.items():
        setattr(pack, name, tensor.cpu() if name in ("seconds", "joules") else tensor)
    pack.epoch, pack.step, pack.steps = (saved.facts[k] for k in ("epoch", "step", "steps"))
    pack.note(said.of(mine))
    return True


def _fits(pack: Pack, tensors: Mapping[str, Tensor], members: int) -> bool:
    """Return whether tensors of so many members are those of such a pack."""
    ours = {name: (tensor.dtype, members, *tensor.shape[1:]) for name, tensor in pack.tensors().items()}
    return ours == {k: (v.dtype, *v.shape) for k, v in tensors.items() if not k.startswith(CARRIED)}
