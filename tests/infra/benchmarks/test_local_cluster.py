"""A cluster whose nodes do not start has no address."""

from __future__ import annotations

import local_cluster
import pytest

from longwave.platform.errors import WorkerError


def test_a_node_that_does_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_cluster, "CODE", "raise SystemExit(1)")
    with pytest.raises(WorkerError, match=r"A node of Ray did not start\. Its own output, above, says why\."):
        local_cluster.LocalCluster()
