"""The predictor of the page on Python, as it stands there."""

from __future__ import annotations

from typing import Any

import torch
from tree import ROOT


def test_the_pages_predictor_has_ten_lines_and_learns_in_seconds() -> None:
    text = (ROOT / "infra/docs/python.md").read_text(encoding="utf-8")
    program = text.partition("```python\n")[2].partition("```")[0]
    assert len([line for line in program.splitlines() if line]) == 10
    torch.manual_seed(0)
    names: dict[str, Any] = {}
    exec(compile(program, "python.md", "exec"), names)
    x, lem, read = names["x"], names["lem"], names["read"]
    before = (x[:, 1:] - x[:, :-1]).square().mean()
    assert names["loss"] < before / 5
    assert torch.allclose(names["output"], lem(x)[0][:, -1], atol=1e-5)
    after = read(names["output"])[:-1]  # of each sequence the value that follows: the next one begins with it
    assert (after - x[1:, 0]).square().mean() < before / 5
