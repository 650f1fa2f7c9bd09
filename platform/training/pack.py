"""A pack: trials of equal shape that train together as one tensor program.

A trial's result does not depend on its pack, up to rounding: each member has its own initial weights, data order,
hyper-parameters, training parameters and moments, and no operation mixes members. In packs of two or more whose members
share training parameters such as clip, it is equal to the bit. Alone, products are rounded in another order, and where
training parameters differ, they are tensors: first losses then differ by up to about 1e-7.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from longwave.platform.records.report import Cohort, Report, Rung
from longwave.platform.records.run import Measure, Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.training.energy import Meter
from longwave.platform.training.feed import epoch_batches
from longwave.platform.training.networks import network_of
from longwave.platform.training.optimiser import FlatParameters
from longwave.platform.training.precision import store_values
from longwave.platform.training.rules import Rules
from longwave.platform.training.schedule import steps_an_epoch
from longwave.platform.training.scoring import measured
from longwave.platform.training.stopping import decide_rung, ends_early, has_rung
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.metric import Metric

TENSORS = ("best", "best_epoch", "best_values", "loss", "seconds", "joules")
"""Tensors of a pack per member, besides weights and moments."""


class Pack:
    """The state of a pack in training. Members leave when they diverge or are stopped; the others continue.

    Args:
        configs: Trials that agree in everything but parameters and seed.
        data: The task's data, on ``device``. Only retrainings use the test split.
        device: Where to train.

    Attributes:
        configs: The members still training.
        report: All epochs, outcomes and rungs so far, also of members that left.
        epoch: The epoch in progress, from 1; ``step`` counts its finished steps.
        keeps: Called with each tested member, while the network has the weights of the test.
    """

    def __init__(self, configs: Sequence[TrialConfig], data: Data[Batch], device: torch.device | str = "cpu") -> None:
        if len({c.shape for c in configs}) != 1:
            raise ValueError(f"A pack needs trials of one shape, got {len({c.shape for c in configs})} shapes.")
        self.task, self.data, self.configs = get_task(configs[0].task), data, list(configs)
        first = configs[0]
        self.network = network_of(configs, data.valid.positions, data.embedding).to(device)
        store_values(self.network.layer, first.precision)
        self.parameters = FlatParameters(self.network, self.network.statistics())
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
        self.report = Report()
        self.keeps: Callable[[Pack, int, Run], None] | None = None
        self.valids: dict[str, list[float]] = {c.id: [] for c in configs}

    @property
    def done(self) -> int:
        """Number of finished epochs."""
        return self.epoch - 1

    def train_epoch(self, after_step: Callable[[], bool | None] = lambda: None) -> bool:
        """Train until the end of the epoch in progress and return True.

        ``after_step`` is called after each step; if it returns True, training pauses there and False is returned.
        """
        scale = self.rules.scales(self.epoch, steps_an_epoch(self.configs[0], self.data), self.valids)
        self.network.train()
        for batch in epoch_batches(self.configs, self.data, self.epoch, self.step):
            start = time.perf_counter()
            outputs, state = batch.answers(partial(self.network.run, step=self.steps), self.state)
            self.state = [s.detach() for s in state] if batch.CARRIED else None  # gradients do not cross segments
            loss = self.rules.loss(outputs, batch.ordered_targets)
            self.parameters.backward(loss)
            self.steps += 1
            self.rules.step(self.optimiser, self.steps, scale(self.step))
            self.network.constrain()
            self.loss += loss.detach()
            self.step += 1
            self.seconds += (time.perf_counter() - start) / len(self.configs)
            if after_step():
                return False
        return True

    def score(self, split: Batch, *further: Metric) -> Tensor:
        """Return the task's metric, and ``further`` ones, on ``split`` for each member, (1 + further, M)."""
        start = time.perf_counter()
        score = measured(self.network, (self.task.metric, *further), split).to(self.best)
        if score.is_cuda:  # wait for launched kernels
            torch.cuda.synchronize(score.device)
        self.seconds += (time.perf_counter() - start) / len(self.configs)
        self.read_meter()
        return score

    def close_epoch(self) -> Report:
        """Score the epoch, remove members that diverged or end early; return its points and outcomes. The remaining
        members compete at the epoch's rung of successive halving, if it has one; see ``halve``.
        """
        loss, valid = self.loss / self.step, self.score(self.data.valid)[0]
        now, finite = time.time(), torch.isfinite(loss) & torch.isfinite(valid)
        self._select(self.sign * valid, finite)
        points = [
            Point.short(c.id, self.epoch, loss[k].item(), valid[k].item(), self.seconds[k].item(), now)
            for k, c in enumerate(self.configs)
            if finite[k]
        ]
        self.note(Report(points))
        self.epoch, self.step, self.loss, self.state = self.epoch + 1, 0, torch.zeros_like(self.best), None
        ends = [
            self._end(k, "diverged", f"loss {loss[k].item():g}, validation {valid[k].item():g} at epoch {self.done}")
            for k in torch.nonzero(~finite).flatten().tolist()
        ]
        goal = self.task.metric.goal
        ending = [k for k, c in enumerate(self.configs) if finite[k] and ends_early(c, self.valids[c.id], goal)]
        ends += self._finished(ending)
        finite[ending] = False
        self.keep(torch.nonzero(finite).flatten())
        rungs = self._scores() if self.configs and has_rung(self.configs[0], self.done) else []
        self.note(Report((), ends, rungs))
        return Report(points, ends, rungs)

    def halve(self, cohort: Cohort) -> Report | None:
        """Remove the members that do not stay at the last epoch's rung of successive halving, if it had one.

        Returns:
            The decisions, with outcomes; None if a required score is missing in ``cohort``.
        """
        waiting = [r for r in self.report.rungs if r.epoch == self.done and r.stays is None]
        if not waiting:
            return Report()
        config, goal = self.configs[0], self.task.metric.goal
        decision = decide_rung(cohort, config.halving or {}, self.done, goal, config.params.get("solved"))
        if decision is None:
            return None
        rungs, reason = decision
        stay = torch.tensor([bool(rungs[c.id].stays) for c in self.configs])
        ends = [self._end(k, "stopped", reason) for k in torch.nonzero(~stay).flatten().tolist()]
        report = Report((), ends, [rungs[r.trial] for r in waiting])
        self.keep(torch.nonzero(stay).flatten())
        self.note(report)
        return report

    def close(self) -> Report:
        """End all members that trained to the last epoch."""
        return Report((), self._finished(range(len(self.configs))))

    def restated_report(self) -> Report:
        """Return all reports so far as one, with the last epoch of each trial."""
        ended = {r.trial: r.epochs for r in self.report.runs}
        return replace(self.report, began={**{c.id: self.done for c in self.configs}, **ended})

    def keep(self, index: Tensor) -> None:
        """Continue with only the members ``index``, (K,) int64."""
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

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors with a members axis, (M, ...) each, by name, except the carried state of a text."""
        optimiser = {f"optimiser.{name}": tensor for name, tensor in self.optimiser.items()}
        return {"values": self.parameters.values, **{name: getattr(self, name) for name in TENSORS}, **optimiser}

    def note(self, report: Report) -> None:
        """Add to the report."""
        self.report += report
        for point in report.points:
            if point.epoch > len(self.valids[point.trial]):  # two copies of a trial, as in a replay, report it twice
                self.valids[point.trial].append(point.valid)

    def read_meter(self) -> None:
        """Divide the energy since the last reading among the members."""
        self.joules += self.meter.lap() / len(self.configs)

    def _select(self, valid: Tensor, finite: Tensor) -> None:
        """Store best score, epoch and weights of the members for which this epoch is selected so far."""
        better = finite & (valid > self.best) if self.configs[0].selection == "best" else finite
        self.best = torch.where(better, valid, self.best)
        self.best_epoch = torch.where(better, self.epoch, self.best_epoch)
        self.best_values = torch.where(better.unsqueeze(1), self.parameters.values, self.best_values)

    def _scores(self) -> list[Rung]:
        """Return the members' best scores at an undecided rung; for a pruner the scores of all epochs since the one
        before, of which only the last is undecided.
        """
        halving = self.configs[0].halving or {}
        cohort, best = halving["cohort"], (self.sign * self.best).tolist()
        if "pruner" not in halving:
            return [Rung(cohort, self.done, c.id, valid) for c, valid in zip(self.configs, best, strict=True)]
        known = max((rung.epoch for rung in self.report.rungs), default=0)
        return [
            Rung(cohort, epoch, c.id, valid, None if epoch == self.done else True)
            for c in self.configs
            for epoch, valid in enumerate(self.valids[c.id], 1)
            if epoch > known
        ]

    def _finished(self, members: Sequence[int]) -> list[Run]:
        """Return the outcomes of fully trained members; retrainings are tested at their selected epoch."""
        if not members or self.configs[0].phase != "retrain":
            return [self._end(k, "ok") for k in members]
        now = self.parameters.values.clone()
        self.parameters.values.copy_(self.best_values)
        tests = self.score(self.data.test, *(further_metric.metric for further_metric in self.task.further))
        runs = [self._tested(k, *tests[:, k].tolist()) for k in members]
        for k, run in zip(members, runs, strict=True):
            if self.keeps and run.status == "ok":
                self.keeps(self, k, run)
        self.parameters.values.copy_(now)
        return runs

    def _tested(self, k: int, test: float, *others: float) -> Run:
        if not math.isfinite(test):
            return self._end(k, "diverged", f"test metric {test:g} at epoch {self.done}")
        measured = [(m.metric, m.x_name, m.x, v) for m, v in zip(self.task.further, others, strict=True)]
        measures = tuple(Measure(m.name, m.unit, v, name, x) for m, name, x, v in measured if math.isfinite(v))
        return replace(self._end(k, "ok"), test=test, measures=measures)

    def _end(self, k: int, status: str, reason: str = "") -> Run:
        epoch, joules = int(self.best_epoch[k]), self.joules[k].item()
        return Run(
            trial=self.configs[k].id,
            status=status,  # type: ignore[arg-type]
            reason=reason,
            epochs=self.done,
            best_epoch=epoch or None,
            valid=self.sign * self.best[k].item() if epoch else None,
            seconds=self.seconds[k].item(),
            members=self.members,
            parameters=self.network.parameter_count(),
            environment={"kernel": str(self.network.layer.why()), "precision": self.configs[k].precision},
            joules=joules if math.isfinite(joules) else None,
        )
