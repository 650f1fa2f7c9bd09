"""A curve by column: no bit of an epoch is lost, and a float32 takes no more digits than it needs."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from longwave.platform.exchange.curve import Curve
from longwave.platform.records.run import Point

NUMBER = st.floats(allow_nan=False, allow_infinity=False)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)
TIMES = st.floats(0, 4e9)


def points(rows: list[tuple[float, float, float, float]]) -> list[Point]:
    return [Point("t", epoch, *row) for epoch, row in enumerate(rows, 1)]


def bits(curve: list[Point]) -> bytes:
    """Return every number of some epochs as it stands in memory: -0.0 is not 0.0."""
    return b"".join(struct.pack("q4d", p.epoch, p.loss, p.valid, p.seconds, p.at) for p in curve)


@given(st.one_of(st.lists(st.tuples(n, n, TIMES, TIMES)) for n in (SINGLE, NUMBER)))
def test_a_curve_gives_back_every_epoch_to_the_last_bit(rows: list[tuple[float, float, float, float]]) -> None:
    epochs = points(rows)
    again = Curve.model_validate_json(Curve.of(epochs).model_dump_json())
    assert bits(again.points("t")) == bits(epochs)


@given(st.lists(SINGLE, min_size=1))
def test_a_float32_is_written_in_nine_digits_at_most(losses: list[float]) -> None:
    written = json.loads(Curve.of(points([(x, x, 1.0, 1.0) for x in losses])).model_dump_json())
    assert written["single"]
    assert all(float(f"{x:.9g}") == x for x in written["loss"] + written["valid"])


@given(st.lists(NUMBER, min_size=1))
def test_a_curve_says_whether_all_its_numbers_are_float32(losses: list[float]) -> None:
    def exact(x: float) -> bool:
        try:
            return bool(struct.unpack("f", struct.pack("f", x))[0] == x)
        except OverflowError:
            return False

    epochs = points([(x, 0.5, 1.0, 1.0) for x in losses])
    assert Curve.of(epochs).single == all(map(exact, losses))


def test_columns_of_other_lengths_and_numbers_beyond_float32_are_refused() -> None:
    good = Curve.of(points([(1.0, 2.0, 3.0, 4.0)])).model_dump()
    with pytest.raises(ValidationError, match=r"one number an epoch, got \[1, 1, 2, 1\]"):
        Curve.model_validate({**good, "seconds": [1.0, 2.0]})
    with pytest.raises(ValidationError, match="a number in it is no float32"):
        Curve.model_validate({**good, "loss": [1e300]})
