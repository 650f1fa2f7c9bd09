"""Printed C++: of two cells in one process."""

from __future__ import annotations

import re

from kernel_cases import text_of

from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.lem import LEM
from longwave.models.lstm import LSTM


def test_each_cell_has_a_name_of_its_own_so_that_two_do_not_share_their_tables() -> None:
    layers = [LEM(1, 4), GRU(1, 4), LSTM(1, 4), LEM(1, 4, multiscale=False), CoRNN(1, 4, dt=0.1, gamma=1, epsilon=1)]
    names = [re.findall(r"struct (\w+)", text_of(layer)) for layer in layers]
    assert len({name for (name,) in names}) == len(layers)
    assert text_of(LEM(3, 7, members=2)) == text_of(LEM(1, 4, biases=4, dt=0.3))
