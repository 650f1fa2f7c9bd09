"""The karate club as others have it."""

from __future__ import annotations

import pytest
import torch

from longwave.tasks import karate


def test_the_karate_club_is_that_of_pytorch_geometric_with_the_same_known_members() -> None:
    datasets = pytest.importorskip("torch_geometric.datasets", reason="PyTorch Geometric is not installed")
    club, train = datasets.KarateClub()[0], karate.TASK.load("").train
    assert train is not None
    edges = sorted(train.edges[0].tolist())
    assert edges == sorted(club.edge_index.T.tolist()) and torch.equal(train.nodes[0], club.x)
    known = club.train_mask.nonzero().flatten()
    assert known.tolist() == sorted(karate.LABELLED)
    assert train.targets[0][known].tolist() == club.y[known].tolist() and (train.targets[0] == club.y).sum() == len(
        known
    )
