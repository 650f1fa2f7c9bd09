"""What the report says of the scores at the smallest and the largest length."""

from __future__ import annotations

from boards import retrained
from edition.lags import describe_ends

from longwave.platform.boards.board import rows
from longwave.platform.figures.lag import LagScore


def test_the_three_best_are_named_at_each_end_and_those_with_the_same_median_as_the_third() -> None:
    [row] = rows([retrained("a", [1.0])], [])
    at = {4.0: [("a", 1.0), ("b", 3.0), ("c", 2.0), ("d", 3.0), ("e", 4.0)], 9.0: [("a", 0.5), ("b", 0.25)]}
    scores = [LagScore(row, name, "length", x, median, 5) for x, line in at.items() for name, median in line]
    assert describe_ends(scores) == (
        "best medians at length 4: a 1.00, c 2.00, b 3.00, d 3.00; at length 9: b 0.250, a 0.500."
    )
