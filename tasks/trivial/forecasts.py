"""The trivial predictors of all forecasting tasks."""

from __future__ import annotations

from longwave.tasks.base.predictor import Baseline
from longwave.tasks.trivial.constant import Mean, Persistence
from longwave.tasks.trivial.least_squares import ROUNDING
from longwave.tasks.trivial.linear import Linear
from longwave.tasks.trivial.neighbours import Neighbours
from longwave.tasks.trivial.polynomial import Polynomial

FORECASTS: dict[str, Baseline] = {
    "mean": Mean(),
    "persistence": Persistence(),
    "AR(8)": Linear(8),
    "ridge(32)": Linear(32, ROUNDING),
    "quadratic AR": Polynomial(degree=2),
    "cubic AR": Polynomial(degree=3),
    "neighbours": Neighbours(),
}
"""By name, earlier names included: a row keeps the scores with which it was recorded."""
