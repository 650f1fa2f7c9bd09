"""A pack: trials of equal shape that train together as one tensor program.

A trial's result does not depend on its pack: each member has its own initial weights, data order, hyper-parameters,
training numbers and moments, and no operation mixes members.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import torch
from torch import Tensor

from longwave.models.base.network import Network, Vocabulary
from longwave.models.base.spec import Sizes
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.training.checkpoint import Saved
from longwave.platform.training.energy import Meter
from longwave.platform.training.feed import epoch_batches
from longwave.platform.training.optimiser import FlatParameters
from longwave.platform.training.precision import PRECISIONS, store_rows
from longwave.platform.training.rules import DROPOUTS, Rules
from longwave.platform.training.schedule import steps_an_epoch
from longwave.platform.training.scoring import scored
from longwave.platform.training.stopping import halved, out_of_patience
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data

TENSORS = ("best", "best_epoch", "best_values", "loss", "seconds", "joules")
"""What a pack knows of each of its members, beside weights and moments."""


class Pack:
    """The state of a pack in training. A member leaves when it diverges or is stopped; the others go on.

    Args:
        configs: Trials that agree in everything but parameters and seed.
        data: The task's data, on ``device``. The test split is touched by retrainings alone.
        device: Where to train.

    Attributes:
        configs: The members still training.
        points, ended: All epochs and all ends so far, of members that left too.
        epoch: The epoch in progress, from 1; ``step`` counts its steps done.
    """

    def __init__(self, configs: Sequence[TrialConfig], data: Data[Batch], device: torch.device | str = "cpu") -> None:
        if len({c.shape for c in configs}) != 1:
            raise ValueError(f"A pack needs trials of one shape, got {len({c.shape for c in configs})} shapes.")
        self.task, self.data, self.configs = get_task(configs[0].task), data, list(configs)
        first, model = configs[0], get_model(configs[0].model)
        sizes = Sizes(self.task.inputs, first.hidden, self.task.outputs, data.valid.places)
        hyper = {p.name: [c.params[p.name] for c in configs] for p in model.params if p.name in first.params}
        seeds, dtype = [c.seed for c in configs], PRECISIONS[first.precision]
        words = Vocabulary(self.task.tokens, data.embedding)
        dropouts = {name: [c.params[name] for c in configs] for name in DROPOUTS if name in first.params}
        network = Network(model, sizes, hyper, seeds, first.options, dtype, words, dropouts)
        self.network = network.to(device)
        store_rows(self.network.layer, first.precision)
        self.parameters = FlatParameters(self.network)
        self.rules = Rules(self.task, self.configs, self.parameters, self.network.groups())
        self.optimiser, self.steps = self.rules.state(), 0
        self.members, self.sign = len(configs), 1.0 if self.task.metric.goal == "max" else -1.0
        self.best = self.parameters.values.new_full((len(configs),), -torch.inf)
        self.best_epoch = torch.zeros(len(configs), dtype=torch.int64, device=device)
        self.best_values = self.parameters.values.clone()
        self.loss = torch.zeros_like(self.best)
        self.seconds, self.epoch, self.step = torch.zeros(len(configs), dtype=torch.float64), 1, 0
        self.meter, self.joules = Meter(self.best.device), torch.zeros_like(self.seconds)
        self.state: list[Tensor] | None = None
        self.points: list[Point] = []
        self.ended: list[Run] = []
        self.valids: dict[str, list[float]] = {c.id: [] for c in configs}

    def train_epoch(self, after_step: Callable[[], None] = lambda: None) -> None:
        """Train until the end of the epoch in progress; ``after_step`` is called after each step."""
        scale = self.rules.scales(self.epoch, steps_an_epoch(self.configs[0], self.data), self.valids)
        self.network.train()
        for batch in epoch_batches(self.configs, self.data, self.epoch, self.step):
            start = time.perf_counter()
            outputs, state = self.network.run(batch, self.state, self.steps)
            self.state = [s.detach() for s in state] if batch.CARRIED else None  # gradients end with a segment
            loss = self.rules.loss(outputs, batch.asked)
            self.parameters.backward(loss)
            self.steps += 1
            self.rules.step(self.optimiser, self.steps, scale(self.step))
            self.network.constrain()
            self.loss += loss.detach()
            self.step += 1
            self.seconds += (time.perf_counter() - start) / len(self.configs)
            after_step()

    def score(self, split: Batch) -> Tensor:
        """Return the task's metric on ``split`` for each member, (M,)."""
        start = time.perf_counter()
        score = scored(self.network, self.task, split).to(self.best)
        if score.is_cuda:  # what was launched is over only now
            torch.cuda.synchronize(score.device)
        self.seconds += (time.perf_counter() - start) / len(self.configs)
        self._read_meter()
        return score

    def close_epoch(self) -> tuple[list[Point], list[Run]]:
        """Score the epoch, let diverged, finished and stopped members leave; return its points and the ends.

        Members out of patience leave first: they take no place at a rung of successive halving.
        """
        loss, valid = self.loss / self.step, self.score(self.data.valid)
        self._select(self.sign * valid)
        now, finite = time.time(), torch.isfinite(loss) & torch.isfinite(valid)
        points = [
            Point(c.id, self.epoch, loss[k].item(), valid[k].item(), self.seconds[k].item(), now)
            for k, c in enumerate(self.configs)
            if finite[k]
        ]
        ends = [
            self._end(k, "diverged", f"loss {loss[k].item():g}, validation {valid[k].item():g} at epoch {self.epoch}")
            for k in torch.nonzero(~finite).flatten().tolist()
        ]
        self._note(points)
        goal = self.task.metric.goal
        early = [k for k, c in enumerate(self.configs) if finite[k] and out_of_patience(c, self.valids[c.id], goal)]
        ends += self._finished(early)
        finite[early] = False
        stay, out, reason = halved(self.configs[0], self.epoch, self.best, torch.nonzero(finite).flatten())
        ends += [self._end(k, "stopped", reason) for k in out]
        self.ended += ends
        self.keep(stay)
        self.epoch, self.step, self.loss, self.state = self.epoch + 1, 0, torch.zeros_like(self.best), None
        return points, ends

    def close(self) -> list[Run]:
        """End all members that trained to the last epoch."""
        self.epoch -= 1  # close_epoch has counted on
        return self._finished(range(len(self.configs)))

    def keep(self, index: Tensor) -> None:
        """Go on with the members ``index``, (K,) int64, alone."""
        if len(index) == len(self.configs):
            return
        self.configs = [self.configs[k] for k in index.tolist()]
        self.network.keep(index)
        self.parameters.attach(self.parameters.values[index])
        self.optimiser = {name: tensor[index] for name, tensor in self.optimiser.items()}
        for name in TENSORS:
            tensor = getattr(self, name)
            setattr(self, name, tensor[index.to(tensor.device)])
        if self.configs:
            self.rules = Rules(self.task, self.configs, self.parameters, self.network.groups())

    def saved(self) -> Saved:
        """Return the whole state, to restore by ``restore``."""
        self._read_meter()
        tensors = {"values": self.parameters.values, **{name: getattr(self, name) for name in TENSORS}}
        tensors |= {f"optimiser.{name}": tensor for name, tensor in self.optimiser.items()}
        tensors |= {f"state{k}": s for k, s in enumerate(self.state or [])}
        facts = {
            "alive": [c.id for c in self.configs],
            "epoch": self.epoch,
            "step": self.step,
            "steps": self.steps,
            "points": [asdict(p) for p in self.points],
            "ended": [asdict(r) for r in self.ended],
        }
        return Saved(tensors, facts)

    def restore(self, saved: Saved) -> bool:
        """Take up the state in ``saved``; return False and change nothing if it does not serve this pack's trials."""
        place = {trial: k for k, trial in enumerate(saved.facts["alive"])}
        ended = {r["trial"]: Run.from_dict(r) for r in saved.facts["ended"]}
        mine = [c.id for c in self.configs]
        if not all(trial in place or trial in ended for trial in mine) or "steps" not in saved.facts:
            return False
        self.keep(torch.tensor([k for k, trial in enumerate(mine) if trial in place], dtype=torch.int64))
        rows = torch.tensor([place[c.id] for c in self.configs], dtype=torch.int64)
        tensors = {k: v[rows].to(self.best.device) for k, v in saved.tensors.items()}
        self.parameters.attach(tensors.pop("values"))
        self.optimiser = {name: tensors.pop(f"optimiser.{name}") for name in self.optimiser}
        carried = [tensors.pop(f"state{k}") for k in range(sum(name.startswith("state") for name in tensors))]
        self.state = carried or None
        for name, tensor in tensors.items():
            setattr(self, name, tensor.cpu() if name in ("seconds", "joules") else tensor)
        self.epoch, self.step, self.steps = (saved.facts[k] for k in ("epoch", "step", "steps"))
        self._note([Point(**p) for p in saved.facts["points"] if p["trial"] in mine])
        self.ended = [run for trial, run in ended.items() if trial in mine]
        return True

    def _select(self, valid: Tensor) -> None:
        """Remember the epoch of the members that a result is taken from, if it is this one."""
        better = torch.ones_like(valid, dtype=torch.bool) if self.configs[0].selection == "last" else valid > self.best
        self.best = torch.where(better, valid, self.best)
        self.best_epoch = torch.where(better, self.epoch, self.best_epoch)
        self.best_values = torch.where(better.unsqueeze(1), self.parameters.values, self.best_values)

    def _note(self, points: Sequence[Point]) -> None:
        """Add an epoch's points to what is known."""
        self.points += points
        for point in points:
            self.valids[point.trial].append(point.valid)

    def _finished(self, members: Sequence[int]) -> list[Run]:
        """End members as trained; retrainings are tested at their selected epoch."""
        test = None
        if members and self.configs[0].phase == "retrain":
            now = self.parameters.values.clone()
            self.parameters.values.copy_(self.best_values)
            test = self.score(self.data.test)
            self.parameters.values.copy_(now)
        runs = []
        for k in members:
            if test is not None and not torch.isfinite(test[k]):
                runs.append(self._end(k, "diverged", f"test metric {test[k].item():g} at epoch {self.epoch}"))
            else:
                runs.append(replace(self._end(k, "ok"), test=None if test is None else test[k].item()))
        return runs

    def _read_meter(self) -> None:
        """Share the energy taken since the last time among the members."""
        self.joules += self.meter.lap() / len(self.configs)

    def _end(self, k: int, status: str, reason: str = "") -> Run:
        epoch, joules = int(self.best_epoch[k]), self.joules[k].item()
        return Run(
            trial=self.configs[k].id,
            status=status,  # type: ignore[arg-type]
            reason=reason,
            epochs=self.epoch,
            best_epoch=epoch or None,
            valid=self.sign * self.best[k].item() if epoch else None,
            seconds=self.seconds[k].item(),
            members=self.members,
            parameters=self.network.parameter_count(),
            environment={"kernel": str(self.network.layer.why()), "precision": self.configs[k].precision},
            joules=joules if math.isfinite(joules) else None,
        )
