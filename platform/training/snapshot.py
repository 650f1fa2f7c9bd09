"""Saving and restoring the full state of a pack in training."""

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
"""Prefix of the names of tensors that are carried between segments of a text."""


def snapshot(pack: Pack) -> Saved:
    """Return the full state of a pack, for ``restore``."""
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
    """Restore the first state that fits the pack's trials, or several joined ones if they come from several packs.
    Return False and change nothing if there is none: the pack then starts from scratch. ``refuse`` is called with the
    reason if a state of these trials is not used.
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
    """Return why a state cannot be used, independent of its trials; empty if it can."""
    if (code := saved.facts.get("code")) != environment.CODE_HASH:
        folders = ", ".join(environment.TRAINS)
        return f"a checkpoint written by other code was found ({folders}: {code}, now {environment.CODE_HASH})"
    done, step, steps = saved.facts["epoch"] - 1, saved.facts["step"], saved.facts["steps"]
    steps_per_epoch = steps_an_epoch(pack.configs[0], pack.data)
    epochs: dict[str, list[int]] = {trial: [] for trial in saved.facts["alive"]}
    for point in Report.from_dict(saved.facts["said"]).points:
        epochs.get(point.trial, []).append(point.epoch)
    if (
        not 0 <= step <= steps_per_epoch
        or steps != done * steps_per_epoch + step
        or any(e != [*range(1, done + 1)] for e in epochs.values())
    ):
        where = f"epoch {done + 1}, step {step} of {steps_per_epoch}, {steps} steps in all"
        return f"a checkpoint contradicts itself ({where})"
    return ""


def restore(pack: Pack, saved: Saved) -> bool:
    """Restore the state in ``saved``; return False and change nothing if it does not fit this pack's trials. It may be
    of a larger pack, some of whose trials have ended or continue elsewhere.
    """
    index_by_trial = {trial: k for k, trial in enumerate(saved.facts["alive"])}
    reported, trials = Report.from_dict(saved.facts["said"]), [c.id for c in pack.configs]
    ended = {r.trial for r in reported.runs}
    if not all(trial in index_by_trial or trial in ended for trial in trials) or not _fits(
        pack, saved.tensors, len(index_by_trial)
    ):
        return False
    pack.keep(torch.tensor([k for k, trial in enumerate(trials) if trial in index_by_trial], dtype=torch.int64))
    rows = torch.tensor([index_by_trial[c.id] for c in pack.configs], dtype=torch.int64)
    tensors = {k: v[rows].to(pack.best.device) for k, v in saved.tensors.items()}
    pack.parameters.attach(tensors.pop("values"))
    pack.optimiser = {name: tensors.pop(f"optimiser.{name}") for name in pack.optimiser}
    carried = tuple(tensors.pop(f"{CARRIED}{k}") for k in range(sum(name.startswith(CARRIED) for name in tensors)))
    pack.state = list(pack.network.layer.trim_state(carried)) if carried and pack.configs else None
    for name, tensor in tensors.items():
        setattr(pack, name, tensor.cpu() if name in ("seconds", "joules") else tensor)
    pack.epoch, pack.step, pack.steps = (saved.facts[k] for k in ("epoch", "step", "steps"))
    pack.note(reported.of(trials))
    return True


def _together(parts: Sequence[Saved], trials: Set[str]) -> Saved | None:
    """Return the joined state of trials at the latest step for which all of them have one; None if there is none."""
    moments: dict[tuple[int, int, int], dict[str, Saved]] = {}
    for saved in parts:
        owners = moments.setdefault((saved.facts["epoch"], saved.facts["step"], saved.facts["steps"]), {})
        for trial in trials & {*saved.facts["alive"], *(run["trial"] for run in saved.facts["said"]["runs"])}:
            owners.setdefault(trial, saved)  # the newest of several at the same step
    for moment, owners in sorted(moments.items(), key=lambda pair: pair[0], reverse=True):
        alive = {trial: saved for trial, saved in sorted(owners.items()) if trial in saved.facts["alive"]}
        if owners.keys() != trials or len({_form(saved) for saved in alive.values()}) != 1:
            continue
        rows = [(saved.tensors, saved.facts["alive"].index(trial)) for trial, saved in alive.items()]
        tensors = {name: torch.stack([state[name][k] for state, k in rows]) for name in rows[0][0]}
        reported = sum((Report.from_dict(state.facts["said"]).of([trial]) for trial, state in owners.items()), Report())
        facts = dict(zip(("epoch", "step", "steps"), moment, strict=True))
        return Saved(tensors, {**facts, "alive": list(alive), "said": reported.to_dict()})
    return None


def _form(saved: Saved) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """Return names, types and shapes of the tensors of one member."""
    return tuple(sorted((name, str(v.dtype), tuple(v.shape[1:])) for name, v in saved.tensors.items()))


def _fits(pack: Pack, tensors: Mapping[str, Tensor], members: int) -> bool:
    """Return whether tensors of this number of members fit a pack."""
    expected = {name: (tensor.dtype, members, *tensor.shape[1:]) for name, tensor in pack.tensors().items()}
    return expected == {k: (v.dtype, *v.shape) for k, v in tensors.items() if not k.startswith(CARRIED)}
