"""What a plan fixes of a task's validation split: the score of the constant predictor, and the gate of halving."""

from __future__ import annotations

from typing import Any

from longwave.platform.statistics.scale import scale_of
from longwave.tasks.base.data import Data
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.trivial.constant import Majority, Mean

MARGIN = 0.9
"""A trial beats the constant predictor with less than this share of its error."""


def constant_score(task: TaskSpec, data: Data[Any]) -> float:
    """Return the validation metric of the constant predictor: the training mean, or the most frequent class."""
    split = data.valid
    predictor = Mean() if split.targets.is_floating_point() else Majority(task.outputs)
    outputs = split.order_outputs(predictor.fit(data).outputs(split))
    total, count = task.metric.of(outputs.unsqueeze(0), split)
    return float(task.metric.finish(total / count))


def gate_score(task: TaskSpec, data: Data[Any]) -> float | None:
    """Return the validation metric that trials must beat at a rung; None for a metric without a perfect score."""
    scale = scale_of(task.metric.name, task.metric.goal, task.metric.unit)
    if scale.perfect is None:
        return None
    return scale.score(MARGIN * scale.error(constant_score(task, data)))
