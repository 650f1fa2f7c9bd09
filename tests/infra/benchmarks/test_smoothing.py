"""The table of oversmoothing fits its number of layers."""

from __future__ import annotations

import pytest
import smoothing


@pytest.mark.parametrize(("layers", "last"), [(1, "1"), (5, "5"), (100, "100"), (1000, "1000")])
def test_the_table_has_a_column_per_depth_that_was_measured(
    layers: int, last: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    smoothing.print_report({"GCN": [(1.0 / k, 2.0 / k) for k in range(1, layers + 1)]}, "table")
    heads = [line for line in capsys.readouterr().out.splitlines() if "after layer" in line]
    assert len(heads) == 2 and all(head.split()[-1] == last for head in heads)
