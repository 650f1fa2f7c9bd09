"""References for a fused time loop: float64, torch's LSTM, and the LEM of another checkout."""

from __future__ import annotations

import ast
import copy
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from longwave.models.base.recurrence import Recurrence
from longwave.platform.bench.sizes import Size
from longwave.platform.errors import ConfigError


def worst_error(layer: Recurrence[Any], size: Size) -> float:
    """Return the largest relative error of the layer's outputs, last state and all gradients against float64.

    Errors are in the Euclidean norm. Adjoints are positive, so that sums do not cancel and relative errors are
    meaningful.
    """
    device, generator = next(layer.parameters()).device, torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    x = draw(size.steps, size.batch, size.inputs)
    start = [0.1 * draw(size.batch, *shape) for shape in layer.state_shapes().values()]
    adjoints = [draw(size.steps, size.batch, size.hidden).abs(), *[draw(*s.shape).abs() for s in start]]
    results = []
    for model in (layer, copy.deepcopy(layer).double()):
        dtype = next(model.parameters()).dtype
        arguments = [t.to(device, dtype).requires_grad_() for t in (x, *start)]
        output, last = model(arguments[0], tuple(arguments[1:]))
        leaves = [*arguments, *[p for p in model.parameters() if p.requires_grad]]
        pairs = [(v, a.to(v)) for v, a in zip((output, *last), adjoints, strict=True) if v.numel()]
        gradients = torch.autograd.grad([v for v, _ in pairs], leaves, [a for _, a in pairs])
        results.append([t.detach().double() for t in (*[v for v, _ in pairs], *gradients)])
    return max(float((a - b).norm() / b.norm()) for a, b in zip(*results, strict=True) if b.numel())


class OtherLSTM(nn.Module):
    """torch.nn.LSTM, (T, B, p) to (T, B, d)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        outputs: Tensor = self.lstm(x)[0]
        return outputs


class OtherLEM(nn.Module):
    """The LEM of another checkout, (T, B, p) to its first output.

    Args:
        kind: Its class, ``LEM(ninp, nhid, nout, dt)`` or ``LEMcuda(ninp, nhid, dt)``.
        inputs, hidden, dt: p, d and Δt.
    """

    def __init__(self, kind: type[nn.Module], inputs: int, hidden: int, dt: float) -> None:
        super().__init__()
        self.lem = kind(inputs, hidden, 1, dt) if kind.__name__ == "LEM" else kind(inputs, hidden, dt)

    def forward(self, x: Tensor) -> Tensor:
        """Return its output, or the first of several."""
        outputs: Any = self.lem(x)
        return outputs[0] if isinstance(outputs, tuple) else outputs  # type: ignore[no-any-return]


def find_lem(folder: Path, cuda: bool) -> tuple[type[nn.Module], Path]:
    """Return the class of LEM in a checkout, and the file that has it. Importing runs that file.

    Files with a CUDA kernel (``LEMcuda``) come first if ``cuda``, last if not.

    Raises:
        ConfigError: There is no such folder, or no file in it that has the class and can be imported.
    """
    if not folder.is_dir():
        raise ConfigError(f"--peer: no folder {folder}.")
    candidates, problem = [], "no file defines one"
    for path in sorted(folder.rglob("*.py")):
        names = {node.name for node in _parse_file(path).body if isinstance(node, ast.ClassDef)}
        if names & {"LEM", "LEMcuda"}:
            candidates.append((("LEMcuda" in names) != cuda, path, "LEM" if "LEM" in names else "LEMcuda"))
    for _, path, name in sorted(candidates):
        try:
            kind: type[nn.Module] = getattr(_import_file(path), name)
            return kind, path
        except (Exception, SystemExit) as error:  # foreign code may fail in any way, or end; try the next file
            problem = f"{path}: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
    expected = "a class LEM(ninp, nhid, nout, dt) or LEMcuda(ninp, nhid, dt)"
    raise ConfigError(f"--peer: looked in the .py files under {folder} for {expected}; {problem}.")


def _parse_file(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text())
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _import_file(path: Path) -> Any:
    """Return the module in ``path``, which may import modules beside it."""
    spec = importlib.util.spec_from_file_location("longwave_peer", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _first_on_path(path.parent):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
