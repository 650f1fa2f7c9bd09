"""A pack: trials of equal shape that train together as one tensor program.

A trial's result does not depend on its pack: each member has its own initial weights, data order, hyper-parameters,
clipping, Adam moments and step size, and no operation mixes members.
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
from longwave.platform.training.feed import chunks, epoch_batches
from longwave.platform.training.optimiser import Adam, FlatParameters
from longwave.tasks.base.data import Data, Split

CHUNK, CHUNK_NUMBERS = 128, 2**23
"""Most sequences, and most outputs of a member, scored at a time."""
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
TENSORS = ("best", "best_epoch", "best_values", "loss", "seconds", "joules")
"""What a pack knows of each of its members, beside weights and moments."""


def rungs(first: int, eta: int, epochs: int) -> list[int]:
    """Return the epochs of successive halving, Jamieson and Talwalkar 2016: first, first·η, ... below ``epochs``."""
    found = []
    while first < epochs:
        found.append(first)
        first *= eta
    return found


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

    def __init__(self, configs: Sequence[TrialConfig], data: Data, device: torch.device | str = "cpu") -> None:
        if len({c.shape for c in configs}) != 1:
            raise ValueError(f"A pack needs trials of one shape, got {len({c.shape for c in configs})} shapes.")
        self.task, self.data, self.configs = get_task(configs[0].task), data, list(configs)
        first, model = configs[0], get_model(configs[0].model)
        sizes = Sizes(self.task.inputs, first.hidden, self.task.outputs, data.segment or data.valid.length)
        hyper = {p.name: [c.params[p.name] for c in configs] for p in model.params if p.name in first.params}
        seeds = [c.seed for c in configs]
        dtype = PRECISIONS[first.precision]
        words = Vocabulary(self.task.tokens, data.embedding)
        network = Network(model, sizes, hyper, seeds, first.options, self.task.every_step, dtype, words)
        self.network = network.to(device)
        self.parameters = FlatParameters(self.network)
        lr = torch.tensor([c.params["lr"] for c in configs], dtype=self.parameters.values.dtype, device=device)
        self.adam = Adam(self.parameters, lr)
        self.members, self.sign = len(configs), 1.0 if self.task.metric.goal == "max" else -1.0
        self.best = torch.full_like(lr, -torch.inf)
        self.best_epoch = torch.zeros(len(configs), dtype=torch.int64, device=device)
        self.best_values = self.parameters.values.clone()
        self.loss = torch.zeros_like(lr)
        self.seconds, self.epoch, self.step = torch.zeros(len(configs), dtype=torch.float64), 1, 0
        self.meter, self.joules = Meter(lr.device), torch.zeros_like(self.seconds)
        self.state: list[Tensor] | None = None
        self.points: list[Point] = []
        self.ended: list[Run] = []

    def train_epoch(self, after_step: Callable[[], None] = lambda: None) -> None:
        """Train until the end of the epoch in progress; ``after_step`` is called after each step."""
        config = self.configs[0]
        scale = 0.1 ** sum(self.epoch > drop for drop in config.drops)
        self.network.train()
        for x, target in epoch_batches(self.configs, self.data, self.epoch, self.task.every_step, self.step):
            start = time.perf_counter()
            outputs, state = self.network.run(x, self.state, self.adam.steps)
            self.state = [s.detach() for s in state] if self.data.segment else None  # gradients end with a segment
            loss = self.task.loss(outputs, target)
            self.parameters.backward(loss)
            if config.clip is not None:
                self.parameters.clip(config.clip)
            self.adam.step(scale)
            self.loss += loss.detach()
            self.step += 1
            self.seconds += (time.perf_counter() - start) / len(self.configs)
            after_step()

    @torch.no_grad()
    def score(self, split: Split) -> Tensor:
        """Return the task's metric on ``split`` for each member, (M,)."""
        start = time.perf_counter()
        self.network.eval()
        metric, state = self.task.metric, None
        # In float64, or the last pieces of a long split would be rounded to the sum of the first.
        total = torch.zeros(2, len(self.configs), dtype=torch.float64, device=self.best.device)
        numbers = self.task.outputs * (split.length if self.task.every_step else 1)
        size = min(CHUNK, max(1, CHUNK_NUMBERS // numbers))
        for x, targets in chunks(split, self.task.every_step, self.data.segment, size):
            outputs, last = self.network.run(x.expand(len(self.configs), *x.shape), state)
            state = list(last) if self.data.segment else None
            total += torch.stack(metric.sums(outputs, targets))
        score = metric.finish(total[0] / total[1]).to(self.best)
        if score.is_cuda:  # what was launched is over only now
            torch.cuda.synchronize(score.device)
        self.seconds += (time.perf_counter() - start) / len(self.configs)
        self._read_meter()
        return score

    def close_epoch(self) -> tuple[list[Point], list[Run]]:
        """Score the epoch, let diverged and stopped members leave; return its points and the ends."""
        loss, valid = self.loss / self.step, self.score(self.data.valid)
        better = self.sign * valid > self.best
        if self.configs[0].selection == "last":
            better = torch.ones_like(better)
        self.best = torch.where(better, self.sign * valid, self.best)
        self.best_epoch = torch.where(better, self.epoch, self.best_epoch)
        self.best_values = torch.where(better.unsqueeze(1), self.parameters.values, self.best_values)
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
        self.points += points
        stay = torch.nonzero(finite).flatten()
        stay, stopped = self._rung(stay)
        ends += stopped
        self.ended += ends
        self.keep(stay)
        self.epoch, self.step, self.loss, self.state = self.epoch + 1, 0, torch.zeros_like(self.adam.lr), None
        return points, ends

    def close(self) -> list[Run]:
        """End all members that trained to the last epoch; retrainings are tested at their selected epoch."""
        self.epoch -= 1  # close_epoch has counted on
        test = None
        if self.configs and self.configs[0].phase == "retrain":
            self.parameters.values.copy_(self.best_values)
            test = self.score(self.data.test)
        runs = []
        for k in range(len(self.configs)):
            if test is not None and not torch.isfinite(test[k]):
                runs.append(self._end(k, "diverged", f"test metric {test[k].item():g} at epoch {self.epoch}"))
            else:
                runs.append(replace(self._end(k, "ok"), test=None if test is None else test[k].item()))
        return runs

    def keep(self, index: Tensor) -> None:
        """Go on with the members ``index``, (K,) int64, alone."""
        if len(index) == len(self.configs):
            return
        self.configs = [self.configs[k] for k in index.tolist()]
        self.network.keep(index)
        self.parameters.attach(self.parameters.values[index])
        self.adam.keep(index)
        for name in TENSORS:
            tensor = getattr(self, name)
            setattr(self, name, tensor[index.to(tensor.device)])

    def saved(self) -> Saved:
        """Return the whole state, to restore by ``restore``."""
        self._read_meter()
        tensors = {name: getattr(self, name) for name in TENSORS}
        tensors |= {"values": self.parameters.values, "mean": self.adam.mean, "square": self.adam.square}
        tensors |= {f"state{k}": s for k, s in enumerate(self.state or [])}
        facts = {
            "alive": [c.id for c in self.configs],
            "epoch": self.epoch,
            "step": self.step,
            "adam_steps": self.adam.steps,
            "points": [asdict(p) for p in self.points],
            "ended": [asdict(r) for r in self.ended],
        }
        return Saved(tensors, facts)

    def restore(self, saved: Saved) -> bool:
        """Take up the state in ``saved``; return False and change nothing if it does not cover this pack's trials."""
        place = {trial: k for k, trial in enumerate(saved.facts["alive"])}
        ended = {r["trial"]: Run.from_dict(r) for r in saved.facts["ended"]}
        mine = [c.id for c in self.configs]
        if not all(trial in place or trial in ended for trial in mine):
            return False
        self.keep(torch.tensor([k for k, trial in enumerate(mine) if trial in place], dtype=torch.int64))
        rows = torch.tensor([place[c.id] for c in self.configs], dtype=torch.int64)
        tensors = {k: v[rows].to(self.best.device) for k, v in saved.tensors.items()}
        self.parameters.attach(tensors.pop("values"))
        self.adam.mean, self.adam.square = tensors.pop("mean"), tensors.pop("square")
        carried = [tensors.pop(f"state{k}") for k in range(sum(name.startswith("state") for name in tensors))]
        self.state = carried or None
        for name, tensor in tensors.items():
            setattr(self, name, tensor.cpu() if name in ("seconds", "joules") else tensor)
        self.epoch, self.step, self.adam.steps = (saved.facts[k] for k in ("epoch", "step", "adam_steps"))
        self.points = [Point(**p) for p in saved.facts["points"] if p["trial"] in mine]
        self.ended = [run for trial, run in ended.items() if trial in mine]
        return True

    def _rung(self, stay: Tensor) -> tuple[Tensor, list[Run]]:
        """Return the members that stay after this epoch's rung of successive halving, if any, and the stopped ones."""
        halving = self.configs[0].halving
        if not halving or self.epoch not in rungs(halving["first"], halving["eta"], self.configs[0].epochs):
            return stay, []
        order = stay[self.best[stay].argsort(descending=True, stable=True)]
        count = math.ceil(len(order) / halving["eta"])
        reason = f"successive halving kept the best {count} of {len(order)} at epoch {self.epoch}"
        return order[:count].sort().values, [self._end(k, "stopped", reason) for k in order[count:].tolist()]

    def _read_meter(self) -> None:
        """Share the energy taken since the last time among the members."""
        self.joules += self.meter.lap() / len(self.configs)

    def _facts(self, k: int) -> dict[str, str]:
        """Return what only the pack knows of where a member ran: kernel path and precision."""
        return {"kernel": str(self.network.layer.why()), "precision": self.configs[k].precision}

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
            environment=self._facts(k),
            joules=joules if math.isfinite(joules) else None,
        )
