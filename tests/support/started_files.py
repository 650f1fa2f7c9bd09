"""Files of several formats for ``longwave start``, and what it makes of them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longwave.platform.cli.main import main
from longwave.platform.registry import get_task

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(40, 6, 2))
LABELS = np.array(["low", "high"])[np.arange(40) % 2]


def start(file: Path, *options: str) -> dict[str, Any]:
    """Return the card that the command writes."""
    assert main(["start", str(file), *options]) == 0
    return tomllib.loads(next(path for path in file.parent.glob("*.toml") if ".sweep" not in path.name).read_text())


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return the line of a command that fails."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def fed_examples(name: str) -> list[np.ndarray]:
    """Return the inputs of all examples of a task, train, valid and test, without their padding."""
    data = get_task(name).load("")
    return [
        x[:n]
        for split in (data.training(0), data.valid, data.test)
        for x, n in zip(
            split.inputs.numpy(),
            (split.lengths.tolist() if split.lengths is not None else [split.inputs.shape[1]] * len(split.inputs)),
            strict=True,
        )
    ]


def check_same_up_to_scale(fed: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """Assert that both hold the same examples in some order: each channel may be shifted and scaled."""
    one, other = (np.concatenate(each).astype(np.float64) for each in (fed, wanted))
    assert one.shape == other.shape
    spread = np.sort(one, 0).std(0) / np.sort(other, 0).std(0)
    back = [(x - one.mean(0)) / spread + other.mean(0) for x in fed]
    key: Callable[[np.ndarray], Any] = lambda x: (len(x), *np.round(x.ravel(), 3))  # noqa: E731
    for a, b in zip(sorted(back, key=key), sorted(wanted, key=key), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def write_ts(path: Path, header: list[str], examples: list[np.ndarray], labels: list[str]) -> None:
    """Write a .ts file."""
    lines = [
        ":".join([*(",".join(map(repr, c)) for c in x.T.tolist()), y]) for x, y in zip(examples, labels, strict=True)
    ]
    path.write_text("\n".join(["# of a test", "@problemName Toy", *header, "@data", *lines]) + "\n")


CLASSES = ["@classLabel true low high"]
EQUAL = ["@univariate false", "@dimensions 2", "@equalLength true", "@seriesLength 6"]
