"""BIDMC32HR: read the heart rate off 32 seconds of pulse and electrocardiogram."""

from __future__ import annotations

from functools import cache

import torch

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import L2_ERROR, mean_squared_error
from longwave.tasks.base.raw import Remote, Source, fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, changes, check_variant, note
from longwave.tasks.formats.ts_files import both_parts
from longwave.tasks.trivial.constant import Mean

STEPS, FEATURES = 4000, 2
SEED = 123456
"""Of both shuffles, as in LEM's code."""


def source(problem: str, record: int) -> Source:
    """Return the files of one of the three BIDMC32 problems; each has its own Zenodo record."""
    needs = (f"{problem}_TRAIN.ts", f"{problem}_TEST.ts")
    return Source(
        name=problem.lower(),
        title=problem,
        licence="CC BY 4.0; cite Tan et al. 2020 and Pimentel et al. 2016",
        needs=needs,
        remotes=tuple(Remote(f"https://zenodo.org/record/{record}/files/{name}", name) for name in needs),
        by_hand=f"Or give the folder {problem} of Monash_UEA_UCR_Regression_Archive.zip, Zenodo record 3902651.",
        counts={"series": 7949},
    )


def load_windows(files: Source, variant: str) -> Data[Sequences]:
    """Return TRAIN and TEST together, shuffled and split 70/15/15 as LEM's code does: 5565/1192/1192 of 7949.

    Raises:
        ValueError: There is no such variant.
        DataError: A file is missing or breaks a rule.
    """
    check_variant(files.name, variant)
    folder = files.locate(files.name)
    key = f"{files.name}-2-{fingerprint(folder / name for name in files.needs)}"
    arrays = cached(key, lambda: both_parts(files, STEPS, FEATURES))
    values, targets = torch.from_numpy(arrays["values"]), torch.from_numpy(arrays["labels"])
    order = _shuffle_order(len(values))
    held_out = order[len(order) - int(0.3 * len(order)) :]
    test, valid = held_out[_shuffle_order(len(held_out))].tensor_split([len(held_out) // 2])

    def split(index: torch.Tensor) -> Sequences:
        return Sequences(values[index], targets[index])

    return Data(train=split(order[: -len(held_out)]), valid=split(valid), test=split(test))


def _shuffle_order(n: int) -> torch.Tensor:
    """Return the permutation that ``torch.utils.data.random_split`` uses."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(SEED))


FILES = source("BIDMC32HR", 4001456)


@cache
def _load(variant: str) -> Data[Sequences]:
    return load_windows(FILES, variant)


TASK = TaskSpec(
    name="bidmc32hr",
    title="BIDMC heart rate",
    family="physiology and motion",
    summary="Regression from long real signals: the heart rate in beats a minute.",
    inputs=FEATURES,
    outputs=1,
    loss=mean_squared_error,
    metric=L2_ERROR,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=128,
            batch=32,
            epochs=500,
            drops=(250,),
            source="LEM, Tables 3 and 8 and the authors' code",
            paper="lem",
        ),
        "exprnn": changes(hidden=256, source="LEM, Tables 3 and 8 and the authors' code", paper="lem"),
    },
    source="TSER archive (Tan et al. 2020), Pimentel et al. 2016: 7949 windows of 32 s at 125 Hz, of 53 patients",
    licence=FILES.licence,
    length="4000",
    lag="a whole window, 4000 steps",
    protocols=(
        note("as in the papers the windows are shuffled, so the same patient is in all three splits", minor=True),
        note(
            "LEM's caption mentions only the pulse; its code and this task feed both signals, neither normalised",
            "lem",
            minor=True,
        ),
    ),
    files=FILES,
    baselines={"mean": Mean()},
)
