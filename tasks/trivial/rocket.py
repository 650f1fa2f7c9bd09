"""MiniRocket features and a ridge classifier."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import SAMPLE
from longwave.tasks.trivial.whole import most_right

PENALTIES = (1e-2, 1.0, 1e2, 1e4)


@dataclass(frozen=True)
class MiniRocket(Predictor):
    """Ridge classification of MiniRocket features: Dempster et al. 2021, arXiv:2012.08791, by aeon.

    Attributes:
        outputs: Logits: one per class, or 1 for two classes.
        kernels: Features, rounded down to a multiple of 84.
    """

    outputs: int
    kernels: int = 9996

    def lacks(self) -> str:
        """Return how to install aeon, which pins numpy and pandas and is therefore optional."""
        return (
            "" if find_spec("aeon") and find_spec("numba") else "MiniRocket needs aeon: pip install 'longwave[rocket]'"
        )

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the fit with the penalty of the best validation accuracy."""
        from aeon.transformations.collection.convolution_based import (  # type: ignore[import-not-found]
            MiniRocket as Features,
        )
        from sklearn.linear_model import RidgeClassifier  # type: ignore[import-untyped]

        made = Features(n_kernels=self.kernels, random_state=0, n_jobs=torch.get_num_threads())
        split: Sequences = data.training(SAMPLE)
        x = made.fit_transform(_series(split))
        center, scale = x.mean(0), x.std(0) + 1e-8

        def features(some: Sequences) -> NDArray[np.float64]:
            return np.asarray((made.transform(_series(some)) - center) / scale, np.float64)

        train, valid, classes = (x - center) / scale, features(data.valid), split.targets.numpy()
        tried = {penalty: RidgeClassifier(alpha=penalty).fit(train, classes) for penalty in PENALTIES}

        def outputs(penalty: float, rows: NDArray[np.float64]) -> Tensor:
            margins = torch.from_numpy(tried[penalty].decision_function(rows)).view(len(rows), -1)
            if self.outputs == 1 or margins.shape[1] > 1:
                return margins
            return torch.cat([-margins, margins], 1)

        best = most_right(PENALTIES, lambda penalty: outputs(penalty, valid), data.valid.targets)
        numbers = tried[best].coef_.size + center.size + scale.size
        return Fitted(lambda split: outputs(best, features(split)), numbers, f"penalty {best:g}")


def _series(split: Sequences) -> NDArray[np.float32]:
    """Return the input sequences, (N, p, T) float32."""
    return torch.cat([piece.inputs.float() for piece in split.pieces(1024)]).transpose(1, 2).contiguous().numpy()
