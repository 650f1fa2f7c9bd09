"""An epoch as it is kept: its times have fewer digits than they were measured with, its numbers have all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.records.run import Point

NUMBER = st.floats(allow_nan=False, allow_infinity=False)
LONGEST, LATEST = 1e7, 4e9
"""Seconds of a training of months, and of a time in this century."""


@given(NUMBER, NUMBER)
def test_loss_and_metric_are_kept_to_the_last_bit(loss: float, valid: float) -> None:
    point = Point.short("t", 3, loss, valid, 1.0, 2.0)
    assert (point.trial, point.epoch, point.loss, point.valid) == ("t", 3, loss, valid)


@given(st.lists(st.tuples(st.floats(0, LONGEST), st.floats(0, LATEST)), min_size=2))
def test_times_are_never_later_than_they_were_and_keep_their_order(times: list[tuple[float, float]]) -> None:
    points = [Point.short("t", 1, 0.0, 0.0, seconds, at) for seconds, at in times]
    for (seconds, at), point in zip(times, points, strict=True):
        assert 0 <= seconds - point.seconds < 1.1e-6
        assert 0 <= at - point.at < 1.1e-4
    for name, index in (("seconds", 0), ("at", 1)):
        in_order = [getattr(points[k], name) for k in sorted(range(len(times)), key=lambda k: times[k][index])]
        assert in_order == sorted(in_order)
