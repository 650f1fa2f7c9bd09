"""The numbers of training: their ranges and defaults are written down twice."""

from __future__ import annotations

from frozen import read_record, training_numbers


def test_the_ranges_and_defaults_of_the_numbers_of_training_are_those_that_are_recorded() -> None:
    assert training_numbers() == read_record()["rules"]["rules"]["declared"], (
        "Undo the change, or record it: make freeze."
    )
