"""ZINC-12k: predict a property from the graph of a molecule.

PyTorch Geometric unpickles the files, which can run any code in a file that was tampered with; the reader here cannot,
and tests compare the two.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.cache import cached
from longwave.tasks.base.data import Data
from longwave.tasks.base.graphs import Graphs, pad_graphs
from longwave.tasks.base.losses import MAE, mean_absolute_error
from longwave.tasks.base.raw import DataError, Remote, Source, check_ended, fingerprint
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant, note
from longwave.tasks.formats.pickles import TENSORS, PickledTensor, unpickle
from longwave.tasks.trivial.constant import Mean
from longwave.tasks.trivial.graphs import CountRidge

ATOMS = 28
"""Number of kinds of atoms, with charges distinguished."""
SIZES = {"train": 10000, "val": 1000, "test": 1000}
ORIGIN = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
FILES = Source(
    name="zinc",
    title="ZINC-12k",
    licence="free to use, not to be redistributed in large parts; cite Irwin et al. 2012 and Dwivedi et al. 2020",
    needs=(*(f"molecules/{part}.pickle" for part in SIZES), *(f"{part}.index" for part in SIZES)),
    remotes=(
        Remote("https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1", "molecules.zip", unpack=True),
        *(Remote(f"{ORIGIN}/{part}.index", f"{part}.index") for part in SIZES),
    ),
    by_hand="Or unpack molecules.zip of benchmarking-gnns and put its three .index files next to the folder molecules.",
    counts={f"molecules in {part}.index": size for part, size in SIZES.items()},
)


def _read_indices(part: str, count: int) -> list[int]:
    """Return which molecules of a pickle are used."""
    path = FILES.root / f"{part}.index"
    check_ended(path)
    words = path.read_text(encoding="utf-8", errors="replace").strip().split(",")
    numbers = [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 10]
    if len(numbers) < len(words) or len({*numbers}) < len(numbers) or max(numbers) >= count:
        raise DataError(
            f"{path}: there must be numbers of 0 to {count - 1}, each once, separated by commas, got others."
        )
    FILES.check_count(f"molecules in {path.name}", len(numbers))
    return numbers


def _parse_molecule(content: Any, where: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return kinds of atoms (V,), bonds (2, E), once each way, and the property (1,)."""
    names = ("atom_type", "bond_type", "logP_SA_cycle_normalized")
    if not isinstance(content, dict) or not all(isinstance(content.get(name), PickledTensor) for name in names):
        raise DataError(f"{where} must have the tensors {', '.join(names)}, got others.")
    try:
        atoms, bonds, value = (content[name].tensor() for name in names)
    except ValueError as error:
        raise DataError(f"{where}: {error}.") from None
    n = len(atoms) if atoms.ndim == 1 else 0
    if not n or atoms.is_floating_point() or atoms.min() < 0 or atoms.max() >= ATOMS:
        raise DataError(f"{where} must have atoms of kinds 0 to {ATOMS - 1}, got others.")
    if bonds.shape != (n, n) or not torch.equal(bonds, bonds.mT):
        raise DataError(f"{where} must have a symmetric table of bonds {(n, n)}, got {tuple(bonds.shape)}, or another.")
    if value.shape != (1,) or not value.isfinite().all():
        raise DataError(f"{where} must have one finite number as its property, got others.")
    return atoms.to(torch.int8), bonds.nonzero().mT.contiguous(), value.float()


def _parse(folder: Path) -> dict[str, Any]:
    """Return nodes, edges and targets of each split as ``Graphs`` takes them."""
    arrays = {}
    for part in SIZES:
        path = folder / "molecules" / f"{part}.pickle"
        every = unpickle(path, TENSORS)
        if not isinstance(every, list) or not every:
            raise DataError(f"{path}: there must be a list of molecules, got {type(every).__name__}.")
        molecules = [_parse_molecule(every[k], f"{path}: molecule {k}") for k in _read_indices(part, len(every))]
        atoms, bonds, values = zip(*molecules, strict=True)
        graphs = pad_graphs(atoms, bonds, torch.stack(values))
        for name in ("nodes", "real", "edges", "targets"):
            arrays[f"{part} {name}"] = getattr(graphs, name).numpy()
    return arrays


@cache
def _load(variant: str) -> Data[Graphs]:
    check_variant("zinc", variant)
    folder = FILES.locate("zinc")
    arrays = cached(f"zinc-1-{fingerprint(folder / name for name in FILES.needs)}", lambda: _parse(folder))
    splits = [
        Graphs(*(torch.from_numpy(arrays[f"{part} {name}"]) for name in ("nodes", "real", "edges", "targets")))
        for part in SIZES
    ]
    return Data(train=splits[0], valid=splits[1], test=splits[2])


TASK = TaskSpec(
    name="zinc",
    title="ZINC-12k",
    family="graph",
    summary="Regression from many small graphs: a molecule's constrained solubility, for which rings must be found.",
    inputs=ATOMS,
    outputs=1,
    targets="of each graph",
    loss=mean_absolute_error,
    metric=MAE,
    chance=None,
    load=_load,
    recipes={
        "": Recipe(
            hidden=220,
            batch=128,
            epochs=3000,
            source="GraphCON, the authors' code: 22 layers with one convolution, no dropout",
            paper="thesis",
        ),
    },
    source="Irwin et al. 2012, subset and splits of Dwivedi et al. 2020: 10000/1000/1000 molecules, no kinds of bonds",
    licence=FILES.licence,
    length="9 to 38 nodes",
    lag="rings of some edges",
    tokens=ATOMS,
    protocols=(
        note("GraphCON's code feeds the number of an atom's kind as one number, this task one-hot", "thesis"),
        note("GraphCON's code halves the learning rate from epoch 1000 on, each 20 epochs without gain", "thesis"),
    ),
    files=FILES,
    baselines={"mean": Mean(), "ridge on counts of atoms": CountRidge(ATOMS)},
)
