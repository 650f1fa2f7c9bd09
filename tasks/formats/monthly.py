"""One long monthly series, split by time, as a forecasting task with trivial predictors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import MSE, mean_squared_error
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.formats.ode import forecast_data
from longwave.tasks.formats.packaged import Packaged
from longwave.tasks.trivial.forecasts import FORECASTS

STRIDES = {"train": 8, "valid": 2, "test": 2}
"""Overlap: windows that begin within the length of one."""


def from_statsmodels(name: str, title: str, file: str, md5: str, months: int, licence: str) -> Packaged:
    """Return the file of a monthly series, as statsmodels 0.15 ships it.

    Args:
        name, title: Of the task, and of the series.
        file: Path within the data sets of statsmodels.
        md5: Of the file.
        months: In it.
        licence: Of the series.
    """
    return Packaged(
        name=name,
        title=title,
        licence=licence,
        needs=(file,),
        counts={"months": months},
        install="'statsmodels>=0.15'",
        package="statsmodels",
        inside="datasets",
        sums={file: md5},
    )


def monthly_task(
    files: Packaged, read: Callable[[], np.ndarray], first: Mapping[str, int], window: int, horizon: int, **facts: Any
) -> TaskSpec:
    """Return the task of a monthly series, one month ahead or ``horizon``, which is the default.

    Args:
        files: As returned by ``from_statsmodels``.
        read: Returns the monthly values of the file.
        first, window: As for ``by_time``.
        horizon: Months.
        facts: Fields of ``TaskSpec``: ``title``, ``summary``, ``source`` and ``lag``.
    """
    variant = f"h={horizon}"
    return TaskSpec(
        name=files.name,
        family="measured series",
        inputs=1,
        outputs=1,
        targets="at every step",
        loss=mean_squared_error,
        metric=MSE,
        chance=None,
        load=cache(partial(_load, files.name, read, first, window, {"h=1": 1, variant: horizon})),
        recipes={"": Recipe(hidden=16, batch=8, epochs=200, source="ours: no paper of these models has this series")},
        variant=variant,
        variants=f"h=1 or {variant}: months ahead",
        licence=files.licence,
        length=str(window),
        horizon=horizon,
        files=files,
        baselines=FORECASTS,
        **facts,
    )


def _load(
    name: str,
    read: Callable[[], np.ndarray],
    first: Mapping[str, int],
    window: int,
    horizons: Mapping[str, int],
    variant: str,
) -> Data[Sequences]:
    check_variant(name, variant, horizons)
    return by_time(read(), first, window, horizons[variant])


def by_time(series: np.ndarray, first: Mapping[str, int], window: int, horizon: int) -> Data[Sequences]:
    """Return windows within their split whose target, at each step, is the value ``horizon`` months later.

    They begin half a window apart, in training an eighth. Values are standardised by mean and standard deviation of the
    training months.

    Args:
        series: (T,) months.
        first: First month of each split; splits follow each other.
        window: Months of a window with targets.
        horizon: Months ahead.
    """
    ends = [*(first[name] for name in STRIDES)][1:] + [len(series)]
    training = series[: first["valid"]]
    scaled = ((series - training.mean()) / training.std()).astype(np.float32)
    paths = {}
    for (name, per_window), end in zip(STRIDES.items(), ends, strict=True):
        starts = range(first[name], end - window - horizon + 1, window // per_window)
        paths[name] = np.stack([scaled[k : k + window + horizon, None] for k in starts])
    return forecast_data(paths, horizon)
