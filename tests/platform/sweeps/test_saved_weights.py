"""Which of a row's retrainings its weights are taken of."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longwave.platform.sweeps import saved_weights


@pytest.mark.parametrize("goal, order", [("min", [0.2, 0.3, 0.7]), ("max", [0.7, 0.3, 0.2])])
def test_the_best_on_validation_among_those_with_weights_is_taken(
    goal: str, order: list[float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def retraining(valid: float) -> Any:
        config = SimpleNamespace(id=str(valid), row="r", seed=1)
        return SimpleNamespace(
            config=config, about=SimpleNamespace(goal=goal), run=SimpleNamespace(status="ok", valid=valid)
        )

    there = {str(valid) for valid in order}
    monkeypatch.setattr(saved_weights, "_retrainings", lambda *_: [retraining(v) for v in (0.3, 0.7, 0.2)])
    monkeypatch.setattr(saved_weights, "_possible_folders", lambda *_: [tmp_path])
    monkeypatch.setattr(saved_weights, "read", lambda file: file.stem if file.stem in there else None)
    monkeypatch.setattr(saved_weights, "_check", lambda *_: None)
    for valid in order:
        assert saved_weights.find_weights(None, "r")[1] == str(valid)  # type: ignore[arg-type, comparison-overlap]
        there.remove(str(valid))
