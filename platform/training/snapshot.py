"""The whole state of a pack in training, to keep and to take up again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

import torch
from torch import Tensor

from longwave.platform.records.report import Report
from longwave.platform.training import environment
from longwave.platform.training.checkpoint import Saved
from longwave.platform.training.pack import Pack
from longwave.platform.training.schedule import steps_an_epoch

CARRIED = "state"
"""How the names of the tensors begin that a text carries from segment to segment."""


def snapshot(pack: Pack) -> Saved:
    """Return the whole state of a pack, to take up by ``restore``."""
    pack.read_meter()
    facts = {
        "code": environment.CODE_HASH,
        "alive": [c.id for c in pack.configs],
        "epoch": pack.epoch,
        "step": pack.step,
        "steps": pack.steps,
        "said": pack.report.to_dict(),
    }
    return Saved(pack.tensors() | {f"{CARRIED}{k}": s for k, s in enumerate(pack.state or [])}, facts)


def take_up(pack: Pack, saved_states: Iterable[Saved], refuse: Callable[[str], object] = lambda reason: None) -> bool:
    """Take up the first state that serves the pack's trials; or, where they come from several packs, those together.

    Returns False and changes nothing where neither does: the pack starts anew. ``refuse`` takes the reason why a state
    of these trials is not used.
    """
    parts = []
    for saved in saved_states:
        if reason := _unusable(pack, saved):
            refuse(reason)
            continue
        if restore(pack, saved):
            return True
        parts.append(saved)
    joined = _together(parts, {c.id for c in pack.configs})
    return joined is not None and restore(pack, joined)


def _unusable(pack: Pack, saved: Saved) -> str:
    """Return why a state may not be used, whatever trials it is of; empty if it may."""
    if (code := saved.facts.get("code")) != environment.CODE_HASH:
        folders = ", ".join(environment.TRAINS)
        return f"a checkpoint written by other code was found ({folders}: {code}, now {environment.CODE_HASH})"
    done, step, steps = saved.facts["epoch"] - 1, saved.facts["step"], saved.facts["steps"]
    each = steps_an_epoch(pack.configs[0], pack.data)
    epochs: dict[str, list[int]] = {trial: [] for trial in saved.facts["alive"]}
    for point in Report.from_dict(saved.facts["said"]).points:
        epochs.get(point.trial, []).append(point.epoch)
    if not 0 <= step <= each or steps != done * each + step or any(e != [*range(1, done + 1)] for e in epochs.values()):
        return f"a checkpoint contradicts itself (epoch {done + 1}, step {step} of {each}, {steps} steps in all)"
    return ""


def restore(pack: Pack, saved: Saved) -> bool:
    """Take up the state in ``saved``; return False and change nothing if it does not serve this pack's trials.

    It may be that of a larger pack, some of whose trials have ended or go on elsewhere.
    """
    member = {trial: k for k, trial in enumerate(saved.facts["alive"])}
    reported, mine = Report.from_dict(saved.facts["said"]), [c.id for c in pack.configs]
    ended = {r.trial for r in reported.runs}
    if not all(trial in member or trial in ended for trial in mine) or not _fits(pack, saved.tensors, len(member)):
        return False
    pack.keep(torch.tensor([k for k, trial in enumerate(mine) if trial in member], dtype=torch.int64))
    rows = torch.tensor([member[c.id] for c in pack.configs], dtype=torch.int64)
    tensors = {k: v[rows].to(pack.best.device) for k, v in saved.tensors.items()}
    pack.parameters.attach(tensors.pop("values"))
    pack.optimiser = {name: tensors.pop(f"optimiser.{name}") for name in pack.optimiser}
    carried = tuple(tensors.pop(f"{CARRIED}{k}") for k in range(sum(name.startswith(CARRIED) for name in tensors)))
    pack.state = list(pack.network.layer.taken_up(carried)) if carried and pack.configs else None
    for name, tensor in tensors.items():
        setattr(pack, name, tensor.cpu() if name in ("seconds", "joules") else tensor)
    pack.epoch, pack.step, pack.steps = (saved.facts[k] for k in ("epoch", "step", "steps"))
    pack.note(reported.of(mine))
    return True


def _together(parts: Sequence[Saved], trials: Set[str]) -> Saved | None:
    """Return the states of some trials as one, if all of them are known at one step of their training: the latest."""
    moments: dict[tuple[int, int, int], dict[str, Saved]] = {}
    for saved in parts:
        owners = moments.setdefault((saved.facts["epoch"], saved.facts["step"], saved.facts["steps"]), {})
        for trial in trials & {*saved.facts["alive"], *(run["trial"] for run in saved.facts["said"]["runs"])}:
            owners.setdefault(trial, saved)  # the newest of several of one moment
    for moment, owners in sorted(moments.items(), key=lambda pair: pair[0], reverse=True):
        alive = {trial: saved for trial, saved in sorted(owners.items()) if trial in saved.facts["alive"]}
        if owners.keys() != trials or len({_form(saved) for saved in alive.values()}) != 1:
            continue
        rows = [(saved.tensors, saved.facts["alive"].index(trial)) for trial, saved in alive.items()]
        tensors = {name: torch.stack([of[name][k] for of, k in rows]) for name in rows[0][0]}
        reported = sum((Report.from_dict(of.facts["said"]).of([trial]) for trial, of in owners.items()), Report())
        facts = dict(zip(("epoch", "step", "steps"), moment, strict=True))
        return Saved(tensors, {**facts, "alive": list(alive), "said": reported.to_dict()})
    return None


def _form(saved: Saved) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """Return names, types and shapes of what is kept of a member."""
    return tuple(sorted((name, str(v.dtype), tuple(v.shape[1:])) for name, v in saved.tensors.items()))


def _fits(pack: Pack, tensors: Mapping[str, Tensor], members: int) -> bool:
    """Return whether tensors of so many members are those of such a pack."""
    ours = {name: (tensor.dtype, members, *tensor.shape[1:]) for name, tensor in pack.tensors().items()}
    return ours == {k: (v.dtype, *v.shape) for k, v in tensors.items() if not k.startswith(CARRIED)}
